# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The state of a run as standard diagnostics."""

from __future__ import annotations

import pytest

pytest.importorskip("rclpy", reason="needs rclpy, which make setup installs")

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus

from ros2_cosim.core.kernel.lifecycle import State
from ros2_cosim.core.kernel.time import NEVER
from ros2_cosim.ros.node import topics
from ros2_cosim.ros.node.diagnostics import DiagnosticsPublisher, ParticipantStanding
from ros2_cosim.ros.node.session import Session

STANDINGS = [
    ParticipantStanding("world", State.RUNNING, "first activation", 1_500_000_000),
    ParticipantStanding(
        "sensor", State.RUNNING, "waits to run 1.49s; needs world.state", 1_490_000_000
    ),
    ParticipantStanding("v2v", State.ERROR, "out of range", 1_600_000_000),
    ParticipantStanding("late", None, "", NEVER),
]


def test_every_participant_has_a_status_that_tells_what_holds_back(ros_domain: int) -> None:
    received: list[DiagnosticArray] = []
    with Session("diagnostics_test") as session:
        publisher = DiagnosticsPublisher(session.node, "run-1", 0)
        session.node.create_subscription(DiagnosticArray, topics.DIAGNOSTICS, received.append, 10)
        for _ in range(200):
            publisher.publish(1_490_000_000, 1_990_000_000, 2.5, STANDINGS)
            session.wait(0.05)
            if received:
                break
    (message, *_) = received
    assert (message.header.stamp.sec, message.header.stamp.nanosec) == (1, 490_000_000)
    found = {status.name: status for status in message.status}
    assert list(found) == ["cosim: clock", *(f"cosim: {entry.name}" for entry in STANDINGS)]
    assert {status.hardware_id for status in message.status} == {"run-1"}
    levels = [found[f"cosim: {entry.name}"].level for entry in STANDINGS]
    assert levels == [
        DiagnosticStatus.OK,
        DiagnosticStatus.WARN,
        DiagnosticStatus.ERROR,
        DiagnosticStatus.STALE,
    ]
    values = {
        name: {item.key: item.value for item in status.values} for name, status in found.items()
    }
    assert values["cosim: clock"] == {"horizon": "1.99s", "real_time_factor": "2.500"}
    assert values["cosim: sensor"]["holds_back"] == "True"
    assert values["cosim: world"] == {"complete_before": "1.5s", "holds_back": "False"}
    assert "needs world.state" in found["cosim: sensor"].message
