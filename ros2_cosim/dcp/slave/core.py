# SPDX-License-Identifier: Apache-2.0
"""The core of a slave: state, answers, callbacks of the model, the error states.

No sockets here: everything outside goes through :class:`SlaveIO`, so that the same engine
runs on any transport and in tests.
"""

from __future__ import annotations

import logging
import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from ros2_cosim.dcp.description.model import SlaveDescription
from ros2_cosim.dcp.description.properties import Check, PropertyChecks
from ros2_cosim.dcp.slave.config import Endpoint, SlaveConfig
from ros2_cosim.dcp.slave.log import SlaveLog
from ros2_cosim.dcp.slave.model import SlaveModel
from ros2_cosim.dcp.wire.data_path import Missing
from ros2_cosim.dcp.wire.enums import ErrorCode, OpMode, PduType, State, code_name
from ros2_cosim.dcp.wire.errors import SlaveFault
from ros2_cosim.dcp.wire.states import ERROR, NORMAL_OPERATION, RUN
from ros2_cosim.dcp.wire.ticks import TickPlan

logger = logging.getLogger("ros2_cosim.dcp.slave.slave")

ACK = struct.Struct("<BHB")
NACK = struct.Struct("<BHBHH")
MAX_ERROR_TEXT = 1000
"""Characters of an error that go into the log."""
_OK = ErrorCode.NONE


class SlaveIO(Protocol):
    """What the engine needs of the world outside."""

    def send(self, peer: Any, data: bytes) -> None:
        """Send a control PDU to a peer (the origin of a request)."""

    def send_data(self, target: Any, data: bytes) -> None:
        """Send a data PDU to what ``connect`` returned."""

    def listen(self, endpoints: list[Endpoint]) -> None:
        """Open the receiving side of the data transport."""

    def connect(self, endpoint: Endpoint) -> Any:
        """Open an outgoing data connection."""

    def close_data(self) -> None:
        """Close everything that ``listen`` and ``connect`` opened."""

    def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Run a callback of the model (requests may be served meanwhile)."""

    def await_input(self, fresh: Callable[[], bool]) -> None:
        """Serve data connections until ``fresh()`` holds or waiting makes no sense."""

    def deregistered(self) -> None:
        """The slave is ALIVE again."""

    def now(self) -> float:
        """UNIX time in seconds."""

    def monotonic(self) -> float:
        """Seconds on a clock that never jumps."""


@dataclass(frozen=True)
class SlaveOptions:
    """Choices of the one who runs a slave; the standard leaves them open.

    :ivar data_synchronisation: in RUNNING, compute one step whenever every data_id has
        brought new inputs, and send the outputs (instead of ticks of the clock)
    :ivar missing: what to do about a data_id that brought nothing new for a step;
        anything but HOLD counts on every data_id coming once per step
    :ivar acceptable_loss: greatest share of lost PDUs of a data_id, None for any
    :ivar input_wait_s: how long STC_do_step waits for data_ids that brought nothing new
    :ivar newest_only: drop data PDUs that came before or that a newer one has overtaken, as their
        sequence ids tell. By default they are used: the standard looks at those ids for
        maxConsecMissedPdus only, and a sender need not count.
    :ivar checks: properties of the variables to watch; a violation by CFG_parameter is
        refused, any other leads to the error state (both PROTOCOL_ERROR_PROPERTY_VIOLATED)
    """

    data_synchronisation: bool = False
    missing: Missing = Missing.HOLD
    acceptable_loss: float | None = None
    input_wait_s: float = 0.0
    newest_only: bool = False
    checks: frozenset[Check] = frozenset()


class SlaveCore:
    """State and error handling of a slave; the requests are in the derived classes.

    :ivar state: current state
    :ivar error_code: reason of the error state, NONE outside it
    :ivar error_text: one line about it
    :ivar plan: ticks and overruns of a real-time run
    """

    def __init__(
        self,
        model: SlaveModel,
        description: SlaveDescription,
        io: SlaveIO,
        control_ports: dict[int, int],
        usable_host: Callable[[str], bool],
        options: SlaveOptions | None = None,
    ) -> None:
        self.model = model
        self.description = description
        self.options = options or SlaveOptions()
        self.state = State.ALIVE
        self.mode = OpMode.NRT
        self.error_code: int = _OK
        self.error_text = ""
        self.properties = PropertyChecks(description, self.options.checks)
        self.config = SlaveConfig(description, control_ports, usable_host, self.properties)
        self.log = SlaveLog(description, io.now, self._notify_log)
        self.plan = TickPlan()
        self._io = io
        self._id = 0
        self._master: Any = None
        self._origin: Any = None
        self._expected = 0
        self._heartbeat_until: float | None = None
        self._configured = False
        self._busy = False
        self._afterwards: Callable[[], None] | None = None
        model.log = self.log.write
        model.bind(description)

    @property
    def master(self) -> Any:
        """Origin of the accepted STC_register, None in ALIVE."""
        return self._master

    @property
    def expected_seq(self) -> int:
        """Sequence id that the next request must carry."""
        return self._expected

    def _nack(self, seq: int, code: int) -> None:
        self._io.send(
            self._origin, NACK.pack(PduType.RSP_nack, seq, self._id, self._expected, code)
        )

    def _ack(self, seq: int) -> None:
        self._io.send(self._origin, ACK.pack(PduType.RSP_ack, seq, self._id))

    def _enter(self, state: State) -> None:
        self.state = state
        self._io.send(self._master, bytes((PduType.NTF_state_changed, self._id, state)))

    def _notify_log(self, body: bytes) -> None:
        self._io.send(self._master, bytes((PduType.NTF_log, self._id)) + body)

    # -- callbacks and errors ----------------------------------------------------------------

    def _call(self, function: Callable[..., Any], *arguments: Any) -> bool:
        """Run a callback; False when it failed or the state changed while it ran."""
        state = self.state
        self._busy = True
        try:
            self._io.call(function, *arguments)
        except Exception as error:
            self._busy = False
            self._callback_failed(function, error)
        finally:
            self._busy = False
        afterwards, self._afterwards = self._afterwards, None
        if afterwards is not None:
            afterwards()
        return self.state is state or (state in RUN and self.state in RUN)

    def _guard(self, function: Callable[[], None]) -> bool:
        try:
            function()
        except Exception as error:
            self._callback_failed(function, error)
            return False
        return self.state not in ERROR

    def _callback_failed(self, function: Callable[..., Any], error: Exception) -> None:
        name = getattr(function, "__name__", "callback")
        text = f"{name} in {self.state.name}: {type(error).__name__}: {error}"
        expected = isinstance(error, SlaveFault)
        logger.error("slave %s: %s", self.description.name, text, exc_info=not expected)
        code = error.code if isinstance(error, SlaveFault) else ErrorCode.PROTOCOL_ERROR_GENERIC
        self.fail(code, text)

    def _when_idle(self, function: Callable[[], None]) -> None:
        """Run ``function`` now, or right after the callback that is running."""
        if self._busy:
            self._afterwards = function
        else:
            function()

    def fail(self, code: int, text: str) -> None:
        """Go to ERRORHANDLING and from there to ERRORRESOLVED."""
        if self.state not in NORMAL_OPERATION:
            return
        logger.error("slave %s: %s: %s", self.description.name, code_name(code), text)
        self.error_code, self.error_text = int(code), text
        self.plan.stop()
        self._heartbeat_until = None
        template = self.description.error_template()
        if template is not None:
            self.log.write(template.id, text[:MAX_ERROR_TEXT])
        self._enter(State.ERRORHANDLING)
        self._when_idle(self._finish_error)

    def _finish_error(self) -> None:
        configured, self._configured = self._configured, False
        if configured:
            self._busy = True
            try:
                self._io.call(self.model.error, self.error_code, self.error_text)
            except Exception:
                logger.exception("slave %s: error callback", self.description.name)
            finally:
                self._busy = False
        self._io.close_data()
        self._enter(State.ERRORRESOLVED)

    def peer_lost(self, text: str) -> None:
        """The connection to the master is gone."""
        if self.state is not State.ALIVE:
            self.fail(ErrorCode.PROTOCOL_ERROR_GENERIC, text)
            self._master = None

    def leave(self) -> None:
        """The process is about to end: bring the model to a safe condition first."""
        if self.state in NORMAL_OPERATION:
            self.fail(ErrorCode.PROTOCOL_ERROR_GENERIC, "the slave was told to end")
