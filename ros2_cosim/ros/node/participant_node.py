# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A participant as a ROS node: ports as topics around the conservative engine.

Data goes from writer to reader in one hop. Beside it a participant reports how far it is on
its completion topic: the clock reads that, and so do readers that cannot tell from messages
alone how long a port stays silent.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from math import inf
from threading import get_ident

from ros2_cosim.core.kernel import lookahead
from ros2_cosim.core.kernel.engine import Engine
from ros2_cosim.core.kernel.errors import (
    Aborted,
    Cancelled,
    ParticipantError,
    RunError,
    begun_elsewhere,
)
from ros2_cosim.core.kernel.lifecycle import Change, Operation, State
from ros2_cosim.core.kernel.membership import MembershipView, Presence
from ros2_cosim.core.kernel.model import FullModel
from ros2_cosim.core.kernel.named_tuples import NEW
from ros2_cosim.core.kernel.participant import Host
from ros2_cosim.core.kernel.participant_lifecycle import ParticipantLifecycle
from ros2_cosim.core.kernel.runtime import ParticipantRuntime
from ros2_cosim.core.kernel.time import FOREVER, NEVER, format_ns
from ros2_cosim.core.messages.protocol import Completion, Horizon, PortPromise, RunChange
from ros2_cosim.core.messages.reporting import report_of
from ros2_cosim.core.messages.wiring import Wiring, edge_topic
from ros2_cosim.core.process.memory import settled_memory
from ros2_cosim.core.record.spans import REPORT, SEND, Activations, Spans
from ros2_cosim.ros.node import topics
from ros2_cosim.ros.node.courses import Course, run_alone
from ros2_cosim.ros.node.expected_readers import CLOCK, RECORDER, ExpectedReaders
from ros2_cosim.ros.node.inputs import read_inputs, read_unsynchronised
from ros2_cosim.ros.node.lifecycle_mapping import LifecycleRequest
from ros2_cosim.ros.node.lifecycle_services import NO_RESET, LifecycleServices, Resetting, grant
from ros2_cosim.ros.node.outputs import OutputTopics, flush_onlookers, has_delayed_reader
from ros2_cosim.ros.node.progress import EXPLAIN_AFTER_NS, ProgressTopics, Standstill
from ros2_cosim.ros.node.receipts import Receipts
from ros2_cosim.ros.node.session import Session
from ros2_cosim.ros.node.state_topics import ParticipantStateTopic, SystemStateReader
from ros2_cosim.ros.node.time_topics import check_run
from ros2_cosim.ros.node.writers import data_qos

_POLL_S = 0.1
#: Interval in which a participant checks whether it has stood for long [ns].
_LOOK_NS = 100_000_000


@dataclass(frozen=True)
class NodeSettings:
    """How a participant takes part in a run.

    :ivar quantum_ns: progress [ns of simulated time] worth reporting to the clock
    :ivar entry_step_ns: participants with free entry enter at multiples of this [ns] only
    :ivar recorded: whether the recorder reads all data topics
    :ivar unsynchronised: input ports read from outside of the simulated time -> topic
    :ivar operation: whether it starts and stops together with the others
    :ivar cannot_reset: why its model cannot take part in another run; empty if it can
    :ivar run_id: names this run in messages of the clock; empty: any run
    :ivar startup_s: how long to wait for a sign of the clock [s]
    """

    quantum_ns: int
    entry_step_ns: int = 1
    recorded: bool = True
    unsynchronised: Mapping[str, str] = field(default_factory=dict)
    operation: Operation = Operation.COORDINATED
    cannot_reset: str = ""
    run_id: str = ""
    startup_s: float = inf


class ParticipantNode:
    """Runs one participant of a graph until the clock ends the run.

    :param session: the ROS node
    :param wiring: the system and its topics
    :param name: the participant
    :param model: its model
    :param settings: how it takes part
    :param timer: monotonic wall clock [ns], for the step-time breakdown only
    :param spans: take what the time is spent on; None: nothing does
    :param on_changes: takes what has been changed by hand since it was last called, before it can
        be due
    :param resetting: resets the model by hand
    """

    def __init__(
        self,
        session: Session,
        wiring: Wiring,
        name: str,
        model: FullModel,
        settings: NodeSettings,
        timer: Callable[[], int],
        spans: Spans | None = None,
        on_changes: Callable[[ParticipantRuntime, tuple[RunChange, ...]], object] = (
            lambda runtime, changes: None
        ),
        resetting: Resetting = NO_RESET,
    ) -> None:
        graph = wiring.graph
        self._on_changes = on_changes
        self._resetting = resetting
        #: How many changes by hand it has taken.
        self._changes = 0
        self._activations = None if spans is None else Activations(spans, name)
        self._session = session
        self._name = name
        self._run_id = settings.run_id
        self._startup_s = settings.startup_s
        self._timer = timer
        self._spec = graph.participants[name]
        self._is_late = self._spec.is_late
        measure = timer if self._activations is None else self._activations.timer
        self._runtime = ParticipantRuntime(graph, name, model, measure)
        session.follow(session.node, lambda: self._runtime.last_time)
        self._engine = Engine(graph, self._runtime)
        self._end = FOREVER
        self._granted = NEVER
        self._wait_ns = 0
        self._open_step = _OpenStep(timer)
        self._begins_anew = False
        host = Host(
            self._wait_in_step,
            session.wake,
            session.node,
            self._runtime.send_now,
            self._activations,
            self._runtime.ahead,
        )
        self._life = ParticipantLifecycle(
            name,
            model,
            operation=settings.operation,
            on_change=self._changed,
            host=host,
        )
        self._membership = MembershipView(graph, settings.entry_step_ns)
        self._outputs = OutputTopics(session, wiring, name, timer, for_late=True)
        self._runtime.leave = self._outputs.send_now
        read_inputs(session, wiring, self._engine, self._membership)
        read_unsynchronised(session, graph, self._runtime, settings.unsynchronised)
        # Also for ports without a reader in the graph: the recorder reads all.
        explicit = [
            p.name for p in self._spec.outputs if lookahead.needs_promises(graph, name, p.name)
        ]
        self._explicit = frozenset(explicit)
        self._progress = ProgressTopics(
            session,
            name,
            timer,
            # Readers need each promise; the clock alone does not need every step.
            quantum_ns=0 if self._explicit else settings.quantum_ns,
            kept=graph.has_late,
            silence_ns=1 + any(has_delayed_reader(graph, name, port) for port in explicit),
        )
        self._states = ParticipantStateTopic(session, name, settings.cannot_reset)
        latched = data_qos(latched=True)
        self._reports = session.writer(topics.REPORT, topics.REPORT_TYPE, latched)
        self._system = SystemStateReader(session)
        self._standstill = Standstill(self._life, self._system, timer, self._explain)
        session.record_reader(
            topics.HORIZON,
            topics.HORIZON_TYPE,
            latched,
            self._on_horizon,
            numbers=self._on_times,
        )
        self._readers = self._expected_readers(wiring, recorded=settings.recorded)
        self._writers = {c.source for c in graph.incoming(name)}
        #: Connection -> its topic.
        self._topics = {
            f"{c.source}.{c.source_port}": edge_topic(topic.name, topic.codec)
            for c in graph.incoming(name)
            for topic in (wiring.topics[c.source, c.source_port],)
        }
        self._services = LifecycleServices(session.node, self._life, self._grant)

    def _expected_readers(self, wiring: Wiring, *, recorded: bool) -> ExpectedReaders:
        graph, name = wiring.graph, self._name
        recorder = {RECORDER} if recorded else set()
        readers = ExpectedReaders(self._session, graph, self._membership)
        for port, writer in zip(self._spec.outputs, self._outputs.writers, strict=True):
            targets = {c.target for c in graph.outgoing(name) if c.source_port == port.name}
            readers.add(writer, targets, recorder)
        targets = {
            c.target
            for c in graph.outgoing(name)
            if lookahead.needs_promises(graph, name, c.source_port)
        }
        promised = recorder if self._explicit else set()
        readers.add(self._progress.completions, targets, {CLOCK, *promised})
        # A participant that leaves early waits for these readers, too.
        readers.add(self._states.writer, (), {CLOCK}, at_start=False)
        readers.add(self._reports, (), {CLOCK, RECORDER}, at_start=False)
        return readers

    @property
    def runtime(self) -> ParticipantRuntime:
        """Its activations."""
        return self._runtime

    def run(self) -> bool:
        """Take part in the run, alone in this thread; see :meth:`course`."""
        return run_alone(self._session, self.course())

    def course(self) -> Course:
        """Connect, run every activation up to the end, report, and wait for the shut-down.

        :returns: whether the run begins anew: then the model has not been closed
        :raises RunError: the run was aborted, or this participant failed
        :raises Cancelled: the process was asked to end
        """
        life = self._life
        self._runtime.thread = get_ident()
        try:
            life.create()
            yield from self._connect()
            yield from self._await_entry()
            with settled_memory():
                yield from self._simulate()
            self._report()
            yield from self._stay()
            flush_onlookers(self._outputs.writers, self._timer)
            if self._system.repeats:
                self._begins_anew = True
                self._session.begins_anew()
                return True
            life.shut_down("the run is complete")
            # The clock waits for this state.
            self._states.flush()
            if self._system.run_has_ended():
                # Others in the process, if there are any, end with the run as well.
                self._session.ends_with(0)
        except NotNeeded as unused:
            life.leave_unused(str(unused))
        except Cancelled:
            # The process that asked this one to end knows why; the clock must not take it for
            # the cause. But if the run can spare the participant, it goes on without it.
            named = self._system.required
            self._states.silent = self._name in named if named else self._spec.required
            life.abort("was asked to end")
            if not self._states.silent:
                self._states.flush()  # the process ends in order: nothing else reports it
            raise
        except Aborted as abort:
            life.abort(str(abort))
            if not begun_elsewhere(abort):
                self._states.flush()
            raise
        except RunError as error:
            self._fail(error)
            raise
        finally:
            if not self._begins_anew:  # else the model is wanted for the next run
                life.close()
        return False

    def _fail(self, error: RunError) -> None:
        """Publish what went wrong and shut down, the one way out of an error."""
        self._life.fail(str(error))
        self._states.flush()
        if self._life.state is State.ERROR:
            try:
                self._life.shut_down("after an error")
            except ParticipantError:
                return  # it follows from the first one, which is being reported

    def _connect(self) -> Generator[float, None, None]:
        """Find every reader of the outputs; then follow the system until it runs."""
        found = False
        life = self._life
        began = self._timer()
        while True:
            found = found or self._readers.may_start()
            life.follow(self._system.state, connected=found)
            if life.state is State.RUNNING:
                return
            # Neither readers nor the completion of a handler wake this thread.
            quick = not found or life.waits_for_completion
            yield 0.02 if quick else _POLL_S
            self._check()
            if not self._system.is_known and self._timer() - began > self._startup_s * 1e9:
                raise RunError(
                    f"participant '{self._name}' found no clock within {self._startup_s:g} s: its "
                    "run is over, or has not been started"
                )
            if life.state < State.READY_TO_RUN and self._engine.horizon > self._spec.enter_ns:
                raise RunError(
                    f"participant '{self._name}' came too late: it enters at "
                    f"{format_ns(self._spec.enter_ns)}, but others were allowed to run up to "
                    f"{format_ns(self._engine.horizon)}"
                )

    def _await_entry(self) -> Generator[float, None, None]:
        """Without a declared entry: wait until the clock gives one."""
        while self._runtime.spec.free_entry:
            yield _POLL_S
            # The same wait may bring the entry and, after it, a horizon up to the end.
            if self._runtime.spec.free_entry and self._granted >= self._end:
                raise NotNeeded("the run is over")
            self._check()

    def _stay(self) -> Generator[float, None, None]:
        """Wait for the shut-down; a participant that leaves early ends once no other needs it.

        All readers have its data then, and no writer waits for it as a reader.
        """
        while not self._system.run_has_ended():
            came = self._membership.have_come(self._writers, self._granted)
            if self._engine.has_left and came and self._readers.have_all():
                return
            yield _POLL_S
        self._system.check()

    def _simulate(self) -> Generator[float, None, None]:
        engine, timer = self._engine, self._timer
        received: Receipts = self._session.received
        self._standstill.advanced()
        noted = self._activations
        looked = mark = timer()
        while True:
            advanced = paused = self._life.state is State.PAUSED
            for outputs in () if paused else engine.advance():
                if noted is not None:
                    mark = noted.activated(mark, engine.last_time)
                self._outputs.publish(outputs)
                if noted is not None:
                    mark = noted.did(SEND, mark, engine.last_time)
                advanced = True
            if advanced:
                self._standstill.advanced()
            bound = engine.lower_bound()
            if self._progress.is_news(bound, engine.horizon):
                self._report_progress(bound)
            if self._is_complete(bound):
                break
            started = timer() if noted is None else noted.did(REPORT, mark)
            awaited = engine.awaited()
            received.first = self._topics[awaited.name] if awaited else ""
            received.rests = NEVER if self._is_late else bound
            yield _POLL_S
            received.first = ""
            received.rests = NEVER
            now = mark = timer()
            if engine.horizon > NEVER:
                # Waiting for the start of the run is not part of it.
                self._wait_ns += now - started
            self._check()
            if now - looked >= _LOOK_NS:
                looked = now
                activations = self._runtime.trace.activations
                self._progress.beat(activations, engine.lower_bound(), engine.needs)
                self._standstill.check()
        if self._progress.is_progress(bound):
            self._report_progress(bound)

    def _is_complete(self, bound: int) -> bool:
        """Whether no activation follows, if none comes before ``bound``."""
        engine = self._engine
        return engine.has_left or (bound >= self._end and engine.horizon >= self._end)

    def _wait_in_step(self, seconds: float) -> None:
        """Handle what arrives while a step is open that its handler has not completed.

        :raises Aborted: the run was aborted meanwhile
        """
        self._session.wait(seconds)
        self._runtime.waits += 1  # it is not stuck: the clock decides how long it may wait
        self._check()
        if self._open_step.lasts(self._runtime.trace.activations):
            self._life.note("waits for the completion of its step")

    def _explain(self) -> str:
        blocked = self._engine.blocked()
        what = "its next data" if blocked.time is None else format_ns(blocked.time)
        return f"waits to run {what}; needs {', '.join(blocked.waits_for) or 'nothing'}"

    def _report_progress(self, bound: int) -> None:
        """Publish that no activation comes before ``bound``, and the promises that follow."""
        ports: tuple[PortPromise, ...] = ()
        #: The latest time that readers learn of.
        told = bound
        if self._explicit:
            # Readers of the other ports work out when the next message comes.
            ports = tuple(
                PortPromise(port, promise.count, promise.time)
                for port, promise in self._engine.promises()
                if port in self._explicit
            )
            told = max([time for _, _, time in ports])
        runtime = self._runtime
        stopping = runtime.stop_reason is not None
        completion: Completion = NEW(
            Completion,
            (
                self._name,
                runtime.trace.activations,
                bound,
                runtime.stop_time if stopping else FOREVER,
                runtime.stop_reason or "",
                ports,
            ),
        )
        self._progress.report(completion, told)

    def _report(self) -> None:
        counts = self._engine.counts
        self._life.stop("all activations complete")
        report = report_of(self._runtime)
        self._reports.send(
            report._replace(
                wait_ns=self._wait_ns,
                transport_ns=report.transport_ns + self._outputs.transport_ns,
                timing=counts.timing,
                order=counts.order,
                loss=counts.loss,
            )
        )
        self._life.stopped("reported")

    def _changed(self, change: Change) -> None:
        if not self._states.silent:
            self._states.changed(change)
            self._services.changed(change)

    def _grant(self, request: LifecycleRequest, reason: str) -> None:
        """Do what was requested from outside.

        :raises LifecycleError: that cannot be now
        """
        if grant(request, reason, self._life, self._runtime, self._resetting, self._note_reset):
            # It is as if the next activation had asked for it.
            end = min(self._engine.lower_bound(), max(self._engine.horizon, 0))
            self._runtime.stop_time = end

    def _note_reset(self, time_ns: int) -> None:
        self._states.resets += (time_ns,)

    def _on_horizon(self, horizon: Horizon) -> None:
        check_run(horizon, self._run_id)
        self._granted = max(self._granted, horizon.time_ns)
        if len(horizon.changes) > self._changes:
            new = horizon.changes[self._changes :]
            self._changes = len(horizon.changes)
            self._on_changes(self._runtime, new)
        self._membership.update(horizon.presences, horizon.time_ns)
        for presence in horizon.presences:
            if presence.participant == self._name:
                self._take_part(presence)
        self._go_as_far_as(horizon.time_ns, horizon.end_ns)

    def _on_times(self, time_ns: int, end_ns: int) -> None:
        """Take a horizon without presences."""
        self._granted = max(self._granted, time_ns)
        self._membership.update((), time_ns)
        self._go_as_far_as(time_ns, end_ns)

    def _go_as_far_as(self, time_ns: int, end_ns: int) -> None:
        engine = self._engine
        if time_ns > engine.horizon and not self._runtime.spec.free_entry:
            engine.horizon = time_ns
        self._end = end_ns

    def _take_part(self, presence: Presence) -> None:
        if presence.leave_ns < FOREVER:
            raise RunError(
                f"participant '{self._name}': the run has gone on without it since "
                f"{format_ns(presence.leave_ns)}"
            )
        if self._runtime.spec.free_entry:
            self._engine.enter(presence.enter_ns)

    def _check(self) -> None:
        if self._is_late and self._has_missed_the_run():
            raise NotNeeded("the run is over")
        self._system.check(State.SHUT_DOWN)

    def _has_missed_the_run(self) -> bool:
        """Whether the clock has ended, perhaps before it could tell this participant."""
        if self._system.state is State.SHUT_DOWN:
            return True
        if self._granted == NEVER and self._system.clock_has_gone():
            # What the starter says, if the run goes on all the same.
            print("the clock has gone, and has granted nothing", flush=True)
            return True
        return False


class _OpenStep:
    """How long a step has been open.

    :param timer: monotonic wall clock [ns]
    """

    def __init__(self, timer: Callable[[], int]) -> None:
        self._timer = timer
        self._number: int | None = None
        self._since = 0
        self._noted = False

    def lasts(self, number: int) -> bool:
        """Whether a step lasts so long that this is worth a note; true once in each step.

        :param number: of the step
        """
        now = self._timer()
        if number != self._number:
            self._number, self._since, self._noted = number, now, False
        elif not self._noted and now - self._since > EXPLAIN_AFTER_NS:
            self._noted = True
            return True
        return False


class NotNeeded(RunError):
    """The run was over before a participant that enters late took part in it."""
