# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The ticks of a real-time run: time of the next one, number of late ones."""

from __future__ import annotations

from fractions import Fraction


class TickPlan:
    """Ticks at ``origin + n * resolution`` on a monotonic clock.

    The due times are computed from the origin each time, so rounding does not add up.

    :ivar due: monotonic time of the next tick, None while there is none
    :ivar overruns: ticks that ended after the next one was due
    :ivar worst_s: greatest such lateness in seconds
    """

    _origin: float
    _resolution: Fraction
    _count: int

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        """No ticks, and none counted."""
        self.due: float | None = None
        self.overruns = 0
        self.worst_s = 0.0

    def start(self, origin: float, resolution: Fraction) -> None:
        """First tick at ``origin``; a later call moves the ticks to a new origin."""
        self._origin, self._resolution, self._count = origin, resolution, 0
        self.due = origin

    def advance(self, now: float) -> bool:
        """A tick is done; returns whether it ended after the next was due."""
        self._count += 1
        self.due = self._origin + float(self._count * self._resolution)
        late = now - self.due
        if late <= 0:
            return False
        self.overruns += 1
        self.worst_s = max(self.worst_s, late)
        return True

    def deviation(self, now: float) -> float | None:
        """Distance of ``now`` from the nearest tick in seconds, negative before it; None without
        ticks.
        """
        if self.due is None:
            return None
        resolution = float(self._resolution)
        nearest = max(0, round((now - self._origin) / resolution))
        return now - self._origin - float(nearest * self._resolution)

    def stop(self) -> None:
        """No more ticks."""
        self.due = None
