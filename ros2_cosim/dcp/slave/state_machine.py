# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The state of a slave: changes of state, callbacks of the model, the error states."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from ros2_cosim.core.kernel.loading import line_of
from ros2_cosim.dcp.slave.interfaces import SlaveContext
from ros2_cosim.dcp.slave.registration import Registration
from ros2_cosim.dcp.standard.enums import ErrorCode, State, code_name
from ros2_cosim.dcp.standard.errors import SlaveFault
from ros2_cosim.dcp.standard.states import ERROR, NORMAL_OPERATION, RUN

logger = logging.getLogger("ros2_cosim.dcp.slave")

MAX_ERROR_TEXT = 1000
"""Characters of an error that go into the log."""


class StateMachine:
    """Holds the state, reports each change to the master and runs the model's callbacks.

    A callback that raises, and every other fault of the run, leads through ERRORHANDLING to
    ERRORRESOLVED. The tables of states and requests are in ``wire.states``.

    :ivar state: current state
    :ivar busy: a callback of the model is running
    :ivar configured: the model was configured, so that it has to be stopped
    :ivar error_code: reason of the error state, NONE outside it
    :ivar error_text: one line about it
    """

    def __init__(self, context: SlaveContext, registration: Registration) -> None:
        self.state = State.ALIVE
        self.busy = False
        self.configured = False
        self.error_code: int = ErrorCode.NONE
        self.error_text = ""
        self._context = context
        self._name = context.description.name
        self._host = context.host
        self._registration = registration
        self._afterwards: Callable[[], None] | None = None

    def enter(self, state: State) -> None:
        """Change the state and notify the master."""
        self.state = state
        self._registration.notify_state(state)

    # -- callbacks of the model --------------------------------------------------------------

    def call(self, function: Callable[..., Any], *arguments: Any) -> bool:
        """Run a callback; False when it failed or the state changed while it ran."""
        state = self.state
        self.busy = True
        try:
            self._host.call(function, *arguments)
        except Exception as error:
            self._callback_failed(function, error)
        finally:
            self.busy = False
        afterwards, self._afterwards = self._afterwards, None
        if afterwards is not None:
            afterwards()
        return self.state is state or (state in RUN and self.state in RUN)

    def guard(self, function: Callable[[], None]) -> bool:
        """Run a short part of a step at once; False when it failed."""
        try:
            function()
        except Exception as error:
            self._callback_failed(function, error)
            return False
        return self.state not in ERROR

    def when_idle(self, function: Callable[[], None]) -> None:
        """Run ``function`` now, or right after the callback that is running."""
        if self.busy:
            self._afterwards = function
        else:
            function()

    def _callback_failed(self, function: Callable[..., Any], error: Exception) -> None:
        name = getattr(function, "__name__", "callback")
        text = f"{name} in {self.state.name}: {type(error).__name__}: {error}{line_of(error)}"
        expected = isinstance(error, SlaveFault)
        logger.error("slave %s: %s", self._name, text, exc_info=not expected)
        code = error.code if isinstance(error, SlaveFault) else ErrorCode.PROTOCOL_ERROR_GENERIC
        self.fail(code, text)

    # -- the error states --------------------------------------------------------------------

    def fail(self, code: int, text: str) -> None:
        """Go to ERRORHANDLING and from there to ERRORRESOLVED."""
        if self.state not in NORMAL_OPERATION:
            return
        logger.error("slave %s: %s: %s", self._name, code_name(code), text)
        self.error_code, self.error_text = int(code), text
        template = self._context.description.error_template()
        if template is not None:
            self._context.log.write(template.id, text[:MAX_ERROR_TEXT])
        self.enter(State.ERRORHANDLING)
        self.when_idle(self._resolve)

    def _resolve(self) -> None:
        configured, self.configured = self.configured, False
        if configured:
            self.busy = True
            try:
                self._host.call(self._context.model.error, self.error_code, self.error_text)
            except Exception:
                logger.exception("slave %s: error callback", self._name)
            finally:
                self.busy = False
        self._context.transport.close_data()
        self.enter(State.ERRORRESOLVED)

    def forget_error(self) -> None:
        """A registration or a reset: the past error is not reported any more."""
        self.error_code, self.error_text = ErrorCode.NONE, ""
