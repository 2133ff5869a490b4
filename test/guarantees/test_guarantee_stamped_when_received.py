# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What comes from participants without virtual time is stamped when it is received."""

from __future__ import annotations

from support.behaviours import Scripted

from ros2_cosim.core.kernel.graph import Graph, InputPort, OutputPort, ParticipantSpec
from ros2_cosim.core.kernel.runtime import ParticipantRuntime

PORT = InputPort("in", unsynchronised=True)
RECEIVED = (OutputPort("in/received", schedule="sparse"),)


def test_the_stamp_is_the_time_of_the_activation_that_read_it_first() -> None:
    behaviour = Scripted(lambda step: {})
    graph = Graph([ParticipantSpec("reader", 10, inputs=(PORT,), outputs=RECEIVED)], [])
    runtime = ParticipantRuntime(graph, "reader", behaviour)
    runtime.activate_time()
    runtime.inboxes[0].receive("key pressed")
    for _ in range(2):
        runtime.activate_time()
    stamps = [(s.time, [m.stamp for m in s.samples["in"]]) for s in behaviour.steps]
    assert stamps == [(0, []), (10, [10]), (20, [])]
    newest = behaviour.steps[-1].latest["in"]
    assert newest is not None
    assert (newest.stamp, newest.value) == (10, "key pressed")
