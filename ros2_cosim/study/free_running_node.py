# SPDX-License-Identifier: Apache-2.0
"""A participant as a ROS node that nobody synchronises: paced by the wall clock alone.

Same topics, same bytes and same quality of service as in shape ``ros``; only the engine is
missing. The activation at simulated time t is due at ``start + t / factor`` on the monotonic
clock that all processes of a host share. One that is overdue runs late, it is not skipped.
"""

from __future__ import annotations

import json
from collections.abc import Callable

from ros2_cosim.interfaces.cdr import WireCodec
from ros2_cosim.interfaces.protocol import Horizon, ParticipantState, SystemState
from ros2_cosim.interfaces.reporting import report_of
from ros2_cosim.kernel.channel import SequenceNumbers
from ros2_cosim.kernel.errors import Aborted, AbortOrigin, RunError, begun_elsewhere
from ros2_cosim.kernel.graph import Graph
from ros2_cosim.kernel.lifecycle import State
from ros2_cosim.kernel.model import Model
from ros2_cosim.kernel.participant import Sample
from ros2_cosim.kernel.runtime import Output
from ros2_cosim.realtime.pacing import TimeScale
from ros2_cosim.ros import topics
from ros2_cosim.ros.session import Session, Writer, data_qos
from ros2_cosim.study.free_running import FreeRunning

#: Where the start is told: ``time_ns`` is time 0 on the monotonic clock, ``end_ns`` the end.
START = "/cosim/free_running/start"
_POLL_S = 0.1
#: Who has heard nothing for so long, after everybody has finished, hears nothing any more.
_SETTLED_NS = 200_000_000


class FreeRunningNode:
    """Runs one participant of a graph on the wall clock.

    :param session: the ROS node
    :param graph: the checked system
    :param name: the participant
    :param behaviour: its model
    :param topic_of: (participant, output port) -> (topic, ROS type)
    :param factor: wanted real-time factor
    :param end_ns: the run ends at this simulated time
    :param watched: a topic that the clock reads, too
    :param timer: the monotonic clock that all processes share [ns]
    """

    def __init__(
        self,
        session: Session,
        graph: Graph,
        name: str,
        behaviour: Model,
        *,
        topic_of: Callable[[str, str], tuple[str, str]],
        factor: float,
        end_ns: int,
        watched: str,
        timer: Callable[[], int],
    ) -> None:
        self._session = session
        self._name = name
        self._behaviour = behaviour
        self._scale = TimeScale(factor)
        self._timer = timer
        self._end = end_ns
        self._free = FreeRunning(graph, name, behaviour, end_ns=end_ns, timer=timer)
        self._start: int | None = None
        self._system = SystemState(int(State.INVALID), "", "")
        self._max_lag = 0
        self._finished = 0
        self._heard = 0
        self._transport_ns = 0
        self._wait_ns = 0
        self._writers: list[Writer] = []
        self._expected: list[int] = []
        for port in graph.participants[name].outputs:
            topic, _ = topic_of(name, port.name)
            assert isinstance(port.codec, WireCodec)
            qos = data_qos(latched=port.schedule == "once")
            self._writers.append(Writer(session.node, topic, port.codec, qos))
            readers = {c.target for c in graph.outgoing(name) if c.source_port == port.name}
            self._expected.append(len(readers) + (topic == watched))
        by_topic: dict[tuple[str, str], list[int]] = {}
        for index, connection in enumerate(self._free.runtime.channels):
            by_topic.setdefault((connection.source, connection.source_port), []).append(index)
        for (source, port_name), channels in by_topic.items():
            topic, _ = topic_of(source, port_name)
            codec = graph.output(source, port_name).codec
            assert isinstance(codec, WireCodec)
            sequence = SequenceNumbers(graph, source, port_name)
            receive = self._receiver(codec, sequence, channels)
            session.reader(topics.edge(topic, codec), codec.type_name, data_qos(), receive)
        latched = data_qos(latched=True)
        self._states = session.writer(
            topics.PARTICIPANT_STATE, topics.PARTICIPANT_STATE_TYPE, latched
        )
        self._reports = session.writer(topics.REPORT, topics.REPORT_TYPE, latched)
        session.record_reader(START, topics.HORIZON_TYPE, latched, self._on_start)
        session.record_reader(
            topics.SYSTEM_STATE, topics.SYSTEM_STATE_TYPE, latched, self._on_system_state
        )

    def run(self) -> None:
        """Connect, run every activation when it is due, report, and wait for the shut-down.

        :raises RunError: the run was aborted, or this participant failed
        :raises Cancelled: the process was asked to end
        """
        try:
            self._connect()
            self._simulate()
            self._settle()
            self._report()
            self._enter(State.STOPPED, "reported")
            while not self._is(State.SHUT_DOWN) and not self._clock_gone():
                self._session.wait(_POLL_S)
        except RunError as error:
            if not begun_elsewhere(error):
                self._enter(State.ERROR, str(error))
                self._states.flush()
            raise
        finally:
            self._behaviour.close()

    def _receiver(
        self, codec: WireCodec, sequence: SequenceNumbers, channels: list[int]
    ) -> Callable[[bytes], None]:
        free, decode = self._free, codec.decode

        def receive(data: bytes) -> None:
            self._heard = self._timer()
            stamp, seq, record = decode(data)
            if seq is None:
                seq = sequence.number(stamp, free.received(channels[0]))
            for channel in channels:
                self._publish(free.receive(channel, Sample(stamp, seq, record)))

        return receive

    def _connect(self) -> None:
        """Wait until every reader of the outputs has been found; then for the start."""
        self._enter(State.COMMUNICATION_INITIALISING, "looking for the readers of its outputs")
        while any(w.readers < n for w, n in zip(self._writers, self._expected, strict=True)):
            self._session.wait(0.02)
            self._check_abort()
        self._enter(State.READY_TO_RUN, "all readers found")
        while self._start is None:
            self._session.wait(_POLL_S)
            self._check_abort()

    def _simulate(self) -> None:
        """Run what is due until the end has come on the wall clock, for all others, too."""
        free, timer = self._free, self._timer
        while not self._is(State.STOPPING):
            time = free.next_time
            if time is None and self._finished == 0 and timer() >= self._due(self._end):
                self._finish()
            due = self._due(self._end if time is None else time)
            now = timer()
            if now < due or self._finished:
                # A message ends the wait: it is delivered as it arrives.
                patience = _POLL_S if self._finished else min((due - now) / 1e9, _POLL_S)
                self._session.wait(patience)
                self._wait_ns += timer() - now
            elif time is not None:
                self._drain()
                self._max_lag = max(self._max_lag, timer() - due)
                self._publish(free.activate_time())
            self._check_abort()

    def _finish(self) -> None:
        """Tell the clock that nothing more comes from here, unless a message causes it."""
        self._finished = self._timer()
        for writer in self._writers:
            writer.flush()
        self._enter(State.STOPPING, "all due activations complete")

    def _drain(self) -> None:
        """Take everything that has arrived."""
        counts = self._free.counts
        while True:
            before = counts.messages
            self._session.wait(0.0)
            if counts.messages == before:
                return

    def _settle(self) -> None:
        """Everybody has finished: wait for what is still under way."""
        self._heard = self._timer()
        while self._timer() - self._heard < _SETTLED_NS:
            self._session.wait(0.05)
            self._check_abort()

    def _due(self, time: int) -> int:
        return self._scale.due(time)

    def _publish(self, outputs: list[Output]) -> None:
        started = self._timer()
        for port, _, data in outputs:
            self._writers[port].send_bytes(data)
        self._transport_ns += self._timer() - started

    def _report(self) -> None:
        free = self._free
        counts = free.counts
        self._behaviour.finish()
        report = report_of(free.runtime)
        details = json.loads(report.details_json)
        del details["times"]
        details["free_running"] = {
            "messages": counts.messages,
            "late": counts.late,
            "early": counts.early,
            "max_lag_ns": self._max_lag,
            "complete": free.next_time is None,
            "finished_ns": self._finished or self._timer(),
            "sent": {p.name: free.runtime.sent(p.name)[0] for p in free.runtime.spec.outputs},
            "received": {
                str(connection): free.received(index)
                for index, connection in enumerate(free.runtime.channels)
            },
        }
        self._reports.send(
            report._replace(
                wait_ns=self._wait_ns,
                transport_ns=report.transport_ns + self._transport_ns,
                timing=counts.timing,
                order=counts.order,
                loss=counts.loss,
                details_json=json.dumps(details, allow_nan=False, sort_keys=True),
            )
        )

    def _enter(self, state: State, reason: str) -> None:
        self._states.send(ParticipantState(self._name, int(state), reason))

    def _is(self, state: State) -> bool:
        return self._system.state == state

    def _on_start(self, start: Horizon) -> None:
        self._start = start.time_ns
        self._scale.start(start.time_ns)

    def _on_system_state(self, state: SystemState) -> None:
        self._system = state

    def _clock_gone(self) -> bool:
        """Whether the clock was there and is not any more, however it ended."""
        return not self._is(State.INVALID) and self._session.writers(topics.SYSTEM_STATE) == 0

    def _check_abort(self) -> None:
        if self._system.state in (State.ABORTING, State.SHUT_DOWN):
            raise Aborted(self._system.reason or "the run is over", AbortOrigin.ELSEWHERE)
