# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The lifecycles of all participants in one process (shapes ``inproc`` and ``composed``).

They go through the same states, by the same rules, as participants in their own processes:
each follows the state of the system, which is derived from all of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress

from ros2_cosim.core.kernel.errors import Aborted, AbortOrigin, ParticipantError
from ros2_cosim.core.kernel.lifecycle import Change, Operation, State
from ros2_cosim.core.kernel.membership import system_state
from ros2_cosim.core.kernel.model import FullModel
from ros2_cosim.core.kernel.participant import Host
from ros2_cosim.core.kernel.participant_lifecycle import ParticipantLifecycle


class LifecycleGroup:
    """All participants of a run in one process.

    :param models: participant name -> model, in the order in which handlers are called
    :param operations: how participants operate that are not coordinated
    :param on_change: called after each transition of a participant
    :param on_system: called with each new state of the system, and why
    :param host: what the process offers to the model of a participant
    """

    def __init__(
        self,
        models: Mapping[str, FullModel],
        *,
        operations: Mapping[str, Operation] | None = None,
        on_change: Callable[[Change], None] = lambda change: None,
        on_system: Callable[[State, str], None] = lambda state, reason: None,
        host: Callable[[str], Host | None] = lambda name: None,
    ) -> None:
        self.system = State.INVALID
        #: Whether the models are kept for another run: they are not closed then.
        self.kept = False
        #: The participants that the system controller requires; empty: all are required.
        self.required: frozenset[str] = frozenset()
        self._active: str | None = None
        self._on_change = on_change
        self._on_system = on_system
        modes = operations or {}
        self.of = {
            name: ParticipantLifecycle(
                name,
                model,
                operation=modes.get(name, Operation.COORDINATED),
                on_change=self._changed,
                host=host(name),
            )
            for name, model in models.items()
        }
        #: How many of the required participants are in each state.
        self._counts = self._counted()

    def _counted(self) -> Counter[State]:
        required = self.required or self.of.keys()
        return Counter(life.state for name, life in self.of.items() if name in required)

    @contextmanager
    def during(self, idle: Callable[[], None], active: Callable[[], str | None]) -> Iterator[None]:
        """Start all participants; if the body of the statement fails, end all in order.

        :param idle: called again and again while handlers complete asynchronously
        :param active: gives the participant of the activation that is going on, or was the last
        """
        try:
            self.start(idle)
            self._active = None
            yield
        except BaseException as error:
            failed = None
            if isinstance(error, ParticipantError):
                failed = self._active or active()
            reason = str(error) or type(error).__name__
            if isinstance(error, Aborted) and error.origin is AbortOrigin.PARTICIPANT:
                reason = f"{self._active or active()}: {reason}"
            try:
                self.fail(failed, reason)
            finally:
                with suppress(ParticipantError):  # the first cause is reported
                    self.close()
            raise
        self.close()

    def start(self, idle: Callable[[], None]) -> None:
        """Take all participants to RUNNING.

        :param idle: called again and again while handlers complete asynchronously
        :raises ParticipantError: a handler failed
        """
        for life in self.of.values():
            life.create()
        while self.system is not State.RUNNING or any(
            life.state < State.RUNNING for life in self.of.values()
        ):
            before = [life.state for life in self.of.values()]
            for name, life in self.of.items():
                self._active = name
                life.follow(self.system, connected=True)
            if [life.state for life in self.of.values()] == before:
                idle()

    def require(self, names: Collection[str]) -> None:
        """Derive the state of the system from these participants; all of them are running."""
        self.required = frozenset(names)
        self._counts = self._counted()
        self._derive(f"required: {', '.join(sorted(names))}")

    @property
    def paused(self) -> list[str]:
        """The participants that are paused."""
        return [name for name, life in self.of.items() if life.state is State.PAUSED]

    def stop(self, reason: str) -> None:
        """All participants collect their results; the run is at its end.

        :raises ParticipantError: a handler failed
        """
        for name, life in self.of.items():
            self._active = name
            life.stop(reason)
            life.stopped("all activations complete")

    def shut_down(self, reason: str) -> None:
        """The orderly end.

        :raises ParticipantError: a handler failed
        """
        for name, life in self.of.items():
            self._active = name
            life.shut_down(reason)

    def fail(self, participant: str | None, reason: str) -> None:
        """One has failed: it shuts down, and the run is aborted for all others.

        :param participant: the one that has failed, None if no participant is to blame
        :param reason: the reason that the others get
        """
        if participant is not None:
            failed = self.of[participant]
            failed.fail(reason)
            if failed.state is State.ERROR:
                self._quietly(failed.shut_down, "after an error")
        self.abort(reason)

    def abort(self, reason: str) -> None:
        """End all lives at once; a handler that fails keeps no other from being called."""
        for life in self.of.values():
            self._quietly(life.abort, reason)

    def close(self) -> None:
        """Release what the models hold, whatever happened.

        :raises ParticipantError: a model failed in it; all others have released theirs
        """
        if self.kept:
            return
        first: ParticipantError | None = None
        for life in self.of.values():
            try:
                life.close()
            except ParticipantError as error:
                first = first or error
        if first is not None:
            raise first

    @staticmethod
    def _quietly(call: Callable[[str], None], reason: str) -> None:
        try:
            call(reason)
        except ParticipantError:
            # The first cause is being reported already; this one follows from it.
            return

    def _changed(self, change: Change) -> None:
        self._on_change(change)
        if not self.required or change.participant in self.required:
            self._counts[change.before] -= 1
            self._counts[change.state] += 1
        self._derive(f"{change.participant}: {change.reason}")

    def _derive(self, reason: str) -> None:
        state = system_state(state for state, count in self._counts.items() if count)
        if state is not self.system:
            self.system = state
            self._on_system(state, reason)
