# SPDX-License-Identifier: Apache-2.0
"""Tells while a sweep goes on how much is done, and how long the rest will take."""

from __future__ import annotations

import time
from collections.abc import Callable

#: A line is told after so much wall time [s], and at the end.
EVERY_S = 5.0


class SweepProgress:
    """Counts runs.

    :param tell: takes the lines
    :param clock: wall time [s]
    """

    def __init__(
        self, tell: Callable[[str], None], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._tell = tell
        self._clock = clock
        self._begun = self._told = clock()
        self._total = 0
        self._done = 0
        self._failed = 0
        self._former = 0

    def expect(self, count: int, former: int) -> None:
        """So many runs more are to be done; others were complete already."""
        self._total += count + former
        self._done += former
        self._former += former

    def done(self, failed: bool) -> None:
        """A run is done."""
        self._done += 1
        self._failed += failed
        now = self._clock()
        if self._done == self._total or now - self._told >= EVERY_S:
            self._told = now
            self._tell(self.line())

    def line(self) -> str:
        """What there is to say."""
        parts = [f"{self._done} of {self._total} runs done"]
        if self._former:
            parts.append(f"{self._former} of them before")
        if self._failed:
            parts.append(f"{self._failed} failed")
        own = self._done - self._former
        if own and self._done < self._total:
            left = (self._clock() - self._begun) / own * (self._total - self._done)
            parts.append(f"about {duration(left)} left")
        return ", ".join(parts)


def duration(seconds: float) -> str:
    """A wall time in words."""
    if seconds < 90.0:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60.0)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60:02d} min"
