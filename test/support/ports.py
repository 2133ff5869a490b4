# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Ports for servers of tests that have to be told a number before they start."""

from __future__ import annotations

import os
import random
import socket
from contextlib import ExitStack

#: Neither the kernel nor a run gives these away, and browsers go to them. Each node of Fast DDS
#: takes one from 7000 on.
_PORTS = [*range(5100, 6000), *range(6100, 6500), *range(6700, 7000)]


def _own_ports() -> list[int]:
    """Those of this worker in a random order: another one may ask between a look and a bind."""
    worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
    share = len(_PORTS) // int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    return random.SystemRandom().sample(_PORTS[worker * share :][:share], share)


def free_port(host: str = "127.0.0.1") -> int:
    """A port on which nothing listens, neither TCP nor UDP; no other program is given it."""
    for port in _own_ports():
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
