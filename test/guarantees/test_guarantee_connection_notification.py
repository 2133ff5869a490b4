# Copyright 2026 ros2_cosim contributors
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
    from ros2_cosim.core.kernel.lifecycle import State
    from ros2_cosim.core.messages.protocol import ParticipantState
    from ros2_cosim.ros.node import topics
    from ros2_cosim.ros.node.session import Session
    from ros2_cosim.ros.node.system_monitor import SystemMonitor
    from ros2_cosim.ros.node.writers import data_qos

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


def test_a_name_that_stays_when_all_have_ended_is_not_there(ros_domain: int) -> None:
    """The middleware can keep the name of a node whose process has ended."""
    pytest.importorskip("rclpy")
    from ros2_cosim.core.kernel.lifecycle import State
    from ros2_cosim.ros.node import topics
    from ros2_cosim.ros.node.session import Session
    from ros2_cosim.ros.node.system_monitor import SystemMonitor
    from ros2_cosim.ros.node.writers import data_qos, message_class

    message = message_class(topics.PARTICIPANT_STATE_TYPE)
    with Session("stays", []) as session:
        monitor = SystemMonitor(session.node)
        publisher = session.node.create_publisher(
            message, topics.PARTICIPANT_STATE, data_qos(latched=True)
        )
        publisher.publish(message(participant="stays", state=int(State.RUNNING)))
        while not monitor.connected:
            session.wait(0.1)
        monitor.look()
        assert monitor.connected == {"stays"}
        session.node.destroy_publisher(publisher)
        while monitor.connected:
            session.wait(0.1)
        assert "stays" in session.node.get_node_names()
