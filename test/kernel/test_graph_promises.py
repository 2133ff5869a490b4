# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What readers conclude from the graph alone is true of every run."""

from __future__ import annotations

from itertools import permutations

import pytest
from hypothesis import given, settings
from support.activations import MultipleOf
from support.kernel_systems import Interleaving, System, run_sequential, systems

from ros2_cosim.core.kernel import lookahead
from ros2_cosim.core.kernel.activation import Activation, Count, Predicate, all_of
from ros2_cosim.core.kernel.graph import (
    Connection,
    Graph,
    InputPort,
    Latency,
    OutputPort,
    ParticipantSpec,
)
from ros2_cosim.core.kernel.participant import Sample
from ros2_cosim.core.kernel.sequential import SequentialScheduler

UNTIL = 200


def chain(activation: Activation, **output: object) -> Graph:
    """``source`` (period 10, offset 3, latency 2) triggers ``middle``."""
    source = ParticipantSpec("source", 10, 3, outputs=(OutputPort("out", Latency(2)),))
    middle = ParticipantSpec(
        "middle",
        None,
        0,
        activation,
        tuple(InputPort(p) for p in sorted(activation.ports)),
        (OutputPort("out", **output),),  # type: ignore[arg-type]
    )
    edges = [Connection("source", "out", "middle", port) for port in sorted(activation.ports)]
    return Graph([source, middle], edges)


@pytest.mark.parametrize(
    ("activation", "separation", "first"),
    [
        (Count("a"), 10, 5),
        (Count("a", 3), 30, 25),
        (Count("a", 2) | Count("a", 3), 20, 15),
        (all_of(["a", "b"]), None, 5),
        (Predicate("a", MultipleOf(3)), None, 5),
        (Count("a", 2) & Predicate("a", MultipleOf(3)), None, 15),
    ],
)
def test_separation_follows_counting_and_nothing_else(
    activation: Activation, separation: int | None, first: int
) -> None:
    graph = chain(activation)
    assert lookahead.separation(graph, "source", "out") == 10
    assert lookahead.separation(graph, "middle", "out") == separation
    assert lookahead.needs_promises(graph, "middle", "out") == (separation is None)
    assert lookahead.first_stamp(graph, "source", "out") == 5
    assert lookahead.first_stamp(graph, "middle", "out") == first


def test_the_first_activation_is_found_whatever_order_the_participants_are_listed_in() -> None:
    out = (OutputPort("out", Latency(2)),)
    source = ParticipantSpec("source", 10, 3, outputs=out)
    middle, last = (
        ParticipantSpec(name, None, 0, Count("a"), (InputPort("a"),), out)
        for name in ("middle", "last")
    )
    edges = [Connection("source", "out", "middle", "a"), Connection("middle", "out", "last", "a")]
    for listed in permutations([source, middle, last]):
        graph = Graph(list(listed), edges)
        assert [lookahead.first_stamp(graph, each.name, "out") for each in (middle, last)] == [7, 9]


def test_silence_and_random_latency_leave_no_separation() -> None:
    for output in (
        {"schedule": "sparse"},
        {"schedule": "once"},
        {"latency": Latency(4, lambda: 5)},
    ):
        graph = chain(Count("a"), **output)
        assert lookahead.separation(graph, "middle", "out") is None
        assert lookahead.needs_promises(graph, "middle", "out")


def test_once_needs_a_promise_only_where_the_first_activation_is_not_known() -> None:
    output = (OutputPort("out", schedule="once"),)
    assert not lookahead.needs_promises(
        Graph([ParticipantSpec("a", 10, outputs=output)], []), "a", "out"
    )
    assert lookahead.needs_promises(chain(Count("a"), schedule="once"), "middle", "out")


def _entry(name: str, **changes: object) -> dict[str, object]:
    entry = {"name": name, "outputs": {"out": (0, 0, "every")}, "inputs": {}, "period": None}
    return {
        **entry,
        "offset": 0,
        "activation": None,
        "silent_every": 2,
        "stop_after": None,
    } | changes


@pytest.mark.parametrize("divisor", [1, 2, 3, 1_000_004])
def test_an_activation_that_depends_on_values_is_not_counted_on(divisor: int) -> None:
    system = System(
        [
            _entry("source", period=10),
            _entry(
                "filter",
                activation=Predicate("in", MultipleOf(divisor)),
                inputs={"in": False},
            ),
            _entry("after", activation=Count("in"), inputs={"in": False}),
            _entry("reader", period=10, inputs={"in": False}),
        ],
        [
            Connection("source", "out", "filter", "in"),
            Connection("filter", "out", "after", "in"),
            Connection("after", "out", "reader", "in"),
        ],
    )
    assert Interleaving(system, UNTIL, 1).run() == run_sequential(system, UNTIL)


@settings(max_examples=120)
@given(system=systems(max_participants=8))
def test_what_the_graph_says_of_a_port_is_true_of_its_messages(system: System) -> None:
    graph, behaviours = system.build()
    sent: dict[tuple[str, str], list[int]] = {}

    def observe(participant: str, index: int, sample: Sample, data: bytes) -> None:
        port = graph.participants[participant].outputs[index].name
        stamps = sent.setdefault((participant, port), [])
        assert sample.seq == len(stamps)
        stamps.append(sample.stamp)

    SequentialScheduler(graph, behaviours, observer=observe).run(UNTIL)
    for (participant, port), stamps in sent.items():
        first = lookahead.first_stamp(graph, participant, port)
        separation = lookahead.separation(graph, participant, port)
        assert stamps == sorted(stamps)
        assert first <= stamps[0]
        if separation is not None:
            # Exactly so: readers number messages without a number by their stamps.
            assert stamps == [first + k * separation for k in range(len(stamps))]
        if graph.output(participant, port).schedule == "once":
            assert len(stamps) == 1
            if not lookahead.needs_promises(graph, participant, port):
                spec = graph.participants[participant]
                assert spec.activation is None


@settings(max_examples=60)
@given(system=systems(max_participants=8))
def test_a_port_that_needs_no_promises_sends_all_that_its_separation_says(
    system: System,
) -> None:
    graph, behaviours = system.build()
    scheduler = SequentialScheduler(graph, behaviours)
    scheduler.run(UNTIL)
    for name, spec in graph.participants.items():
        for output in spec.outputs:
            separation = lookahead.separation(graph, name, output.name)
            if separation is None or lookahead.needs_promises(graph, name, output.name):
                continue
            count, newest = scheduler.runtimes[name].sent(output.name)
            # The message after the newest one lies beyond the run, or its writer has left.
            due = newest + separation if count else lookahead.first_stamp(graph, name, output.name)
            assert due - output.latency.minimum_ns >= min(UNTIL, spec.leave_ns)


def test_a_participant_that_chooses_its_times_has_no_separation() -> None:
    out = (OutputPort("out"),)
    specs = [
        ParticipantSpec("even", 10, outputs=out),
        ParticipantSpec("free", 10, outputs=out, dynamic_step=True),
    ]
    graph = Graph(specs, [])
    assert lookahead.separation(graph, "even", "out") == 10
    assert lookahead.separation(graph, "free", "out") is None
