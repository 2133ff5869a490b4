# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Participants that the clock waits for, admits and goes on without; what readers get to know."""

from __future__ import annotations

import json

import pytest
from support.behaviours import wire
from support.memberships import END, spec, system

from ros2_cosim.core.kernel.channel import Channel, SequenceNumbers
from ros2_cosim.core.kernel.graph import Graph, InputPort, ParticipantSpec
from ros2_cosim.core.kernel.membership import MembershipView, Presence
from ros2_cosim.core.kernel.time import FOREVER, NEVER


def test_the_horizon_stops_at_the_entry_of_a_missing_participant() -> None:
    membership, coordinator = system(spec("b", enter_ns=70))
    assert membership.at_start == {"a"}
    assert coordinator.horizon == 50
    coordinator.completed("a", 500)
    assert (coordinator.time, coordinator.horizon, coordinator.stops_at) == (70, 70, 70)
    assert coordinator.awaited() == ["b"]
    membership.ready("b")
    assert coordinator.awaited() == []
    assert (coordinator.time, coordinator.horizon, coordinator.stops_at) == (70, 120, END)


def test_of_those_that_are_named_the_start_waits_for_those_that_can_be_there() -> None:
    specs = [spec("b", enter_ns=70), spec("c"), spec("d", free_entry=True)]
    membership, _ = system(*specs, named=("b", "c", "d"))
    assert membership.at_start == {"c", "d"}
    assert membership.dispensable == {"a"}


def test_an_entry_after_the_end_is_not_waited_for() -> None:
    membership, coordinator = system(spec("b", enter_ns=70))
    coordinator.stop_requested("a", 10, "enough")
    coordinator.completed("a", FOREVER)
    assert coordinator.finished
    assert coordinator.awaited() == []
    assert membership.taking_part == {"a"}
    record = membership.record()
    assert record["absent"] == ["b"]
    assert record["presence"] == {"a": [0, None], "b": [None, None]}
    assert record["not_repeatable"] is None


@pytest.mark.parametrize(("allowed", "enter"), [(NEVER, 0), (50, 50), (90, 90)])
def test_a_free_entry_is_where_no_participant_could_be(allowed: int, enter: int) -> None:
    membership, coordinator = system(spec("b", free_entry=True))
    assert coordinator.lower_bound_of("b") == FOREVER
    assert membership.admit(allowed) == []
    membership.ready("b")
    assert membership.admit(allowed) == ["b"]
    assert membership.admit(allowed) == []
    assert membership.presences == (Presence("b", enter, FOREVER),)
    assert coordinator.lower_bound_of("b") == enter
    record = json.loads(json.dumps(membership.record()))
    assert record["presence"]["b"] == [enter, None]
    assert record["not_repeatable"][0] == enter


def test_no_participant_enters_before_what_is_complete() -> None:
    membership, coordinator = system(spec("b", free_entry=True))
    coordinator.completed("a", 300)
    membership.ready("b")
    membership.admit(50)
    assert membership.presences == (Presence("b", 300, FOREVER),)
    assert coordinator.time == 300


@pytest.mark.parametrize(("allowed", "lost"), [(END, False), (45, True), (60, True)])
def test_a_participant_that_comes_too_late_does_not_enter(allowed: int, lost: bool) -> None:
    membership, coordinator = system(spec("b", free_entry=True, leave_ns=50))
    membership.ready("b")
    assert membership.admit(allowed) == ["b"]
    assert ("b" in membership.lost) == lost
    assert coordinator.lower_bound_of("b") == FOREVER
    assert membership.taking_part == {"a"}
    assert membership.record()["presence"]["b"] == [None, None]


def test_a_run_goes_on_without_a_participant_that_is_not_required() -> None:
    membership, coordinator = system(
        spec("b", required=False), spec("c", required=False, enter_ns=70)
    )
    coordinator.completed("a", 65)
    coordinator.completed("b", 40)
    assert not membership.lose("a", "killed")
    assert membership.lose("b", "killed")
    assert not membership.lose("b", "said so, too")
    assert membership.lose("c", "never there")
    assert membership.presences == (Presence("b", NEVER, 40), Presence("c", NEVER, 65))
    assert coordinator.time == 65
    assert membership.at_start == membership.taking_part == {"a"}
    record = membership.record()
    assert record["presence"] == {"a": [0, None], "b": [0, 40], "c": [None, None]}
    assert record["not_repeatable"] == [40, "'b' was lost: killed; 'c' was lost: never there"]


def hearing(**changes: object) -> tuple[MembershipView, Channel, SequenceNumbers]:
    """What reader ``r`` knows of a writer ``w`` of period 10."""
    reader = ParticipantSpec("r", 10, inputs=(InputPort("in"),))
    graph = Graph([spec("w", **changes), reader], wire("w.out>r.in"))
    membership = MembershipView(graph)
    channel = Channel(graph, "w", "out", lambda sample: None)
    membership.watch("w", "out", channel)
    return membership, channel, SequenceNumbers(graph, "w", "out")


def test_nothing_of_an_absent_participant_comes_before_the_horizon() -> None:
    membership, channel, sequence = hearing(free_entry=True)
    received: list[int] = []
    receive = membership.guard(
        "w", sequence, lambda stamp: received.append(sequence.number(stamp, 0))
    )
    membership.update((), 35)
    assert channel.promise == 35
    receive(50)  # its entry is announced on another topic, and may be heard later
    assert received == []
    membership.update((Presence("w", 42, FOREVER),), 90)
    assert channel.promise == 50
    receive(60)
    assert received == [0, 1]


@pytest.mark.parametrize(("horizon", "come"), [(69, False), (70, False), (71, True)])
def test_a_participant_has_come_when_the_horizon_is_beyond_its_entry(
    horizon: int, come: bool
) -> None:
    """It stands at the entry of one that is missing."""
    membership, _, _ = hearing(enter_ns=70)
    assert membership.have_come(["w"], horizon) is come


def test_a_lost_participant_is_silent_for_ever() -> None:
    membership, channel, sequence = hearing(required=False)
    received: list[int] = []
    receive = membership.guard("w", sequence, received.append)
    receive(0)
    membership.update((Presence("w", NEVER, 7),), 90)
    receive(10)
    assert received == [0]
    assert channel.promise == FOREVER
    assert membership.gone == {"w"}


def test_a_permanent_participant_costs_nothing() -> None:
    membership, channel, sequence = hearing()
    receive = [].append
    assert membership.guard("w", sequence, receive) is receive
    membership.update((), 90)
    assert channel.promise == 0


def test_what_is_no_participant_is_never_ready() -> None:
    membership, coordinator = system(spec("b", enter_ns=70))
    membership.ready("stranger")
    assert membership.taking_part == {"a"} and "stranger" not in membership.record()["presence"]
    coordinator.completed("a", 500)
    assert coordinator.awaited() == ["b"]


def test_what_cannot_be_repeated_is_said_in_the_order_of_time() -> None:
    membership, _ = system(spec("b", free_entry=True), spec("c", free_entry=True))
    for name, allowed in (("c", 50), ("b", 90)):
        membership.ready(name)
        assert membership.admit(allowed) == [name]
    assert membership.record()["not_repeatable"] == [
        50,
        "'c' entered when it was ready (with enter: 50ns it repeats); "
        "'b' entered when it was ready (with enter: 90ns it repeats)",
    ]


@pytest.mark.parametrize(("stop", "leaves"), [(19, None), (20, None), (21, 70)])
def test_a_leave_at_the_very_end_is_none(stop: int, leaves: int | None) -> None:
    """A stop ends the run 50 ns later."""
    membership, coordinator = system(spec("b", leave_ns=70))
    coordinator.stop_requested("a", stop, "enough")
    for name in ("a", "b"):
        coordinator.completed(name, FOREVER)
    assert membership.record()["presence"]["b"] == [0, leaves]


@pytest.mark.parametrize(("stop", "presence"), [(19, None), (20, None), (21, 70)])
def test_an_entry_at_the_very_end_is_none(stop: int, presence: int | None) -> None:
    """A stop ends the run 50 ns later."""
    membership, coordinator = system(spec("b", enter_ns=70))
    membership.ready("b")
    coordinator.stop_requested("a", stop, "enough")
    for name in ("a", "b"):
        coordinator.completed(name, FOREVER)
    assert membership.record()["presence"] == {"a": [0, None], "b": [presence, None]}
