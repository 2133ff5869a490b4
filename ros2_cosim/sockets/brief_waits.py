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


def processor_delay_ns() -> int | None:
    """How long this thread has been ready to run, and another one had the processor [ns].

    None where the system does not say it.
    """
    try:
        with open("/proc/thread-self/schedstat", "rb", buffering=0) as file:
            return int(file.read(64).split()[1])
    except (OSError, IndexError, ValueError):
        return None


#: A wait counts as at most so many times what may be looked for messages.
_LONGEST: Final = 8
#: Weight of a wait in the mean of the last ones.
_WEIGHT: Final = 0.125
#: After so many waits it is found out whether the thread has had to wait for a processor.
_WAITS: Final = 32
#: For at most so large a share of the time; else others want the processors, and to look for
#: messages keeps them from what is to send these.
_SHARE: Final = 0.2
#: Then it is not looked for so many times that number of waits, each time twice as often.
_REST: Final = 8
_LONGEST_REST: Final = 1024


class BriefWaits:
    """Waits of one thread, which looks for messages as long as waits are brief in the mean.

    :param look_ns: how long it looks before it sleeps [ns]; 0: it does not
    :param clock: monotonic [ns]
    :param delayed: how long the thread has waited for a processor so far [ns]; None if unknown:
        then it does not look
    """

    def __init__(
        self,
        look_ns: int,
        clock: Callable[[], int] = perf_counter_ns,
        delayed: Callable[[], int | None] = processor_delay_ns,
    ) -> None:
        self._clock = clock
        self._delayed = delayed
        # With one processor no other process gets on while this one looks.
        self._look_ns: int = look_ns if len(os.sched_getaffinity(0)) > 1 else 0
        self._longest_ns: int = _LONGEST * look_ns
        self._mean_ns: float = float(self._longest_ns)
        #: Waits until the next check, and how often that number of them the next rest lasts.
        self._left: int = _WAITS
        self._rest: int = _REST
        #: Whether no other program wanted the processors lately.
        self._is_free: bool = False
        self._checked_at: int = 0
        self._delay_ns: int = 0

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
            self._check(began)
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

    def _check(self, now: int) -> None:
        """Find out whether other programs want the processors."""
        delay = self._delayed()
        if delay is None:
            self._look_ns = 0
            return
        was_free = self._is_free
        self._is_free = delay - self._delay_ns < _SHARE * (now - self._checked_at)
        self._checked_at, self._delay_ns = now, delay
        if self._is_free:
            self._left = _WAITS
            if was_free:
                self._rest = max(_REST, self._rest // 2)
        else:
            self._left = _WAITS * self._rest
            self._rest = min(2 * self._rest, _LONGEST_REST)
