# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The machine's clock, how well deadlines are kept, and what real time was granted."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time

import pytest

from ros2_cosim.core.realtime.hard_realtime import (
    SLOW_PRIORITY,
    HardRealtime,
    _locked_memory,
    _real_time_priority,
    lower_priority,
)
from ros2_cosim.core.realtime.wall_clock import MonotonicClock, Timing


def test_a_sleep_ends_at_its_deadline_or_later_and_one_in_the_past_at_once() -> None:
    clock = MonotonicClock()
    assert clock.absolute
    for waiting in (clock, _without_absolute_waits()):
        deadline = waiting.now() + 3_000_000
        waiting.sleep_until(deadline)
        assert deadline <= waiting.now() <= time.monotonic_ns()
        before = waiting.now()
        waiting.sleep_until(before - 10**18)
        assert waiting.now() >= before


def _without_absolute_waits() -> MonotonicClock:
    clock = MonotonicClock()
    clock._nanosleep = None
    assert not clock.absolute
    return clock


def test_the_figures_of_no_step_and_of_some() -> None:
    timing = Timing()
    figures = timing.figures()
    assert figures.pop("lateness_classes") == []
    assert figures == {
        "steps": 0,
        "overruns": 0,
        "slips": 0,
        "slipped_ms": 0.0,
        "lateness_us": {"last": 0.0, "mean": 0.0, "max": 0.0},
        "busy_us": 0.0,
    }
    timing.began(3000)
    timing.began(9000)
    timing.began(-500)
    timing.ended(40_000, False)
    timing.ended(60_000, True)
    timing.ended(80_000, True)
    timing.slipped(2_500_000)
    timing.slipped(1_000_000)
    figures = timing.figures()
    assert sum(count for _, count in figures.pop("lateness_classes")) == 3
    assert figures["lateness_us"]["last"] == 0.0 and figures["lateness_us"]["max"] == 9.0
    assert figures["steps"] == 3 and figures["overruns"] == 2
    assert (figures["slips"], figures["slipped_ms"], figures["busy_us"]) == (2, 3.5, 60.0)
    timing.began(7000)
    assert timing.figures()["lateness_us"]["last"] == 7.0


def test_what_was_granted_is_one_sentence() -> None:
    all_of_it = HardRealtime("", "", "")
    assert all_of_it.granted
    assert all_of_it.statement() == (
        "hard real time: priority, locked memory and absolute deadlines granted"
    )
    for refused, said in (
        (HardRealtime("no", "", ""), "real-time priority (no)"),
        (HardRealtime("", "none", ""), "locked memory (none)"),
        (HardRealtime("", "", "gone"), "absolute deadlines (gone)"),
        (HardRealtime("no", "", "gone"), "real-time priority (no), absolute deadlines (gone)"),
    ):
        assert not refused.granted
        assert refused.statement() == f"soft real time only; not granted: {said}"


def test_the_figures_of_one_step_are_its_own() -> None:
    timing = Timing()
    timing.began(3000)
    timing.ended(40_000, False)
    figures = timing.figures()
    assert figures["lateness_us"] == {"last": 3.0, "mean": 3.0, "max": 3.0}
    assert (figures["busy_us"], figures["overruns"]) == (40.0, 0)


def test_what_is_said_of_the_priority_is_what_the_thread_has() -> None:
    """Priorities are those of a thread on Linux: this one ends with its own."""
    found: list[tuple[str, int]] = []

    def ask() -> None:
        lower_priority()
        assert os.sched_getscheduler(0) == os.SCHED_OTHER
        found.append((_real_time_priority(), os.sched_getscheduler(0)))
        lower_priority()
        found.append(("", os.sched_getparam(0).sched_priority))

    thread = threading.Thread(target=ask)
    thread.start()
    thread.join()
    (refused, policy), (_, lowered) = found
    if policy == os.SCHED_FIFO:
        assert (refused, lowered) == ("", SLOW_PRIORITY)
    else:
        assert refused.startswith("SCHED_FIFO: ") and refused.endswith("or an rtprio limit")
        assert lowered == 0


def test_a_system_without_a_lock_for_memory_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ctypes.util.find_library", lambda name: None)
    assert _locked_memory() == "this operating system has no mlockall"


def test_memory_that_is_not_locked_is_said_with_what_is_needed() -> None:
    """A process without a limit for locked memory, and without the right to do without one."""
    program = """
import os, resource
from ros2_cosim.core.realtime.hard_realtime import _locked_memory
resource.setrlimit(resource.RLIMIT_MEMLOCK, (0, 0))
if os.getuid() == 0:
    os.setuid(65534)
print(_locked_memory())
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == (
        "mlockall: Operation not permitted; it needs CAP_IPC_LOCK or a memlock limit\n"
    ), done.stderr
