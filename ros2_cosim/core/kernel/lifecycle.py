# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The lifecycle of one participant: its states, and the table of what may follow what.

A pure state machine. It depends on neither transport nor clock: the host of a participant requests
transitions, each with a reason, and is notified of each. A transition that the table does not allow
raises an error that names the present state, the requested one, and the allowed ones.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum, IntEnum
from typing import NamedTuple

from ros2_cosim.core.kernel.errors import LifecycleError


class State(IntEnum):
    """State of a participant or of the system (constants of ros2_cosim/msg/ParticipantState).

    Numbers follow the course of a run, so that the smaller of two is the earlier one.
    """

    INVALID = 0
    SERVICES_CREATED = 1
    COMMUNICATION_INITIALISING = 2
    COMMUNICATION_INITIALISED = 3
    READY_TO_RUN = 4
    RUNNING = 5
    PAUSED = 6
    STOPPING = 7
    STOPPED = 8
    ERROR = 9
    SHUTTING_DOWN = 10
    SHUT_DOWN = 11
    ABORTING = 12


def known_state(number: int) -> State | None:
    """The state with a number, as a message carries it; None for one that does not exist."""
    return State(number) if number in State._value2member_map_ else None


class Operation(Enum):
    """How a participant starts and stops: together with the others, or by itself.

    A coordinated participant aligns its states with that of the system up to RUNNING and stops
    with it; an autonomous one waits for no other and is stopped individually.
    """

    COORDINATED = "coordinated"
    AUTONOMOUS = "autonomous"


#: What may follow each state in the regular course of a run.
_COURSE: dict[State, tuple[State, ...]] = {
    State.INVALID: (State.SERVICES_CREATED,),
    State.SERVICES_CREATED: (State.COMMUNICATION_INITIALISING, State.STOPPING),
    State.COMMUNICATION_INITIALISING: (State.COMMUNICATION_INITIALISED, State.STOPPING),
    State.COMMUNICATION_INITIALISED: (State.READY_TO_RUN, State.STOPPING),
    State.READY_TO_RUN: (State.RUNNING, State.STOPPING),
    State.RUNNING: (State.PAUSED, State.STOPPING),
    State.PAUSED: (State.RUNNING, State.STOPPING),
    State.STOPPING: (State.STOPPED,),
    # The second one is the way of a run that is repeated without starting processes anew.
    State.STOPPED: (State.SHUTTING_DOWN, State.COMMUNICATION_INITIALISED),
    # The only way out of an error.
    State.ERROR: (State.SHUTTING_DOWN,),
    State.SHUTTING_DOWN: (State.SHUT_DOWN,),
    State.SHUT_DOWN: (),
    State.ABORTING: (State.SHUT_DOWN,),
}

#: States that nothing goes wrong in any more.
_LAST = (State.SHUT_DOWN, State.ABORTING)


def _with_faults(state: State, following: tuple[State, ...]) -> tuple[State, ...]:
    if state in _LAST:
        return following
    faults = (State.ABORTING,) if state is State.ERROR else (State.ERROR, State.ABORTING)
    return (*following, *faults)


#: The table: state -> states that may follow it.
TRANSITIONS: dict[State, tuple[State, ...]] = {
    state: _with_faults(state, following) for state, following in _COURSE.items()
}


class Change(NamedTuple):
    """One transition of a participant, or a new reason to be in the same state."""

    participant: str
    before: State
    state: State
    reason: str


class Lifecycle:
    """The state of one participant.

    :param participant: its name
    :param on_change: called after each transition, and after each new reason
    """

    def __init__(
        self, participant: str, on_change: Callable[[Change], None] = lambda change: None
    ) -> None:
        self.participant = participant
        self.state = State.INVALID
        self.reason = ""
        self._on_change = on_change

    def enter(self, state: State, reason: str) -> None:
        """Go to another state.

        :param reason: why, for a human reader; must not be empty
        :raises LifecycleError: the table does not allow it, or there is no reason
        """
        if state not in TRANSITIONS[self.state]:
            allowed = ", ".join(s.name for s in TRANSITIONS[self.state]) or "nothing"
            raise LifecycleError(
                f"participant '{self.participant}' is {self.state.name}; asked for {state.name}; "
                f"allowed is {allowed}"
            )
        self._tell(state, reason)

    def note(self, reason: str) -> None:
        """Stay, for a new reason (such as what the participant waits for)."""
        self._tell(self.state, reason)

    def may_enter(self, state: State) -> bool:
        """Whether the table allows to go there now."""
        return state in TRANSITIONS[self.state]

    def _tell(self, state: State, reason: str) -> None:
        if not reason.strip():
            raise LifecycleError(
                f"participant '{self.participant}': transition from {self.state.name} to "
                f"{state.name} without a reason; every transition needs one"
            )
        before, self.state, self.reason = self.state, state, reason
        self._on_change(Change(self.participant, before, state, reason))
