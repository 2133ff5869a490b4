# SPDX-License-Identifier: Apache-2.0
"""Who has told what so far: states and reports of all, and who is missing for the next stage."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from ros2_cosim.interfaces.protocol import ParticipantReport, ParticipantState
from ros2_cosim.kernel.lifecycle import State
from ros2_cosim.kernel.membership import Membership

#: How the reason of a participant's state begins that does not advance for want of something.
WAITS = "waits "

#: What the clock waits for.
TO_BE_READY = "to become ready"
TO_REPORT = "to report"
TO_STOP = "to stop"
TO_SHUT_DOWN = "to shut down"

#: The state in which nobody is waited for any more.
_REACHED = {
    TO_BE_READY: State.READY_TO_RUN,
    TO_STOP: State.STOPPED,
    TO_SHUT_DOWN: State.SHUT_DOWN,
}


class RollCall:
    """The clock's list of everybody.

    :param names: all who gate the clock
    :param observers: those of them that are no participants
    :param membership: who takes part
    """

    def __init__(
        self, names: Iterable[str], observers: Iterable[str], membership: Membership
    ) -> None:
        self.states: dict[str, ParticipantState | None] = dict.fromkeys(names)
        self.observers = frozenset(observers)
        self._membership = membership
        self._reported: set[str] = set()

    def on_report(self, report: ParticipantReport) -> None:
        """Somebody has told the figures of its run."""
        self._reported.add(report.participant)

    @property
    def stepping(self) -> set[str]:
        """Who takes part now."""
        return self._membership.taking_part

    @property
    def at_start(self) -> set[str]:
        """Who has to be ready before the run begins."""
        return {*self._membership.at_start, *self.observers}

    def in_the_way(self) -> dict[str, str]:
        """Who is not required and not as far as all required ones, and what was missed.

        Only where the system controller has said who is required: the others are not waited for.
        """
        spare = self._membership.dispensable
        if not spare:
            return {}
        if self.all_in(State.READY_TO_RUN, self.at_start):
            late = [name for name in spare if not self.all_in(State.READY_TO_RUN, [name])]
            return dict.fromkeys(sorted(late), "was not ready when all required ones were")
        if self.all_in(State.COMMUNICATION_INITIALISING, self.at_start):
            # What they look for now is the others' readers: who is not there has none.
            unseen = [name for name in spare if self.states[name] is None]
            return dict.fromkeys(sorted(unseen), "was not there when all required ones were")
        return {}

    @property
    def somebody_paused(self) -> bool:
        """Whether somebody who takes part is paused, so that the others wait and rightly so."""
        return any(
            told is not None and told.state == State.PAUSED and name not in self._membership.lost
            for name, told in self.states.items()
        )

    @property
    def all_reported(self) -> bool:
        """Whether everybody who takes part has told its figures."""
        return self._reported >= self.stepping

    def all_in(self, state: State, names: Collection[str]) -> bool:
        """Whether all of them have come as far; nobody waits for who is gone."""
        told = [self.states[name] for name in names if name not in self._membership.lost]
        return all(s is not None and s.state >= state for s in told)

    def known(self, own: State) -> list[State | None]:
        """The states that define that of the system.

        :param own: that of the clock, which counts like a required participant
        """
        known: list[State | None] = [own]
        for name, told in self.states.items():
            state = None if told is None else State(told.state)
            ending = own >= State.STOPPING
            if name in self.observers or self._membership.defines_system(name, state, ending):
                known.append(state)
        return known

    def lagging(self, what: str, names: Collection[str] = ()) -> str:
        """Who is still waited for, in words.

        :param what: one of the ``TO_...`` above
        :param names: who is asked; by default everybody whom this concerns
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
        return f"{', '.join(lines) or 'nobody'} {what}"

    @staticmethod
    def _place(name: str, state: ParticipantState | None, what: str) -> str:
        if state is None:
            return f"{name} (not seen)"
        return f"{name} ({state.reason if what == TO_BE_READY else State(state.state).name})"

    def standstill(self) -> tuple[list[str], list[str]]:
        """When nobody advances: (who does not say why, sentences of those who do)."""
        waiting = {
            name: state.reason
            for name, state in self.states.items()
            if state is not None and state.reason.startswith(WAITS)
        }
        # Whoever waits says so; whoever does not is frozen or still in an activation.
        running = self.stepping | self.observers
        silent = [name for name in self.states if name in running and name not in waiting]
        return silent, [f"{name} {reason}" for name, reason in waiting.items()]
