# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""States and reports of all nodes that gate the clock, and which are missing for a stage."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from ros2_cosim.core.kernel.lifecycle import State
from ros2_cosim.core.kernel.membership import Membership
from ros2_cosim.core.messages.protocol import ParticipantReport, ParticipantState

#: How the reason of a participant's state begins if it does not advance for want of something.
WAITS = "waits "

#: What the clock waits for.
TO_BE_READY = "to become ready"
TO_REPORT = "to report"
TO_STOP = "to stop"
TO_SHUT_DOWN = "to shut down"

#: The state that ends the wait.
_REACHED = {
    TO_BE_READY: State.READY_TO_RUN,
    TO_STOP: State.STOPPED,
    TO_SHUT_DOWN: State.SHUT_DOWN,
}


class Readiness:
    """How far each node is that gates the clock.

    :param names: all nodes that gate the clock
    :param observers: those of them that are not participants
    :param membership: which participants take part
    """

    def __init__(
        self, names: Iterable[str], observers: Iterable[str], membership: Membership
    ) -> None:
        self.states: dict[str, ParticipantState | None] = dict.fromkeys(names)
        self.observers = frozenset(observers)
        self._membership = membership
        self._reported: set[str] = set()

    def on_report(self, report: ParticipantReport) -> None:
        """Take the report of a participant with the figures of its run."""
        self._reported.add(report.participant)

    @property
    def stepping(self) -> set[str]:
        """Participants that take part now."""
        return self._membership.taking_part

    @property
    def at_start(self) -> set[str]:
        """Nodes that have to be ready before the run begins."""
        return {*self._membership.at_start, *self.observers}

    def in_the_way(self) -> dict[str, str]:
        """Participants that are not required and not as far as the required ones, and why.

        Only where the system controller has named the required ones: the others are not waited
        for.
        """
        spare = self._membership.dispensable
        if not spare:
            return {}
        if self.all_in(State.READY_TO_RUN, self.at_start):
            late = [name for name in spare if not self.all_in(State.READY_TO_RUN, [name])]
            return dict.fromkeys(sorted(late), "was not ready when all required ones were")
        if self.all_in(State.COMMUNICATION_INITIALISING, self.at_start):
            # They look for each other's readers now: a participant that is not there has none.
            unseen = [name for name in spare if self.states[name] is None]
            return dict.fromkeys(sorted(unseen), "was not there when all required ones were")
        return {}

    @property
    def any_paused(self) -> bool:
        """Whether a participant is paused: the others wait for it, and no watchdog counts that."""
        return any(
            reported is not None
            and reported.state == State.PAUSED
            and name not in self._membership.lost
            for name, reported in self.states.items()
        )

    @property
    def all_reported(self) -> bool:
        """Whether each participant that takes part has reported its figures."""
        return self._reported >= self.stepping

    def all_in(self, state: State, names: Collection[str]) -> bool:
        """Whether all of them have reached a state; lost ones do not count."""
        reported = [self.states[name] for name in names if name not in self._membership.lost]
        return all(s is not None and s.state >= state for s in reported)

    def known(self, own: State) -> list[State | None]:
        """The states that define that of the system.

        :param own: that of the clock, which counts like a required participant
        """
        known: list[State | None] = [own]
        for name, reported in self.states.items():
            state = None if reported is None else State(reported.state)
            ending = own >= State.STOPPING
            if name in self.observers or self._membership.defines_system(name, state, ending):
                known.append(state)
        return known

    def lagging(self, what: str, names: Collection[str] = ()) -> str:
        """The nodes that are still waited for, in words.

        :param what: one of the ``TO_...`` above
        :param names: the nodes that count; by default all that this concerns
        """
        if what == TO_REPORT:
            lines = sorted(self.stepping - self._reported)
        else:
            expected = names or (self.at_start if what == TO_BE_READY else self.states)
            lines = [
                self._place(name, state, what)
                for name, state in self.states.items()
                if name in expected and (state is None or state.state < _REACHED[what])
            ]
        return f"{', '.join(lines) or 'no node'} {what}"

    @staticmethod
    def _place(name: str, state: ParticipantState | None, what: str) -> str:
        if state is None:
            return f"{name} (not seen)"
        return f"{name} ({state.reason if what == TO_BE_READY else State(state.state).name})"

    def standstill(self) -> tuple[list[str], list[str]]:
        """Of a run that stands: (nodes that give no reason, sentences of those that do)."""
        waiting = {
            name: state.reason
            for name, state in self.states.items()
            if state is not None and state.reason.startswith(WAITS)
        }
        # A node that waits gives a reason; one without is frozen or still in an activation.
        running = self.stepping | self.observers
        silent = [name for name in self.states if name in running and name not in waiting]
        return silent, [f"{name} {reason}" for name, reason in waiting.items()]
