# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Ports for the servers that a run starts, drawn where no other program is given one."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

_EPHEMERAL = Path("/proc/sys/net/ipv4/ip_local_port_range")
_HIGHEST = 65535
#: If fewer ports than this are left above the kernel's own range, those below it are taken.
_ENOUGH = 1000
_LOWEST = 20000


def server_ports() -> Iterator[int]:
    """Numbers of ports that may be free, in a random order.

    The kernel gives clients, and servers that ask for any port, one of its own range at any
    moment: a port of that range that is free now may be taken before the server has started.
    So the numbers lie above that range, where the ports of ROS domains up to 101 do not reach
    either.
    """
    first, last = _kernel_range()
    ports = range(last + 1, _HIGHEST + 1)
    if len(ports) < _ENOUGH:
        ports = range(min(_LOWEST, first - _ENOUGH), first)
    # The order must differ between programs that start at the same time.
    yield from random.SystemRandom().sample(ports, len(ports))


def _kernel_range() -> tuple[int, int]:
    """The first and last port that the kernel gives away by itself."""
    try:
        first, last = map(int, _EPHEMERAL.read_text(encoding="ascii").split())
    except (OSError, ValueError):
        return 32768, 60999  # what Linux has by default
    return first, last
