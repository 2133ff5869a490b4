# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Messages from outside of the simulated time: when they count, and how they are recorded."""

from __future__ import annotations

import pytest
from support.behaviours import Scripted, sends, wire

from ros2_cosim.core.kernel.activation import Count
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.graph import Graph, InputPort, OutputPort, ParticipantSpec
from ros2_cosim.core.kernel.participant import Sample
from ros2_cosim.core.kernel.runtime import ParticipantRuntime
from ros2_cosim.core.kernel.unsynchronised import KEPT

PORT = InputPort("in", unsynchronised=True)
OUTPUTS = (OutputPort("out"), OutputPort("in/received", schedule="sparse"))


def reader() -> tuple[ParticipantRuntime, Scripted]:
    """A reader of period 10 without any writer in the graph."""
    behaviour = Scripted(sends(out="answer"))
    graph = Graph([ParticipantSpec("r", 10, inputs=(PORT,), outputs=OUTPUTS)], [])
    return ParticipantRuntime(graph, "r", behaviour), behaviour


def test_what_has_arrived_is_read_and_sent_on_by_the_next_activation() -> None:
    runtime, behaviour = reader()
    (inbox,) = runtime.inboxes
    assert [index for index, _, _ in runtime.activate_time()] == [0]
    assert inbox.first_read is None
    inbox.receive("a")
    inbox.receive("b")
    outputs = runtime.activate_time()
    arrived = (Sample(10, 0, "a"), Sample(10, 1, "b"))
    assert [(index, sample) for index, sample, _ in outputs] == [
        (1, arrived[0]),
        (1, arrived[1]),
        (0, Sample(10, 1, "answer")),
    ]
    runtime.activate_time()
    assert [step.samples["in"] for step in behaviour.steps] == [(), arrived, ()]
    assert [step.latest["in"] for step in behaviour.steps] == [None, arrived[1], arrived[1]]
    assert inbox.first_read == 10
    assert runtime.sent("in/received") == (2, 10)


def test_the_trace_tells_what_was_read() -> None:
    hashes = set()
    for arrival in (None, "a", "b"):
        runtime, _ = reader()
        if arrival:
            runtime.inboxes[0].receive(arrival)
        runtime.activate_time()
        hashes.add(runtime.trace.hexdigest())
    assert len(hashes) == 3


def test_the_oldest_go_without_a_reader() -> None:
    runtime, behaviour = reader()
    for number in range(KEPT + 5):
        runtime.inboxes[0].receive(number)
    runtime.activate_time()
    assert [sample.value for sample in behaviour.steps[0].samples["in"]] == list(range(5, KEPT + 5))


def test_an_unsynchronised_port_triggers_nothing_and_has_no_writer() -> None:
    with pytest.raises(ConfigurationError, match="'in' is unsynchronised; it is read at"):
        ParticipantSpec("r", None, 0, Count("in"), (PORT,), OUTPUTS)
    with pytest.raises(ConfigurationError, match="'in' is unsynchronised; it is read at"):
        ParticipantSpec("r", 10, inputs=(InputPort("in", True, unsynchronised=True),))
    writer = ParticipantSpec("w", 10, outputs=(OutputPort("out"),))
    specs = [writer, ParticipantSpec("r", 10, inputs=(PORT,), outputs=OUTPUTS)]
    with pytest.raises(ConfigurationError, match="unsynchronised; no participant writes to it"):
        Graph(specs, wire("w.out>r.in"))
