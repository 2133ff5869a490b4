# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Without synchronisation: every kind of violation is seen, and nothing else is."""

from __future__ import annotations

import random
from dataclasses import asdict
from heapq import heappop, heappush

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.behaviours import Scripted, sends, wire
from support.kernel_systems import System, systems

from ros2_cosim.core.kernel.activation import Count, all_of, any_of
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.graph import Graph, InputPort, OutputPort, ParticipantSpec
from ros2_cosim.core.kernel.participant import Sample
from ros2_cosim.core.kernel.sequential import SequentialScheduler
from ros2_cosim.lab.study.free_running import FreeRunning

UNTIL = 200


def counted(free: FreeRunning) -> dict[str, int]:
    """All counts that are not 0."""
    return {name: count for name, count in asdict(free.counts).items() if count}


def periodic(*, delayed: bool = False, writers: int = 1) -> tuple[FreeRunning, Scripted]:
    """A reader of period 10 that latches what writers of period 5 send."""
    names = [f"w{n}" for n in range(writers)]
    reader = ParticipantSpec("r", 10, inputs=(InputPort("a", delayed),))
    specs = [ParticipantSpec(name, 5, outputs=(OutputPort("out"),)) for name in names]
    graph = Graph([reader, *specs], wire(" ".join(f"{name}.out>r.a" for name in names)))
    behaviour = Scripted()
    return FreeRunning(graph, "r", behaviour), behaviour


def triggered(activation: object = None, period: int | None = None) -> tuple[FreeRunning, Scripted]:
    """A reader that ports ``a`` and ``b`` activate."""
    reader = ParticipantSpec(
        "r",
        period,
        activation=activation or any_of(["a", "b"]),  # type: ignore[arg-type]
        inputs=(InputPort("a"), InputPort("b")),
        outputs=(OutputPort("out", schedule="sparse"),),
    )
    writers = [ParticipantSpec(name, 5, outputs=(OutputPort("out"),)) for name in "wv"]
    graph = Graph([reader, *writers], wire("w.out>r.a v.out>r.b"))
    behaviour = Scripted(sends(out=1))
    return FreeRunning(graph, "r", behaviour), behaviour


def sample(stamp: int, seq: int) -> Sample:
    return Sample(stamp, seq, stamp)


def test_in_time_is_no_violation() -> None:
    free, behaviour = periodic()
    for stamp in (0, 5, 10, 15, 20):
        free.receive(0, sample(stamp, stamp // 5))
        if stamp % 10 == 0:
            free.activate_time()
    assert counted(free) == {"messages": 5}
    assert [step.latest["a"].stamp for step in behaviour.steps] == [0, 10, 20]  # type: ignore[union-attr]


def test_latched_message_after_the_activation_that_reads_it_is_late() -> None:
    free, _ = periodic()
    free.activate_time()
    free.receive(0, sample(0, 0))
    assert counted(free) == {"messages": 1, "late": 1, "wrong": 1}
    assert free.counts.timing == 1
    free.receive(0, sample(5, 1))
    assert free.counts.late == 1


def test_of_late_messages_an_activation_would_have_read_the_newest() -> None:
    free, _ = periodic()
    free.receive(0, sample(0, 0))
    free.activate_time()
    free.activate_time()  # at 10, with what was sent at 0
    free.receive(0, sample(5, 1))
    free.receive(0, sample(10, 2))
    assert counted(free) == {"messages": 3, "late": 2, "wrong": 1}
    free.activate_time()
    free.activate_time()  # at 20 and 30
    free.receive(0, sample(15, 3))
    assert counted(free) == {"messages": 4, "late": 3, "wrong": 3}
    free.receive(0, sample(30, 6))
    free.receive(0, sample(20, 4))  # overtaken: at 20 it was the newest
    assert free.counts.wrong == 3


def test_delayed_message_may_come_after_the_activation_of_its_stamp() -> None:
    free, _ = periodic(delayed=True)
    free.activate_time()
    free.receive(0, sample(0, 0))
    assert free.counts.timing == 0
    free.activate_time()
    free.receive(0, sample(5, 1))
    assert free.counts.late == 1


@pytest.mark.parametrize(("delayed", "early"), [(False, 0), (True, 1)])
def test_value_of_the_very_time_is_early_for_a_delayed_port(delayed: bool, early: int) -> None:
    free, _ = periodic(delayed=delayed)
    free.receive(0, sample(0, 0))
    free.activate_time()
    assert free.counts.early == early


def test_value_from_the_future_counts_once() -> None:
    free, behaviour = periodic()
    for seq in range(5):
        free.receive(0, sample(5 * seq, seq))
    free.activate_time()
    free.activate_time()
    assert counted(free) == {"messages": 5, "early": 1, "wrong": 2}
    assert [step.latest["a"].stamp for step in behaviour.steps] == [20, 20]  # type: ignore[union-attr]
    free.activate_time()
    assert free.counts.early == 1


def test_gap_is_loss() -> None:
    free, _ = periodic()
    free.receive(0, sample(0, 0))
    free.receive(0, sample(15, 3))
    assert counted(free) == {"messages": 2, "loss": 2}
    assert free.received(0) == 4


def test_overtaken_message_is_order_not_loss() -> None:
    free, behaviour = periodic()
    free.receive(0, sample(5, 1))
    assert free.counts.loss == 1
    free.receive(0, sample(0, 0))
    assert counted(free) == {"messages": 2, "order": 1}
    free.activate_time()
    # The newest value stays: what was overtaken does not replace it.
    assert behaviour.steps[0].latest["a"] == sample(5, 1)


def test_repeated_message_is_order_and_dropped() -> None:
    free, behaviour = triggered()
    free.receive(0, sample(0, 0))
    assert free.receive(0, sample(0, 0)) == []
    assert counted(free) == {"messages": 2, "order": 1}
    assert behaviour.times == [0]


def test_each_arrival_activates_at_its_stamp() -> None:
    free, behaviour = triggered()
    outputs = [free.receive(0, sample(5, 0)), free.receive(1, sample(5, 0))]
    assert [len(output) for output in outputs] == [1, 1]
    assert behaviour.times == [5, 5]
    assert counted(free) == {"messages": 2}


def test_swapped_messages_of_one_time_are_order() -> None:
    free, behaviour = triggered()
    free.receive(1, sample(5, 0))
    free.receive(0, sample(5, 0))
    assert counted(free) == {"messages": 2, "order": 1, "wrong": 1, "tied": 1}
    assert behaviour.times == [5, 5]


def test_message_older_than_the_last_activation_is_late_and_time_stays() -> None:
    free, behaviour = triggered()
    free.receive(1, sample(10, 0))
    free.receive(0, sample(5, 0))
    assert counted(free) == {"messages": 2, "late": 1, "wrong": 1}
    assert behaviour.times == [10, 10]


def test_swap_before_any_activation_is_order() -> None:
    free, behaviour = triggered(all_of(["a", "b"]))
    free.receive(1, sample(10, 0))
    free.receive(0, sample(5, 0))
    assert counted(free) == {"messages": 2, "order": 1, "wrong": 1}
    assert behaviour.times == [10]


def test_data_after_the_periodic_activation_of_its_time_is_late() -> None:
    free, _ = triggered(Count("a"), period=10)
    free.activate_time()
    free.receive(0, sample(0, 0))
    assert free.counts.late == 1


def test_data_before_an_overdue_periodic_activation_is_early() -> None:
    free, behaviour = triggered(Count("a"), period=10)
    free.receive(0, sample(15, 0))
    assert counted(free) == {"messages": 1, "early": 1, "wrong": 1}
    free.activate_time()
    assert behaviour.times == [15, 0]


def test_nothing_runs_at_the_end() -> None:
    free, behaviour = triggered(period=10)
    free.end_ns = 10
    assert free.next_time == 0
    free.activate_time()
    assert free.next_time is None
    assert free.receive(0, sample(10, 0)) == []
    assert behaviour.times == [0]


def free_run(system: System, delays: random.Random) -> tuple[dict[str, str], int, int]:
    """Run on an imagined wall clock where messages take time: traces, violations, errors."""
    graph, behaviours = system.build()
    nodes = {n: FreeRunning(graph, n, behaviours[n], end_ns=UNTIL) for n in graph.order}
    agenda: list[tuple[float, int, str, int, Sample | None]] = []
    ports = {name: [p.name for p in graph.participants[name].outputs] for name in graph.order}
    number = 0
    arrival: dict[tuple[str, int], float] = {}

    def plan(when: float, name: str, channel: int, what: Sample | None) -> None:
        nonlocal number
        number += 1
        heappush(agenda, (when, number, name, channel, what))

    for name, node in nodes.items():
        if node.next_time is not None:
            plan(node.next_time + 0.5, name, -1, None)
    while agenda:
        now, _, name, channel, what = heappop(agenda)
        node = nodes[name]
        if what is not None:
            outputs = node.receive(channel, what)
        else:
            outputs = node.activate_time()
            if node.next_time is not None:
                plan(node.next_time + 0.5, name, -1, None)
        for port, message, _ in outputs:
            for reader, other in nodes.items():
                for index, connection in enumerate(other.runtime.channels):
                    if (connection.source, connection.source_port) == (
                        name,
                        ports[name][port],
                    ):
                        # One writer's messages stay in order, as on a reliable transport.
                        when = max(now, message.stamp) + delays.choice((0.0, 0.0, 0.1, 4.0))
                        when = max(when, arrival.get((reader, index), 0.0))
                        arrival[reader, index] = when
                        plan(when, reader, index, message)
    counts = [node.counts for node in nodes.values()]
    violations = sum(c.timing + c.order + c.loss for c in counts)
    assert sum(c.loss for c in counts) == 0
    assert all(c.timing + c.order <= c.messages for c in counts)
    wrong = sum(c.wrong for c in counts)
    assert violations > 0 or wrong == 0
    return {n: node.runtime.trace.hexdigest() for n, node in nodes.items()}, violations, wrong


@given(system=systems(max_participants=4, handled=False), seed=st.integers(0, 2**32))
def test_without_errors_the_trace_is_that_of_the_synchronised_run(
    system: System, seed: int
) -> None:
    for entry in system.plan:
        entry["stop_after"] = None  # a free run lasts its duration
    graph, behaviours = system.build()
    reference = SequentialScheduler(graph, behaviours)
    reference.run(UNTIL)
    traces, violations, wrong = free_run(system, random.Random(seed))
    expected = {n: r.trace.hexdigest() for n, r in reference.runtimes.items()}
    assert violations > 0 or traces == expected
    assert wrong > 0 or traces == expected


def test_a_participant_with_a_handled_input_is_refused() -> None:
    reader = ParticipantSpec("r", inputs=(InputPort("a", handled=True),))
    writer = ParticipantSpec("w", 5, outputs=(OutputPort("out"),))
    with pytest.raises(ConfigurationError, match="'r': input 'a' is handled.*without synchron"):
        FreeRunning(Graph([reader, writer], wire("w.out>r.a")), "r", Scripted())
