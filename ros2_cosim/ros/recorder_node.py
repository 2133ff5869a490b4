# SPDX-License-Identifier: Apache-2.0
"""The recorder: an observer that takes every data message and the final reports.

Like a participant it tells the clock up to when everything has been written, so that a slow
disk slows the run down instead of losing messages.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Protocol

from ros2_cosim.interfaces.cdr import WireCodec
from ros2_cosim.interfaces.protocol import (
    Completion,
    Horizon,
    ParticipantReport,
    ParticipantState,
    SystemState,
)
from ros2_cosim.kernel.channel import CausalityCounts, Channel, Promise, SequenceNumbers
from ros2_cosim.kernel.errors import Aborted, AbortOrigin
from ros2_cosim.kernel.graph import Graph
from ros2_cosim.kernel.life import Life
from ros2_cosim.kernel.lifecycle import Change, State
from ros2_cosim.kernel.membership import MembershipView
from ros2_cosim.kernel.model import Onlooker
from ros2_cosim.kernel.participant import Sample
from ros2_cosim.kernel.time import FOREVER, NEVER, format_ns
from ros2_cosim.ros import topics
from ros2_cosim.ros.heartbeat import Heart
from ros2_cosim.ros.participant_node import EXPLAIN_AFTER_NS, OVER
from ros2_cosim.ros.repetition import AGAIN
from ros2_cosim.ros.session import Session, data_qos

NAME = "recorder"
CLOCK = "clock"
_POLL_S = 0.1


class Sink(Protocol):
    """Where recorded messages go."""

    def write(self, topic: str, stamp_ns: int, seq: int, data: bytes) -> None:
        """Take one message in CDR."""

    def advance(self, time_ns: int) -> None:
        """Every message stamped before ``time_ns`` has been given."""


class RecorderNode:
    """Records a run.

    :param session: the ROS node
    :param graph: the checked system
    :param topic_of: (participant, output port) -> (topic, ROS type)
    :param sink: where the messages go
    :param quantum_ns: progress [ns of simulated time] worth telling the clock
    :param helpers: participant -> process that reports beside it
    :param timer: monotonic wall clock [ns], to notice when nothing arrives any more
    """

    def __init__(
        self,
        session: Session,
        graph: Graph,
        *,
        topic_of: Callable[[str, str], tuple[str, str]],
        sink: Sink,
        quantum_ns: int,
        helpers: Mapping[str, str] | None = None,
        timer: Callable[[], int],
    ) -> None:
        self._session = session
        self._sink = sink
        self._timer = timer
        self._quantum = quantum_ns
        self._channels: list[Channel] = []
        self._heart = Heart(session, NAME, timer)
        self._counts = CausalityCounts()
        self._end = FOREVER
        self._horizon = NEVER
        self._told = NEVER
        self._helpers = dict(helpers or {})
        self._expected = {*graph.participants, CLOCK, *self._helpers.values()}
        self._membership = MembershipView(graph)
        self.reports: dict[str, ParticipantReport] = {}
        self._life = Life(NAME, Onlooker(), on_change=self._changed)
        self._system = SystemState(int(State.INVALID), "", "")
        self._clock_seen = False
        for name, spec in graph.participants.items():
            promised: dict[str, Channel] = {}
            for port in spec.outputs:
                topic, _ = topic_of(name, port.name)
                assert isinstance(port.codec, WireCodec)
                channel = Channel(graph, name, port.name, _ignore)
                self._channels.append(channel)
                if channel.needs_promises:
                    promised[port.name] = channel
                sequence = SequenceNumbers(graph, name, port.name)
                receive = self._receiver(topic, port.codec, channel, sequence)
                session.reader(
                    topics.edge(topic, port.codec),
                    port.codec.type_name,
                    data_qos(latched=graph.is_kept(name, port.name)),
                    self._membership.guard(name, sequence, receive),
                )
                self._membership.watch(name, port.name, channel)
            if promised:
                session.record_reader(
                    topics.completion(name),
                    topics.COMPLETION_TYPE,
                    data_qos(latched=graph.has_late),
                    self._promise_receiver(promised),
                )
        latched = data_qos(latched=True)
        self._completion = session.writer(
            topics.completion(NAME), topics.COMPLETION_TYPE, data_qos()
        )
        self._states = session.writer(
            topics.PARTICIPANT_STATE, topics.PARTICIPANT_STATE_TYPE, latched
        )
        session.record_reader(topics.HORIZON, topics.HORIZON_TYPE, latched, self._on_horizon)
        session.record_reader(topics.REPORT, topics.REPORT_TYPE, latched, self._on_report)
        session.record_reader(
            topics.SYSTEM_STATE, topics.SYSTEM_STATE_TYPE, latched, self._on_system_state
        )

    def record(self) -> None:
        """Record until everything before the end of the run and all reports are here.

        :raises Aborted: the clock ended the run early
        :raises Cancelled: the process was asked to end
        """
        self._life.create()
        while self._life.state is not State.RUNNING:
            self._session.wait(0.02)
            self._check_abort()
            self._life.follow(State(self._system.state), connected=self._completion.readers >= 1)
        since = self._timer()
        explained = False
        reached = NEVER
        while True:
            bound = min((c.promise for c in self._channels), default=FOREVER)
            self._sink.advance(bound)
            if bound > reached:
                reached, since = bound, self._timer()
                if explained:
                    explained = False
                    self._life.note("goes on")
            news = min(self._told + self._quantum, self._horizon, self._end)
            if bound > self._told and self._told < self._horizon and bound >= news:
                self._told = bound
                self._heart.heard()
                self._completion.send(Completion(NAME, 0, bound, FOREVER, "", ()))
            if bound >= self._end and self.reports.keys() >= self._expected:
                self._life.stop("all messages and reports are here")
                return
            self._session.wait(_POLL_S)
            self._check_abort()
            self._heart.beat(0, bound, self._needs)
            if self._timer() - since > EXPLAIN_AFTER_NS:
                if not explained:
                    explained = True
                    self._life.note(self._explain())
                if self._clock_gone():
                    raise Aborted("the clock has gone", AbortOrigin.ELSEWHERE)

    def finish(self) -> bool:
        """Tell the clock that the record is complete on disk, and wait for the shut-down.

        :returns: whether the run begins anew
        """
        self._life.stopped("the record is complete")
        while self._system.state not in (*OVER, AGAIN) and not self._clock_gone():
            self._session.wait(_POLL_S)
        if self._system.state == AGAIN:
            return True
        self._life.shut_down("the run is complete")
        # The clock waits for this word.
        self._states.flush()
        return False

    def _needs(self) -> list[tuple[str, int]] | None:
        """(port, promised so far) of what the record waits for; None: the horizon."""
        bound = min((c.promise for c in self._channels), default=FOREVER)
        if bound >= self._horizon:
            return None
        return [(c.name, c.promise) for c in self._channels if c.promise == bound]

    def _explain(self) -> str:
        """What the record waits for: the ports with the earliest promise, or reports."""
        bound = min((c.promise for c in self._channels), default=FOREVER)
        if bound >= self._end:
            missing = sorted(self._expected - self.reports.keys())
            return f"waits for the reports of {', '.join(missing)}"
        late = [c.name for c in self._channels if c.promise == bound]
        return f"waits for data of {', '.join(late)} (promised up to {format_ns(max(bound, 0))})"

    def _clock_gone(self) -> bool:
        """Whether the clock was there and is not any more, however it ended."""
        return self._clock_seen and self._session.writers(topics.SYSTEM_STATE) == 0

    def _check_abort(self) -> None:
        if self._system.state == State.ABORTING:
            self._life.abort(self._system.reason)
            raise Aborted(self._system.reason, AbortOrigin.ELSEWHERE)

    def _receiver(
        self, topic: str, codec: WireCodec, channel: Channel, sequence: SequenceNumbers
    ) -> Callable[[bytes], None]:
        sink, counts, plain = self._sink, self._counts, codec.plain
        decode = codec.decode_measured

        def receive(data: bytes) -> None:
            stamp, seq, _, length = decode(data)
            if seq is None:
                seq = sequence.number(stamp, channel.received)
            channel.push(Sample(stamp, seq, None), NAME, counts)
            # Without the transport's padding: the same bytes as in every other run shape.
            sink.write(topic, stamp, seq, plain(data[:length]))

        return receive

    @staticmethod
    def _promise_receiver(ports: dict[str, Channel]) -> Callable[[Completion], None]:
        def receive(completion: Completion) -> None:
            for promise in completion.ports:
                if promise.port in ports:
                    ports[promise.port].promised(Promise(promise.count, promise.time_ns))

        return receive

    def _changed(self, change: Change) -> None:
        self._states.send(ParticipantState(NAME, int(change.state), change.reason))

    def _on_horizon(self, horizon: Horizon) -> None:
        self._horizon = horizon.time_ns
        self._end = horizon.end_ns
        self._membership.told(horizon.presences, horizon.time_ns)

    def _on_report(self, report: ParticipantReport) -> None:
        self.reports[report.participant] = report
        if report.participant == CLOCK:
            # Who never took part, or is gone, has nothing to report.
            absent = json.loads(report.details_json)["absent"]
            self._expected -= {*absent, *self._helpers_of(absent)}

    def _helpers_of(self, participants: Iterable[str]) -> set[str]:
        return {self._helpers[name] for name in participants if name in self._helpers}

    def _on_system_state(self, state: SystemState) -> None:
        self._system = state
        self._clock_seen = True


def _ignore(sample: Sample) -> None:
    """The recorder keeps bytes, not samples."""
