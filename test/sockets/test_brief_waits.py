# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Waits that look for messages before they sleep, as long as that pays."""

from __future__ import annotations

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ros2_cosim.core.sockets.brief_waits import BriefWaits, threads_running

LOOK_NS = 1000
LOOK_COST_NS = 10


class Line:
    """A socket to which the next message comes so and so long after a wait for it has begun."""

    def __init__(self, *, cores: int = 2, look_ns: int = LOOK_NS) -> None:
        self.now = 0
        self.due = 0
        #: Threads that want a processor; None: unknown.
        self.wanted: int | None = 2
        self.sleeps = 0
        self.looks = 0
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(os, "sched_getaffinity", lambda pid: set(range(cores)))
            self._waits = BriefWaits(look_ns, lambda: self.now, lambda: self.wanted)

    def events(self, seconds: float) -> list[str]:
        if seconds == 0.0:
            self.looks += 1
            self.now += LOOK_COST_NS
        else:
            self.sleeps += 1
            self.now = max(self.now, min(self.due, self.now + round(seconds * 1e9)))
        return ["message"] if self.now >= self.due else []

    def wait(self, delay_ns: int, seconds: float = 1.0) -> list[str]:
        self.due = self.now + delay_ns
        found: list[str] = self._waits.wait(self.events, seconds)
        return found


def test_where_messages_come_at_once_it_does_not_sleep() -> None:
    line = Line()
    for _ in range(100):
        assert line.wait(300) == ["message"]
    asleep = line.sleeps
    assert 0 < asleep < 50
    for _ in range(100):
        assert line.wait(300) == ["message"]
    assert line.sleeps == asleep


@pytest.mark.parametrize("line", [Line(cores=1), Line(look_ns=0)])
def test_with_one_processor_it_sleeps(line: Line) -> None:
    for _ in range(100):
        line.wait(300)
    assert (line.sleeps, line.looks) == (100, 0)


def test_where_messages_take_their_time_it_sleeps_again() -> None:
    line = Line()
    for _ in range(100):
        line.wait(300)
    assert line.looks
    for _ in range(50):
        line.wait(5 * LOOK_NS)
    looks = line.looks
    for _ in range(50):
        line.wait(5 * LOOK_NS)
    assert line.looks == looks


def test_where_others_want_the_processors_it_sleeps() -> None:
    line = Line()
    for _ in range(100):
        line.wait(300)
    assert line.looks
    line.wanted = 5
    for _ in range(32):
        line.wait(300)
    looks = line.looks
    for _ in range(1000):
        line.wait(300)
    assert line.looks == looks
    line.wanted = 2
    for _ in range(10_000):
        line.wait(300)
    asleep = line.sleeps
    line.wait(300)
    assert line.sleeps == asleep


def test_where_it_is_unknown_it_sleeps() -> None:
    line = Line()
    line.wanted = None
    for _ in range(100):
        line.wait(300)
    assert (line.sleeps, line.looks) == (100, 0)


def test_the_system_says_how_many_threads_run() -> None:
    wanted = threads_running()
    assert wanted is None or wanted >= 1


@given(
    st.lists(
        st.tuples(st.integers(0, 20 * LOOK_NS), st.sampled_from([0.0, 1e-7, 1e-6, 5e-6, 1.0])),
        max_size=200,
    )
)
def test_a_wait_gives_what_comes_in_its_time_and_lasts_no_longer(
    waits: list[tuple[int, float]],
) -> None:
    line = Line()
    for delay, seconds in waits:
        began = line.now
        found = line.wait(delay, seconds)
        assert bool(found) == (line.now >= line.due)
        if not found:
            assert line.now - began >= round(seconds * 1e9) - LOOK_COST_NS
        assert line.now - began <= max(delay, round(seconds * 1e9)) + 3 * LOOK_COST_NS
        assert line.now - began <= max(round(seconds * 1e9), 0) + 3 * LOOK_COST_NS
