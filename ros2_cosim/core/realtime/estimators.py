# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""How one number is estimated while its calculated value is late.

Every method is a small class with ``estimate(history, time, state)``. ``history`` holds the
calculated values, newest first; ``state`` the numbers of the fast part by ``port.field``. Only
+ - * / and comparisons are used, so estimates are the same on every machine.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.time import SECOND


class Point(NamedTuple):
    """A calculated value and the time [ns] it belongs to."""

    time: int
    value: float


class Method(Protocol):
    """Estimates one number."""

    def estimate(
        self, history: Sequence[Point], time: int, state: Mapping[str, float]
    ) -> float | None:
        """The value at ``time`` [ns], None if there is nothing to estimate it from."""


class Extrapolation:
    """A polynomial through the last calculated values (Newton's form).

    :param order: 0 holds the last value, 1 is a line, 2 a parabola; while there are fewer
        values than it takes, a lower order is used
    """

    def __init__(self, order: int) -> None:
        if order not in (0, 1, 2):
            raise ConfigurationError(f"order: found {order!r}; allowed are 0, 1 and 2")
        self.order = order

    def estimate(
        self, history: Sequence[Point], time: int, state: Mapping[str, float]
    ) -> float | None:
        """See :class:`Method`."""
        order = min(self.order, len(history) - 1)
        if order < 0:
            return None
        (t0, v0) = history[0]
        if order == 0:
            return v0
        (t1, v1) = history[1]
        ahead = (time - t0) / SECOND
        slope = (v0 - v1) / ((t0 - t1) / SECOND)
        if order == 1:
            return v0 + ahead * slope
        (t2, v2) = history[2]
        former = (v1 - v2) / ((t1 - t2) / SECOND)
        curvature = (slope - former) / ((t0 - t2) / SECOND)
        return v0 + ahead * slope + ahead * ((time - t1) / SECOND) * curvature


class Rate:
    """The last calculated value moves on at a rate that the fast part's state tells.

    :param of: ``port.field`` of the fast part's data
    :param gain: rate of change per second for a state of 1
    """

    def __init__(self, of: str, gain: float) -> None:
        self._of = of
        self._gain = gain

    def estimate(
        self, history: Sequence[Point], time: int, state: Mapping[str, float]
    ) -> float | None:
        """See :class:`Method`."""
        if not history:
            return None
        rate = self._gain * state.get(self._of, 0.0)
        return history[0].value + rate * ((time - history[0].time) / SECOND)


class Curve:
    """A characteristic curve over one number of the fast part: linear between its points.

    :param of: ``port.field`` of the fast part's data
    :param points: (x, y), x growing; beyond the ends the end values hold
    """

    def __init__(self, of: str, points: Sequence[Sequence[float]]) -> None:
        self._of = of
        self._x = _growing([p[0] for p in points], "points")
        self._y = [float(p[1]) for p in points]

    def estimate(
        self, history: Sequence[Point], time: int, state: Mapping[str, float]
    ) -> float | None:
        """See :class:`Method`."""
        x = state.get(self._of)
        return None if x is None else _interpolated(self._x, self._y, x)


class CharacteristicMap:
    """A characteristic map over two numbers of the fast part: bilinear between its points.

    :param of: two times ``port.field`` of the fast part's data
    :param x: first coordinate, growing
    :param y: second coordinate, growing
    :param values: for each x a row of values over y
    """

    def __init__(
        self,
        of: Sequence[str],
        x: Sequence[float],
        y: Sequence[float],
        values: Sequence[Sequence[float]],
    ) -> None:
        self._of = (of[0], of[1])
        self._x = _growing(x, "x")
        self._y = _growing(y, "y")
        if len(values) != len(x) or any(len(row) != len(y) for row in values):
            raise ConfigurationError(
                f"values: found {len(values)} rows; allowed are {len(x)} rows (one for each x) of "
                f"{len(y)} values (one for each y)"
            )
        self._values = [[float(v) for v in row] for row in values]

    def estimate(
        self, history: Sequence[Point], time: int, state: Mapping[str, float]
    ) -> float | None:
        """See :class:`Method`."""
        x, y = state.get(self._of[0]), state.get(self._of[1])
        if x is None or y is None:
            return None
        return _interpolated(self._x, [_interpolated(self._y, row, y) for row in self._values], x)


class EarlierRun:
    """What an earlier run had at the same time, moved so that it passes the last value.

    :param times: [ns], growing
    :param values: of the earlier run
    """

    def __init__(self, times: Sequence[int], values: Sequence[float]) -> None:
        if not times or len(times) != len(values):
            raise ConfigurationError("earlier run: as many times as values are needed, at least 1")
        self._times = list(times)
        self._values = [float(value) for value in values]

    def estimate(
        self, history: Sequence[Point], time: int, state: Mapping[str, float]
    ) -> float | None:
        """See :class:`Method`."""
        then = self._at(time)
        if history:
            return then + (history[0].value - self._at(history[0].time))
        return then

    def _at(self, time: int) -> float:
        times, values = self._times, self._values
        i = bisect_right(times, time)
        if i == 0:
            return values[0]
        if i == len(times):
            return values[-1]
        part = (time - times[i - 1]) / (times[i] - times[i - 1])
        return values[i - 1] + (values[i] - values[i - 1]) * part


class Limits(NamedTuple):
    """Bounds of an estimate: on its value, and on its rate of change per second."""

    minimum: float | None = None
    maximum: float | None = None
    rate: float | None = None

    def apply(self, value: float, last: Point | None, time: int) -> float:
        """Hold ``value`` at ``time`` [ns] within the bounds; ``last`` is the last calculated one.

        The bound on the value wins where both cannot be met.
        """
        if self.rate is not None and last is not None:
            step = self.rate * ((time - last.time) / SECOND)
            value = min(max(value, last.value - step), last.value + step)
        if self.minimum is not None:
            value = max(value, self.minimum)
        if self.maximum is not None:
            value = min(value, self.maximum)
        return value


def _growing(values: Sequence[float], name: str) -> list[float]:
    numbers = [float(value) for value in values]
    if not numbers or any(b <= a for a, b in zip(numbers, numbers[1:], strict=False)):
        raise ConfigurationError(f"{name}: found {numbers!r}; allowed are growing numbers")
    return numbers


def _interpolated(xs: Sequence[float], ys: Sequence[float], x: float) -> float:
    i = bisect_right(xs, x)
    if i == 0:
        return ys[0]
    if i == len(xs):
        return ys[-1]
    part = (x - xs[i - 1]) / (xs[i] - xs[i - 1])
    return ys[i - 1] + (ys[i] - ys[i - 1]) * part
