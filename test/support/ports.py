# SPDX-License-Identifier: Apache-2.0
"""Ports for servers of tests that have to be told a number before they start."""

from __future__ import annotations

import socket
from contextlib import ExitStack

from ros2_cosim.core.scenario.server_ports import server_ports


def free_port(host: str = "127.0.0.1") -> int:
    """A port on which nothing listens, neither TCP nor UDP; no other program is given it."""
    for port in server_ports():
        with (
            socket.socket(socket.AF_INET, socket.SOCK_STREAM) as stream,
            socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as datagrams,
        ):
            try:
                stream.bind((host, port))
                datagrams.bind((host, port))
            except OSError:
                continue
        return port
    raise RuntimeError(f"no free port on {host}")


def three_free_ports() -> int:
    """The first of three successive ports like :func:`free_port`, as a CARLA server takes them."""
    for _ in range(1000):
        port = free_port()
        with ExitStack() as bound:
            try:
                for number in (port, port + 1, port + 2):
                    stream = bound.enter_context(socket.socket())
                    stream.bind(("127.0.0.1", number))
            except (OSError, OverflowError):
                continue
        return port
    raise RuntimeError("no three free ports in a row")
