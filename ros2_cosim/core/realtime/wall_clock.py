# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The wall clock as something that can be exchanged, and how well deadlines are kept."""

from __future__ import annotations

import ctypes
import sys
import time
from typing import Any, Protocol

from ros2_cosim.core.kernel.time import SECOND
from ros2_cosim.core.realtime.histogram import Histogram

_CLOCK_MONOTONIC = 1
_TIMER_ABSTIME = 1


class WallClock(Protocol):
    """A clock to run against; times are integer nanoseconds from its own origin."""

    def now(self) -> int:
        """The time now; never decreases."""

    def sleep_until(self, deadline: int) -> None:
        """Return at the deadline or a little later; at once if it has passed."""


class _Timespec(ctypes.Structure):
    _fields_ = (("tv_sec", ctypes.c_long), ("tv_nsec", ctypes.c_long))


class MonotonicClock:
    """The machine's monotonic clock.

    Where the system has ``clock_nanosleep``, a wait ends at an absolute time (TIMER_ABSTIME):
    being preempted between reading the clock and going to sleep makes no wait longer.
    """

    def __init__(self) -> None:
        self._nanosleep = None
        if sys.platform == "linux" and ctypes.sizeof(ctypes.c_long) == 8:
            library = ctypes.CDLL(None)
            self._nanosleep = getattr(library, "clock_nanosleep", None)

    @property
    def absolute(self) -> bool:
        """Whether the system itself waits for absolute times."""
        return self._nanosleep is not None

    def now(self) -> int:
        """Nanoseconds since some time before."""
        return time.monotonic_ns()

    def sleep_until(self, deadline: int) -> None:
        """Sleep; the deadline is absolute, so what is lost here is not lost twice."""
        while (rest := deadline - time.monotonic_ns()) > 0:
            if self._nanosleep is None:
                time.sleep(rest / 1e9)
                continue
            until = _Timespec(*divmod(deadline, SECOND))
            # Interrupted by a signal: Python handles it, and the loop goes on.
            self._nanosleep(_CLOCK_MONOTONIC, _TIMER_ABSTIME, ctypes.byref(until), None)


class Timing:
    """How well a run keeps its deadlines; times of the wall clock in nanoseconds.

    A step is an *overrun* if it was not finished when the next one was due.
    """

    def __init__(self) -> None:
        #: How late steps began.
        self.lateness = Histogram()
        self.last_lateness_ns = 0
        self.overruns = 0
        self.slips = 0
        self.slipped_ns = 0
        self.ended_steps = 0
        self.busy_ns = 0

    def began(self, lateness_ns: int) -> None:
        """A step began so long after its deadline."""
        self.last_lateness_ns = max(0, lateness_ns)
        self.lateness.add(lateness_ns)

    def ended(self, busy_ns: int, overrun: bool) -> None:
        """The step took so long, and perhaps too long."""
        self.ended_steps += 1
        self.busy_ns += busy_ns
        self.overruns += overrun

    def slipped(self, lag_ns: int) -> None:
        """The run does not catch up on so much."""
        self.slips += 1
        self.slipped_ns += lag_ns

    def figures(self) -> dict[str, Any]:
        """All figures; ``lateness_classes`` are [upper bound in s or None, count]."""
        lateness = self.lateness
        return {
            "steps": lateness.number,
            "overruns": self.overruns,
            "slips": self.slips,
            "slipped_ms": self.slipped_ns / 1e6,
            "lateness_us": {
                "last": self.last_lateness_ns / 1e3,
                "mean": lateness.total_ns / max(1, lateness.number) / 1e3,
                "max": lateness.largest_ns / 1e3,
            },
            "lateness_classes": lateness.plain()["classes"],
            "busy_us": self.busy_ns / max(1, self.ended_steps) / 1e3,
        }
