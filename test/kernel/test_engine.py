# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""When a participant may advance: promises, horizon, and what it says while it waits."""

from __future__ import annotations

from collections import defaultdict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.behaviours import Scripted, sends, wire
from support.kernel_systems import Interleaving, System, systems

from ros2_cosim.core.kernel.activation import Activation, Count, all_of
from ros2_cosim.core.kernel.channel import Promise
from ros2_cosim.core.kernel.engine import Blocked, Engine
from ros2_cosim.core.kernel.graph import (
    Connection,
    Graph,
    InputPort,
    Latency,
    OutputPort,
    ParticipantSpec,
)
from ros2_cosim.core.kernel.participant import Sample
from ros2_cosim.core.kernel.runtime import ParticipantRuntime
from ros2_cosim.core.kernel.time import FOREVER, NEVER

UNTIL = 200


def writer(name: str, **output: object) -> ParticipantSpec:
    """A participant of period 10 with one output ``out``."""
    return ParticipantSpec(name, 10, outputs=(OutputPort("out", **output),))  # type: ignore[arg-type]


def engine_of(
    spec: ParticipantSpec,
    writers: list[ParticipantSpec],
    connections: list[Connection],
    behaviour: Scripted | None = None,
) -> tuple[Engine, Scripted]:
    """The engine of ``spec`` without a horizon, and its behaviour."""
    graph = Graph([spec, *writers], connections)
    behaviour = behaviour or Scripted(sends(out=1))
    engine = Engine(graph, ParticipantRuntime(graph, spec.name, behaviour))
    engine.horizon = FOREVER
    return engine, behaviour


def advance(engine: Engine) -> int:
    """Run what may run; how many activations that were."""
    return sum(1 for _ in engine.advance())


def reader(
    *latched: InputPort,
    period: int | None = None,
    activation: Activation | None = None,
    output: OutputPort | None = None,
) -> ParticipantSpec:
    """Participant ``r``: its triggering ports come before the latched ones."""
    triggers = sorted(activation.ports) if activation else []
    ports = (*(InputPort(p) for p in triggers), *latched)
    return ParticipantSpec("r", period, 0, activation, ports, (output or OutputPort("out"),))


def test_a_latched_port_must_be_settled_beyond_the_activation() -> None:
    engine, behaviour = engine_of(
        reader(InputPort("in"), period=10), [writer("w")], wire("w.out>r.in")
    )
    assert advance(engine) == 0
    assert engine.blocked() == Blocked(0, ("w.out (promised up to 0s)",))
    engine.receive(0, Sample(0, 0, "first"))  # the next one is 10 later
    assert advance(engine) == 1
    assert behaviour.times == [0]
    assert behaviour.steps[0].latest["in"] == Sample(0, 0, "first")
    assert engine.blocked() == Blocked(10, ("w.out (promised up to 10ns)",))


def test_a_delayed_port_need_be_settled_only_up_to_the_activation() -> None:
    engine, behaviour = engine_of(
        reader(InputPort("in", delayed=True), period=10), [writer("w")], wire("w.out>r.in")
    )
    assert advance(engine) == 1
    engine.receive(0, Sample(0, 0, "first"))
    assert advance(engine) == 1
    assert engine.blocked() == Blocked(20, ("w.out (promised up to 10ns)",))
    assert engine.needs() == [("w.out", 10)]
    assert [step.latest["in"] for step in behaviour.steps] == [None, Sample(0, 0, "first")]


def test_only_samples_before_the_smallest_lbts_activate() -> None:
    engine, behaviour = engine_of(
        reader(activation=all_of(["a", "b"])),
        [writer("v"), writer("w", schedule="sparse")],
        wire("v.out>r.a w.out>r.b"),
    )
    engine.receive(0, Sample(0, 0, 0))
    engine.receive(1, Sample(0, 0, 0))
    assert engine.trigger_lbts() == 0
    assert advance(engine) == 0
    assert engine.blocked() == Blocked(None, ("w.out (promised up to 0s)",))
    assert engine.needs() == [("w.out", 0)]
    engine.channels[1].promised(Promise(1, 10))
    assert advance(engine) == 1
    assert behaviour.times == [0]
    # Silence of w: v's samples pile up until w has sent one more.
    engine.receive(0, Sample(10, 1, 0))
    engine.receive(0, Sample(20, 2, 0))
    engine.receive(1, Sample(20, 1, 0))
    engine.channels[1].promised(Promise(2, 40))
    assert advance(engine) == 1
    assert behaviour.times == [0, 20]
    assert [len(behaviour.steps[1].samples[p]) for p in "ab"] == [2, 1]


def test_the_period_waits_until_no_data_activation_can_come_before_it() -> None:
    engine, behaviour = engine_of(
        reader(period=10, activation=Count("a")), [writer("w", schedule="sparse")],
        wire("w.out>r.a"),
    )  # fmt: skip
    assert advance(engine) == 0
    assert engine.blocked() == Blocked(None, ("w.out (promised up to 0s)",))
    engine.channels[0].promised(Promise(0, 7))
    assert advance(engine) == 1
    engine.receive(0, Sample(8, 0, "early"))
    engine.receive(0, Sample(10, 1, "same time"))
    engine.channels[0].promised(Promise(2, 15))
    assert advance(engine) == 3
    assert behaviour.times == [0, 8, 10, 10]
    # Data first at equal times.
    assert [len(step.samples["a"]) for step in behaviour.steps] == [0, 1, 1, 0]


def test_nothing_runs_at_or_beyond_the_horizon() -> None:
    engine, behaviour = engine_of(reader(period=10), [], [])
    engine.horizon = 0
    assert advance(engine) == 0
    assert engine.blocked() == Blocked(0, ("the horizon (now 0s)",))
    assert engine.needs() is None
    engine.horizon = 20
    assert advance(engine) == 2
    assert engine.blocked() == Blocked(20, ("the horizon (now 20ns)",))
    engine.horizon = 21
    assert advance(engine) == 1
    assert behaviour.times == [0, 10, 20]


def test_an_engine_without_a_horizon_yet_does_not_run() -> None:
    graph = Graph([reader(period=10)], [])
    engine = Engine(graph, ParticipantRuntime(graph, "r", Scripted()))
    assert engine.horizon == NEVER
    assert advance(engine) == 0


def test_a_promise_counts_once_the_messages_before_it_are_here() -> None:
    engine, _ = engine_of(
        reader(InputPort("in"), period=10), [writer("w", schedule="sparse")], wire("w.out>r.in")
    )
    channel = engine.channels[0]
    channel.promised(Promise(2, 50))
    assert channel.promise == 0
    engine.receive(0, Sample(0, 0, "a"))
    assert channel.promise == 0
    engine.receive(0, Sample(20, 1, "b"))
    assert channel.promise == 50
    channel.promised(Promise(2, 30))  # an older one that was overtaken takes nothing back
    assert channel.promise == 50


def test_after_the_message_of_a_once_port_nothing_is_awaited() -> None:
    engine, _ = engine_of(
        reader(InputPort("in"), period=10), [writer("w", schedule="once")], wire("w.out>r.in")
    )
    engine.horizon = 100
    assert advance(engine) == 0
    engine.receive(0, Sample(0, 0, "map"))
    assert engine.channels[0].promise == FOREVER
    assert advance(engine) == 10


def test_bound_and_promises_of_a_periodic_participant() -> None:
    output = OutputPort("out", Latency(3), "sparse")
    engine, _ = engine_of(reader(period=10, output=output), [], [])
    engine.horizon = 20
    assert engine.lower_bound() == 0
    assert engine.promises() == [("out", Promise(0, 3))]
    advance(engine)
    assert engine.lower_bound() == 20
    assert engine.promises() == [("out", Promise(2, 23))]


def test_the_bound_of_a_data_triggered_participant_is_its_lbts_or_its_activation() -> None:
    engine, _ = engine_of(
        reader(activation=Count("a", 2)), [writer("w", schedule="sparse")], wire("w.out>r.a")
    )
    engine.horizon = 0
    engine.channels[0].promised(Promise(0, 5))
    assert engine.lower_bound() == 5
    engine.receive(0, Sample(6, 0, 0))
    engine.receive(0, Sample(8, 1, 0))
    engine.channels[0].promised(Promise(2, 100))
    assert engine.lower_bound() == 8
    engine.horizon = 1000
    advance(engine)
    assert engine.lower_bound() == 100


def test_a_promise_is_never_below_the_newest_message() -> None:
    output = OutputPort("out", Latency(0, iter([70, 1]).__next__), "sparse")
    engine, _ = engine_of(reader(period=10, output=output), [], [])
    engine.horizon = 1
    advance(engine)
    assert engine.promises() == [("out", Promise(1, 70))]


def test_a_once_port_promises_silence_for_ever_after_its_message() -> None:
    behaviour = Scripted(lambda step: {"out": 1} if step.time == 0 else {})
    engine, _ = engine_of(
        reader(period=10, output=OutputPort("out", schedule="once")), [], [], behaviour
    )
    assert engine.promises() == [("out", Promise(0, 0))]
    engine.horizon = 1
    advance(engine)
    assert engine.promises() == [("out", Promise(1, FOREVER))]


class Watched(Interleaving):
    """Checks whatever an engine says against what it does later."""

    def __init__(self, system: System, until: int, seed: int) -> None:
        super().__init__(system, until, seed)
        self._said: dict[tuple[str, str], int] = defaultdict(lambda: NEVER)
        self._bounds: dict[str, int] = defaultdict(lambda: NEVER)
        #: How many activations and messages have been checked.
        self.checked = 0

    def turn(self, name: str) -> bool:
        """Remember the bound before the turn."""
        self._bounds[name] = max(self._bounds[name], self.engines[name].lower_bound())
        return super().turn(name)

    def on_activation(self, name: str, time: int) -> None:
        """No activation before the bound, none at the horizon."""
        assert self._bounds[name] <= time < self.engines[name].horizon
        self.checked += 1
        self._bounds[name] = max(self._bounds[name], time)

    def on_output(self, name: str, port: str, sample: Sample) -> None:
        """No message before the promise."""
        assert sample.stamp >= self._said[name, port]
        self.checked += 1

    def on_promise(self, name: str, port: str, promise: Promise) -> None:
        """Remember the strongest; promises never take anything back."""
        assert promise.time >= self._said[name, port]
        assert promise.count == self.runtimes[name].sent(port)[0]
        self._said[name, port] = promise.time


@settings(max_examples=100)
@given(system=systems(max_participants=8), seed=st.integers(0, 2**32))
def test_bounds_and_promises_are_kept_in_every_run(system: System, seed: int) -> None:
    watched = Watched(system, UNTIL, seed)
    watched.run()
    activations = sum(runtime.trace.activations for runtime in watched.runtimes.values())
    assert watched.checked >= activations > 0


@pytest.mark.parametrize("delayed", [False, True])
def test_a_waiting_participant_names_everything_it_waits_for(delayed: bool) -> None:
    engine, _ = engine_of(
        reader(InputPort("x"), InputPort("y", delayed=delayed), period=10),
        [writer("v"), writer("w")],
        wire("v.out>r.x w.out>r.y"),
    )
    expected = ["v.out (promised up to 0s)"] + ["w.out (promised up to 0s)"] * (not delayed)
    assert engine.blocked() == Blocked(0, tuple(expected))
