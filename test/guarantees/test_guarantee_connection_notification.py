# SPDX-License-Identifier: Apache-2.0
"""Participants that ask for it are notified of connections and disconnections."""

from __future__ import annotations

from typing import Any

import pytest


def test_each_participant_connects_and_disconnects_once(observed: Any) -> None:
    for told in (observed.connected, observed.disconnected):
        assert sorted(set(told)) == sorted(told)
        assert observed.names <= set(told)
    assert set(observed.connected) == set(observed.disconnected)


def test_a_node_without_a_known_name_has_not_gone(ros_domain: int) -> None:
    pytest.importorskip("rclpy")
    from ros2_cosim.interfaces.protocol import ParticipantState
    from ros2_cosim.kernel.lifecycle import State
    from ros2_cosim.ros import topics
    from ros2_cosim.ros.session import Session, data_qos
    from ros2_cosim.ros.system_monitor import SystemMonitor

    told: list[str] = []
    with Session("looks_on", []) as session:
        monitor = SystemMonitor(session.node)
        monitor.add_connected_handler(lambda name: told.append(f"{name} has come"))
        monitor.add_disconnected_handler(lambda name: told.append(f"{name} has gone"))
        writer = session.writer(
            topics.PARTICIPANT_STATE, topics.PARTICIPANT_STATE_TYPE, data_qos(latched=True)
        )

        def hear(state: State) -> None:
            # No node has this name: what it says is there first.
            writer.send(ParticipantState("early", int(state), ""))
            while monitor.participants.get("early", (None, None))[1] is not state:
                session.wait(0.1)
            monitor.look()

        hear(State.SERVICES_CREATED)
        hear(State.RUNNING)
        assert told == ["early has come"]
        assert monitor.connected == {"early"}
        hear(State.SHUT_DOWN)
        assert told == ["early has come", "early has gone"]
        hear(State.SHUT_DOWN)
        assert told == ["early has come", "early has gone"]
