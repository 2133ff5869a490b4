# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Participants with and without virtual time work together; none waits for the latter."""

from __future__ import annotations

from support.behaviours import Scripted

from ros2_cosim.core.kernel.graph import Connection, Graph, InputPort, OutputPort, ParticipantSpec
from ros2_cosim.core.kernel.sequential import SequentialScheduler

PORT = InputPort("outside", unsynchronised=True)
RECEIVED = OutputPort("outside/received", schedule="sparse")


def test_time_advances_whether_anything_arrives_or_not() -> None:
    quiet, read = Scripted(lambda step: {"out": step.time}), Scripted(lambda step: {})
    graph = Graph(
        [
            ParticipantSpec("synchronised", 10, outputs=(OutputPort("out"),)),
            ParticipantSpec("mixed", 10, inputs=(PORT, InputPort("in")), outputs=(RECEIVED,)),
        ],
        [Connection("synchronised", "out", "mixed", "in")],
    )
    scheduler = SequentialScheduler(graph, {"synchronised": quiet, "mixed": read})
    scheduler.run(30)
    scheduler.runtimes["mixed"].inboxes[0].receive("late")
    scheduler.run(50)
    assert [step.time for step in read.steps] == [0, 10, 20, 30, 40]
    assert [len(step.samples["outside"]) for step in read.steps] == [0, 0, 0, 1, 0]
    # What is synchronised does not depend on it.
    assert [step.latest["in"].stamp for step in read.steps] == [0, 10, 20, 30, 40]
