# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The recorder: an observer that takes every data message and the final reports.

Like a participant it reports to the clock up to when everything has been written, so that a slow
disk slows the run down instead of losing messages.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from ros2_cosim.core.kernel.channel import CausalityCounts, Channel
from ros2_cosim.core.kernel.errors import Aborted
from ros2_cosim.core.kernel.lifecycle import State
from ros2_cosim.core.kernel.membership import MembershipView, Presence
from ros2_cosim.core.kernel.model import Onlooker
from ros2_cosim.core.kernel.participant import Sample
from ros2_cosim.core.kernel.participant_lifecycle import ParticipantLifecycle
from ros2_cosim.core.kernel.time import FOREVER, NEVER, format_ns
from ros2_cosim.core.messages.protocol import (
    Completion,
    ForeignMessageError,
    Horizon,
    ParticipantReport,
    RunChange,
)
from ros2_cosim.core.messages.reporting import details_of
from ros2_cosim.core.messages.sink import Sink
from ros2_cosim.core.messages.wiring import DataTopic, Wiring, edge_topic
from ros2_cosim.ros.node import topics
from ros2_cosim.ros.node.expected_readers import CLOCK, RECORDER, ExpectedReaders
from ros2_cosim.ros.node.inputs import ChannelReader, as_seen
from ros2_cosim.ros.node.progress import ProgressTopics, Standstill
from ros2_cosim.ros.node.session import Session
from ros2_cosim.ros.node.state_topics import ParticipantStateTopic, SystemStateReader
from ros2_cosim.ros.node.time_topics import check_run
from ros2_cosim.ros.node.writers import data_qos

_POLL_S = 0.1


class RecorderNode:
    """Records a run.

    :param session: the ROS node
    :param wiring: the system and its topics
    :param sink: where the messages go
    :param reads: whether it takes them; else it gets none on a lane
    :param quantum_ns: progress [ns of simulated time] worth reporting to the clock
    :param entry_step_ns: participants with free entry enter at multiples of this [ns] only
    :param helpers: participant -> process that reports beside it
    :param run_id: names this run in messages of the clock; empty: any run
    :param timer: monotonic wall clock [ns], to notice when nothing arrives any more
    :param on_changes: takes all that has been changed by hand so far, when there is more of it
    """

    def __init__(
        self,
        session: Session,
        wiring: Wiring,
        *,
        sink: Sink,
        reads: bool = True,
        quantum_ns: int,
        entry_step_ns: int = 1,
        helpers: Mapping[str, str] | None = None,
        run_id: str = "",
        timer: Callable[[], int],
        on_changes: Callable[[tuple[RunChange, ...]], None] = lambda changes: None,
    ) -> None:
        graph = wiring.graph
        self._on_changes = on_changes
        self._changes = 0
        self._session = session
        self._sink = sink
        self._counts = CausalityCounts()
        self._end = FOREVER
        self._horizon = NEVER
        self._helpers = dict(helpers or {})
        self._reporting = frozenset((*graph.participants, CLOCK, *self._helpers.values()))
        self._expected = set(self._reporting)
        self._run_id = run_id
        self._membership = MembershipView(graph, entry_step_ns)
        #: The reports that have arrived, by participant.
        self.reports: dict[str, ParticipantReport] = {}
        self._channels: list[Channel] = []
        self._topics: dict[Channel, str] = {}
        self._outputs: dict[str, dict[str, Channel]] = {}
        #: (channel, how many messages its writer has sent), of the writers that have reported.
        self._sent: list[tuple[Channel, int]] = []
        reader = ChannelReader(session, wiring, self._membership)
        for (name, port), topic in wiring.topics.items():
            if not reads:
                reader.leave_unused(name, port)
                continue
            channel = Channel(graph, name, port, _ignore)
            self._channels.append(channel)
            self._topics[channel] = edge_topic(topic.name, topic.codec)
            self._outputs.setdefault(name, {})[port] = channel
            reader.read(name, port, [channel], self._taker(topic, channel), as_seen)
        self._progress = ProgressTopics(session, RECORDER, timer, quantum_ns=quantum_ns)
        self._readers = ExpectedReaders(session, graph, self._membership)
        self._readers.add(self._progress.completions, (), {CLOCK})
        session.follow(session.node, lambda: min(self._bound(), self._horizon))
        self._states = ParticipantStateTopic(session, RECORDER)
        self._life = ParticipantLifecycle(RECORDER, Onlooker(), on_change=self._states.changed)
        self._system = SystemStateReader(session)
        self._standstill = Standstill(self._life, self._system, timer, self._explain)
        latched = data_qos(latched=True)
        session.record_reader(
            topics.HORIZON,
            topics.HORIZON_TYPE,
            latched,
            self._on_horizon,
            # Time stands until the record is complete up to it. Of a system that sends nothing it
            # always is.
            lazy=not self._channels,
            numbers=self._on_times,
        )
        session.record_reader(topics.REPORT, topics.REPORT_TYPE, latched, self._on_report)

    def record(self) -> None:
        """Record until everything before the end of the run and all reports are here.

        :raises Aborted: the clock ended the run early
        :raises Cancelled: the process was asked to end
        """
        self._life.create()
        found = False
        while self._life.state is not State.RUNNING:
            self._session.wait(0.02)
            self._check()
            found = found or self._readers.may_start()
            self._life.follow(self._system.state, connected=found)
        self._standstill.advanced()
        reached = NEVER
        while True:
            bound = self._bound()
            self._sink.advance(bound)
            if bound > reached:
                reached = bound
                self._standstill.advanced()
            if self._progress.is_news(bound, self._horizon, self._end):
                self._progress.report(Completion(RECORDER, 0, bound, FOREVER, "", ()))
            if bound >= self._end and self._has_everything():
                self._life.stop("all messages and reports are here")
                return
            self._session.wait(_POLL_S, self._slowest_topic() if bound < self._end else "")
            self._check()
            self._progress.beat(0, bound, self._needs)
            self._standstill.check()

    def finish(self) -> bool:
        """Tell the clock that the record is complete on disk, and wait for the shut-down.

        :returns: whether the run begins anew
        """
        self._life.stopped("the record is complete")
        while not self._system.run_has_ended():
            self._session.wait(_POLL_S)
        if self._system.repeats:
            return True
        self._life.shut_down("the run is complete")
        # The clock waits for this state.
        self._states.flush()
        return False

    def _has_everything(self) -> bool:
        """Whether all reports are here, and all messages that they count.

        The bound does not tell that: the last activations may send messages stamped at or after
        the end of the run.
        """
        return self.reports.keys() >= self._expected and all(
            channel.has_all(sent) for channel, sent in self._sent
        )

    def _bound(self) -> int:
        """Every message stamped before this time is here."""
        return min((c.promise for c in self._channels), default=FOREVER)

    def _slowest_topic(self) -> str:
        """A topic whose next message the record waits for."""
        slowest = min(self._channels, key=lambda channel: channel.promise)
        return self._topics[slowest]

    def _needs(self) -> list[tuple[str, int]] | None:
        """(port, promised so far) of what the record waits for; None: the horizon."""
        bound = self._bound()
        if bound >= self._horizon:
            return None
        return [(c.name, c.promise) for c in self._channels if c.promise == bound]

    def _explain(self) -> str:
        """What the record waits for: the ports with the earliest promise, or reports."""
        bound = self._bound()
        if bound >= self._end and (missing := sorted(self._expected - self.reports.keys())):
            return f"waits for the reports of {', '.join(missing)}"
        if bound >= self._end:
            late = [channel.name for channel, sent in self._sent if not channel.has_all(sent)]
            return f"waits for the last data of {', '.join(late)}"
        late = [c.name for c in self._channels if c.promise == bound]
        return f"waits for data of {', '.join(late)} (promised up to {format_ns(max(bound, 0))})"

    def _check(self) -> None:
        try:
            self._system.check()
        except Aborted as error:
            self._life.abort(str(error))
            raise

    def _taker(self, topic: DataTopic, channel: Channel) -> Callable[[Sample], None]:
        sink, counts = self._sink, self._counts

        def take(sample: Sample) -> None:
            channel.push(sample, RECORDER, counts)
            sink.write(topic.name, sample.stamp, sample.seq, sample.value)

        return take

    def _on_horizon(self, horizon: Horizon) -> None:
        check_run(horizon, self._run_id)
        if len(horizon.changes) > self._changes:
            self._changes = len(horizon.changes)
            self._on_changes(horizon.changes)
        self._on_times(horizon.time_ns, horizon.end_ns, horizon.presences)

    def _on_times(self, time_ns: int, end_ns: int, presences: Sequence[Presence] = ()) -> None:
        self._horizon = time_ns
        self._end = end_ns
        self._membership.update(presences, time_ns)

    def _on_report(self, report: ParticipantReport) -> None:
        if report.participant not in self._reporting:
            raise ForeignMessageError(f"report of '{report.participant}', which takes no part")
        details = details_of(report)
        if details.get("run", self._run_id) != self._run_id:
            return  # of a process that was there in the run before
        if report.participant == CLOCK:
            # A participant that never took part, or is gone, has nothing to report.
            absent = details.get("absent")
            if not isinstance(absent, list):
                raise ForeignMessageError("the report of the clock lacks the list 'absent'")
            self._expected -= {*absent, *self._helpers_of(absent)}
        elif report.participant in self._outputs:
            sent = details.get("sent")
            outputs = self._outputs[report.participant]
            if not isinstance(sent, dict) or not sent.keys() >= outputs.keys():
                raise ForeignMessageError(f"report of '{report.participant}' lacks 'sent'")
            for port, channel in outputs.items():
                self._sent.append((channel, sent[port]))
        self.reports[report.participant] = report

    def _helpers_of(self, participants: Iterable[str]) -> set[str]:
        return {self._helpers[name] for name in participants if name in self._helpers}


def _ignore(sample: Sample) -> None:
    """Recorded messages wait for no activation."""
