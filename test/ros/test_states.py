# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""States as topics: what readers make of them, also of numbers that are not states."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import pytest
from support.patience import until

from ros2_cosim.core.kernel.errors import Aborted, AbortOrigin
from ros2_cosim.core.kernel.lifecycle import State
from ros2_cosim.core.messages.protocol import ParticipantState, SystemState

pytest.importorskip("rclpy")
pytest.importorskip("ros2_cosim.msg", reason="generated messages are not built")

from ros2_cosim.ros.node import topics
from ros2_cosim.ros.node.session import Session
from ros2_cosim.ros.node.state_topics import (
    ParticipantStateTopic,
    SystemStateReader,
    SystemStateTopic,
)
from ros2_cosim.ros.node.system_monitor import SystemMonitor
from ros2_cosim.ros.node.writers import data_qos


@pytest.fixture
def session(ros_domain: int) -> Iterator[Session]:
    with Session("states", []) as session:
        yield session


def test_a_number_that_is_no_state_changes_nothing(
    session: Session, capfd: pytest.CaptureFixture[str]
) -> None:
    latched = data_qos(latched=True)
    systems = session.writer(topics.SYSTEM_STATE, topics.SYSTEM_STATE_TYPE, latched)
    participants = session.writer(topics.PARTICIPANT_STATE, topics.PARTICIPANT_STATE_TYPE, latched)
    reader = SystemStateReader(session)
    monitor = SystemMonitor(session.node)
    system_states: list[State] = []
    monitor.add_system_handler(lambda state, reason: system_states.append(state))
    statuses: list[State] = []
    monitor.add_participant_handler(lambda status: statuses.append(status.state))
    for number in (State.RUNNING, 99, State.PAUSED):
        systems.send(SystemState(int(number), "why", "run"))
        participants.send(ParticipantState("a", int(number), "why"))
    until(lambda: len(system_states) == len(statuses) == 2, partial(session.wait, 0.01))
    until(lambda: reader.state is State.PAUSED, partial(session.wait, 0.01))
    assert system_states == statuses == [State.RUNNING, State.PAUSED]
    out, err = capfd.readouterr()
    refused = "/cosim/system_state: refused a message (1 so far): system state 99 does not exist"
    assert refused in out
    assert "system state 99 does not exist; the message is ignored" in err
    assert "a: state 99 does not exist; the message is ignored" in err
    assert "Traceback" not in err


def test_the_reader_knows_the_end_of_a_run(session: Session) -> None:
    topic = SystemStateTopic(session, "run")
    reader = SystemStateReader(session)
    assert reader.state is State.INVALID
    assert not reader.clock_has_gone()  # it has not come yet
    topic.require(["b", "a"])
    topic.update([State.RUNNING], "all are ready")
    until(lambda: reader.state is State.RUNNING, partial(session.wait, 0.01))
    assert (reader.reason, reader.required) == ("all are ready", ("a", "b"))
    assert not reader.run_has_ended()
    reader.check()
    with pytest.raises(Aborted, match="the run is over"):
        reader.check(State.RUNNING)
    topic.publish_last(State.ABORTING, "an error of a")
    until(lambda: reader.state is State.ABORTING, partial(session.wait, 0.01))
    assert reader.run_has_ended()
    with pytest.raises(Aborted, match="an error of a") as caught:
        reader.check()
    assert caught.value.origin is AbortOrigin.ELSEWHERE


def test_a_clock_that_was_there_and_is_not_has_gone(session: Session) -> None:
    reader = SystemStateReader(session)
    with Session("clock", host=session) as clock:
        SystemStateTopic(clock, "run").update([State.RUNNING], "all are ready")
        until(lambda: reader.state is State.RUNNING, partial(session.wait, 0.01))
        assert not reader.run_has_ended()
    until(reader.clock_has_gone, partial(session.wait, 0.01))
    assert reader.run_has_ended()


def test_a_silent_participant_publishes_no_state(session: Session) -> None:
    states: list[ParticipantState] = []
    session.record_reader(
        topics.PARTICIPANT_STATE,
        topics.PARTICIPANT_STATE_TYPE,
        data_qos(latched=True),
        states.append,
    )
    topic = ParticipantStateTopic(session, "a", "it has seen too much")
    topic.enter(State.RUNNING, "now")
    until(lambda: bool(states), partial(session.wait, 0.01))
    topic.silent = True
    topic.enter(State.ABORTING, "was asked to end")
    topic.silent = False
    topic.enter(State.SHUT_DOWN, "later")
    until(lambda: len(states) > 1, partial(session.wait, 0.01))
    assert states == [
        ParticipantState("a", int(State.RUNNING), "now", "it has seen too much"),
        ParticipantState("a", int(State.SHUT_DOWN), "later", "it has seen too much"),
    ]
