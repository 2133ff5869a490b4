# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""When the time-based input clocks of an FMU tick (FMI 3.0, chapter 2.2.8).

Intervals are fractions: tick number n of a periodic clock is at ``shift + n * interval``, rounded
once. Ticks and communication points that differ by rounding are at one time.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from math import inf, isclose
from typing import Any

#: Of FMI 3.0's type IntervalQualifier.
_CHANGED = 2
#: FMPy's name of a variable's kind.
_CLOCK = "Clock"
_PERIODIC = ("constant", "fixed", "tunable")
#: The FMU gives their interval after each tick.
_APERIODIC = ("changing", "countdown")


@dataclass
class TimedClock:
    """One time-based input clock; ``next`` is the time of its next tick [s], or infinite."""

    reference: int
    variability: str
    priority: int
    interval: Fraction | None
    shift: Fraction
    ticks: int = 0
    next: float = inf


class ClockTimes:
    """The time-based input clocks of one instance.

    :param model: FMPy's description
    """

    def __init__(self, model: Any) -> None:
        self._clocks = [
            TimedClock(
                v.valueReference,
                v.intervalVariability,
                int(v.priority or 0),
                _seconds(v.intervalDecimal, v.intervalCounter, v.resolution),
                _seconds(v.shiftDecimal, v.shiftCounter, v.resolution) or Fraction(0),
            )
            for v in model.modelVariables
            if v.type == _CLOCK
            and v.causality == "input"
            and v.intervalVariability in (*_PERIODIC, *_APERIODIC)
        ]

    def begin(self, access: Any) -> None:
        """The initialization is complete: ask for intervals, and set the first ticks."""
        for clock in self._clocks:
            clock.ticks, clock.next = 0, inf
            if clock.variability in _PERIODIC:
                if clock.interval is None:
                    clock.interval = _asked(access, clock.reference)
                clock.next = float(clock.shift)
            else:
                self._ask(access, clock, float(clock.shift))

    def is_due(self, time: float) -> bool:
        """Whether a clock ticks at this time [s], or should have."""
        return any(_reached(clock.next, time) for clock in self._clocks)

    def due(self, time: float) -> list[TimedClock]:
        """The clocks that tick then, the most urgent first."""
        found = [clock for clock in self._clocks if _reached(clock.next, time)]
        return sorted(found, key=lambda clock: (clock.next, clock.priority))

    @property
    def next(self) -> float:
        """The time of the next tick of all [s]."""
        return min((clock.next for clock in self._clocks), default=inf)

    def ticked(self, access: Any, time: float, which: Iterable[int]) -> None:
        """These have ticked at this time [s]: set the next ticks, of countdowns as the FMU says."""
        gone = set(which)
        for clock in self._clocks:
            if clock.reference in gone:
                clock.ticks += 1
                clock.next = inf
                if clock.variability in _PERIODIC and clock.interval:
                    clock.next = float(clock.shift + clock.ticks * clock.interval)
            if clock.variability == "countdown" or (
                clock.variability == "changing" and clock.reference in gone
            ):
                self._ask(access, clock, time)

    @staticmethod
    def _ask(access: Any, clock: TimedClock, time: float) -> None:
        interval = _asked(access, clock.reference)
        if interval is not None:
            clock.next = time + float(interval)


def _asked(access: Any, reference: int) -> Fraction | None:
    """The interval that the FMU gives now; None: there is no new one."""
    which = (ctypes.c_uint * 1)(reference)
    interval, qualifier = (ctypes.c_double * 1)(), (ctypes.c_int * 1)()
    access.getIntervalDecimal(which, interval, qualifier)
    return Fraction(str(interval[0])) if qualifier[0] == _CHANGED else None


def _seconds(decimal: Any, counter: Any, resolution: Any) -> Fraction | None:
    if decimal is not None:
        return Fraction(str(decimal))
    return Fraction(int(counter), int(resolution)) if counter and resolution else None


def _reached(tick: float, time: float) -> bool:
    return tick <= time or isclose(tick, time)
