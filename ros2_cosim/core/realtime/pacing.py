# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Simulated time against wall time: one exact scale, and a clock that waits by it.

On a :class:`TimeScale` a simulated time t is due at ``wall + (t - simulated) / rate``, in integer
nanoseconds and exact fractions, always counted from the start: errors of single waits never add
up. A :class:`Pacer` is a scale with a wall clock. The clock is injected, so that tests need none.
"""

from __future__ import annotations

from fractions import Fraction

from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.time import FOREVER, saturating_add
from ros2_cosim.core.realtime.histogram import Histogram
from ros2_cosim.core.realtime.wall_clock import WallClock

#: A real-time factor is at least the first and below the second. A step of 10 ms takes 100 s with
#: the first: a run that is slower stands, as seen by a user, and a pause is what is meant.
RATE_MINIMUM = 1e-4
RATE_LIMIT = 1e6


def checked_rate(rate: float | None) -> float | None:
    """The real-time factor itself; None: as fast as possible.

    :raises ConfigurationError: it is not a number from ``RATE_MINIMUM`` to below ``RATE_LIMIT``
    """
    if rate is not None and not RATE_MINIMUM <= rate < RATE_LIMIT:
        raise ConfigurationError(_refused(rate))
    return rate


def parse_rate(text: str, name: str = "rate") -> float | None:
    """Real-time factor: a number, or ``max`` for as fast as possible (None).

    :param name: of what has it, for the error
    :raises ConfigurationError: anything else
    """
    if text == "max":
        return None
    try:
        return checked_rate(float(text))
    except (ValueError, ConfigurationError):
        raise ConfigurationError(_refused(repr(text), name)) from None


def _refused(found: object, name: str = "rate") -> str:
    return (
        f"{name}: found {found}; allowed is a number from {RATE_MINIMUM:.4f} to below 1e6, or max"
    )


class TimeScale:
    """Simulated time [ns] against wall time [ns], exact.

    As long as the rate is None (as fast as possible) no time is ever due, and any time may be
    reached; durations then count by the last rate.

    :param rate: real-time factor, None for as fast as possible
    """

    def __init__(self, rate: float | None = None) -> None:
        self._rate: float | None = None
        self._numerator = self._denominator = 1
        self._wall = 0
        self._simulated = 0
        self.change(rate)

    @property
    def rate(self) -> float | None:
        """Real-time factor, None for as fast as possible."""
        return self._rate

    def start(self, wall: int, simulated: int = 0) -> None:
        """The simulated time ``simulated`` [ns] is due at ``wall`` [ns]."""
        self._wall, self._simulated = wall, simulated

    def change(self, rate: float | None) -> None:
        """Another real-time factor; :meth:`start` then says where it counts from.

        A factor is the number as it is written: 0.1 is one tenth, not the nearest double.
        """
        self._rate = rate
        if rate is not None:
            self._numerator, self._denominator = Fraction(repr(float(rate))).as_integer_ratio()

    def slip(self, duration: int) -> None:
        """Move all later deadlines by a wall duration [ns]: lost time is not caught up."""
        self._wall += duration

    def wall(self, duration: int) -> int:
        """Wall time [ns] that a simulated duration [ns] takes, rounded up.

        Rounded up, so that ``simulated(wall(duration)) >= duration``: no instant is due too early.
        """
        return -(-duration * self._denominator // self._numerator)

    def simulated(self, duration: int) -> int:
        """Simulated time [ns] that has passed after a wall duration [ns], rounded down."""
        return duration * self._numerator // self._denominator

    def due(self, time: int) -> int:
        """Wall time [ns] at which a simulated time [ns] is due; FOREVER without a rate."""
        if self._rate is None:
            return FOREVER
        return saturating_add(self._wall, self.wall(time - self._simulated))

    def limit(self, now: int) -> int:
        """Activations before this simulated time [ns] are due at the wall time ``now`` [ns].

        FOREVER without a rate. Otherwise ``time < limit(now)`` exactly if ``due(time) <= now``.
        """
        if self._rate is None:
            return FOREVER
        # + 1: the limit is exclusive, and what is due right now may run.
        return saturating_add(self._simulated, self.simulated(now - self._wall) + 1)


class Pacer(TimeScale):
    """Makes a run wait until a simulated time is due on the wall clock, and counts how late it is.

    :param rate: real-time factor, None for as fast as possible
    :param clock: the wall clock
    :param floating: the origin is not known (another process paces): it is taken from the
        earliest begin, relative to its time, of all activations seen so far
    """

    def __init__(self, rate: float | None, clock: WallClock, *, floating: bool = False) -> None:
        super().__init__(rate)
        self.clock = clock
        self.floating = floating
        self.waits = 0
        self.late = 0
        self.slipped_ns = 0
        #: How late a simulated time began, after waiting for it.
        self.jitter = Histogram()
        self._started = False

    def start(self, wall: int | None = None, simulated: int = 0) -> None:
        """The simulated time ``simulated`` [ns] is due now, or at the wall time ``wall`` [ns]."""
        self._started = True
        super().start(self.clock.now() if wall is None else wall, simulated)

    def due(self, time: int) -> int:
        """Wall time [ns] at which a simulated time [ns] is due; FOREVER without a rate.

        The first question starts a pacer that has not been started.
        """
        if not self._started:
            self.start()
        return super().due(time)

    def began(self, time: int) -> int:
        """Note that the activation at ``time`` [ns] begins now; returns how late it is [ns]."""
        now = self.clock.now()
        if self.floating and (not self._started or now < self.due(time)):
            self.start(now - self.wall(time))
        return now - self.due(time)

    def wait(self, time: int) -> int:
        """Wait until ``time`` [ns] is due; not at all without a rate.

        :returns: how late it is [ns]: the wait was too long, or the work before it
        """
        if self.rate is None:
            return 0
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
        if not self._started:
            self.start()
        super().slip(duration)
        self.slipped_ns += duration
