# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Hard real time as far as the operating system lets a process have it.

Three things keep a process from its deadline: others that run instead of it (real-time
priority, SCHED_FIFO), pages that have to be read back (memory locked), and waits that add up
(absolute deadlines, see ``pacing``). Each is requested; the statement names what is refused.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import gc
import os
from typing import NamedTuple

from ros2_cosim.core.documents.files import cause_of

_MCL_CURRENT = 1
_MCL_FUTURE = 2
#: In the middle of 1..99: above ordinary work, below the kernel's own threads.
PRIORITY = 50
#: Of the threads of slow parts.
SLOW_PRIORITY = 40


class HardRealtime(NamedTuple):
    """What a process got: an empty text means granted, anything else says why not."""

    priority: str
    memory: str
    timer: str

    @property
    def granted(self) -> bool:
        """Whether nothing was refused."""
        return not (self.priority or self.memory or self.timer)

    def statement(self) -> str:
        """One plain sentence."""
        if self.granted:
            return "hard real time: priority, locked memory and absolute deadlines granted"
        refused = [
            f"{name} ({reason})"
            for name, reason in (
                ("real-time priority", self.priority),
                ("locked memory", self.memory),
                ("absolute deadlines", self.timer),
            )
            if reason
        ]
        return f"soft real time only; not granted: {', '.join(refused)}"


def request_hard_realtime(*, absolute_timer: bool) -> HardRealtime:
    """Ask for SCHED_FIFO and locked memory for this process; raises no error.

    The garbage collector stays off from then on: the process belongs to the run.

    :param absolute_timer: whether the clock in use waits for absolute times
    """
    # A full collection takes many milliseconds; only cycles need it, and there are few.
    gc.collect()
    gc.freeze()
    gc.disable()
    timer = "" if absolute_timer else "clock_nanosleep is not available"
    return HardRealtime(_real_time_priority(), _locked_memory(), timer)


def lower_priority() -> None:
    """Give the calling thread less real-time priority: what may be late must not go first.

    It keeps some: while it holds Python's global lock, no other process should make it wait.
    """
    if hasattr(os, "sched_getscheduler") and os.sched_getscheduler(0) == os.SCHED_FIFO:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(SLOW_PRIORITY))


def _real_time_priority() -> str:
    if not hasattr(os, "sched_setscheduler"):
        return "this operating system has no SCHED_FIFO"
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(PRIORITY))
    except OSError as error:
        return f"SCHED_FIFO: {cause_of(error)}; it needs CAP_SYS_NICE or an rtprio limit"
    return ""


def _locked_memory() -> str:
    name = ctypes.util.find_library("c")
    library = ctypes.CDLL(name, use_errno=True) if name else None
    lock = getattr(library, "mlockall", None)
    if lock is None:
        return "this operating system has no mlockall"
    if lock(_MCL_CURRENT | _MCL_FUTURE) != 0:
        reason = os.strerror(ctypes.get_errno())
        return f"mlockall: {reason}; it needs CAP_IPC_LOCK or a memlock limit"
    return ""
