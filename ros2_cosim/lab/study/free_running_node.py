# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A participant as a ROS node without synchronisation: paced by the wall clock alone.

Same topics, same bytes and same quality of service as in shape ``ros``; only the engine is
missing. The activation at simulated time t is due at ``start + t / factor`` on the monotonic
clock that all processes of a host share. An overdue activation runs late, it is not skipped.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial

from ros2_cosim.core.kernel.errors import ConfigurationError, RunError, begun_elsewhere
from ros2_cosim.core.kernel.lifecycle import State
from ros2_cosim.core.kernel.model import FullModel
from ros2_cosim.core.kernel.participant import Sample
from ros2_cosim.core.messages.protocol import Horizon
from ros2_cosim.core.messages.reporting import report_of
from ros2_cosim.core.messages.wiring import Wiring
from ros2_cosim.core.realtime.pacing import TimeScale, parse_rate
from ros2_cosim.lab.study.free_running import FreeRunning
from ros2_cosim.ros.node import topics
from ros2_cosim.ros.node.inputs import by_writer, read_port
from ros2_cosim.ros.node.outputs import OutputTopics
from ros2_cosim.ros.node.session import Session
from ros2_cosim.ros.node.state_topics import ParticipantStateTopic, SystemStateReader
from ros2_cosim.ros.node.writers import data_qos

#: Topic of the start: ``time_ns`` is time 0 on the monotonic clock, ``end_ns`` the end.
START = "/cosim/free_running/start"
_POLL_S = 0.1
#: When all have finished and nothing has arrived for so long, nothing more will arrive.
_SETTLED_NS = 200_000_000


def wanted_factor(session: Session) -> float:
    """The real-time factor of a run without synchronisation: the ROS parameter ``factor``.

    :raises ConfigurationError: it is not a number above 0
    """
    factor = parse_rate(str(session.parameter("factor", 1.0)))
    if factor is None:
        raise ConfigurationError("parameter factor: found 'max'; allowed is a number above 0")
    return factor


class FreeRunningNode:
    """Runs one participant of a graph on the wall clock.

    :param session: the ROS node
    :param wiring: the system and its topics
    :param name: the participant
    :param model: its model
    :param factor: wanted real-time factor
    :param end_ns: the run ends at this simulated time
    :param watched: a topic that the clock reads, too
    :param timer: the monotonic clock that all processes share [ns]
    """

    def __init__(
        self,
        session: Session,
        wiring: Wiring,
        name: str,
        model: FullModel,
        *,
        factor: float,
        end_ns: int,
        watched: str,
        timer: Callable[[], int],
    ) -> None:
        graph = wiring.graph
        self._session = session
        self._name = name
        self._model = model
        self._scale = TimeScale(factor)
        self._timer = timer
        self._end = end_ns
        self._free = FreeRunning(graph, name, model, end_ns=end_ns, timer=timer)
        self._start: int | None = None
        self._max_lag = 0
        self._finished = 0
        self._heard = 0
        self._wait_ns = 0
        self._outputs = OutputTopics(session, wiring, name, timer)
        self._expected: list[int] = []
        for port in graph.participants[name].outputs:
            readers = {c.target for c in graph.outgoing(name) if c.source_port == port.name}
            seen = wiring.topics[name, port.name].name == watched
            self._expected.append(len(readers) + seen)
        for (source, port_name), channels in by_writer(self._free.runtime.channels).items():
            received = partial(self._free.received, channels[0])
            take = self._taker(channels)
            read_port(session, wiring, source, port_name, take, received=received)
        self._states = ParticipantStateTopic(session, name)
        self._system = SystemStateReader(session)
        latched = data_qos(latched=True)
        self._reports = session.writer(topics.REPORT, topics.REPORT_TYPE, latched)
        session.record_reader(START, topics.HORIZON_TYPE, latched, self._on_start)

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
            self._states.enter(State.STOPPED, "reported")
            while self._system.state is not State.SHUT_DOWN and not self._system.clock_has_gone():
                self._session.wait(_POLL_S)
        except RunError as error:
            if not begun_elsewhere(error):
                self._states.enter(State.ERROR, str(error))
                self._states.flush()
            raise
        finally:
            self._model.close()

    def _taker(self, channels: list[int]) -> Callable[[Sample], None]:
        free, publish = self._free, self._outputs.publish

        def take(sample: Sample) -> None:
            self._heard = self._timer()
            for channel in channels:
                publish(free.receive(channel, sample))

        return take

    def _connect(self) -> None:
        """Wait until every reader of the outputs has been found; then for the start."""
        self._states.enter(
            State.COMMUNICATION_INITIALISING, "looking for the readers of its outputs"
        )
        while any(
            w.readers < n for w, n in zip(self._outputs.writers, self._expected, strict=True)
        ):
            self._session.wait(0.02)
            self._system.check(State.SHUT_DOWN)
        self._states.enter(State.READY_TO_RUN, "all readers found")
        while self._start is None:
            self._session.wait(_POLL_S)
            self._system.check(State.SHUT_DOWN)

    def _simulate(self) -> None:
        """Run what is due until the end has come on the wall clock, for all others, too."""
        free, timer = self._free, self._timer
        while self._system.state is not State.STOPPING:
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
                self._outputs.publish(free.activate_time())
            self._system.check(State.SHUT_DOWN)

    def _finish(self) -> None:
        """Tell the clock that nothing more comes from here, unless a message causes it."""
        self._finished = self._timer()
        self._outputs.flush()
        self._states.enter(State.STOPPING, "all due activations complete")

    def _drain(self) -> None:
        """Take everything that has arrived."""
        counts = self._free.counts
        while True:
            before = counts.messages
            self._session.wait(0.0)
            if counts.messages == before:
                return

    def _settle(self) -> None:
        """All participants have finished: wait for what is still under way."""
        self._heard = self._timer()
        while self._timer() - self._heard < _SETTLED_NS:
            self._session.wait(0.05)
            self._system.check(State.SHUT_DOWN)

    def _due(self, time: int) -> int:
        return self._scale.due(time)

    def _report(self) -> None:
        free = self._free
        counts = free.counts
        self._model.finish()
        report = report_of(free.runtime)
        details = json.loads(report.details_json)
        del details["times"]
        details["free_running"] = {
            "messages": counts.messages,
            "late": counts.late,
            "early": counts.early,
            "wrong": counts.wrong,
            "tied": counts.tied,
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
                transport_ns=report.transport_ns + self._outputs.transport_ns,
                timing=counts.timing,
                order=counts.order,
                loss=counts.loss,
                details_json=json.dumps(details, allow_nan=False, sort_keys=True),
            )
        )

    def _on_start(self, start: Horizon) -> None:
        self._start = start.time_ns
        self._scale.start(start.time_ns)
