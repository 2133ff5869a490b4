# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The clock node: owner of ``/clock``, of the horizon and of the system state.

It waits until all participants are ready, opens the horizon, follows the completions, and ends
the run. It is never on the data path: participants exchange data directly.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial
from typing import NamedTuple, Protocol

from ros2_cosim.core.kernel.coordinator import Coordinator
from ros2_cosim.core.kernel.errors import Cancelled, DeadlockError, ParticipantError, RunError
from ros2_cosim.core.kernel.graph import Graph
from ros2_cosim.core.kernel.lifecycle import Change, Lifecycle, State, known_state
from ros2_cosim.core.kernel.membership import Membership
from ros2_cosim.core.kernel.time import NEVER, SECOND, format_ns
from ros2_cosim.core.messages.protocol import (
    Completion,
    ForeignMessageError,
    ParticipantReport,
    ParticipantState,
    RunChange,
)
from ros2_cosim.core.messages.reporting import NO_PROGRESS
from ros2_cosim.core.process.memory import settled_memory
from ros2_cosim.core.realtime.run_control import RunControl
from ros2_cosim.core.scene.entities import Offer
from ros2_cosim.ros.node import topics
from ros2_cosim.ros.node.blocking import BlockingTable
from ros2_cosim.ros.node.control_services import ControlServices, describe_end
from ros2_cosim.ros.node.courses import wait_on
from ros2_cosim.ros.node.departures import Departures
from ros2_cosim.ros.node.lane import SocketLane
from ros2_cosim.ros.node.readiness import TO_BE_READY, TO_REPORT, TO_SHUT_DOWN, TO_STOP, Readiness
from ros2_cosim.ros.node.repetition import await_departure
from ros2_cosim.ros.node.run_view import RunProgress, RunView
from ros2_cosim.ros.node.session import Session
from ros2_cosim.ros.node.state_topics import RUN_REPEATS, SystemStateTopic
from ros2_cosim.ros.node.time_topics import TimeTopics
from ros2_cosim.ros.node.writers import data_qos

_POLL_S = 0.05
_PACED_POLL_S = 0.005
#: A process with an activation that does not return says so itself, before the clock blames others.
_GUILTY_FIRST_NS = 2_000_000_000
#: No node shows progress while the results of a long run are written: the watchdog waits at
#: least this long then.
_END_NS = 60 * SECOND


class ClockSettings(NamedTuple):
    """How the clock coordinates one run.

    :ivar run_id: names this run in every message
    :ivar startup_s: wall seconds that all may take to become ready
    :ivar watchdog_s: wall seconds without progress after which the run is stopped; the end of
        the run has at least its own time
    :ivar warn_s: wall seconds without progress, or sign of life, after which there is a warning
    :ivar observers: nodes that gate the clock and are no participants (the recorder)
    :ivar again: whether the run begins anew after its end
    :ivar hard: what hard real time this process was granted; empty if it did not ask
    """

    run_id: str
    startup_s: float
    watchdog_s: float
    warn_s: float
    observers: tuple[str, ...] = ()
    again: bool = False
    hard: str = ""


class ClockStarter(Protocol):
    """The process that has started the nodes of the run, and watches them."""

    @property
    def early_leaves(self) -> Mapping[str, str]:
        """Participants whose processes ended before their time, and how."""

    def require(self, names: tuple[str, ...]) -> None:
        """Take the participants that the system controller requires."""

    def progress(self, time_ns: int, resting: bool) -> None:
        """Take the simulated time [ns], and whether the run stands on request."""

    def over(self) -> None:
        """Take that all have stopped in order, and end now."""


class ClockNode:
    """Coordinates a run.

    :param session: the ROS node
    :param graph: the checked system
    :param coordinator: what decides about time
    :param control: what limits how far the run goes: pauses, steps, rate
    :param membership: which participants take part
    :param settings: identity and patience of the run
    :param starter: the process that watches the processes of the run
    :param timer: monotonic wall clock [ns]
    :param world: what the world of the scenario has; None: there is none with entities
    """

    def __init__(
        self,
        session: Session,
        graph: Graph,
        coordinator: Coordinator,
        control: RunControl,
        membership: Membership,
        settings: ClockSettings,
        *,
        starter: ClockStarter,
        timer: Callable[[], int],
        world: Offer | None = None,
    ) -> None:
        self._session = session
        self._received = session.received
        self._settings = settings
        self._starter = starter
        self._coordinator = coordinator
        self._membership = membership
        self._awaited_since: int | None = None
        self._control = control
        control.on_require = self._require
        self._watchdog_ns = int(settings.watchdog_s * 1e9)
        self._startup_ns = int(settings.startup_s * 1e9)
        self._timer = timer
        self._readiness = Readiness(
            [*graph.order, *settings.observers], settings.observers, membership
        )
        self._table = BlockingTable(graph, self._readiness.states, timer())
        self._view = RunView(
            session,
            self._table,
            run_id=settings.run_id,
            warn_ns=int(settings.warn_s * 1e9),
            timer=timer,
            warn=partial(print, flush=True),
        )
        self._departures = Departures(session, self._readiness.states, timer)
        self._failure: ParticipantState | None = None
        #: Completions that changed nothing that the clock acts on.
        self._unchanged = 0
        self._any_paused = False
        # The clock counts like a required participant.
        self._own = Lifecycle("clock", self._changed)
        self._system = SystemStateTopic(session, settings.run_id)
        if control.required:
            self._system.require(control.required)
        self._created = timer()
        self._started = 0
        #: Wall time [ns] of the run; None: it goes on.
        self._wall_ns: int | None = None
        self._time = TimeTopics(
            session,
            coordinator,
            control,
            membership,
            run_id=settings.run_id,
            timer=timer,
            on_progress=starter.progress,
        )
        latched = data_qos(latched=True)
        self._report = session.writer(topics.REPORT, topics.REPORT_TYPE, latched)
        session.record_reader(
            topics.PARTICIPANT_STATE, topics.PARTICIPANT_STATE_TYPE, latched, self._on_state
        )
        session.record_reader(topics.REPORT, topics.REPORT_TYPE, latched, self._readiness.on_report)
        session.record_reader(
            topics.HEARTBEAT,
            topics.HEARTBEAT_TYPE,
            data_qos(),
            lambda beat: self._table.on_heartbeat(beat, timer()),
        )
        lane = session.own_lane
        self._lane = lane if isinstance(lane, SocketLane) else None
        self._completions = frozenset(map(topics.completion, self._readiness.states))
        for name in self._readiness.states:
            session.record_reader(
                topics.completion(name),
                topics.COMPLETION_TYPE,
                data_qos(latched=graph.has_late and name not in self._readiness.observers),
                partial(self._on_completion, name),
                # The clock aims for what it waits for.
                lazy=True,
                numbers=partial(self._on_progress, name),
            )
        self._services = ControlServices(
            session,
            control,
            time=lambda: self._coordinator.time,
            state=lambda: self._system.state,
            timer=timer,
            world=world,
        )
        self.ask = self._services.ask

    def change(self, changes: tuple[RunChange, ...]) -> None:
        """Let the participants know what has been changed by hand.

        :param changes: all so far, each from a time on that has not been granted yet
        """
        self._time.change(changes)

    def run(self) -> bool:
        """Run from the first connection to the shut-down.

        :returns: whether the run begins anew; then all other nodes have left this one
        :raises ParticipantError: a participant reported an error
        :raises DeadlockError: there was no progress for the watchdog's time
        :raises Aborted: a request asked for the end at once
        :raises RunError: the run is to be repeated, which a participant cannot
        :raises Cancelled: the process was asked to end
        """
        try:
            self._update("waiting for the participants")
            # It holds up no participant: they wait for each other.
            for state in range(State.SERVICES_CREATED, State.READY_TO_RUN + 1):
                self._own.enter(State(state), "the clock is there")
            self._wait_for_ready()
            if self._settings.again and self._control.no_reset:
                raise RunError(f"--repeat: this run cannot begin anew: {self._control.no_reset}")
            self._started = self._timer()
            self._control.started(self._started)
            self._view.started()
            self._own.enter(State.RUNNING, "all participants are ready")
            with settled_memory():
                self._simulate()
            self._services.over(describe_end(self._coordinator.time, self._coordinator.stop_reason))
            self._own.enter(State.STOPPING, self._coordinator.stop_reason)
            wall_ns = self._timer() - self._started
            limit_ns = max(self._watchdog_ns, _END_NS)
            self._wait_for(lambda: self._readiness.all_reported, TO_REPORT, limit_ns)
            finishing = {*self._readiness.stepping, *self._readiness.observers}
            self._wall_ns = wall_ns
            self._send_report()
            self._wait_for(
                lambda: self._readiness.all_in(State.STOPPED, finishing), TO_STOP, limit_ns
            )
            if self._settings.again or self._control.reset:
                # The system does not become STOPPED: all nodes would shut down then.
                # States of nodes that leave no longer count.
                self._system.publish_last(int(RUN_REPEATS), "the run begins anew")
                await_departure(self._session, limit_ns / 1e9)
                return True
            self._starter.over()
            self._own.enter(State.STOPPED, "all participants have stopped")
            self._own.enter(State.SHUTTING_DOWN, "the run is complete")
            self._wait_for(lambda: self._all_gone(finishing), TO_SHUT_DOWN, limit_ns)
            self._own.enter(State.SHUT_DOWN, "the run is complete")
        except BaseException as error:
            self._own.enter(State.ABORTING, str(error) or type(error).__name__)
            if isinstance(error, Cancelled):
                raise  # the starter that ended this process ends the others, too
            self._system.flush()
            raise
        # The last state has to reach all readers before this process ends.
        self._system.flush()
        return False

    def _simulate(self) -> None:
        last_time, since = NEVER, self._timer()
        while not self._coordinator.finished:
            self._apply_control()
            self._await_arrivals()
            self._admit()
            self._time.publish_clock()
            self._time.move_horizon()
            self._wait_for_change()
            self._check_failure()
            self._report_progress()
            time = self._coordinator.time
            resting = self._control.resting or self._any_paused
            if resting:
                self._time.repeat_clock()
            if time > last_time or time >= self._time.horizon or resting:
                # At the horizon of a paced run all participants wait. During a pause one may
                # stand in a debugger.
                last_time, since = time, self._timer()
            elif self._timer() - since > self._watchdog_ns + _GUILTY_FIRST_NS:
                raise DeadlockError(self._explain_standstill())
        self._time.publish_clock()
        self._time.move_horizon()

    def _wait_for_change(self) -> None:
        """Handle messages until there may be something to do, or the patience is over.

        In lockstep every participant completes every step, and only the last one moves time.
        """
        patience_s = self._patience_s()
        until = self._timer() + int(patience_s * 1e9)
        while True:
            handled, unchanged = self._received.handled, self._unchanged
            self._wait(patience_s)
            left_ns = until - self._timer()
            arrived = self._received.handled - handled
            if not arrived or arrived > self._unchanged - unchanged or left_ns <= 0:
                return
            patience_s = left_ns / 1e9

    def _wait(self, seconds: float) -> None:
        """Handle what arrives; where not all show their progress, first that of the slowest."""
        lane = self._lane
        if lane is not None and self._completions <= lane.on_board:
            wait_on(lane, self._received, seconds)
            return
        # Time cannot move before the slowest participant does.
        slowest = "" if self._control.resting else self._coordinator.slowest()
        self._session.wait(seconds, slowest and topics.completion(slowest))

    def _patience_s(self) -> float:
        """How long to wait for messages: in a paced run not beyond the next activation."""
        if self._control.rate is None:
            return _POLL_S
        # Each participant at the horizon has told when it goes on: nothing happens before that.
        left_ns = self._control.scale.due(self._coordinator.time) - self._timer()
        return min(left_ns / 1e9, _POLL_S) if left_ns > 0 else _PACED_POLL_S

    def _apply_control(self) -> None:
        """Carry out what run control requested."""
        control, coordinator = self._control, self._coordinator
        stands = control.update(coordinator.time, self._timer())
        if control.stop_reason is not None:
            coordinator.stop_at(max(control.granted, 0), control.stop_reason)
        if stands:
            told = control.describe(coordinator.time)
            if self._own.state is State.RUNNING:
                self._own.enter(State.PAUSED, told)
            self._system.note(told)
        elif self._own.state is State.PAUSED and not control.resting:
            self._own.enter(State.RUNNING, control.describe(coordinator.time))

    def _report_progress(self) -> None:
        """Report how far the run is, on the console and on the topics of the run view."""
        self._time.report()
        if self._view.is_due():
            self._view.publish(
                RunProgress(
                    self._system.last,
                    self._coordinator.time,
                    self._time.horizon,
                    self._coordinator.end,
                    self._control.rate,
                    self._control.resting,
                )
            )

    def _wait_for_ready(self) -> None:
        """Wait for all that take part from the start; go on without those it can spare."""
        roll, ready = self._readiness, State.READY_TO_RUN
        while True:
            try:
                self._wait_for(self._all_ready, TO_BE_READY, self._startup_ns)
                return
            except DeadlockError:
                missing = [name for name in roll.at_start if not roll.all_in(ready, [name])]
                spared = [name for name in missing if self._membership.can_spare(name)]
                if not spared:
                    raise
                self._give_up(spared)

    def _all_ready(self) -> bool:
        """Whether all that are waited for are ready; others that are in the way are left out."""
        roll = self._readiness
        for name, reason in roll.in_the_way().items():
            self._lose(name, reason)
        return roll.all_in(State.READY_TO_RUN, roll.at_start)

    def _require(self, names: tuple[str, ...]) -> None:
        """Take the required participants from the system controller.

        :raises ConfigurationError: that cannot be
        """
        self._membership.require(names, begun=self._own.state >= State.RUNNING)
        self._starter.require(names)
        self._system.require(names)
        self._update(f"required: {', '.join(names)}")

    def _await_arrivals(self) -> None:
        """Watch how long the run has stood at the entry of participants that are not there."""
        awaited = self._coordinator.awaited()
        now = self._timer()
        if not awaited or self._awaited_since is None:
            self._awaited_since = now if awaited else None
        elif now - self._awaited_since > self._startup_ns:
            if any(not self._membership.can_spare(name) for name in awaited):
                time = format_ns(self._coordinator.time)
                raise DeadlockError(
                    f"stood at {time} for {self._startup_ns / 1e9:g} s, waiting for "
                    f"{self._readiness.lagging(TO_BE_READY, awaited)}"
                )
            self._give_up(awaited)

    def _admit(self) -> None:
        """Let the participants enter that are ready and have no declared time."""
        changed = self._membership.admit(self._time.horizon)
        if changed:
            for presence in self._membership.presences:
                if presence.participant in changed:
                    entry = format_ns(presence.enter_ns)
                    print(f"{presence.participant} enters at {entry}", flush=True)
            self._time.publish_horizon()

    def _give_up(self, names: Iterable[str]) -> None:
        for name in names:
            self._lose(name, f"was not ready after {self._startup_ns / 1e9:g} s")

    def _lose(self, name: str, reason: str) -> None:
        """Go on without a participant that the run can spare."""
        if self._membership.lose(name, reason):
            print(f"the run goes on without {name}: {reason}", flush=True)
            self._any_paused = self._readiness.any_paused
            self._update(f"the run goes on without {name}")
            self._time.publish_horizon()
            # Its own report may have reached this process, and not the recorder.
            self._send_report()

    def _wait_for(self, condition: Callable[[], bool], what: str, limit_ns: int) -> None:
        since = self._timer()
        while not condition():
            self._session.wait(_POLL_S)
            self._check_failure()
            self._report_progress()
            if self._timer() - since > limit_ns:
                raise DeadlockError(
                    f"waited {limit_ns / 1e9:g} s for {self._readiness.lagging(what)}"
                )

    def _all_gone(self, names: Collection[str]) -> bool:
        """Whether all have shut down, or cannot report it any more."""
        silent = self._session.writers(topics.PARTICIPANT_STATE) == 0
        return silent or self._readiness.all_in(State.SHUT_DOWN, names)

    def _explain_standstill(self) -> str:
        silent, reasons = self._readiness.standstill()
        text = (
            f"{NO_PROGRESS} for {self._watchdog_ns / 1e9:g} s at "
            f"{format_ns(max(self._coordinator.time, 0))}: "
        )
        if silent:
            text += f"{_quoted(silent)} neither advances nor reports what it waits for"
        else:
            text += f"'{self._coordinator.slowest()}' is behind"
        now = self._timer()
        name, why = self._table.blocking(self._time.horizon, now, SECOND)
        blame = f"; all wait for '{name}': {why}" if name else ""
        places = f"; {self._table.explain(self._time.horizon, now)}"
        return text + blame + (f" ({'; '.join(reasons)}{places})" if reasons else places)

    def _check_failure(self) -> None:
        self._control.check_abort()
        for name, reason in self._starter.early_leaves.items() if self._membership.may_lose else ():
            if not self._membership.can_spare(name):
                raise ParticipantError(f"{name}: {reason}")
            self._lose(name, reason)
        for name in self._departures.found():
            if name not in self._membership.lost:
                if not self._membership.can_spare(name):
                    raise ParticipantError(f"{name}: its process has ended")
                self._lose(name, "its process has ended")
        if self._failure is not None:
            raise ParticipantError(f"{self._failure.participant}: {self._failure.reason}")

    def _send_report(self) -> None:
        """Report how the run went, once it is over; again if something changes after that."""
        wall_ns = self._wall_ns
        if wall_ns is None:
            return
        coordinator = self._coordinator
        details: dict[str, object] = {
            "end_ns": coordinator.end,
            "end_reason": coordinator.stop_reason,
            "wall_ns": wall_ns,
            "startup_ns": self._started - self._created,
            **self._membership.record(),
            "changes": self._control.changes_made(),
        }
        if self._control.rate is not None:
            details["realtime"] = {"rate": self._control.rate, "hard": self._settings.hard}
        self._report.send(ParticipantReport("clock", 0, "", 0, 0, 0, 0, 0, 0, json.dumps(details)))

    def _changed(self, change: Change) -> None:
        self._update(change.reason)

    def _update(self, reason: str) -> None:
        """Publish the state of the system, if it has changed."""
        self._system.update(self._readiness.known(self._own.state), reason)

    def _on_state(self, state: ParticipantState) -> None:
        if known_state(state.state) is None:
            raise ForeignMessageError(f"state {state.state} of '{state.participant}' is unknown")
        if state.participant not in self._readiness.states:
            raise ForeignMessageError(f"state of '{state.participant}', which takes no part")
        self._readiness.states[state.participant] = state
        self._table.on_state(state, self._timer())
        if state.cannot_reset and not self._control.no_reset:
            self._control.no_reset = f"participant '{state.participant}': {state.cannot_reset}"
        if state.state in (State.READY_TO_RUN, State.RUNNING):
            self._membership.ready(state.participant)
        elif state.state in (State.ERROR, State.ABORTING) and (
            self._membership.can_spare(state.participant)
        ):
            self._lose(state.participant, state.reason)
        # The clock decides about an abort: a participant that is ABORTING before began it.
        elif state.state in (State.ERROR, State.ABORTING) and self._failure is None:
            self._failure = state
        if state.resets:
            self._control.on_resets(state.participant, state.resets)
        self._any_paused = self._readiness.any_paused
        self._update(f"{state.participant}: {state.reason}")

    def _on_completion(self, name: str, completion: Completion) -> None:
        if completion.participant != name:
            raise ForeignMessageError(f"completion of '{completion.participant}', not '{name}'")
        coordinator = self._coordinator
        self._table.on_completion(completion, self._timer())
        if completion.stop_reason:
            coordinator.stop_requested(
                completion.participant, completion.stop_ns, completion.stop_reason
            )
        moved = coordinator.completed(completion.participant, completion.bound_ns)
        self._unchanged += not moved and not completion.stop_reason

    def _on_progress(self, name: str, bound_ns: int, activations: int) -> None:
        """Take a completion that tells nothing else."""
        self._table.on_progress(name, bound_ns, activations, self._timer())
        self._unchanged += not self._coordinator.completed(name, bound_ns)


def _quoted(names: list[str]) -> str:
    return ", ".join(f"'{name}'" for name in names)
