# SPDX-License-Identifier: Apache-2.0
"""The machine's clock, how well deadlines are kept, and what real time was granted."""

from __future__ import annotations

import time

from ros2_cosim.realtime.hard_realtime import HardRealtime
from ros2_cosim.realtime.wall_clock import MonotonicClock, Timing


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
        assert refused.statement() == f"soft real time only: not granted were {said}"
