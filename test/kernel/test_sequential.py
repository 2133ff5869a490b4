# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The sequential reference: order of activations, stop, slices, independence."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from support.behaviours import Scripted, sends, wire
from support.engine_network import digests
from support.kernel_systems import System, run_sequential, systems

from ros2_cosim.core.kernel.activation import Count
from ros2_cosim.core.kernel.graph import Graph, InputPort, Latency, OutputPort, ParticipantSpec
from ros2_cosim.core.kernel.participant import Sample, Step
from ros2_cosim.core.kernel.sequential import SequentialScheduler

UNTIL = 200


def periodic(name: str, *inputs: str, latency: int = 0, period: int = 10) -> ParticipantSpec:
    """A participant with latched inputs and one output ``out``."""
    ports = tuple(InputPort(port) for port in inputs)
    return ParticipantSpec(name, period, 0, None, ports, (OutputPort("out", Latency(latency)),))


def test_simultaneous_activations_run_by_rank_then_name() -> None:
    order: list[tuple[int, str]] = []
    specs = [
        periodic("d"),
        periodic("a", "in"),
        periodic("c", "in", period=20),
        periodic("b", "in"),
        ParticipantSpec("e", None, 0, Count("in"), (InputPort("in"),)),
    ]
    graph = Graph(specs, wire("d.out>a.in d.out>b.in a.out>c.in b.out>e.in"))

    def remember(name: str) -> Scripted:
        def answer(step: Step) -> dict[str, Any]:
            order.append((step.time, name))
            return {} if name == "e" else {"out": 0}

        return Scripted(answer)

    SequentialScheduler(graph, {name: remember(name) for name in graph.order}).run(20)
    ranked = [(0, n) for n in "dabce"] + [(10, n) for n in "dabe"]
    assert order == ranked


def test_data_runs_before_period_at_equal_times() -> None:
    specs = [
        periodic("w"),
        ParticipantSpec("r", 10, 0, Count("in"), (InputPort("in"),)),
    ]
    graph = Graph(specs, wire("w.out>r.in"))
    reader = Scripted()
    SequentialScheduler(graph, {"w": Scripted(sends(out=1)), "r": reader}).run(15)
    assert [(s.time, len(s.samples["in"])) for s in reader.steps] == [
        (0, 1),
        (0, 0),
        (10, 1),
        (10, 0),
    ]


def test_messages_are_told_in_the_order_in_which_they_are_sent() -> None:
    told: list[tuple[str, int, Sample, bytes]] = []
    graph = Graph([periodic("a", latency=30), periodic("b")], [])
    scheduler = SequentialScheduler(
        graph,
        {name: Scripted(sends(out=name)) for name in "ab"},
        observer=lambda *message: told.append(message),
    )
    scheduler.run(11)
    assert told == [
        ("a", 0, Sample(30, 0, "a"), b"30 0 'a'"),
        ("b", 0, Sample(0, 0, "b"), b"0 0 'b'"),
        ("a", 0, Sample(40, 1, "a"), b"40 1 'a'"),
        ("b", 0, Sample(10, 1, "b"), b"10 1 'b'"),
    ]


def stopping_at(*times: int) -> Scripted:
    """A behaviour that asks for the end at each of the times."""

    def answer(step: Step) -> dict[str, Any]:
        if step.time in times:
            behaviour.stop_reason = f"asked at {step.time}"
        return {"out": 0}

    behaviour = Scripted(answer)
    return behaviour


def test_a_stop_ends_the_run_a_fixed_latency_later() -> None:
    graph = Graph([periodic("a"), periodic("b")], [])
    a, b = stopping_at(30), Scripted(sends(out=1))
    scheduler = SequentialScheduler(graph, {"a": a, "b": b}, stop_latency_ns=25)
    assert scheduler.run(1000) == 55
    assert scheduler.stop_reason == "a: asked at 30"
    assert a.times == b.times == [0, 10, 20, 30, 40, 50]


def test_of_simultaneous_stops_the_first_in_order_counts_and_later_ones_do_not() -> None:
    graph = Graph([periodic("b"), periodic("a"), periodic("c")], [])
    behaviours = {"a": stopping_at(20), "b": stopping_at(20), "c": stopping_at(10, 20)}
    scheduler = SequentialScheduler(graph, behaviours, stop_latency_ns=25)
    assert scheduler.run(1000) == 35
    assert scheduler.stop_reason == "c: asked at 10"
    behaviours = {"a": stopping_at(20), "b": stopping_at(20), "c": Scripted(sends(out=0))}
    scheduler = SequentialScheduler(graph, behaviours, stop_latency_ns=25)
    assert scheduler.run(1000) == 45
    assert scheduler.stop_reason == "a: asked at 20"


def test_a_stop_is_not_forgotten_between_slices() -> None:
    graph = Graph([periodic("a")], [])
    behaviour = stopping_at(30)
    scheduler = SequentialScheduler(graph, {"a": behaviour}, stop_latency_ns=45)
    assert [scheduler.run(until) for until in (40, 60, 80, 100)] == [40, 60, 75, 75]
    assert behaviour.times[-1] == 70


def test_a_stop_does_not_prolong_the_run() -> None:
    graph = Graph([periodic("a")], [])
    behaviour = stopping_at(90)
    scheduler = SequentialScheduler(graph, {"a": behaviour}, stop_latency_ns=50)
    assert scheduler.run(100) == 100
    assert behaviour.times[-1] == 90


@settings(max_examples=60)
@given(
    system=systems(max_participants=8),
    cuts=st.lists(st.integers(0, UNTIL), max_size=5),
    stop_after=st.integers(1, 30),
    pass_end=st.booleans(),
)
def test_a_run_in_slices_gives_the_same_as_at_once(
    system: System, cuts: list[int], stop_after: int, pass_end: bool
) -> None:
    system.plan[0]["stop_after"] = stop_after
    graph, behaviours = system.build()
    at_once = SequentialScheduler(graph, behaviours, stop_latency_ns=30)
    end = at_once.run(UNTIL)
    graph, behaviours = system.build()
    sliced = SequentialScheduler(graph, behaviours, stop_latency_ns=30)
    reached = UNTIL
    for until in [*sorted(cuts), UNTIL]:
        reached = sliced.run(until, UNTIL if pass_end else None)
    assert reached == end
    assert digests(sliced.runtimes) == digests(at_once.runtimes)
    assert sliced.stop_reason == at_once.stop_reason


@settings(max_examples=60)
@given(system=systems(max_participants=6), other=systems(max_participants=4))
def test_participants_without_readers_change_no_other_trace(system: System, other: System) -> None:
    alone = run_sequential(system, UNTIL)
    # The newcomers have names of their own, listen to the system, and come first.
    renamed = {entry["name"]: f"n{entry['name']}" for entry in other.plan}
    plan = [{**entry, "name": renamed[entry["name"]]} for entry in other.plan]
    connections = [
        c.__class__(renamed[c.source], c.source_port, renamed[c.target], c.target_port)
        for c in other.connections
    ]
    listener = plan[0]
    listener["inputs"] = {**listener["inputs"], "spy": True}
    connections += wire(f"{system.plan[0]['name']}.out0>{listener['name']}.spy")
    together = run_sequential(
        System([*plan, *system.plan], [*connections, *system.connections]), UNTIL
    )
    assert {name: together[name] for name in alone} == alone


def test_each_time_is_announced_once_before_its_activations() -> None:
    graph = Graph([periodic("a"), periodic("b"), periodic("c", period=15)], [])
    log: list[Any] = []

    def remember(step: Step) -> dict[str, Any]:
        log.append("x")
        return {"out": 0}

    scheduler = SequentialScheduler(graph, {name: Scripted(remember) for name in "abc"})
    scheduler.run(16, before=log.append)
    scheduler.run(31, before=log.append)
    assert log == [0, "x", "x", "x", 10, "x", "x", 15, "x", 20, "x", "x", 30, "x", "x", "x"]
    assert scheduler.next_time == 40


def test_a_run_ends_at_the_end_that_is_known_though_only_a_part_is_asked_for() -> None:
    graph = Graph([periodic("a")], [])
    seen: list[int] = []

    def remember(step: Step) -> dict[str, Any]:
        seen.append(step.time)
        return {"out": 0}

    scheduler = SequentialScheduler(graph, {"a": Scripted(remember)})
    assert scheduler.run(20, 100) == 100
    assert seen == [0, 10]
    assert scheduler.run(50, 30) == 30
    assert seen == [0, 10, 20]


def test_a_stop_from_within_ends_the_run_after_the_present_time() -> None:
    graph = Graph([periodic("a"), periodic("b")], [])
    seen: list[str] = []

    def made(name: str) -> Scripted:
        def answer(step: Step) -> dict[str, Any]:
            seen.append(f"{name}{step.time}")
            if step.time == 10 and name == "a":
                scheduler.stop("enough")
                scheduler.stop("again")
            return {"out": 0}

        return Scripted(answer)

    scheduler = SequentialScheduler(graph, {name: made(name) for name in "ab"})
    assert scheduler.run(100) == 11
    assert seen == ["a0", "b0", "a10", "b10"]
    assert scheduler.stop_reason == "enough"


def test_deliveries_are_told_around_them() -> None:
    graph = Graph([periodic("a")], [])
    told: list[bool] = []
    scheduler = SequentialScheduler(graph, {"a": Scripted(sends(out=1))}, on_delivery=told.append)
    scheduler.run(20)
    assert told == [False, True, False, True]


def test_each_time_is_announced_once_before_anything_runs_at_it() -> None:
    graph = Graph([periodic("a"), periodic("b"), periodic("c", period=15)], [])
    seen: list[int | str] = []

    def note(name: str) -> Scripted:
        def answer(step: Step) -> dict[str, Any]:
            seen.append(name)
            return {"out": 0}

        return Scripted(answer)

    scheduler = SequentialScheduler(graph, {name: note(name) for name in "abc"})
    for until in (10, 16):
        scheduler.run(until, before=seen.append)
    assert seen == [0, "a", "b", "c", 10, "a", "b", 15, "c"]
