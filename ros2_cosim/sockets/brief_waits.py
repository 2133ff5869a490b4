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

#: A wait counts as at most so many times what may be looked for messages.
_LONGEST: Final = 8
#: Weight of a wait in the mean of the last ones.
_WEIGHT: Final = 0.125


class BriefWaits:
    """Waits of one thread, which looks for messages as long as waits are brief in the mean.

    :param look_ns: how long it looks before it sleeps [ns]; 0: it does not
    :param clock: monotonic [ns]
    """

    def __init__(self, look_ns: int, clock: Callable[[], int] = perf_counter_ns) -> None:
        self._clock = clock
        # With one processor nobody else gets on while this one looks.
        self._look_ns: int = look_ns if len(os.sched_getaffinity(0)) > 1 else 0
        self._longest_ns: int = _LONGEST * look_ns
        self._mean_ns: float = float(self._longest_ns)

    def wait(self, events: Callable[[float], Any], seconds: float) -> Any:
        """What is there, or comes first within the time.

        :param events: gives what is there or comes within so many seconds
        """
        look = self._look_ns
        if look == 0 or seconds * 1e9 < look:
            return events(seconds)
        began = self._clock()
        found: Any = None
        if self._mean_ns < look:
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
