# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What a participant reports while a run goes on: how far it is, and why it is not further."""

from __future__ import annotations

from collections.abc import Callable

from ros2_cosim.core.kernel.errors import Aborted, AbortOrigin
from ros2_cosim.core.kernel.participant_lifecycle import ParticipantLifecycle
from ros2_cosim.core.kernel.time import FOREVER, NEVER
from ros2_cosim.core.messages.protocol import Completion, Heartbeat
from ros2_cosim.ros.node import topics
from ros2_cosim.ros.node.blocking import HORIZON
from ros2_cosim.ros.node.session import Session
from ros2_cosim.ros.node.short_forms import short_completion
from ros2_cosim.ros.node.state_topics import SystemStateReader
from ros2_cosim.ros.node.writers import data_qos

#: A participant that has not advanced for so long reports what it waits for [ns of wall time].
EXPLAIN_AFTER_NS = 2_000_000_000
#: Time between two heartbeats [ns of wall time].
BEAT_NS = 1_000_000_000


class ProgressTopics:
    """Completions, and heartbeats while there are none.

    A participant that advances reports so to the clock anyway. A participant that has reported
    nothing for a second sends a heartbeat a second with what it waits for. A participant that sends
    nothing for longer has been stopped, or is inside an activation. A run that goes on has no
    heartbeats.

    :param session: the ROS node
    :param name: the participant
    :param timer: monotonic wall clock [ns]
    :param quantum_ns: progress [ns of simulated time] worth a message
    :param kept: whether late readers get what was sent before
    :param silence_ns: see :meth:`.lane_interface.RunLane.writer`; it counts from the latest time in
        a completion
    """

    def __init__(
        self,
        session: Session,
        name: str,
        timer: Callable[[], int],
        *,
        quantum_ns: int,
        kept: bool = False,
        silence_ns: int = 0,
    ) -> None:
        self._name = name
        self._timer = timer
        self._quantum = quantum_ns
        self._reached = NEVER
        self.completions = session.writer(
            topics.completion(name),
            topics.COMPLETION_TYPE,
            data_qos(latched=kept),
            short_completion,
            silence=silence_ns,
        )
        self._heartbeats = session.writer(topics.HEARTBEAT, topics.HEARTBEAT_TYPE, data_qos())
        self._last = timer()

    def is_news(self, bound: int, horizon: int, end: int = FOREVER) -> bool:
        """Whether it is worth a message that no further activation comes before ``bound``.

        :param horizon: activations before it may run; beyond it a message does not help the run
        :param end: of the run
        """
        if bound <= self._reached or self._reached >= horizon:
            return False
        return bound >= min(self._reached + self._quantum, horizon, end)

    def is_progress(self, bound: int) -> bool:
        """Whether more is complete than what was reported."""
        return bound > self._reached

    def report(self, completion: Completion, told: int = FOREVER - 2) -> None:
        """Publish how far the participant is.

        :param told: the latest time that readers learn of from it [ns]
        """
        self._reached = completion.bound_ns
        self._last = self._timer()
        self.completions.send(completion, min(told, FOREVER - 2) - 1)
        self.completions.reach(completion.bound_ns)

    def beat(
        self, activations: int, bound: int, needs: Callable[[], list[tuple[str, int]] | None]
    ) -> None:
        """Publish a heartbeat if one is due.

        :param activations: complete so far
        :param bound: no further activation takes place before it [ns]
        :param needs: gives (connection, promised so far [ns]) of what is waited for, None for
            the horizon
        """
        now = self._timer()
        if now - self._last < BEAT_NS:
            return
        self._last = now
        waits = needs()
        if waits is None:
            waits = [(HORIZON, bound)]
        names = tuple(name for name, _ in waits)
        reach = tuple(time for _, time in waits)
        self._heartbeats.send(Heartbeat(self._name, activations, bound, names, reach))


class Standstill:
    """Notes once what a participant waits for, when it has not advanced for a while.

    :param life: takes the note
    :param system: whether the clock is still there
    :param timer: monotonic wall clock [ns]
    :param explain: gives what is waited for
    """

    def __init__(
        self,
        life: ParticipantLifecycle,
        system: SystemStateReader,
        timer: Callable[[], int],
        explain: Callable[[], str],
    ) -> None:
        self._life = life
        self._system = system
        self._timer = timer
        self._explain = explain
        self._since = timer()
        self._noted = False

    def advanced(self) -> None:
        """The participant has advanced, or is not meant to."""
        self._since = self._timer()
        if self._noted:
            self._noted = False
            self._life.note("goes on")

    def check(self) -> None:
        """See how long the participant has stood.

        :raises Aborted: for a while, and the clock, for which it may wait, has gone
        """
        if self._timer() - self._since <= EXPLAIN_AFTER_NS:
            return
        if not self._noted:
            self._noted = True
            self._life.note(self._explain())
        if self._system.clock_has_gone():
            raise Aborted("the clock has gone", AbortOrigin.UNREACHABLE)
