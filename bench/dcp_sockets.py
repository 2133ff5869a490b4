# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Does it matter in how many PDUs and over how many sockets the data of a slave travel?

The same float64 inputs of one slave in NRT, in 1 to N data PDUs, over 1 to N sockets on which the
slave receives: UDP ports, or TCP connections. The output is one PDU. The cases take turns, so that
what else the machine does meets all of them. For each case:

- time of a step, the median of the rounds, and its ratio to that of the first case;
- data PDUs that got lost, by their sequence ids, and of these the datagrams for which the receive
  buffer of a socket had no room (``/proc/net/udp``); ``--buffer`` makes the buffers small;
- segments that TCP sent again (``TCP_INFO``).

``--loss SHARE`` puts master and slave on two hosts (network namespaces; needs root), between which
packets take half a millisecond, and this share gets lost.

    python -m bench.dcp_sockets [--variables 640] [--pdus 1 8 32] [--sockets 1 2 4 8 16 32]
                                [--buffer 4096] [--loss 0.005] [--json FILE]
"""

from __future__ import annotations

import argparse
import ctypes
import multiprocessing
import socket
import struct
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import islice
from multiprocessing.connection import Connection
from pathlib import Path
from unittest.mock import patch

from bench.dcp_nrt_rate import Echo
from bench.dcp_two_hosts import MASTER, SLAVE, joined_hosts
from bench.figures import Figure, counted, median_of, show
from ros2_cosim.core.scenario.server_ports import server_ports
from ros2_cosim.core.sockets.endpoints import open_udp
from ros2_cosim.dcp.master.master import Master
from ros2_cosim.dcp.master.remote import SlaveUse
from ros2_cosim.dcp.slave import sockets as slave_sockets
from ros2_cosim.dcp.slave.declare import describe
from ros2_cosim.dcp.slave.server import SlaveServer
from ros2_cosim.dcp.slave.slave_model import StepInfo
from ros2_cosim.dcp.standard.data_path import HEADER
from ros2_cosim.dcp.standard.enums import DataType, TransportProtocol
from ros2_cosim.dcp.standard.slave_description import Causality, SlaveDescription, Variable
from ros2_cosim.dcp.standard.transport import TcpLink

_TCP, _UDP = TransportProtocol.TCP_IPv4, TransportProtocol.UDP_IPv4
_FLOAT_BYTES = 8
#: In ``struct tcp_info`` of Linux, the uint32 ``tcpi_total_retrans``.
_TOTAL_RETRANS = 100
_CLONE_NEWNET = 0x40000000


@dataclass(frozen=True)
class Case:
    """One way of the data."""

    transport: TransportProtocol
    pdus: int
    sockets: int

    @property
    def text(self) -> str:
        """How figures name it."""
        return f"{self.transport.name[:3]}, {self.pdus} PDUs, {self.sockets} sockets"


@dataclass(frozen=True)
class Network:
    """Where the slave is, and its sockets' receive buffers; both hosts are empty on loopback."""

    slave_host: str = ""
    master_host: str = ""
    address: str = "127.0.0.1"
    buffer: int | None = None


def enter(host: str) -> None:
    """Move this thread to a host, which is a network namespace; the empty one is here."""
    if host:
        with Path("/run/netns", host).open() as namespace:
            if ctypes.CDLL(None, use_errno=True).setns(namespace.fileno(), _CLONE_NEWNET):
                raise OSError(ctypes.get_errno(), f"cannot enter {host}")


class Counting(Echo):
    """Tells at its end how many datagrams its sockets dropped."""

    def __init__(self, ports: set[int], pipe: Connection) -> None:
        self.ports = ports
        self._pipe = pipe

    def do_step(self, step: StepInfo) -> None:
        """The outputs stay."""

    def stop(self) -> None:
        """Count."""
        dropped = 0
        for line in Path("/proc/self/net/udp").read_text().splitlines()[1:]:
            fields = line.split()
            if int(fields[1].rsplit(":", 1)[1], 16) in self.ports:
                dropped += int(fields[-1])
        self._pipe.send(dropped)


def described(count: int) -> SlaveDescription:
    """A slave with so many inputs, and one output."""
    inputs = [Variable(f"u{i}", i, Causality.INPUT, DataType.float64, 0.0) for i in range(count)]
    output = Variable("y", count, Causality.OUTPUT, DataType.float64, start=0.0)
    return describe([*inputs, output], name="sink")


def serve(count: int, ports: tuple[int, ...], network: Network, pipe: Connection) -> None:
    """Serve one slave; send the number of the port."""
    enter(network.slave_host)
    model = Counting(set(ports), pipe)

    def small(host: str, port: int) -> socket.socket:
        return open_udp(host, port, receive_buffer=network.buffer)

    with ExitStack() as stack:
        if network.buffer is not None:
            stack.enter_context(patch.object(slave_sockets, "udp_socket", small))
        server = SlaveServer(model, described(count), host=network.address, port=0)
        model.ports.add(server.port)
        pipe.send(server.port)
        server.run()


class Coupled:
    """A master and its slave, coupled in one way."""

    def __init__(
        self,
        case: Case,
        variables: int,
        network: Network,
        free: Iterator[int],
        stack: ExitStack,
    ) -> None:
        self._pipe, there = multiprocessing.Pipe()
        ports = tuple(islice(free, case.sockets))
        process = multiprocessing.Process(target=serve, args=(variables, ports, network, there))
        process.start()
        stack.callback(process.kill)
        self.master = stack.enter_context(Master())
        size = HEADER.size + _FLOAT_BYTES * -(-variables // case.pdus)
        self.slave = self.master.add_slave(
            described(variables),
            network.address,
            self._pipe.recv(),
            transport=case.transport,
            use=SlaveUse(max_pdu_size=size, data_ports=ports),
        )
        self.master.configure()
        if len(self.slave.sent_pdus) != case.pdus:
            raise SystemExit(f"{variables} variables do not make {case.pdus} PDUs")
        self.master.run()

    def step(self, count: int) -> float:
        """Steps; the time of one [us]."""
        began = time.perf_counter()
        self.master.do_step(count)
        return 1e6 * (time.perf_counter() - began) / count

    def end(self) -> tuple[int | None, int, int]:
        """Stop; lost data PDUs (None: the slave could not tell), those that sockets dropped,
        segments that TCP sent again.
        """
        links = [link for link in (*self.slave.data_links.values(), self.slave.control) if link]
        again = sum(map(_sent_again, links))
        self.master.stop()
        told = self.slave.input_counters().values()
        lost = sum(found.lost for found in told) if told else None
        return lost, self._pipe.recv(), again


def _is_free(port: int) -> bool:
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
        with socket.socket(socket.AF_INET, kind) as sock:
            try:
                sock.bind(("", port))
            except OSError:
                return False
    return True


def _sent_again(link: TcpLink) -> int:
    told = link.sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _TOTAL_RETRANS + 4)
    return int(struct.unpack_from("=L", told, _TOTAL_RETRANS)[0])


def measure(chosen: argparse.Namespace, network: Network) -> list[Figure]:
    """All cases in turn."""
    enter(network.master_host)
    most = max(chosen.pdus)
    ways = [(pdus, 1) for pdus in chosen.pdus]
    ways += [(most, sockets) for sockets in chosen.sockets if 1 < sockets <= most]
    cases = [Case(transport, *way) for transport in (_UDP, _TCP) for way in ways]
    took: dict[Case, list[float]] = {case: [] for case in cases}
    figures = []
    with ExitStack() as stack:
        free = filter(_is_free, server_ports())
        coupled = {case: Coupled(case, chosen.variables, network, free, stack) for case in cases}
        for _ in range(chosen.rounds):
            for case, found in coupled.items():
                took[case].append(found.step(chosen.steps))
        for case, found in coupled.items():
            lost, dropped, again = found.end()
            first = took[Case(case.transport, *ways[0])]
            ratios = [a / b for a, b in zip(took[case], first, strict=True)]
            figures.append(median_of(f"{case.text}: step", took[case], "us"))
            figures.append(median_of(f"{case.text}: ratio to the first", ratios, "1"))
            if case.transport is _UDP:
                if lost is not None:
                    figures.append(counted(f"{case.text}: lost", lost, "PDUs"))
                figures.append(counted(f"{case.text}: without room", dropped, "PDUs"))
            else:
                figures.append(counted(f"{case.text}: sent again", again, "segments"))
    return figures


def main() -> None:
    """Measure every case."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--variables", type=int, default=640)
    parser.add_argument("--pdus", type=int, nargs="+", default=[1, 8, 32])
    parser.add_argument("--sockets", type=int, nargs="+", default=[1, 2, 4, 8, 16, 32])
    parser.add_argument("--steps", type=int, default=100, help="in a round")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--buffer", type=int, help="of each receiving UDP socket [bytes]")
    parser.add_argument("--loss", type=float, help="of packets between two hosts")
    parser.add_argument("--json", type=Path, metavar="FILE")
    chosen = parser.parse_args()
    with ExitStack() as stack:
        network = Network(buffer=chosen.buffer)
        if chosen.loss is not None:
            hosts = stack.enter_context(joined_hosts((SLAVE, MASTER), 5e-4, 0.0, chosen.loss))
            network = Network(hosts[0], hosts[1], SLAVE, chosen.buffer)
        show(measure(chosen, network), chosen.json)


if __name__ == "__main__":
    main()
