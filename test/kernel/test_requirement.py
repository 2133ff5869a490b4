# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Participants that the system controller requires: what is refused, what changes."""

from __future__ import annotations

import pytest
from support.behaviours import Plain, wire
from support.memberships import OUT, spec, system

from ros2_cosim.core.kernel.activation import Count
from ros2_cosim.core.kernel.channel import CausalityCounts, Channel
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.graph import Graph, InputPort, ParticipantSpec
from ros2_cosim.core.kernel.lifecycle import State
from ros2_cosim.core.kernel.lifecycle_group import LifecycleGroup
from ros2_cosim.core.kernel.membership import MembershipView, Presence, check_required
from ros2_cosim.core.kernel.participant import Sample
from ros2_cosim.core.kernel.time import FOREVER, NEVER
from ros2_cosim.core.realtime.run_control import Command, Request, RunControl

IN = (InputPort("in"),)


def chained() -> Graph:
    """``mean`` sends after every second message of ``wave``; ``reader`` knows when that is."""
    mean = ParticipantSpec("mean", activation=Count("in", 2), inputs=IN, outputs=OUT)
    reader = ParticipantSpec("reader", 10, inputs=IN)
    return Graph([spec("wave"), mean, reader], wire("wave.out>mean.in mean.out>reader.in"))


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ([], "no participant is named; participants are mean, reader, wave"),
        (["wave", "gost"], "no participant 'gost'; participants are mean, reader, wave"),
        (
            ["mean", "reader"],
            "'wave' is not named, but readers of mean.out count on its messages; name it, too, or "
            "declare it 'required: false' in the scenario",
        ),
    ],
)
def test_what_the_system_cannot_run_with_is_refused(names: list[str], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        check_required(chained(), names)


@pytest.mark.parametrize("names", [["wave"], ["wave", "mean"], ["wave", "reader"]])
def test_a_participant_that_is_not_counted_on_may_be_left_out(names: list[str]) -> None:
    check_required(chained(), names)


def test_an_optional_participant_of_the_scenario_is_not_counted_on() -> None:
    graph = chained()
    specs = [spec("wave", required=False), graph.participants["mean"], graph.participants["reader"]]
    check_required(Graph(specs, graph.connections), ["mean"])


def test_exactly_those_named_are_waited_for() -> None:
    membership, _ = system(spec("b"), spec("c", required=False), spec("d", free_entry=True))
    assert membership.at_start == {"a", "b", "c"}
    assert membership.dispensable == set()
    membership.require(["a", "d"])
    assert membership.at_start == {"a", "d"}
    assert membership.dispensable == {"b", "c"}
    assert [name for name in "abcd" if membership.can_spare(name)] == ["b", "c"]
    membership.require(["b"])
    assert membership.at_start == {"b"}
    assert membership.dispensable == {"a", "c"}


def test_the_state_of_the_system_is_that_of_those_named() -> None:
    membership, _ = system(spec("b"), spec("d", free_entry=True), spec("e", enter_ns=70))
    assert membership.defines_system("b", None, False)
    assert not membership.defines_system("d", None, False)
    # One that has never come stops nothing.
    assert not membership.defines_system("d", None, True)
    assert not membership.defines_system("e", None, True)
    membership.require(["a", "d", "e"])
    assert membership.defines_system("a", None, False)
    assert not membership.defines_system("b", State.RUNNING, False)
    assert membership.defines_system("d", None, False)
    # It is waited for at its entry, not at the start.
    assert not membership.defines_system("e", None, False)


def test_a_missing_participant_could_as_well_enter_after_the_end() -> None:
    membership, coordinator = system(spec("b"))
    membership.require(["a"])
    assert membership.lose("b", "was not there")
    record = membership.record()
    assert record["required"] == ["a"]
    assert record["absent"] == ["b"]
    assert record["not_repeatable"] == [
        0,
        "'b' was lost: was not there (with enter: 1us it repeats)",
    ]
    assert coordinator.lower_bound_of("b") == FOREVER


def test_a_participant_that_is_waited_for_enters_at_0_in_every_run() -> None:
    membership, _ = system(spec("d", free_entry=True))
    membership.require(["a", "d"])
    membership.ready("a")
    membership.ready("d")
    assert membership.admit(NEVER) == ["d"]
    assert membership.presences == (Presence("d", 0, FOREVER),)
    assert membership.record()["not_repeatable"] is None


def test_a_lost_or_missing_participant_cannot_become_required() -> None:
    membership, _ = system(spec("b"), spec("c"))
    membership.require(["a"])
    membership.lose("b", "killed")
    with pytest.raises(ConfigurationError, match="the run goes on without 'b' already .killed"):
        membership.require(["a", "b"])
    membership.ready("a")
    with pytest.raises(ConfigurationError, match="too late, the run has begun, and 'c' is not"):
        membership.require(["a", "c"], begun=True)
    assert not membership.is_required("c")
    membership.ready("c")
    membership.require(["a", "c"], begun=True)
    assert membership.is_required("c")


def test_a_channel_of_a_spared_participant_closes() -> None:
    graph = Graph([spec("w"), ParticipantSpec("r", 10, inputs=IN)], wire("w.out>r.in"))
    membership = MembershipView(graph)
    received: list[Sample] = []
    channel = Channel(graph, "w", "out", received.append)
    membership.watch("w", "out", channel)
    counts = CausalityCounts()
    channel.push(Sample(0, 0, None), "r", counts)
    membership.update((Presence("w", NEVER, 7),), 90)
    assert channel.promise == FOREVER
    assert membership.gone == {"w"}
    channel.push(Sample(10, 1, None), "r", counts)  # it was under way when its writer was lost
    assert [sample.seq for sample in received] == [0]
    assert (counts.timing, counts.loss, counts.order) == (0, 0, 0)


class Asked:
    """A run control whose run accepts all names but ``ghost``."""

    def __init__(self) -> None:
        self.control = RunControl(step_ns=10, paused=True)
        self.control.on_require = self._take
        self.taken: list[tuple[str, ...]] = []

    def _take(self, names: tuple[str, ...]) -> None:
        if "ghost" in names:
            raise ConfigurationError("require: there is no participant 'ghost'")
        self.taken.append(names)

    def ask(self, *names: str) -> tuple[bool, str]:
        answers: list[tuple[bool, str]] = []
        request = Request(Command.REQUIRE, participants=names)
        self.control.handle(request, time=0, now=0, reply=answers.append)
        (answer,) = answers
        return tuple(answer)  # type: ignore[return-value]


def test_run_control_takes_it_until_something_was_granted() -> None:
    asked = Asked()
    assert asked.ask("b", "a", "b") == (True, "required: a, b")
    asked.control.granted = 0
    assert asked.ask("ghost") == (False, "require: there is no participant 'ghost'")
    assert asked.ask("a") == (True, "required: a")
    assert asked.taken == [("a", "b"), ("a",)]
    assert asked.control.required == ("a",)
    asked.control.granted = 10
    asked.control.handle(Request(Command.RESUME), time=10, now=0, reply=lambda answer: None)
    success, message = asked.ask("b")
    assert not success
    assert message.startswith("require: too late, the run is running at 0s, rate max; this is")
    assert asked.control.required == ("a",)


def test_in_one_process_only_the_state_of_the_system_changes() -> None:
    states: list[tuple[State, str]] = []

    class Quiet(Plain):
        def activate(self, step: object) -> dict[str, object]:
            return {}

    class Slow(Quiet):
        """Is ready when its second chance comes."""

        def on_communication_ready_async(self, complete: object) -> None:
            self.complete = complete

    slow = Slow()
    lifecycles = LifecycleGroup(
        {"a": Quiet(), "slow": slow}, on_system=lambda state, why: states.append((state, why))
    )
    lifecycles.require(["a"])
    seen: list[State] = []

    def wait() -> None:
        seen.append(lifecycles.of["slow"].state)
        slow.complete()  # type: ignore[operator]

    lifecycles.start(wait)
    # It is not what the system waits for, but the process begins with all participants.
    assert seen == [State.COMMUNICATION_INITIALISED]
    assert states[-1] == (State.RUNNING, "a: started")
    assert {life.state for life in lifecycles.of.values()} == {State.RUNNING}
    lifecycles.of["slow"].pause("looked at")
    assert lifecycles.system is State.RUNNING
    lifecycles.of["a"].pause("looked at")
    assert lifecycles.system is State.PAUSED
