# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""NRT steps per second over loopback against a bare socket ping-pong in the same run.

Slave and ping-pong partner are separate processes. One line per case: number of
variables in and out, transport, microseconds per step, ratio to the ping-pong.

    python bench/dcp_nrt_rate.py [--steps N] [--variables 1 10 100]
"""

from __future__ import annotations

import argparse
import multiprocessing
import socket
import time
from multiprocessing.connection import Connection

from ros2_cosim.dcp.master.master import Master
from ros2_cosim.dcp.slave.declare import describe
from ros2_cosim.dcp.slave.server import serve
from ros2_cosim.dcp.slave.slave_model import SlaveModel, StepInfo
from ros2_cosim.dcp.standard.enums import DataType, TransportProtocol
from ros2_cosim.dcp.standard.slave_description import Causality, SlaveDescription, Variable


class Echo(SlaveModel):
    """Outputs are the inputs."""

    def do_step(self, step: StepInfo) -> None:
        """Copy inputs to outputs."""
        self.outputs[:] = self.inputs


def description(count: int) -> SlaveDescription:
    """A slave with ``count`` float64 inputs and as many outputs."""
    inputs = [Variable(f"u{i}", i, Causality.INPUT, DataType.float64, 0.0) for i in range(count)]
    outputs = [
        Variable(f"y{i}", count + i, Causality.OUTPUT, DataType.float64) for i in range(count)
    ]
    return describe([*inputs, *outputs], name="echo")


def run_slave(count: int, pipe: Connection) -> None:
    """Serve one slave and print its port."""
    serve(Echo(), description(count), port=0, on_ready=lambda server: pipe.send(server.port))


def run_partner(kind: int, pipe: Connection) -> None:
    """Answer every message with itself until an empty one or the end comes."""
    sock = socket.socket(socket.AF_INET, kind)
    sock.bind(("127.0.0.1", 0))
    if kind == socket.SOCK_STREAM:
        sock.listen(1)
    pipe.send(sock.getsockname()[1])
    if kind == socket.SOCK_STREAM:
        connection, _ = sock.accept()
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        while data := connection.recv(65536):
            connection.sendall(data)
        return
    while True:
        data, address = sock.recvfrom(65536)
        if not data:
            return
        sock.sendto(data, address)


def start(target: object, argument: int) -> tuple[multiprocessing.Process, int]:
    """Start a process that prints its port; returns both."""
    here, there = multiprocessing.Pipe()
    process = multiprocessing.Process(target=target, args=(argument, there), daemon=True)  # type: ignore[arg-type]
    process.start()
    return process, here.recv()


def ping_pong(kind: int, size: int, rounds: int) -> float:
    """Seconds per round trip of ``size`` bytes."""
    process, port = start(run_partner, kind)
    sock = socket.socket(socket.AF_INET, kind)
    sock.connect(("127.0.0.1", port))
    if kind == socket.SOCK_STREAM:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    data = bytes(size)
    began = time.perf_counter()
    for _ in range(rounds):
        sock.send(data)
        left = size
        while left > 0:
            left -= len(sock.recv(65536))
    took = time.perf_counter() - began
    if kind == socket.SOCK_DGRAM:
        sock.send(b"")
    sock.close()
    process.join()
    return took / rounds


def nrt(count: int, transport: TransportProtocol, steps: int) -> float:
    """Seconds per NRT step."""
    process, port = start(run_slave, count)
    with Master() as master:
        slave = master.add_slave(description(count), port=port, transport=transport)
        master.configure()
        master.initialise()
        master.run()
        values = [1.5] * count
        began = time.perf_counter()
        for _ in range(steps):
            slave.set_inputs(values)
            master.do_step()
        took = time.perf_counter() - began
        if slave.outputs != values:
            raise SystemExit("wrong outputs")
        master.stop()
    process.join()
    return took / steps


def main() -> None:
    """Measure every case and print one line each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=3000)
    parser.add_argument("--variables", type=int, nargs="+", default=[1, 10, 100])
    chosen = parser.parse_args()
    kinds = {
        TransportProtocol.TCP_IPv4: socket.SOCK_STREAM,
        TransportProtocol.UDP_IPv4: socket.SOCK_DGRAM,
    }
    print("transport  variables  ping-pong us   step us   ratio")
    for transport, kind in kinds.items():
        for count in chosen.variables:
            bare = ping_pong(kind, 9 + 8 * count, chosen.steps)
            step = nrt(count, transport, chosen.steps)
            print(
                f"{transport.name:9s}  {count:9d}  {bare * 1e6:12.1f}  {step * 1e6:8.1f}  "
                f"{step / bare:6.2f}"
            )


if __name__ == "__main__":
    main()
