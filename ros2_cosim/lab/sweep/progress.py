# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Tells while runs are made how much is done, and how long the rest will take."""

from __future__ import annotations

import time
from collections.abc import Callable

#: Wall time [s] between two lines of progress; another one comes at the end.
EVERY_S = 5.0


class SweepProgress:
    """Counts runs, and the work that they are, in any unit.

    :param tell: takes the lines
    :param clock: wall time [s]
    """

    def __init__(
        self, tell: Callable[[str], None], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._tell = tell
        self._clock = clock
        self._begun = self._told = clock()
        self._total = self._done = self._failed = self._former = 0
        self._work_left = self._work_done = 0.0

    def expect(self, count: int, former: int, work: float | None = None) -> None:
        """This many runs are left; others were complete already."""
        self._total += count + former
        self._done += former
        self._former += former
        self._work_left += count if work is None else work

    def done(self, *, failed: bool = False, work: float = 1.0, what: str = "") -> None:
        """A run is done.

        :param what: told of it; empty: it gets no line of its own
        """
        self._done += 1
        self._failed += failed
        self._work_done += work
        self._work_left -= work
        if what or self._done == self._total or self._clock() - self._told >= EVERY_S:
            self.tell(what)

    def tell(self, what: str = "") -> None:
        """Tell something, and how much is done."""
        self._told = self._clock()
        self._tell(f"{what} ({self._line()})" if what else self._line())

    def _line(self) -> str:
        parts = [f"{self._done} of {self._total} runs done"]
        if self._former:
            parts.append(f"{self._former} of them before")
        if self._failed:
            parts.append(f"{self._failed} failed")
        if self._work_done and self._done < self._total:
            left = (self._clock() - self._begun) / self._work_done * self._work_left
            parts.append(f"about {_duration(left)} left")
        return ", ".join(parts)


def _duration(seconds: float) -> str:
    if seconds < 90.0:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60.0)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60:02d} min"
