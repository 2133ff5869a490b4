# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What a participant reports while a run goes on: completions, heartbeats, notes."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import pytest
from support.patience import until

from ros2_cosim.core.kernel.model import Onlooker
from ros2_cosim.core.kernel.participant_lifecycle import ParticipantLifecycle
from ros2_cosim.core.kernel.time import FOREVER, NEVER
from ros2_cosim.core.messages.protocol import Completion, Heartbeat

pytest.importorskip("rclpy")
pytest.importorskip("ros2_cosim.msg", reason="generated messages are not built")

from ros2_cosim.core.kernel.errors import Aborted
from ros2_cosim.core.kernel.lifecycle import State
from ros2_cosim.ros.node import topics
from ros2_cosim.ros.node.progress import ProgressTopics, Standstill
from ros2_cosim.ros.node.session import Session
from ros2_cosim.ros.node.state_topics import SystemStateReader, SystemStateTopic
from ros2_cosim.ros.node.writers import data_qos

#: Between two heartbeats, and after which a standstill is noted [ns].
BEAT_NS, EXPLAIN_AFTER_NS = 1_000_000_000, 2_000_000_000


class WallClock:
    """A monotonic clock that a test sets."""

    now = 0

    def __call__(self) -> int:
        return self.now


@pytest.fixture
def session(ros_domain: int) -> Iterator[Session]:
    with Session("progress", []) as session:
        yield session


def completion(bound: int) -> Completion:
    return Completion("a", 0, bound, FOREVER, "", ())


def test_progress_is_news_after_a_quantum_or_at_the_horizon(session: Session) -> None:
    progress = ProgressTopics(session, "a", WallClock(), quantum_ns=100)
    assert not progress.is_news(0, NEVER)  # the run has not begun: the clock waits for nothing
    assert progress.is_news(0, 1000)
    progress.report(completion(0))
    found = [bound for bound in range(0, 1200, 10) if progress.is_news(bound, 250)]
    assert found[0] == 100
    progress.report(completion(200))
    assert not progress.is_news(249, 250)
    assert progress.is_news(250, 250)
    assert progress.is_news(240, 250, end=240)
    progress.report(completion(250))
    assert not progress.is_news(1000, 250)  # beyond the horizon a message changes nothing
    assert progress.is_progress(251)
    assert not progress.is_progress(250)


def test_each_promise_is_news_without_a_quantum(session: Session) -> None:
    progress = ProgressTopics(session, "a", WallClock(), quantum_ns=0)
    for bound in (0, 1, 2):
        assert progress.is_news(bound, 1000)
        progress.report(completion(bound))
        assert not progress.is_news(bound, 1000)


def test_a_heartbeat_comes_only_where_nothing_else_does(session: Session) -> None:
    wall = WallClock()
    beats: list[Heartbeat] = []
    completions: list[Completion] = []
    session.record_reader(topics.HEARTBEAT, topics.HEARTBEAT_TYPE, data_qos(), beats.append)
    session.record_reader(
        topics.completion("a"), topics.COMPLETION_TYPE, data_qos(), completions.append
    )
    progress = ProgressTopics(session, "a", wall, quantum_ns=100)
    until(lambda: progress.completions.readers == 1, partial(session.wait, 0.01))
    wall.now = BEAT_NS - 1
    progress.beat(0, 0, lambda: pytest.fail("not due yet"))
    progress.report(completion(5))
    wall.now = BEAT_NS + 1
    progress.beat(0, 0, lambda: pytest.fail("a completion has just been sent"))
    wall.now = 2 * BEAT_NS
    progress.beat(7, 5, lambda: [("b.out", 5)])
    wall.now = 3 * BEAT_NS
    progress.beat(7, 5, lambda: None)
    until(lambda: len(beats) == 2 and len(completions) == 1, partial(session.wait, 0.01))
    assert beats == [
        Heartbeat("a", 7, 5, ("b.out",), (5,)),
        Heartbeat("a", 7, 5, ("horizon",), (5,)),
    ]


def test_a_standstill_is_noted_once_and_ends_with_the_clock(session: Session) -> None:
    wall = WallClock()
    notes: list[str] = []
    life = ParticipantLifecycle(
        "a", Onlooker(), on_change=lambda change: notes.append(change.reason)
    )
    system = SystemStateReader(session)
    standstill = Standstill(life, system, wall, lambda: "waits for b")
    with Session("clock", host=session) as clock:
        SystemStateTopic(clock, "run").update([State.RUNNING], "all are ready")
        until(lambda: system.state is State.RUNNING, partial(session.wait, 0.01))
        standstill.check()
        assert notes == []
        wall.now += EXPLAIN_AFTER_NS
        standstill.check()
        assert notes == []
        wall.now += 1
        standstill.check()
        standstill.check()
        assert notes == ["waits for b"]
        standstill.advanced()
        assert notes == ["waits for b", "goes on"]
        standstill.check()
        assert notes == ["waits for b", "goes on"]
    until(system.clock_has_gone, partial(session.wait, 0.01))
    standstill.check()  # it has just advanced
    wall.now += EXPLAIN_AFTER_NS + 1
    with pytest.raises(Aborted, match="the clock has gone"):
        standstill.check()
    assert notes[2:] == ["waits for b"]
