# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Participants that go without a word are missed a second later, and no others."""

from __future__ import annotations

from typing import Any

import pytest

from ros2_cosim.core.kernel.lifecycle import State
from ros2_cosim.core.messages.protocol import ParticipantState
from ros2_cosim.ros.node import topics

pytest.importorskip("rclpy", reason="needs rclpy, which make setup installs")

from ros2_cosim.ros.node.departures import Departures

SECOND = 1_000_000_000


class Clock:
    """A session, as far as departures are concerned, and the wall clock."""

    def __init__(self) -> None:
        self.departures = 0
        self.there = {"a", "b"}
        self.now = 0

    def writers(self, topic: str) -> int:
        return int(topic in {topics.completion(name) for name in self.there})

    def goes(self, name: str) -> None:
        self.there.discard(name)
        self.departures += 1


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def states() -> dict[str, ParticipantState | None]:
    return {"a": ParticipantState("a", State.RUNNING, ""), "b": None}


def watch(clock: Clock, states: dict[str, ParticipantState | None]) -> Departures:
    session: Any = clock
    return Departures(session, states, lambda: clock.now)


def test_one_that_goes_is_found_a_second_later(clock: Clock, states: Any) -> None:
    departures = watch(clock, states)
    assert departures.found() == []
    clock.goes("a")
    clock.now = 5 * SECOND
    assert departures.found() == []
    clock.now = 6 * SECOND - 1
    clock.goes("b")  # has not been seen: nothing is known of it
    assert departures.found() == []
    clock.now = 6 * SECOND
    assert departures.found() == ["a"]


@pytest.mark.parametrize("state", [s for s in State if s >= State.STOPPED])
def test_one_that_has_told_of_its_end_is_not(clock: Clock, states: Any, state: State) -> None:
    departures = watch(clock, states)
    clock.goes("a")
    assert departures.found() == []
    states["a"] = ParticipantState("a", state, "")
    clock.now = 10 * SECOND
    assert departures.found() == []


def test_one_that_comes_again_is_not(clock: Clock, states: Any) -> None:
    departures = watch(clock, states)
    clock.goes("a")
    assert departures.found() == []
    clock.there.add("a")
    clock.now = 10 * SECOND
    assert departures.found() == []
