# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Participants that enter late, leave early, come when ready, or die: what others then see."""

from __future__ import annotations

from copy import deepcopy

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.behaviours import Scripted, sends, wire
from support.engine_network import digests
from support.kernel_systems import CoordinatedRun, System, run_sequential, systems

from ros2_cosim.core.kernel import lookahead
from ros2_cosim.core.kernel.activation import Activation, Count, all_of, any_of
from ros2_cosim.core.kernel.channel import CausalityCounts, Channel
from ros2_cosim.core.kernel.engine import Engine
from ros2_cosim.core.kernel.errors import CausalityError, ConfigurationError
from ros2_cosim.core.kernel.graph import Graph, InputPort, Latency, OutputPort, ParticipantSpec
from ros2_cosim.core.kernel.participant import Sample
from ros2_cosim.core.kernel.runtime import ParticipantRuntime
from ros2_cosim.core.kernel.sequential import SequentialScheduler
from ros2_cosim.core.kernel.time import FOREVER

UNTIL = 200
OUT = (OutputPort("out"),)
SLOW_SYSTEMS = settings(max_examples=80)


def times(specs: list[ParticipantSpec], wiring: str, until: int = UNTIL) -> dict[str, list[int]]:
    """Activation times by participant."""
    return {name: b.times for name, b in behaviours(specs, wiring, until).items()}


def behaviours(
    specs: list[ParticipantSpec], wiring: str = "", until: int = UNTIL
) -> dict[str, Scripted]:
    scripted = {spec.name: Scripted(sends(out=spec.name)) for spec in specs}
    SequentialScheduler(Graph(specs, wire(wiring)), scripted).run(until)
    return scripted


def writer(**changes: object) -> ParticipantSpec:
    return ParticipantSpec("w", 10, outputs=OUT, **changes)  # type: ignore[arg-type]


def triggered(activation: Activation, **changes: object) -> ParticipantSpec:
    ports = tuple(InputPort(p) for p in sorted(activation.ports))
    return ParticipantSpec("r", None, 0, activation, ports, OUT, **changes)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"enter_ns": 1}, [10, 20, 30]),
        ({"enter_ns": 10}, [10, 20, 30]),
        ({"enter_ns": 11, "offset_ns": 3}, [13, 23, 33]),
        ({"enter_ns": 2, "offset_ns": 15}, [15, 25, 35]),
        ({"leave_ns": 20}, [0, 10]),
        ({"leave_ns": 21}, [0, 10, 20]),
        ({"enter_ns": 15, "leave_ns": 30}, [20]),
    ],
)
def test_periodic_activations_keep_their_grid_between_entry_and_leave(
    changes: dict[str, int], expected: list[int]
) -> None:
    assert times([writer(**changes)], "", 40) == {"w": expected}


def test_samples_stamped_outside_the_presence_do_not_trigger() -> None:
    found = times([writer(), triggered(Count("in"), enter_ns=15, leave_ns=40)], "w.out>r.in")
    assert found["r"] == [20, 30]


def test_counting_begins_at_the_entry() -> None:
    found = times([writer(), triggered(Count("in", 3), enter_ns=5)], "w.out>r.in", 80)
    assert found["r"] == [30, 60]


def test_a_late_reader_sees_the_newest_value_from_before_its_entry() -> None:
    once = ParticipantSpec("w", 10, outputs=(OutputPort("out", schedule="sparse"),), leave_ns=20)
    late = ParticipantSpec("r", 10, inputs=(InputPort("in"),), outputs=OUT, enter_ns=50)
    seen = behaviours([once, late], "w.out>r.in", 70)["r"]
    assert seen.times == [50, 60]
    assert [step.latest["in"] for step in seen.steps] == [Sample(10, 1, "w")] * 2


def engine_of(spec: ParticipantSpec, writing: ParticipantSpec) -> Engine:
    graph = Graph([spec, writing], wire("w.out>r.in"))
    engine = Engine(graph, ParticipantRuntime(graph, "r", Scripted(sends(out=1))))
    engine.horizon = FOREVER
    return engine


def test_a_leaver_falls_silent_without_a_word() -> None:
    reader = ParticipantSpec("r", 10, inputs=(InputPort("in"),), outputs=OUT)
    engine = engine_of(reader, writer(leave_ns=25))
    channel = engine.channels[0]
    for number, promise in ((0, 10), (1, 20), (2, FOREVER)):
        engine.receive(0, Sample(10 * number, number, None))
        assert channel.promise == promise


@pytest.mark.parametrize("leave_ns", [11, 15, 20])
def test_a_participant_that_has_left_promises_silence_for_ever(leave_ns: int) -> None:
    """Its next activation would be at 20 ns."""
    engine = engine_of(triggered(Count("in"), leave_ns=leave_ns), writer())
    engine.receive(0, Sample(0, 0, None))
    assert sum(1 for _ in engine.advance()) == 1
    assert (engine.lower_bound(), engine.has_left) == (10, False)
    engine.receive(0, Sample(10, 1, None))
    assert sum(1 for _ in engine.advance()) == 1
    assert (engine.lower_bound(), engine.has_left) == (FOREVER, True)
    assert engine.promises()[0][1].time == FOREVER


def test_nothing_is_done_before_the_entry() -> None:
    engine = engine_of(triggered(any_of(["in"]), enter_ns=100), writer())
    assert engine.lower_bound() == 100


@pytest.mark.parametrize("changes", [{"leave_ns": 50}, {"required": False}, {"free_entry": True}])
def test_a_trigger_that_may_fall_silent_gives_no_separation(changes: dict[str, object]) -> None:
    graph = Graph([writer(**changes), triggered(Count("in"))], wire("w.out>r.in"))
    assert lookahead.separation(graph, "w", "out") == 10
    assert not lookahead.needs_promises(graph, "w", "out")
    assert lookahead.needs_promises(graph, "r", "out")


@pytest.mark.parametrize(
    ("enter", "count", "first"), [(0, 1, 2), (3, 1, 12), (12, 2, 22), (13, 3, 42)]
)
def test_first_stamps_are_exact(enter: int, count: int, first: int) -> None:
    source = ParticipantSpec("w", 10, outputs=(OutputPort("out", Latency(2)),))
    graph = Graph([source, triggered(Count("in", count), enter_ns=enter)], wire("w.out>r.in"))
    assert lookahead.separation(graph, "r", "out") == 10 * count
    assert lookahead.first_stamp(graph, "r", "out") == first


def late_channel(enter: int) -> Channel:
    graph = Graph([writer()], [])
    return Channel(graph, "w", "out", lambda sample: None, enter)


def test_a_late_reader_may_miss_what_the_first_message_it_gets_replaces() -> None:
    channel, counts = late_channel(100), CausalityCounts()
    channel.push(Sample(70, 7, None), "r", counts)
    channel.push(Sample(80, 8, None), "r", counts)
    assert (channel.received, channel.promise, counts.loss) == (9, 90, 0)
    with pytest.raises(CausalityError, match="number 10, .* messages are lost"):
        channel.push(Sample(100, 10, None), "r", counts)


@pytest.mark.parametrize("stamp", [100, 110])
def test_a_late_reader_may_miss_nothing_from_its_entry_on(stamp: int) -> None:
    channel, counts = late_channel(100), CausalityCounts()
    with pytest.raises(CausalityError, match="expected: messages are lost"):
        channel.push(Sample(stamp, stamp // 10, None), "r", counts)
    assert counts.loss == stamp // 10


def test_a_gap_is_judged_when_the_entry_is_known() -> None:
    for entry, lost in ((70, True), (71, False)):
        channel, counts = late_channel(FOREVER), CausalityCounts()
        channel.push(Sample(70, 7, None), "r", counts)
        if lost:
            with pytest.raises(CausalityError, match="number 0 was expected: messages are lost"):
                channel.reader_enters(entry, "r", counts)
        else:
            channel.reader_enters(entry, "r", counts)
        assert counts.loss == (7 if lost else 0)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"enter_ns": -1}, "enter is -1ns; it must not be negative"),
        ({"enter_ns": 5, "leave_ns": 5}, "leave is 5ns; it must be after enter"),
        ({"enter_ns": 1, "leave_ns": 9}, "leave is 9ns, before its first periodic activation"),
    ],
)
def test_a_presence_without_any_activation_is_refused(changes: dict[str, int], told: str) -> None:
    with pytest.raises(ConfigurationError, match=told):
        writer(**changes)


def test_what_was_left_out_on_purpose_leaves_ports_unfed() -> None:
    ports = (InputPort("a", unfed=True), InputPort("b"))
    never = ParticipantSpec("r", None, 0, all_of(["a", "b"]), ports, OUT)
    behind = ParticipantSpec("s", None, 0, any_of(["in"]), (InputPort("in"),), OUT)
    steady = ParticipantSpec("t", 100, inputs=(InputPort("in", unfed=True),), outputs=OUT)
    specs = [writer(), never, behind, steady]
    found = behaviours(specs, "w.out>r.b r.out>s.in")
    assert {name: b.times for name, b in found.items()} == {
        "w": list(range(0, UNTIL, 10)), "r": [], "s": [], "t": [0, 100],
    }  # fmt: skip
    assert [dict(step.latest) for step in found["t"].steps] == [{"in": None}] * 2
    graph = Graph(specs, wire("w.out>r.b r.out>s.in"))
    assert lookahead.first_stamp(graph, "r", "out") == lookahead.first_stamp(graph, "s", "out") == 0


def fixed(system: System, run: CoordinatedRun) -> System:
    """The same system, with the entries that the run found."""
    plan = deepcopy(system.plan)
    for entry in plan:
        if entry.get("free"):
            presence = run.presences.get(entry["name"])
            entry["free"] = False
            # One that never came takes part no more than one that enters after the end.
            entry["enter"] = presence.enter_ns if presence else 10 * UNTIL
            entry["leave"] = entry["leave"] if presence else FOREVER
    return System(plan, system.connections)


@SLOW_SYSTEMS
@given(system=systems(free=True), seed=st.integers(0, 2**32), window=st.sampled_from([0, 10, 60]))
def test_a_free_entry_is_the_same_as_one_at_that_time(
    system: System, seed: int, window: int
) -> None:
    run = CoordinatedRun(system, UNTIL, seed, window=window, stop_latency=60)
    found = run.run()
    assert found == run_sequential(fixed(system, run), UNTIL)


@SLOW_SYSTEMS
@given(system=systems(free=True), seed=st.integers(0, 2**32), round_=st.integers(1, 300))
def test_the_run_goes_on_without_a_dead_participant(system: System, seed: int, round_: int) -> None:
    mortal = [entry["name"] for entry in system.plan if not entry["required"]]
    dies = (mortal[seed % len(mortal)], round_) if mortal else ("", 0)
    run = CoordinatedRun(system, UNTIL, seed, window=30, stop_latency=60, dies=dies)
    run.run()
    assert run.coordinator.finished
    assert digests(run.runtimes).keys() == run.engines.keys()


def test_a_reader_that_has_missed_nothing_enters_with_the_first_message() -> None:
    channel, counts = late_channel(FOREVER), CausalityCounts()
    channel.reader_enters(70, "r", counts)
    channel.push(Sample(70, 0, None), "r", counts)
    assert (counts.timing, counts.order, counts.loss, channel.received) == (0, 0, 0, 1)
