# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Waiting for messages without sleeping, where they come at once.

To be woken takes tens of microseconds, and more on a virtual machine: as long as a whole step of a
small system. Two processes that take turns look for each other's messages for a moment before they
sleep. It is given up where it does not pay: in a run that is paced, paused or waits for a slow
participant, and where other programs want the processors.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from time import perf_counter_ns
from typing import Any, Final

#: For peers that answer one another, as a master and its slaves [ns].
DIALOGUE_NS: Final = 400_000
#: A wait counts as at most so many times what one may look for messages.
_LONGEST: Final = 8
#: Weight of a wait in the mean of the last ones.
_WEIGHT: Final = 0.125
#: After so many waits it is found out whether other programs want the processors.
_WAITS: Final = 32
#: They do if more threads than this run for each processor: most of those of a run are asleep.
_WANTED: Final = 2
#: Then it does not look for so many times that number of waits, twice as many each time.
_REST: Final = 4
_LONGEST_REST: Final = 256


def threads_running() -> int | None:
    """How many threads of the machine are running, or ready to; None where it does not say it."""
    try:
        with open("/proc/loadavg", "rb", buffering=0) as file:
            return int(file.read(64).split()[3].partition(b"/")[0])
    except (OSError, IndexError, ValueError):
        return None


class BriefWaits:
    """Waits of one thread, which looks for messages as long as waits are brief in the mean.

    :param look_ns: how long it looks before it sleeps [ns]; 0: it does not
    :param clock: monotonic [ns]
    :param running: how many threads of the machine run, or are ready to; None if that is unknown:
        then it does not look
    """

    def __init__(
        self,
        look_ns: int,
        clock: Callable[[], int] = perf_counter_ns,
        running: Callable[[], int | None] = threads_running,
    ) -> None:
        self._clock = clock
        self._running = running
        self._processors = len(os.sched_getaffinity(0))
        # With one processor no other process gets on while this one looks.
        self._look_ns: int = look_ns if self._processors > 1 else 0
        self._longest_ns: int = _LONGEST * look_ns
        self._mean_ns: float = float(self._longest_ns)
        #: Waits until the next check, and how often that number of them the next rest lasts.
        self._left: int = _WAITS
        self._rest: int = _REST
        #: Whether no other program wanted the processors lately.
        self._is_free: bool = False

    def wait(self, events: Callable[[float], Any], seconds: float) -> Any:
        """What is there, or comes first within the time.

        :param events: gives what is there or comes within so many seconds
        """
        look = self._look_ns
        if look == 0 or seconds * 1e9 < look:
            return events(seconds)
        began = self._clock()
        self._left -= 1
        if self._left <= 0:
            self._check()
        found: Any = None
        if self._is_free and self._mean_ns < look:
            while True:
                found = events(0.0)
                if found or self._clock() - began >= look:
                    break
                os.sched_yield()
            seconds = max(0.0, seconds - look * 1e-9)
        if not found:
            found = events(seconds)
        waited = min(self._clock() - began, self._longest_ns)
        self._mean_ns += _WEIGHT * (waited - self._mean_ns)
        return found

    def _check(self) -> None:
        """Find out whether other programs want the processors."""
        running = self._running()
        if running is None:
            self._look_ns = 0
        elif running > _WANTED * self._processors:
            self._is_free = False
            self._left = _WAITS * self._rest
            self._rest = min(2 * self._rest, _LONGEST_REST)
        else:
            self._is_free = True
            self._left = _WAITS
            self._rest = max(_REST, self._rest - 1)
