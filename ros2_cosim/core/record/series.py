# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Curves and events of any length in bounded memory: what a chart of some hundred pixels needs."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field

#: Up to twice as many points are all kept; a chart shows some hundreds of them.
LIMIT = 4096


@dataclass
class Series:
    """Values over simulated time [s]; of a long one, the extremes of stretches of equal length.

    What is kept depends on the values alone, not on how they arrive.
    """

    times: list[float] = field(default_factory=list)
    values: list[float] = field(default_factory=list)
    #: Points in a stretch of which two are kept; 1: all are.
    _stretch: int = 1
    _open: list[tuple[float, float]] = field(default_factory=list)

    def add(self, time: float, value: float) -> None:
        """Append one value."""
        if self._stretch == 1:
            self.times.append(time)
            self.values.append(value)
        else:
            self._open.append((time, value))
            if len(self._open) < self._stretch:
                return
            self._keep(extremes(self._open))
            self._open.clear()
        if len(self.times) >= 2 * LIMIT:
            self._thin()

    def finish(self) -> None:
        """Take the last values, which fill no stretch."""
        self._keep(self._open if len(self._open) <= 2 else extremes(self._open))
        self._open.clear()

    def _keep(self, points: Iterable[tuple[float, float]]) -> None:
        for time, value in points:
            self.times.append(time)
            self.values.append(value)

    def _thin(self) -> None:
        """Keep two points of four: half of them."""
        points = list(zip(self.times, self.values, strict=True))
        self.times.clear()
        self.values.clear()
        for start in range(0, len(points), 4):
            self._keep(extremes(points[start : start + 4]))
        self._stretch = 4 if self._stretch == 1 else 2 * self._stretch


def extremes(points: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """The points with the smallest and with the largest value, in the order of their times.

    Of points without a finite value, the first one twice: a gap stays a gap.
    """
    finite = [point for point in points if math.isfinite(point[1])]
    if not finite:
        return [points[0], points[0]]
    low = min(finite, key=_value)
    high = max(finite, key=_value)
    return [low, high] if low[0] <= high[0] else [high, low]


def _value(point: tuple[float, float]) -> float:
    return point[1]


@dataclass
class Events:
    """Times of events [s]; of many, every second, fourth ... and so on is kept."""

    count: int = 0
    times: list[float] = field(default_factory=list)
    last: float = 0.0
    _every: int = 1

    def add(self, time: float) -> None:
        """Append one time."""
        if self.count % self._every == 0:
            self.times.append(time)
            if len(self.times) >= 2 * LIMIT:
                del self.times[1::2]
                self._every *= 2
        self.count += 1
        self.last = time

    @property
    def is_whole(self) -> bool:
        """Whether all of them are kept."""
        return self._every == 1
