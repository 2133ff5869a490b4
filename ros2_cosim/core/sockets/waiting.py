# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Waiting for one file; ``select`` would take none whose number is above 1023."""

from __future__ import annotations

import math
import select
from typing import Protocol


class HasFileno(Protocol):
    """A socket, or another open file."""

    def fileno(self) -> int:
        """Its number."""


def readable(file: HasFileno | int, seconds: float | None) -> bool:
    """Whether something can be read, or the other side has gone, now or within the time [s].

    :param seconds: None: without an end
    """
    return _ready(file, select.POLLIN, seconds)


def writable(file: HasFileno | int, seconds: float | None) -> bool:
    """Whether something can be written, or the other side has gone, now or within the time [s]."""
    return _ready(file, select.POLLOUT, seconds)


def _ready(file: HasFileno | int, event: int, seconds: float | None) -> bool:
    poll = select.poll()
    poll.register(file, event)
    return bool(poll.poll(None if seconds is None else math.ceil(seconds * 1e3)))
