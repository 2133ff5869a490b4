# SPDX-License-Identifier: Apache-2.0
"""Simulated time against the wall clock: absolute deadlines, computed from the start.

The deadline of a simulated time t is ``origin + t / rate``, in integer nanoseconds and exact
fractions: errors of single waits never add up. The clock is injected, so that tests need none.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import sys
import time
from fractions import Fraction
from typing import Protocol

from ros2_cosim.realtime.histogram import Histogram

_CLOCK_MONOTONIC = 1
_TIMER_ABSTIME = 1
_SECOND = 1_000_000_000


class WallClock(Protocol):
    """A monotonic clock that can be waited for; nanoseconds from any origin."""

    def now(self) -> int:
        """The time."""

    def sleep_until(self, deadline: int) -> None:
        """Return at ``deadline`` or later; at once if it has passed."""


class _Timespec(ctypes.Structure):
    _fields_ = (("tv_sec", ctypes.c_long), ("tv_nsec", ctypes.c_long))


class SystemClock:
    """The monotonic clock of the operating system.

    Where it has ``clock_nanosleep``, a wait ends at an absolute time (TIMER_ABSTIME): being
    preempted between reading the clock and going to sleep makes no wait longer.
    """

    def __init__(self) -> None:
        self._nanosleep = None
        if sys.platform == "linux" and ctypes.sizeof(ctypes.c_void_p) == 8:
            library = ctypes.CDLL(ctypes.util.find_library("c") or "libc.so.6")
            self._nanosleep = getattr(library, "clock_nanosleep", None)

    @property
    def absolute(self) -> bool:
        """Whether waits end at absolute times of the operating system."""
        return self._nanosleep is not None

    def now(self) -> int:
        """See :class:`WallClock`."""
        return time.monotonic_ns()

    def sleep_until(self, deadline: int) -> None:
        """See :class:`WallClock`."""
        while (left := deadline - time.monotonic_ns()) > 0:
            if self._nanosleep is None:
                time.sleep(left / 1e9)
                continue
            wanted = _Timespec(*divmod(deadline, _SECOND))
            # Interrupted by a signal: Python handles it, and the loop goes on.
            self._nanosleep(_CLOCK_MONOTONIC, _TIMER_ABSTIME, ctypes.byref(wanted), None)


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
    if pacer is None or pacer.rate != rate:
        pacer = Pacer(rate, pacer.clock if pacer else SystemClock())
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
