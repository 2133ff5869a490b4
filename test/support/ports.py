# SPDX-License-Identifier: Apache-2.0
"""Ports for servers of tests that have to be told a number before they start."""

from __future__ import annotations

import socket

from ros2_cosim.scenario.ports import server_ports


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
