# SPDX-License-Identifier: Apache-2.0
"""A participant as a ROS node: ports as topics around the conservative engine.

Data goes from writer to reader in one hop. Beside it a participant tells how far it is on
its completion topic: the clock reads that, and those readers to whom messages alone do not
tell how long a port stays silent.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ros2_cosim.interfaces.cdr import WireCodec
from ros2_cosim.interfaces.protocol import (
    Completion,
    Horizon,
    ParticipantState,
    PortPromise,
    SystemState,
)
from ros2_cosim.interfaces.reporting import report_of
from ros2_cosim.kernel import lookahead
from ros2_cosim.kernel.engine import Engine
from ros2_cosim.kernel.errors import (
    Aborted,
    AbortOrigin,
    Cancelled,
    LifecycleError,
    ParticipantError,
    RunError,
    begun_elsewhere,
)
from ros2_cosim.kernel.graph import Graph
from ros2_cosim.kernel.life import Life
from ros2_cosim.kernel.lifecycle import Change, Operation, State
from ros2_cosim.kernel.membership import MembershipView, Presence
from ros2_cosim.kernel.model import Model
from ros2_cosim.kernel.participant import Host
from ros2_cosim.kernel.runtime import Output, ParticipantRuntime
from ros2_cosim.kernel.time import FOREVER, NEVER, format_ns
from ros2_cosim.ros import topics
from ros2_cosim.ros.heartbeat import Heart
from ros2_cosim.ros.lifecycle_mapping import Wish
from ros2_cosim.ros.lifecycle_services import LifecycleServices
from ros2_cosim.ros.participant_inputs import read_inputs
from ros2_cosim.ros.readers import ExpectedReaders
from ros2_cosim.ros.repetition import AGAIN
from ros2_cosim.ros.session import Session, Writer, data_qos
from ros2_cosim.ros.unsynchronised import read_unsynchronised

#: A participant that has not advanced for so long says what it waits for.
EXPLAIN_AFTER_NS = 2_000_000_000
#: States of the system in which nobody is waited for any more.
OVER = (State.STOPPED, State.SHUTTING_DOWN, State.SHUT_DOWN, State.ABORTING)
_POLL_S = 0.1


class ParticipantNode:
    """Runs one participant of a graph until the clock says that the run is over.

    :param session: the ROS node
    :param graph: the checked system
    :param name: the participant
    :param behaviour: its model
    :param topic_of: (participant, output port) -> (topic, ROS type)
    :param recorded: whether a recorder subscribes to all data topics
    :param quantum_ns: progress [ns of simulated time] worth telling the clock
    :param unsynchronised: input ports read from outside of the simulated time -> topic
    :param timer: monotonic wall clock [ns], for the step-time breakdown only
    :param operation: whether it starts and stops together with the others
    :param cannot_reset: why its behaviour cannot take part in another run; empty if it can
    """

    def __init__(
        self,
        session: Session,
        graph: Graph,
        name: str,
        behaviour: Model,
        *,
        topic_of: Callable[[str, str], tuple[str, str]],
        recorded: bool,
        quantum_ns: int,
        unsynchronised: Mapping[str, str] | None = None,
        timer: Callable[[], int],
        operation: Operation = Operation.COORDINATED,
        cannot_reset: str = "",
    ) -> None:
        self._cannot_reset = cannot_reset
        self._session = session
        self._name = name
        self._timer = timer
        self._quantum = quantum_ns
        self._runtime = ParticipantRuntime(graph, name, behaviour, timer)
        self._engine = Engine(graph, self._runtime)
        self._end = FOREVER
        self._told_horizon = NEVER
        host = Host(self._wait_in_step, session.wake, session.node)
        self._begins_anew = False
        self._life = Life(name, behaviour, operation=operation, on_change=self._changed, host=host)
        self._system = State.INVALID
        self._clock_seen = False
        self._reported_bound = NEVER
        self._wait_ns = 0
        self._transport_ns = 0
        self._spec = graph.participants[name]
        self._membership = MembershipView(graph)
        self._writers: list[Writer] = []
        self._readers = ExpectedReaders(graph, self._membership)
        for port in graph.participants[name].outputs:
            topic, _ = topic_of(name, port.name)
            qos = data_qos(latched=port.schedule == "once" or graph.is_kept(name, port.name))
            codec = port.codec
            assert isinstance(codec, WireCodec)
            self._writers.append(Writer(session.node, topic, codec, qos))
            readers = {c.target for c in graph.outgoing(name) if c.source_port == port.name}
            self._readers.add(self._writers[-1], readers, recorded)
        read_inputs(session, graph, self._engine, self._membership, topic_of)
        read_unsynchronised(session, graph, self._runtime, unsynchronised or {})
        # Also for ports without a reader in the graph: the recorder reads all.
        self._explicit = any(
            lookahead.needs_promises(graph, name, port.name)
            for port in graph.participants[name].outputs
        )
        self._completion = session.writer(
            topics.completion(name), topics.COMPLETION_TYPE, data_qos(latched=graph.has_late)
        )
        promise_readers = {
            c.target
            for c in graph.outgoing(name)
            if lookahead.needs_promises(graph, name, c.source_port)
        }
        others = 1 + (self._explicit and recorded)
        self._readers.add(self._completion, promise_readers, others)
        latched = data_qos(latched=True)
        self._states = session.writer(
            topics.PARTICIPANT_STATE, topics.PARTICIPANT_STATE_TYPE, latched
        )
        self._reports = session.writer(topics.REPORT, topics.REPORT_TYPE, latched)
        self._heart = Heart(session, name, timer)
        # Who leaves early waits for those who read this, too: the clock, and the recorder.
        self._readers.add(self._states, (), 1, at_start=False)
        self._readers.add(self._reports, (), 1 + recorded, at_start=False)
        session.record_reader(topics.HORIZON, topics.HORIZON_TYPE, latched, self._on_horizon)
        session.record_reader(
            topics.SYSTEM_STATE, topics.SYSTEM_STATE_TYPE, latched, self._on_system_state
        )
        self._services = LifecycleServices(session.node, lambda: self._life.state, self._grant)

    def run(self) -> bool:
        """Connect, run every activation up to the end, report, and wait for the shut-down.

        :returns: whether the run begins anew: then the behaviour has not been closed
        :raises RunError: the run was aborted, or this participant failed
        :raises Cancelled: the process was asked to end
        """
        life = self._life
        try:
            life.create()
            self._connect()
            self._await_entry()
            self._simulate()
            self._report()
            self._stay()
            if self._system is AGAIN:
                self._begins_anew = True
                return True
            life.shut_down("the run is complete")
            # The clock waits for this word.
            self._states.flush()
        except NotNeeded as error:
            life.leave_unused(str(error))
        except Cancelled:
            # Whoever ended the process knows; the clock must not take this for the cause. But
            # if the run can spare the participant, it goes on without it.
            named = self._named
            self._silent = self._name in named if named else self._spec.required
            life.abort("was asked to end")
            if not self._silent:
                self._states.flush()  # nobody else says it: the process ends in order
            raise
        except Aborted as error:
            life.abort(str(error))
            if not begun_elsewhere(error):
                self._states.flush()
            raise
        except RunError as error:
            self._fail(error)
            raise
        finally:
            if not self._begins_anew:  # else the behaviour is wanted for the next run
                life.close()
        return False

    def _fail(self, error: RunError) -> None:
        """Say what went wrong and shut down, the one way out of an error."""
        self._life.fail(str(error))
        self._states.flush()
        if self._life.state is State.ERROR:
            try:
                self._life.shut_down("after an error")
            except ParticipantError:
                return  # it came of the first one, which is being told

    def _connect(self) -> None:
        """Find every reader of the outputs; then follow the system until it runs."""
        found = False
        life = self._life
        while True:
            found = found or not self._readers.missing()
            life.follow(self._system, connected=found)
            if life.state is State.RUNNING:
                return
            # Neither readers nor the completion of a handler wake us up.
            quick = not found or life.waits_for_completion
            self._session.wait(0.02 if quick else _POLL_S)
            self._check_abort()
            if life.state < State.READY_TO_RUN and self._engine.horizon > self._spec.enter_ns:
                raise RunError(
                    f"participant '{self._name}' came too late: it enters at "
                    f"{format_ns(self._spec.enter_ns)}, but others were allowed to run up to "
                    f"{format_ns(self._engine.horizon)}"
                )

    def _await_entry(self) -> None:
        """Without a declared entry: wait until the clock says when that is."""
        while self._runtime.spec.free_entry:
            self._session.wait(_POLL_S)
            if self._told_horizon >= self._end:
                raise NotNeeded("the run is over")
            self._check_abort()

    def _stay(self) -> None:
        """Wait for the shut-down; who has left ends once everybody has what it sent."""
        while self._system not in (*OVER, AGAIN) and not self._clock_gone():
            if self._engine.has_left and self._readers.have_all():
                return
            self._session.wait(_POLL_S)
        if self._system is State.ABORTING:
            raise Aborted(self._abort_reason, AbortOrigin.ELSEWHERE)

    def _simulate(self) -> None:
        engine = self._engine
        timer = self._timer
        idle_since = timer()
        explained = False
        while not engine.has_left and (engine.bound() < self._end or engine.horizon < self._end):
            advanced = False
            paused = self._life.state is State.PAUSED
            for outputs in () if paused else engine.advance():
                self._publish(outputs)
                advanced = True
            if advanced or paused:
                idle_since = timer()
                if explained:
                    explained = False
                    self._life.note("goes on")
            self._tell_progress(blocked=True)
            if engine.bound() >= self._end and engine.horizon >= self._end or engine.has_left:
                break
            started = timer()
            self._session.wait(_POLL_S)
            if engine.horizon > NEVER:
                # Waiting for the start of the run is not part of it.
                self._wait_ns += timer() - started
            self._check_abort()
            self._heart.beat(self._runtime.trace.activations, engine.bound(), engine.needs)
            if timer() - idle_since > EXPLAIN_AFTER_NS:
                if not explained:
                    explained = True
                    self._life.note(self._explain())
                if self._clock_gone():
                    raise Aborted("the clock has gone", AbortOrigin.ELSEWHERE)
        self._tell_progress(blocked=False)

    def _wait_in_step(self, seconds: float) -> None:
        """Handle what arrives while a step is open that its handler has not completed.

        :raises Aborted: the run was aborted meanwhile
        """
        self._session.wait(seconds)
        self._check_abort()
        since, now = self._step_since, self._timer()
        activations = self._runtime.trace.activations
        if since is None or since[0] != activations:
            self._step_since = (activations, now)
        elif since[1] and now - since[1] > EXPLAIN_AFTER_NS:
            self._step_since = (activations, 0)
            self._life.note("waits for the completion of its step")

    #: (activation, wall time [ns] since when it is open; 0 once that has been told).
    _step_since: tuple[int, int] | None = None

    def _explain(self) -> str:
        blocked = self._engine.blocked()
        what = "its next data" if blocked.time is None else format_ns(blocked.time)
        return f"waits to run {what}; needs {', '.join(blocked.waits_for) or 'nothing'}"

    def _publish(self, outputs: list[Output]) -> None:
        started = self._timer()
        for port, _, data in outputs:
            self._writers[port].send_bytes(data)
        self._transport_ns += self._timer() - started

    def _tell_progress(self, *, blocked: bool) -> None:
        """Publish bound and promises if they moved; beyond the horizon they tell nothing."""
        bound = self._engine.bound()
        if bound <= self._reported_bound:
            return
        if blocked:
            horizon = self._engine.horizon
            if self._reported_bound >= horizon:
                return
            # Only the clock reads this, and it does not need every step.
            if not self._explicit and bound < min(self._reported_bound + self._quantum, horizon):
                return
        self._reported_bound = bound
        self._heart.heard()
        ports: tuple[PortPromise, ...] = ()
        if self._explicit:
            ports = tuple(
                PortPromise(port, promise.count, promise.time)
                for port, promise in self._engine.promises()
            )
        runtime = self._runtime
        stopping = runtime.stop_reason is not None
        self._completion.send(
            Completion(
                self._name,
                runtime.trace.activations,
                bound,
                runtime.stop_time if stopping else FOREVER,
                runtime.stop_reason or "",
                ports,
            )
        )

    def _report(self) -> None:
        counts = self._engine.counts
        self._life.stop("all activations complete")
        report = report_of(self._runtime)
        self._reports.send(
            report._replace(
                wait_ns=self._wait_ns,
                transport_ns=report.transport_ns + self._transport_ns,
                timing=counts.timing,
                order=counts.order,
                loss=counts.loss,
            )
        )
        self._life.stopped("reported")

    _silent = False

    def _changed(self, change: Change) -> None:
        if self._silent:
            return
        told = ParticipantState(self._name, int(change.state), change.reason, self._cannot_reset)
        self._states.send(told)
        self._services.changed(change)

    def _grant(self, wish: Wish, reason: str) -> None:
        """Do what somebody outside asked for.

        :raises LifecycleError: that cannot be now
        """
        if wish is Wish.PAUSE:
            self._life.pause(reason)
            return
        if self._life.state is State.PAUSED:
            self._life.resume(reason)
        if wish is Wish.STOP:
            runtime = self._runtime
            if runtime.stop_reason is not None:
                raise LifecycleError(f"a stop has been asked for already: {runtime.stop_reason}")
            # It is as if the next activation had asked for it.
            runtime.stop_time = min(self._engine.bound(), max(self._engine.horizon, 0))
            runtime.stop_reason = reason

    def _on_horizon(self, horizon: Horizon) -> None:
        self._told_horizon = max(self._told_horizon, horizon.time_ns)
        self._membership.told(horizon.presences, horizon.time_ns)
        for presence in horizon.presences:
            if presence.participant == self._name:
                self._take_part(presence)
        if not self._runtime.spec.free_entry:
            self._engine.horizon = max(self._engine.horizon, horizon.time_ns)
        self._end = horizon.end_ns

    def _take_part(self, presence: Presence) -> None:
        if presence.leave_ns < FOREVER:
            raise RunError(
                f"participant '{self._name}': the run has gone on without it since "
                f"{format_ns(presence.leave_ns)}"
            )
        if self._runtime.spec.free_entry:
            self._engine.enter(presence.enter_ns)

    def _on_system_state(self, state: SystemState) -> None:
        self._system = State(state.state)
        self._named = state.required
        self._clock_seen = True
        if self._system is State.ABORTING:
            self._abort_reason = state.reason

    _abort_reason = ""
    #: Whom the system controller has named as required.
    _named: tuple[str, ...] = ()

    def _clock_gone(self) -> bool:
        """Whether the clock was there and is not any more, however it ended."""
        return self._clock_seen and self._session.writers(topics.SYSTEM_STATE) == 0

    def _check_abort(self) -> None:
        if self._system is State.SHUT_DOWN and self._spec.is_late:
            raise NotNeeded("the run is over")
        if self._system in (State.ABORTING, State.SHUT_DOWN):
            raise Aborted(self._abort_reason or "the run is over", AbortOrigin.ELSEWHERE)


class NotNeeded(RunError):
    """The run was over before a participant that enters late took part in it."""
