# SPDX-License-Identifier: Apache-2.0
"""Simulated time against the wall clock: absolute deadlines, computed from the start.

The deadline of a simulated time t is ``origin + t / rate``, in integer nanoseconds and exact
fractions: errors of single waits never add up. The clock is injected, so that tests need none.
"""

from __future__ import annotations

from fractions import Fraction

from ros2_cosim.realtime.histogram import Histogram
from ros2_cosim.realtime.wall_clock import MonotonicClock, WallClock


def exact_rate(rate: float) -> Fraction:
    """A real-time factor as an exact fraction: 0.1 is one tenth, not the nearest double."""
    return Fraction(repr(rate))


def continued(pacer: Pacer | None, rate: float | None, time: int) -> Pacer | None:
    """The pace of a run that goes on now at simulated ``time`` [ns].

    :param pacer: its pace so far, None for as fast as possible
    :param rate: its real-time factor from now on, None for as fast as possible
    """
    if rate is None:
        return None
    if pacer is None:
        pacer = Pacer(rate, MonotonicClock())
    else:
        pacer.change(rate)  # the same object: deadlines of participants follow it
    pacer.start(pacer.clock.now() - pacer.wall(time))
    return pacer


class Pacer:
    """When a simulated time is due on the wall clock.

    :param rate: real-time factor, above zero
    :param clock: the wall clock
    :param floating: the origin is not known (another process paces): it is taken from the
        earliest begin, relative to its time, of all activations seen so far
    """

    def __init__(self, rate: float, clock: WallClock, *, floating: bool = False) -> None:
        self.rate = rate
        self.clock = clock
        self.floating = floating
        self.waits = 0
        self.late = 0
        self.slipped_ns = 0
        #: How late a simulated time began, after waiting for it.
        self.jitter = Histogram()
        self._factor = exact_rate(rate)
        self._origin: int | None = None

    def start(self, at: int | None = None) -> None:
        """Simulated time 0 is now, or at the wall time ``at`` [ns]."""
        self._origin = self.clock.now() if at is None else at

    def change(self, rate: float) -> None:
        """Another real-time factor; :meth:`start` then says where it counts from."""
        self.rate = rate
        self._factor = exact_rate(rate)

    def wall(self, duration: int) -> int:
        """Wall time [ns] that a simulated duration [ns] takes."""
        return duration * self._factor.denominator // self._factor.numerator

    def simulated(self, duration: int) -> int:
        """Simulated time [ns] that passes in a wall duration [ns]."""
        return duration * self._factor.numerator // self._factor.denominator

    def due(self, time: int) -> int:
        """Wall time [ns] at which simulated ``time`` [ns] is due."""
        if self._origin is None:
            self.start()
        assert self._origin is not None
        return self._origin + self.wall(time)

    def began(self, time: int) -> int:
        """Note that the activation at ``time`` [ns] begins now; returns how late it is [ns]."""
        now = self.clock.now()
        if self.floating and (self._origin is None or now - self.wall(time) < self._origin):
            self._origin = now - self.wall(time)
        return now - self.due(time)

    def wait(self, time: int) -> int:
        """Wait until ``time`` [ns] is due.

        :returns: how late it is [ns]: the wait was too long, or the work before it
        """
        due = self.due(time)
        if self.clock.now() > due:
            self.late += 1
        else:
            self.clock.sleep_until(due)
        lateness = max(0, self.clock.now() - due)
        self.waits += 1
        self.jitter.add(lateness)
        return lateness

    def slip(self, duration: int) -> None:
        """Move all later deadlines by a wall duration [ns]: lost time is not caught up."""
        if self._origin is None:
            self.start()
        assert self._origin is not None
        self._origin += duration
        self.slipped_ns += duration
