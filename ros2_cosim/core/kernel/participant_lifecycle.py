# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The lifecycle of one participant: its states, and the handlers of its model along the way.

Hosts of all run shapes go through this one class, so handlers are called in the same order
whatever runs beneath. The handlers are those of :class:`~ros2_cosim.core.kernel.model.Model`. An
exception in a handler is the participant's failure, as in an activation.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ros2_cosim.core.kernel.errors import (
    Aborted,
    Cancelled,
    ConfigurationError,
    LifecycleError,
    ParticipantError,
)
from ros2_cosim.core.kernel.lifecycle import Change, Lifecycle, Operation, State
from ros2_cosim.core.kernel.loading import line_of
from ros2_cosim.core.kernel.model import FullModel
from ros2_cosim.core.kernel.participant import Host


class ParticipantLifecycle:
    """Takes one participant from its creation to its shut-down.

    :param participant: its name
    :param model: what it computes
    :param operation: whether it starts and stops together with the others
    :param on_change: called after each transition, and after each new reason
    :param host: what the process offers to the model
    :raises ConfigurationError: the model has both kinds of communication-ready handlers
    """

    def __init__(
        self,
        participant: str,
        model: FullModel,
        *,
        operation: Operation = Operation.COORDINATED,
        on_change: Callable[[Change], None] = lambda change: None,
        host: Host | None = None,
    ) -> None:
        if model.ready_handlers > 1:
            raise ConfigurationError(
                f"participant '{participant}': its model defines both on_communication_ready and "
                "on_communication_ready_async; allowed is one of them"
            )
        self.participant = participant
        self.operation = operation
        self._model = model
        self._lifecycle = Lifecycle(participant, on_change)
        #: Whether it is PAUSED without its configuration: its model will be as at its start.
        self.unconfigured = False
        self._ready_called = False
        #: Set by any thread.
        self._ready = False
        if host:
            model.attach(host)

    @property
    def state(self) -> State:
        """The present state."""
        return self._lifecycle.state

    @property
    def reason(self) -> str:
        """Why it is in that state."""
        return self._lifecycle.reason

    def create(self) -> None:
        """Enter the first state: all ports and services are there."""
        self._lifecycle.enter(State.SERVICES_CREATED, "ports and services are there")

    def note(self, reason: str) -> None:
        """Stay in the state, for a new reason."""
        self._lifecycle.note(reason)

    def follow(self, system: State, *, connected: bool) -> None:
        """Go as far towards RUNNING as the state of the system allows.

        :param system: its present state; an autonomous participant does not look at it
        :param connected: whether all readers of this participant have been found
        :raises ParticipantError: a handler failed
        """
        enter = self._lifecycle.enter
        if self.state is State.SERVICES_CREATED and self._reached(system, self.state):
            enter(State.COMMUNICATION_INITIALISING, "looking for the readers of its outputs")
        if self.state is State.COMMUNICATION_INITIALISING and connected:
            enter(State.COMMUNICATION_INITIALISED, "all readers found")
        if self.state is State.COMMUNICATION_INITIALISED and self._reached(system, self.state):
            if not self._ready_called:
                self._ready_called = True
                self._call_ready()
            if self._ready:
                enter(State.READY_TO_RUN, "ready")
        if self.state is State.READY_TO_RUN and self._reached(system, self.state):
            self._call("on_starting", self._model.on_starting)
            enter(State.RUNNING, "started")

    @property
    def waits_for_completion(self) -> bool:
        """Whether an asynchronous communication-ready handler has yet to be completed."""
        return self._ready_called and not self._ready

    def complete_communication_ready(self) -> None:
        """End an asynchronous communication-ready handler; any thread may call it."""
        self._ready = True

    def pause(self, reason: str) -> None:
        """Stop advancing for a while.

        :raises LifecycleError: it is not RUNNING
        """
        self._lifecycle.enter(State.PAUSED, reason)

    def resume(self, reason: str) -> None:
        """Go on after a pause.

        :raises LifecycleError: it is not PAUSED
        """
        self._lifecycle.enter(State.RUNNING, reason)
        self.unconfigured = False

    def clean_up(self, reason: str) -> None:
        """Give up the configuration, within a pause.

        :raises LifecycleError: it is not PAUSED, or unconfigured already
        """
        self._reconfigure(True, reason)

    def configure(self, reason: str) -> None:
        """Take the configuration again, within a pause.

        :raises LifecycleError: it is not unconfigured
        """
        self._reconfigure(False, reason)

    def _reconfigure(self, unconfigured: bool, reason: str) -> None:
        if self.state is not State.PAUSED or self.unconfigured is unconfigured:
            found = "unconfigured" if self.unconfigured else self.state.name
            raise LifecycleError(f"participant '{self.participant}' is {found}; asked for {reason}")
        self.unconfigured = unconfigured
        self._lifecycle.note(reason)

    def stop(self, reason: str) -> None:
        """End the simulation: no activation follows; results are collected.

        :raises ParticipantError: a handler failed
        """
        self._lifecycle.enter(State.STOPPING, reason)
        self._call("on_stop", self._model.on_stop)
        self._call("finish", self._model.finish)

    def stopped(self, reason: str) -> None:
        """Enter STOPPED: everything about the run has been reported."""
        self._lifecycle.enter(State.STOPPED, reason)

    def shut_down(self, reason: str) -> None:
        """Leave; also the one way out of an error.

        :raises ParticipantError: the handler failed
        """
        self._lifecycle.enter(State.SHUTTING_DOWN, reason)
        self._call("on_shutdown", self._model.on_shutdown)
        self._lifecycle.enter(State.SHUT_DOWN, reason)

    def leave_unused(self, reason: str) -> None:
        """End in order without having taken part: there are no results to collect.

        :raises ParticipantError: the handler failed
        """
        self._lifecycle.enter(State.STOPPING, reason)
        self._lifecycle.enter(State.STOPPED, reason)
        self.shut_down(reason)

    def fail(self, reason: str) -> None:
        """Enter the error state, unless the participant is beyond all states already."""
        if self._lifecycle.may_enter(State.ERROR):
            self._lifecycle.enter(State.ERROR, reason)

    def abort(self, reason: str) -> None:
        """End at once, whatever the state; nothing if it has ended.

        :raises ParticipantError: the handler failed
        """
        before = self.state
        if not self._lifecycle.may_enter(State.ABORTING):
            return
        self._lifecycle.enter(State.ABORTING, reason)
        self._call("on_abort", self._model.on_abort, before)
        self._lifecycle.enter(State.SHUT_DOWN, reason)

    def close(self) -> None:
        """Release what the model holds, whatever happened.

        :raises ParticipantError: the model failed in it
        """
        self._call("close", self._model.close)

    def _reached(self, system: State, state: State) -> bool:
        return self.operation is Operation.AUTONOMOUS or state <= system <= State.PAUSED

    def _call_ready(self) -> None:
        # The one that does not wait stands for both: it completes at once by default.
        self._call(
            "on_communication_ready",
            self._model.on_communication_ready_async,
            self.complete_communication_ready,
        )

    def _call(self, name: str, handler: Callable[..., None], *arguments: Any) -> None:
        try:
            handler(*arguments)
        except (ParticipantError, Aborted, Cancelled):
            raise
        except Exception as error:
            raise ParticipantError(
                f"participant '{self.participant}' failed in its handler {name}: "
                f"{type(error).__name__}: {error}{line_of(error)}"
            ) from error
