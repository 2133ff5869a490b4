# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Faults planted in the protocol, as small as those that people make; seeds have to find each."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import count, islice
from typing import Any, NamedTuple
from weakref import WeakSet

import pytest
from simulation.judge import SYSTEMS, Verdict, run_seed
from simulation.systems import System, system

from ros2_cosim.core.kernel.channel import CausalityCounts, Channel, Promise
from ros2_cosim.core.kernel.coordinator import Coordinator
from ros2_cosim.core.kernel.engine import Engine
from ros2_cosim.core.kernel.graph import Graph
from ros2_cosim.core.kernel.membership import Membership, MembershipView
from ros2_cosim.core.kernel.runtime import Output
from ros2_cosim.core.kernel.sample import Sample
from ros2_cosim.core.kernel.time import FOREVER, saturating_add
from ros2_cosim.core.messages.protocol import Completion
from ros2_cosim.ros.node import expected_readers
from ros2_cosim.ros.node.clock_node import ClockNode
from ros2_cosim.ros.node.expected_readers import RECORDER, ExpectedReaders
from ros2_cosim.ros.node.outputs import OutputTopics
from ros2_cosim.ros.node.participant_node import ParticipantNode
from ros2_cosim.ros.node.readiness import Readiness
from ros2_cosim.ros.node.recorder_node import RecorderNode
from ros2_cosim.ros.node.session import Session
from ros2_cosim.ros.node.state_topics import RUN_REPEATS, SystemStateReader
from ros2_cosim.ros.node.time_topics import TimeTopics
from ros2_cosim.ros.node.writers import Writer

Plant = Callable[[pytest.MonkeyPatch], None]


class Fault(NamedTuple):
    """One fault.

    :ivar name: says what is wrong
    :ivar plant: puts it in
    :ivar seed: finds it
    :ivar kind: of the disturbances of that seed; None: what it draws
    :ivar concerns: the systems in which it can show at all
    :ivar inside: replaces what a compiled module calls within itself, which has no effect there
    """

    name: str
    plant: Plant
    seed: int
    kind: str | None = None
    concerns: Callable[[System], bool] = lambda system: True
    inside: bool = False

    def run(self) -> Verdict:
        """What the seed says with the fault."""
        with pytest.MonkeyPatch.context() as patch:
            self.plant(patch)
            # In DDS, where more can go wrong.
            return run_seed(self.seed, self.kind, on_lane=False)

    def search(self, most: int) -> tuple[int, Verdict | None]:
        """Try the seeds of the systems that it concerns, counted from 0.

        :returns: how many were tried, and what the first one says that finds it
        """
        concerned = [number for number in range(SYSTEMS) if self.concerns(system(number))]
        rounds = (SYSTEMS * again + number for again in count() for number in concerned)
        for tried, seed in enumerate(islice(rounds, most), 1):
            verdict = self._replace(seed=seed).run()
            if verdict.wrong:
                return tried, verdict
        return most, None


def _has_free(system: System) -> bool:
    return any(spec.free_entry for spec in system.graph().participants.values())


def _shares(system: System) -> bool:
    return any(participant.process for participant in system.scenario.participants.values())


def _spares(system: System) -> bool:
    return any(not spec.required for spec in system.graph().participants.values())


def _keeps_for_late(system: System) -> bool:
    graph = system.graph()
    return any(graph.is_kept(c.source, c.source_port) for c in graph.connections)


def _leaves(system: System) -> bool:
    specs = system.graph().participants
    return any(
        specs[c.target].leave_ns < FOREVER and specs[c.source].is_late
        for c in system.graph().connections
    )


def _lockstep_and_free(system: System) -> bool:
    return system.scenario.run_ahead == 0 and _has_free(system)


def _stops(system: System) -> bool:
    participants = system.scenario.participants.values()
    return sum(p.parameters["stop_after"] is not None for p in participants) > 1


def _promise_too_large(patch: pytest.MonkeyPatch) -> None:
    promises = Engine.promises

    def larger(self: Engine) -> list[tuple[str, Promise]]:
        return [(port, Promise(p.count, saturating_add(p.time, 1))) for port, p in promises(self)]

    patch.setattr(Engine, "promises", larger)


def _bound_too_large(patch: pytest.MonkeyPatch) -> None:
    bound = Engine.lower_bound
    patch.setattr(Engine, "lower_bound", lambda self: saturating_add(bound(self), 1))


def _completion_before_data(patch: pytest.MonkeyPatch) -> None:
    publish, report, wait = OutputTopics.publish, ParticipantNode._report_progress, Session.wait
    held: list[tuple[OutputTopics, list[Output]]] = []

    def release() -> None:
        while held:
            topics, messages = held.pop(0)
            publish(topics, messages)

    def hold(self: OutputTopics, messages: Iterable[Output]) -> None:
        held.append((self, list(messages)))

    def report_first(self: ParticipantNode, bound: int) -> None:
        report(self, bound)
        release()

    def wait_after(self: Session, seconds: float, first: str = "") -> None:
        release()
        wait(self, seconds, first)

    patch.setattr(OutputTopics, "publish", hold)
    patch.setattr(ParticipantNode, "_report_progress", report_first)
    patch.setattr(Session, "wait", wait_after)


def _horizon_goes_back(patch: pytest.MonkeyPatch) -> None:
    publish = TimeTopics.publish_horizon
    calls = 0

    def sometimes_less(self: TimeTopics) -> None:
        nonlocal calls
        calls += 1
        less = calls % 3 == 0
        self.horizon -= less
        publish(self)
        self.horizon += less

    patch.setattr(TimeTopics, "publish_horizon", sometimes_less)


def _sequence_check_off(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Channel, "_violated", lambda *_: None)


def _repeated_messages_taken(patch: pytest.MonkeyPatch) -> None:
    push = Channel.push

    def take(self: Channel, sample: Sample, reader: str, counts: CausalityCounts) -> None:
        if sample.seq < self.received:
            self._receive(sample)
        else:
            push(self, sample, reader, counts)

    patch.setattr(Channel, "push", take)


def _roll_call_forgets_one(patch: pytest.MonkeyPatch) -> None:
    at_start = Readiness.at_start.fget
    assert at_start is not None

    def fewer(self: Readiness) -> set[str]:
        found: set[str] = at_start(self)
        return found - {min(found)}

    patch.setattr(Readiness, "at_start", property(fewer))


def _reader_not_awaited(patch: pytest.MonkeyPatch) -> None:
    add = ExpectedReaders.add

    def fewer(
        self: ExpectedReaders, writer: Any, participants: Any, others: Any, **when: bool
    ) -> None:
        add(self, writer, participants, set(others) - {RECORDER}, **when)

    patch.setattr(ExpectedReaders, "add", fewer)


def _readers_counted_only(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(expected_readers, "_reach", lambda writer, needed: True)


def _entry_too_early(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Coordinator, "free_entry", lambda self, allowed_ns: max(self.time, 0))


def _recorder_not_waited_for(patch: pytest.MonkeyPatch) -> None:
    begin, completed = Coordinator.__init__, Coordinator.completed

    def without(self: Coordinator, participants: Iterable[str], **settings: Any) -> None:
        begin(self, [name for name in participants if name != RECORDER], **settings)

    def ignore(self: Coordinator, participant: str, bound: int) -> bool:
        return participant != RECORDER and completed(self, participant, bound)

    patch.setattr(Coordinator, "__init__", without)
    patch.setattr(Coordinator, "completed", ignore)


def _stop_ignored(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Coordinator, "stop_requested", lambda *_: None)


def _order_of_stops_ignored(patch: pytest.MonkeyPatch) -> None:
    request = Coordinator.stop_requested

    def first_come(self: Coordinator, participant: str, time: int, reason: str) -> None:
        if time < self._stop[0]:
            request(self, participant, time, reason)

    patch.setattr(Coordinator, "stop_requested", first_come)


def _end_announced_early(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Coordinator, "end_is_final", property(lambda self: True))


def _equal_stamps_not_awaited(patch: pytest.MonkeyPatch) -> None:
    def settled(self: Engine, time: int) -> bool:
        return all(c.promise >= time for c in (*self._plain, *self._delayed))

    patch.setattr(Engine, "_settled", settled)


def _horizon_inclusive(patch: pytest.MonkeyPatch) -> None:
    take = ParticipantNode._on_horizon

    def one_more(self: ParticipantNode, horizon: Any) -> None:
        take(self, horizon._replace(time_ns=saturating_add(horizon.time_ns, 1)))

    patch.setattr(ParticipantNode, "_on_horizon", one_more)


def _nothing_kept(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Graph, "is_kept", lambda *_: False)


def _stop_not_reported(patch: pytest.MonkeyPatch) -> None:
    send = Writer.send

    def forget(self: Writer, record: Any, stamp_ns: int = 0, seq: int = 0) -> None:
        if isinstance(record, Completion):
            record = record._replace(stop_reason="")
        send(self, record, stamp_ns, seq)

    patch.setattr(Writer, "send", forget)


def _last_messages_not_recorded(patch: pytest.MonkeyPatch) -> None:
    def reports_only(self: RecorderNode) -> bool:
        return self.reports.keys() >= self._expected

    patch.setattr(RecorderNode, "_has_everything", reports_only)


def _stale_state_repeats(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(SystemStateReader, "repeats", property(lambda self: self.state is RUN_REPEATS))


def _begins_anew_too_soon(patch: pytest.MonkeyPatch) -> None:
    patch.setattr("ros2_cosim.ros.node.clock_node.await_departure", lambda *_: None)


def _lockstep_creeps(patch: pytest.MonkeyPatch) -> None:
    begin = MembershipView.__init__
    patch.setattr(MembershipView, "__init__", lambda self, graph, step=1: begin(self, graph))


def _leaves_though_awaited(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(MembershipView, "have_come", lambda *_: True)


def _report_once_only(patch: pytest.MonkeyPatch) -> None:
    send = ClockNode._send_report
    reported: WeakSet[ClockNode] = WeakSet()

    def once(self: ClockNode) -> None:
        if self not in reported:
            send(self)
        if self._wall_ns is not None:
            reported.add(self)

    patch.setattr(ClockNode, "_send_report", once)


def _lost_is_not_told(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(MembershipView, "_leave", lambda *_: None)


def _requirement_ignored(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Membership, "require", lambda *_, **__: None)


def _signal_reaches_no_thread(patch: pytest.MonkeyPatch) -> None:
    stop = Session.stop

    def main_only(self: Session, number: int) -> None:
        if not self._is_hosted:
            stop(self, number)

    patch.setattr(Session, "stop", main_only)


#: All faults. The last ones are defects that seeds have found in this project.
FAULTS = (
    Fault("a promise is 1 ns too large", _promise_too_large, 1, inside=True),
    Fault("a lower bound is 1 ns too large", _bound_too_large, 0, inside=True),
    Fault("a completion is sent before its data", _completion_before_data, 0, inside=True),
    Fault("the horizon goes back", _horizon_goes_back, 2, inside=True),
    Fault("the horizon is inclusive", _horizon_inclusive, 0),
    Fault(
        "the sequence check is off", _sequence_check_off, 753, "cut", _keeps_for_late, inside=True
    ),
    Fault(
        "repeated messages are taken",
        _repeated_messages_taken,
        753,
        "cut",
        _keeps_for_late,
        inside=True,
    ),
    Fault("the roll call forgets a participant", _roll_call_forgets_one, 8),
    Fault("a reader is not awaited", _reader_not_awaited, 9),
    Fault("readers are only counted", _readers_counted_only, 5714, "kill", _spares),
    Fault("a free entry is too early", _entry_too_early, 9, None, _has_free, inside=True),
    Fault("the recorder is not waited for", _recorder_not_waited_for, 1, inside=True),
    Fault("a stop is ignored", _stop_ignored, 10, inside=True),
    Fault("a stop is not reported", _stop_not_reported, 10, inside=True),
    Fault(
        "the order of simultaneous stops is ignored",
        _order_of_stops_ignored,
        625,
        None,
        _stops,
        inside=True,
    ),
    Fault("the end is announced too early", _end_announced_early, 10, inside=True),
    Fault("equal stamps are not awaited", _equal_stamps_not_awaited, 1, inside=True),
    Fault("nothing is kept for late readers", _nothing_kept, 218, None, _keeps_for_late),
    Fault("a loss is not told to readers", _lost_is_not_told, 12, "kill", inside=True),
    Fault(
        "a loss after the report is not reported",
        _report_once_only,
        5589,
        "kill",
        _spares,
        inside=True,
    ),
    Fault("a run begins anew too soon", _begins_anew_too_soon, 0, "repeat"),
    Fault("the last messages are not recorded", _last_messages_not_recorded, 2, inside=True),
    Fault(
        "a stale state is taken for a repetition",
        _stale_state_repeats,
        1106,
        "calm",
        _has_free,
        inside=True,
    ),
    Fault("a requirement is ignored", _requirement_ignored, 0, "require", inside=True),
    Fault("a signal reaches no thread", _signal_reaches_no_thread, 87, "kill", _shares),
    Fault("lockstep creeps", _lockstep_creeps, 431, "calm", _lockstep_and_free, inside=True),
    Fault(
        "a participant leaves that is awaited",
        _leaves_though_awaited,
        143,
        "calm",
        _leaves,
        inside=True,
    ),
)
