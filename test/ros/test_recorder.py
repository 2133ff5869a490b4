# SPDX-License-Identifier: Apache-2.0
"""The recorder does not wait for what died with a participant that the run can spare."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("rclpy")
pytest.importorskip("ros2_cosim.msg", reason="generated messages are not built")

from ros2_cosim.interfaces.protocol import Horizon, ParticipantReport, SystemState  # noqa: E402
from ros2_cosim.interfaces.records import ControlCommand  # noqa: E402
from ros2_cosim.interfaces.wiring import Wiring  # noqa: E402
from ros2_cosim.kernel.lifecycle import State  # noqa: E402
from ros2_cosim.kernel.membership import Presence  # noqa: E402
from ros2_cosim.kernel.time import NEVER  # noqa: E402
from ros2_cosim.ros import topics  # noqa: E402
from ros2_cosim.ros.recorder_node import RecorderNode  # noqa: E402
from ros2_cosim.scenario.schema import make_scenario  # noqa: E402
from ros2_cosim.scenario.system import build_graph  # noqa: E402

MS = 1_000_000
TYPE = "ros2_cosim/msg/ControlCommand"
SCENARIO = {
    "name": "spared",
    "duration": "20ms",
    "participants": {
        "a": {
            "model": "support.behaviours:Plain",
            "period": "10ms",
            "required": False,
            "outputs": {"out": {"type": TYPE, "topic": "/a/out", "latency": "10ms"}},
        }
    },
}


class ScriptedSession:
    """A session in which one thing after the other happens; it is its own node and writer."""

    readers = 1

    def __init__(self) -> None:
        self.script: list[Callable[[], None]] = []
        self.receive: dict[str, Callable[[Any], None]] = {}
        self.node = self

    def happens(self, topic: str, message: Any) -> None:
        """A message will arrive."""
        self.script.append(lambda: self.receive[topic](message))

    def wait(self, seconds: float) -> None:
        """Let the next thing happen."""
        assert self.script, "it waits for ever"
        self.script.pop(0)()

    def reader(self, topic: str, kind: str, qos: Any, receive: Callable[[Any], None]) -> None:
        """Read a topic."""
        self.receive[topic] = receive

    def record_reader(
        self, topic: str, kind: str, qos: Any, receive: Callable[[Any], None], **_: Any
    ) -> None:
        """Read a topic."""
        self.receive[topic] = receive

    def writer(self, topic: str, kind: str, qos: Any) -> ScriptedSession:
        """Itself."""
        return self

    def send(self, record: Any) -> None:
        """Nothing reads it."""

    def reader_nodes(self) -> list[str]:
        """The clock reads everything."""
        return ["/clock"]

    def publishing_nodes(self, topic: str) -> set[str]:
        """And publishes everything."""
        return {"/clock"}

    def writers(self, topic: str) -> int:
        """The clock is there."""
        return 1


class Recorded:
    """Keeps the stamps of what is recorded."""

    def __init__(self) -> None:
        self.stamps: list[int] = []

    def write(self, topic: str, stamp_ns: int, seq: int, data: bytes) -> None:
        """Keep it."""
        self.stamps.append(stamp_ns)

    def advance(self, time_ns: int) -> None:
        """Nothing is written later."""


def report(name: str, **details: Any) -> ParticipantReport:
    return ParticipantReport(name, 0, "", 0, 0, 0, 0, 0, 0, json.dumps(details))


def test_the_last_messages_of_a_participant_that_is_gone_are_not_awaited() -> None:
    scenario = make_scenario(SCENARIO, "spared")
    graph = build_graph(scenario)
    wiring = Wiring.of(graph, lambda name, port: scenario.outputs_of(name)[port].topic)
    session: Any = ScriptedSession()
    sink = Recorded()
    recorder = RecorderNode(session, wiring, sink=sink, quantum_ns=MS, timer=lambda: 0)
    for state in (State.COMMUNICATION_INITIALISING, State.COMMUNICATION_INITIALISED, State.RUNNING):
        for _ in range(2):
            session.happens(topics.SYSTEM_STATE, SystemState(int(state), "", ""))
    end = 20 * MS
    session.happens(topics.HORIZON, Horizon("", end, end))
    command = ControlCommand(0.0, 0.0, 0.0, 0.0)
    first = wiring.topics["a", "out"].codec.encode(10 * MS, 0, command)
    session.happens("/a/out", first)
    # It has sent a second message, stamped with the end of the run, and is killed.
    session.happens(topics.REPORT, report("a", sent={"out": 2}))
    session.happens(topics.REPORT, report("clock", absent=[]))
    session.happens(topics.HORIZON, Horizon("", end, end, (Presence("a", NEVER, end),)))
    recorder.record()
    assert session.script == []
    assert sink.stamps == [10 * MS]
