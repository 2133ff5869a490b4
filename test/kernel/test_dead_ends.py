# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Participants that can never run are found when the graph is made."""

import pytest

from ros2_cosim.core.kernel import lookahead
from ros2_cosim.core.kernel.activation import all_of, any_of
from ros2_cosim.core.kernel.errors import DeadEndError
from ros2_cosim.core.kernel.graph import (
    Connection,
    Graph,
    InputPort,
    Latency,
    OutputPort,
    ParticipantSpec,
)

LATE = OutputPort("out", Latency(5))


def reactor(name: str, *ports: str, need_all: bool = False) -> ParticipantSpec:
    activation = all_of(ports) if need_all else any_of(ports)
    inputs = tuple(InputPort(port) for port in ports)
    return ParticipantSpec(name, activation=activation, inputs=inputs, outputs=(LATE,))


def test_a_cycle_without_a_first_message_is_named() -> None:
    clock = ParticipantSpec("clock", 10, outputs=(LATE,))
    cycle = [Connection("a", "out", "b", "in"), Connection("b", "out", "a", "in")]
    with pytest.raises(DeadEndError) as found:
        Graph([clock, reactor("a", "in"), reactor("b", "in")], cycle)
    message = str(found.value)
    assert "can never run: a, b" in message
    assert "a waits for b.out, b waits for a.out" in message


def test_one_missing_trigger_of_all_is_a_dead_end() -> None:
    source = ParticipantSpec("source", 10, outputs=(LATE,))
    connections = [Connection("source", "out", "a", "in"), Connection("a", "out", "a", "own")]
    with pytest.raises(DeadEndError, match=r"a waits for a\.out"):
        Graph([source, reactor("a", "in", "own", need_all=True)], connections)


def test_any_of_needs_one_live_writer_only() -> None:
    source = ParticipantSpec("source", 10, outputs=(LATE,))
    connections = [Connection("source", "out", "a", "in"), Connection("a", "out", "a", "own")]
    graph = Graph([source, reactor("a", "in", "own")], connections)
    assert lookahead.first_stamp(graph, "a", "out") == 10


def test_a_participant_behind_a_dead_cycle_is_dead_too() -> None:
    cycle = [Connection("a", "out", "a", "in"), Connection("a", "out", "b", "in")]
    with pytest.raises(DeadEndError) as found:
        Graph([reactor("a", "in"), reactor("b", "in")], cycle)
    assert "can never run: a, b" in str(found.value)
