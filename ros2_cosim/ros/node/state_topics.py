# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The states of the system and of its participants as latched topics, and the end of a run."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from ros2_cosim.core.kernel.errors import Aborted, AbortOrigin
from ros2_cosim.core.kernel.lifecycle import Change, State, known_state
from ros2_cosim.core.kernel.membership import system_state
from ros2_cosim.core.messages.protocol import ForeignMessageError, ParticipantState, SystemState
from ros2_cosim.ros.node import topics
from ros2_cosim.ros.node.session import Session
from ros2_cosim.ros.node.writers import data_qos

#: The state of the system after a run that is followed by another one in the same processes.
RUN_REPEATS = State.COMMUNICATION_INITIALISED
_ENDED = (State.STOPPED, State.SHUTTING_DOWN, State.SHUT_DOWN, State.ABORTING)


class ParticipantStateTopic:
    """Publishes the states of one participant.

    :param session: the ROS node
    :param name: the participant
    :param cannot_reset: why it cannot take part in another run; empty if it can
    """

    def __init__(self, session: Session, name: str, cannot_reset: str = "") -> None:
        self._name = name
        self._cannot_reset = cannot_reset
        #: Times [ns] from which on it was as at its start, while the run went on.
        self.resets: tuple[int, ...] = ()
        #: A participant that is silent publishes no further state.
        self.silent = False
        self.writer = session.writer(
            topics.PARTICIPANT_STATE, topics.PARTICIPANT_STATE_TYPE, data_qos(latched=True)
        )

    def changed(self, change: Change) -> None:
        """Publish a transition, or a new reason."""
        self.enter(change.state, change.reason)

    def enter(self, state: State, reason: str) -> None:
        """Publish a state."""
        if not self.silent:
            self.writer.send(
                ParticipantState(self._name, int(state), reason, self._cannot_reset, self.resets)
            )

    def flush(self) -> None:
        """Wait until the readers, the clock among them, have the last state."""
        self.writer.flush()


class SystemStateTopic:
    """Publishes the state derived from those of the participants.

    :param session: the ROS node
    :param run_id: names this run in every message
    """

    def __init__(self, session: Session, run_id: str) -> None:
        self._run_id = run_id
        self._writer = session.writer(
            topics.SYSTEM_STATE, topics.SYSTEM_STATE_TYPE, data_qos(latched=True)
        )
        self._required: tuple[str, ...] = ()
        self._derived: State | None = None
        self._closed = False
        #: What was published last; the reason may be newer.
        self.last = SystemState(int(State.INVALID), "", run_id)

    @property
    def state(self) -> State:
        """The state that was published last."""
        return State(self.last.state)

    def update(self, states: Iterable[State | None], reason: str) -> None:
        """Publish the state of the system, if it has changed.

        :param states: of the participants that define it; None: has not been seen
        """
        state = system_state(list(states))
        if state is not self._derived and not self._closed:
            self._derived = state
            self._publish(int(state), reason)

    def require(self, names: Collection[str]) -> None:
        """Publish which participants the system controller has named as required."""
        self._required = tuple(sorted(names))
        self._publish(self.last.state, f"required: {', '.join(self._required)}")

    def note(self, reason: str) -> None:
        """Keep a new reason for the present state, without publishing it."""
        self.last = self.last._replace(reason=reason)

    def publish_last(self, state: int, reason: str) -> None:
        """Publish a state; from then on derived ones are not published any more."""
        self._closed = True
        self._publish(state, reason)

    def flush(self) -> None:
        """Wait until every reader has the last state."""
        self._writer.flush()

    def _publish(self, state: int, reason: str) -> None:
        self.last = SystemState(state, reason, self._run_id, self._required)
        self._writer.send(self.last)


class SystemStateReader:
    """What a process of a run knows of the system: its state, and whether the clock is there.

    :param session: the ROS node
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self._last: SystemState | None = None
        #: The state of the system; INVALID before the clock has published one.
        self.state = State.INVALID
        self._stops = False
        session.record_reader(
            topics.SYSTEM_STATE, topics.SYSTEM_STATE_TYPE, data_qos(latched=True), self._take
        )

    @property
    def reason(self) -> str:
        """Why the system is in its state."""
        return "" if self._last is None else self._last.reason

    @property
    def required(self) -> tuple[str, ...]:
        """The participants that the system controller has named as required; empty: none."""
        return () if self._last is None else self._last.required

    @property
    def is_known(self) -> bool:
        """Whether the clock has told a state of the system."""
        return self._last is not None

    def clock_has_gone(self) -> bool:
        """Whether the clock was there and has gone, however it ended."""
        return self._last is not None and self._session.writers(topics.SYSTEM_STATE) == 0

    def run_has_ended(self) -> bool:
        """Whether a participant that has stopped need not wait any longer."""
        if self.state in _ENDED or self.repeats:
            return True
        if self.clock_has_gone():
            print("the clock has gone", flush=True)  # what the starter says, if it is the last line
            return True
        return False

    @property
    def repeats(self) -> bool:
        """Whether the run begins anew in the same processes.

        The same state comes before the start. A participant that waits for no other may get to its
        end before it has read that.
        """
        return self._stops and self.state is RUN_REPEATS

    def check(self, *over: State) -> None:
        """Check whether the run goes on.

        :param over: states besides ABORTING in which it does not
        :raises Aborted: it does not
        """
        if self.state is State.ABORTING:
            raise Aborted(self.reason, AbortOrigin.ELSEWHERE)
        if self.state in over:
            raise Aborted("the run is over", AbortOrigin.ELSEWHERE)

    def _take(self, state: SystemState) -> None:
        if known_state(state.state) is None:
            raise ForeignMessageError(f"system state {state.state} does not exist")
        self._last = state
        self.state = State(state.state)
        self._stops = self._stops or state.state == State.STOPPING
