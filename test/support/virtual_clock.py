# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A wall clock that tests move: it passes only by waiting and by what work is said to cost."""

from __future__ import annotations

from collections.abc import MutableSequence


class VirtualClock:
    """See :class:`ros2_cosim.core.realtime.wall_clock.WallClock`."""

    def __init__(self, start: int = 5_000_000_000) -> None:
        self.time = start
        self.oversleep = 0
        self.waits: MutableSequence[int] = []

    def now(self) -> int:
        return self.time

    def sleep_until(self, deadline: int) -> None:
        self.waits.append(deadline)
        self.time = max(self.time, deadline + self.oversleep)

    def work(self, duration: int) -> None:
        self.time += duration
