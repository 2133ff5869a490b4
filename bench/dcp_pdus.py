# SPDX-License-Identifier: Apache-2.0
"""Does it matter in how many PDUs and over how many sockets the same data travel?

The same float64 inputs and outputs of one slave in NRT over loopback, in 1 to N data PDUs in each
direction. Over TCP the inputs take the control connection, or their own data connection.
Microseconds per step in the fastest round; the cases take turns, so that what else the
machine does meets all of them.

    python bench/dcp_pdus.py [--variables 100] [--pdus 1 4 20 100] [--steps 300] [--rounds 7]
"""

from __future__ import annotations

import argparse
import multiprocessing
import time
from contextlib import ExitStack
from dataclasses import dataclass
from multiprocessing.connection import Connection

from bench.dcp_nrt_rate import Echo, description
from ros2_cosim.core.scenario.server_ports import server_ports
from ros2_cosim.dcp.master.master import Master
from ros2_cosim.dcp.master.remote import SlaveUse
from ros2_cosim.dcp.slave.server import SlaveServer
from ros2_cosim.dcp.wire.data_path import HEADER
from ros2_cosim.dcp.wire.enums import TransportProtocol

_TCP, _UDP = TransportProtocol.TCP_IPv4, TransportProtocol.UDP_IPv4
_FLOAT_BYTES = 8


@dataclass(frozen=True)
class Case:
    """One way of the data."""

    transport: TransportProtocol
    pdus: int
    own_socket: bool

    @property
    def text(self) -> str:
        """The case as a line of the table begins."""
        ways = "data connection" if self.own_socket else "control connection"
        way = "one socket" if self.transport is _UDP else ways
        return f"{self.transport.name[:3]:4s} {self.pdus:5d}  {way:19s}"


def run_slave(count: int, pipe: Connection) -> None:
    """Serve one slave and print its port."""
    server = SlaveServer(Echo(), description(count), port=0)
    pipe.send(server.port)
    server.run()


def measure(variables: int, pdus: list[int], steps: int, rounds: int) -> dict[Case, float]:
    """Seconds per step of each case in its fastest round."""
    cases = [Case(_UDP, n, False) for n in pdus]
    cases += [Case(_TCP, n, own) for n in pdus for own in (False, True)]
    took: dict[Case, list[float]] = {case: [] for case in cases}
    free = server_ports()
    with ExitStack() as stack:
        masters = {}
        for case in cases:
            here, there = multiprocessing.Pipe()
            process = multiprocessing.Process(target=run_slave, args=(variables, there))
            process.start()
            stack.callback(process.join)
            master = stack.enter_context(Master())
            size = HEADER.size + _FLOAT_BYTES * -(-variables // case.pdus)
            use = SlaveUse(max_pdu_size=size, data_port=next(free) if case.own_socket else None)
            slave = master.add_slave(
                description(variables), port=here.recv(), transport=case.transport, use=use
            )
            master.configure()
            if len(slave.sent_pdus) != case.pdus:
                raise SystemExit(f"{variables} variables do not make {case.pdus} PDUs")
            master.run()
            masters[case] = master
        for _ in range(rounds):
            for case, master in masters.items():
                began = time.perf_counter()
                master.do_step(steps)
                took[case].append((time.perf_counter() - began) / steps)
        for master in masters.values():
            master.stop()
    return {case: min(values) for case, values in took.items()}


def main() -> None:
    """Measure every case and print one line each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--variables", type=int, default=100)
    parser.add_argument("--pdus", type=int, nargs="+", default=[1, 4, 20, 100])
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=7)
    chosen = parser.parse_args()
    print("over  PDUs  inputs take          us per step")
    for case, seconds in measure(
        chosen.variables, chosen.pdus, chosen.steps, chosen.rounds
    ).items():
        print(f"{case.text}  {seconds * 1e6:9.1f}")


if __name__ == "__main__":
    main()
