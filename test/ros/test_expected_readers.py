# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Readers are known by their nodes: no other reader stands in for one that is not there yet."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from support.patience import until

from ros2_cosim.core.kernel.graph import Graph, OutputPort, ParticipantSpec
from ros2_cosim.core.kernel.membership import MembershipView

pytest.importorskip("rclpy")
pytest.importorskip("ros2_cosim.msg", reason="generated messages are not built")

from ros2_cosim.core.messages.catalogue import DEFAULT as CATALOGUE
from ros2_cosim.ros.node import topics
from ros2_cosim.ros.node.expected_readers import CLOCK, RECORDER, ExpectedReaders
from ros2_cosim.ros.node.session import Session
from ros2_cosim.ros.node.writers import Writer, data_qos

TOPIC, TYPE = "/a/out", "ros2_cosim/msg/ControlCommand"


class System:
    """Sessions in one process; the first one is the writer's."""

    def __init__(self, opened: ExitStack) -> None:
        self._opened = opened
        self.session = opened.enter_context(Session("writer", []))
        self.writer = self.session.writer(TOPIC, TYPE, data_qos())
        late = ParticipantSpec("late", 10, enter_ns=50)
        graph = Graph([ParticipantSpec("a", 10, outputs=(OutputPort("out"),)), late], [])
        self.membership = MembershipView(graph)
        self.readers = ExpectedReaders(self.session, graph, self.membership)

    def node(self, name: str, *, latched: bool = False) -> Session:
        """A further node, which reads what the writer sends."""
        session = self._opened.enter_context(Session(name, host=self.session))
        qos = data_qos(latched=latched)
        session.reader(TOPIC, TYPE, qos, lambda data: None)
        return session

    def found(self, count: int) -> None:
        """Wait until the writer has found so many readers, and all their nodes are known."""
        self.until(lambda: self.writer.readers == count)
        self.until(lambda: "" not in self.writer.reader_nodes())

    def until(self, condition: Callable[[], Any]) -> None:
        """Wait for something that comes."""
        until(condition, lambda: self.session.wait(0.01))


@pytest.fixture
def system(ros_domain: None) -> Iterator[System]:
    with ExitStack() as opened:
        yield System(opened)


def announce(session: Session, name: str) -> Writer:
    """Publish what tells that a node is the one of a participant, or of the recorder."""
    return session.writer(topics.completion(name), topics.COMPLETION_TYPE, data_qos())


def test_a_stranger_does_not_stand_in_for_the_recorder(system: System) -> None:
    system.readers.add(system.writer, (), {RECORDER})
    system.node("stranger")
    system.found(1)
    assert not system.readers.may_start()
    announce(system.node("anything"), RECORDER)
    system.until(system.readers.may_start)
    assert set(system.writer.reader_nodes()) == {"/stranger", "/anything"}


def test_the_clock_is_known_by_the_horizon(system: System) -> None:
    system.readers.add(system.writer, (), {CLOCK})
    clock = system.node("clock")
    system.found(1)
    assert not system.readers.may_start()
    clock.writer(topics.HORIZON, topics.HORIZON_TYPE, data_qos(latched=True))
    system.until(system.readers.may_start)


def test_late_readers_are_awaited_after_the_start_and_those_that_are_gone_are_not(
    system: System,
) -> None:
    system.readers.add(system.writer, {"late", "lost"}, ())
    system.readers.add(system.writer, (), {RECORDER}, at_start=False)
    assert not system.readers.may_start()
    system.membership.gone.add("lost")
    assert system.readers.may_start()
    announce(system.node("late"), "late")
    system.found(1)
    assert not system.readers.have_all()
    announce(system.node("recorder"), RECORDER)
    system.until(system.readers.have_all)


def test_all_have_what_was_sent_only_if_the_writer_says_so(system: System) -> None:
    end = Connecting()
    writer = Writer(system.session.node, TOPIC, CATALOGUE.codec(TYPE), data_qos(), lane=end)
    system.readers.add(writer, (), ())
    assert system.readers.have_all()
    end.has_all = False
    assert not system.readers.have_all()


def test_who_the_readers_are_is_asked_when_there_are_enough(
    system: System, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    find = system.session.publishing_nodes

    def counted(topic: str) -> set[str]:
        asked.append(topic)
        return find(topic)

    monkeypatch.setattr(system.session, "publishing_nodes", counted)
    system.readers.add(system.writer, (), {RECORDER})
    assert not system.readers.may_start()
    assert asked == []
    system.node("stranger")
    system.found(1)
    assert not system.readers.may_start()
    assert asked == [topics.completion(RECORDER)]


def test_a_stranger_that_cannot_be_served_holds_nothing_up(system: System) -> None:
    system.readers.add(system.writer, (), {RECORDER})
    stranger = system.node("stranger", latched=True)
    announce(system.node("recorder"), RECORDER)
    system.until(system.readers.may_start)
    # It is known in the system, and asks for what is not offered.
    found = system.session.node.get_subscriptions_info_by_topic(TOPIC)
    assert stranger.node.get_name() in [info.node_name for info in found]
    assert system.writer.readers == 1


class Connecting:
    """The writing end of a topic that two nodes read, connected with so many of them so far."""

    readers = 2
    has_all = True

    @property
    def reader_nodes(self) -> list[str]:
        return ["/stranger", "/recorder"]

    def send(self, data: bytes, stamp: int = 0, seq: int = 0, value: Any = None) -> None:
        raise AssertionError("nothing is sent before all readers are there")

    def flush(self) -> bool:
        return self.has_all


def test_a_writer_that_may_be_connected_with_another_one_has_to_be_with_all(
    system: System,
) -> None:
    end = Connecting()
    writer = Writer(system.session.node, TOPIC, CATALOGUE.codec(TYPE), data_qos(), lane=end)
    system.readers.add(writer, (), {RECORDER})
    announce(system.node("recorder"), RECORDER)
    system.until(system.readers.may_start)
    end.readers = 1
    assert not system.readers.may_start()
