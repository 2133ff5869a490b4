# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The protocol side of a slave: takes PDUs, checks them and answers.

Checks follow the order of the standard: receiver, sequence id, support, length, state,
then the meaning of the fields.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from ros2_cosim.core.documents.files import cause_of
from ros2_cosim.dcp.slave.configuration import Configuration
from ros2_cosim.dcp.slave.data_exchange import DataExchange
from ros2_cosim.dcp.slave.interfaces import SlaveContext, SlaveHost, SlaveOptions, SlaveTransport
from ros2_cosim.dcp.slave.log import SlaveLog
from ros2_cosim.dcp.slave.registration import ACK_BYTES, Registration
from ros2_cosim.dcp.slave.request_checks import length_fits, state_code, supported
from ros2_cosim.dcp.slave.run import SlaveRun
from ros2_cosim.dcp.slave.slave_model import SlaveModel
from ros2_cosim.dcp.slave.state_machine import StateMachine
from ros2_cosim.dcp.standard.data_path import DataCounters
from ros2_cosim.dcp.standard.enums import ErrorCode, OpMode, PduType, State
from ros2_cosim.dcp.standard.pdu import LAYOUTS
from ros2_cosim.dcp.standard.property_checks import PropertyChecks
from ros2_cosim.dcp.standard.slave_description import Causality, SlaveDescription
from ros2_cosim.dcp.standard.states import NORMAL_OPERATION, STOPPABLE
from ros2_cosim.dcp.standard.ticks import TickPlan

_STATE_ACK = struct.Struct("<BHBB")
_ERROR_ACK = struct.Struct("<BHBH")
_LOG_ACK = struct.Struct("<BHB")
_OK = ErrorCode.NONE
_P = PduType
_DATA = frozenset({int(_P.DAT_input_output), int(_P.DAT_parameter)})
_REGISTER, _INF_STATE = int(_P.STC_register), int(_P.INF_state)
_REQUESTS = frozenset(int(k) for k in PduType if k < 0xB0)


class Slave:
    """One DCP slave: give it PDUs with :meth:`receive` and time with :meth:`on_time`.

    It is made of a :class:`Registration` (its master), a :class:`StateMachine`, a
    :class:`Configuration`, a :class:`DataExchange` and a :class:`SlaveRun`; here requests become
    calls of these.

    :param model: computes; it is bound to the description here
    :param transport: sockets
    :param host: clocks, and the thread of the model's callbacks
    :ivar plan: ticks and overruns of a real-time run
    """

    def __init__(
        self,
        model: SlaveModel,
        description: SlaveDescription,
        transport: SlaveTransport,
        host: SlaveHost,
        options: SlaveOptions | None = None,
    ) -> None:
        self.model = model
        self.description = description
        self.options = options or SlaveOptions()
        self.plan = TickPlan()
        self._transport = transport
        self._host = host
        self._registration = Registration(transport, description.heartbeat)
        log = SlaveLog(description, host.now, self._registration.notify_log)
        context = SlaveContext(model, description, self.options, transport, host, log)
        properties = PropertyChecks(description, self.options.checks)
        self.configuration = configuration = Configuration(
            description, transport.control_ports, transport.can_listen, properties
        )
        self._machine = machine = StateMachine(context, self._registration)
        self._data = data = DataExchange(context, configuration, properties, machine, self.plan)
        self._run = SlaveRun(context, configuration, data, machine, self.plan)
        self._log = log
        self._origin: Any = None
        self._handlers: dict[int, Callable[[bytes, int], ErrorCode]] = {
            _P.STC_deregister: self._deregister,
            _P.STC_prepare: self._prepare,
            _P.STC_configure: self._configure,
            _P.STC_initialize: self._initialize,
            _P.STC_run: self._start,
            _P.STC_do_step: self._do_step,
            _P.STC_send_outputs: self._send_outputs,
            _P.STC_stop: self._stop,
            _P.STC_reset: self._reset,
            _P.CFG_clear: self._clear,
            _P.INF_error: self._inf_error,
            _P.INF_log: self._inf_log,
        }
        self._setters = self._configuration_setters()
        model.log = log.write
        data.build()

    # -- what can be seen of it --------------------------------------------------------------

    @property
    def state(self) -> State:
        """Current state."""
        return self._machine.state

    @property
    def mode(self) -> OpMode:
        """Operating mode of the registration."""
        return self._run.mode

    @property
    def time_ns(self) -> int:
        """Simulated time [ns] at which the next step begins, rounded down."""
        return self._data.time_ns

    @property
    def error_code(self) -> int:
        """Reason of the error state, NONE outside it."""
        return self._machine.error_code

    @property
    def error_text(self) -> str:
        """One line about the error."""
        return self._machine.error_text

    @property
    def expected_seq(self) -> int:
        """Sequence id that the next request must carry."""
        return self._registration.expected

    def counters(self) -> dict[int, DataCounters]:
        """Received, lost, duplicated and reordered PDUs by data_id."""
        return self._data.counters()

    # -- receiving ---------------------------------------------------------------------------

    def receive(self, data: bytes, origin: Any) -> None:
        """Take one PDU; answers go to ``origin``. Bytes that are not a PDU are dropped."""
        if not data:
            return
        kind = data[0]
        if kind in _DATA:
            if self._data.receive(kind, data):
                self._run.data_arrived()
            return
        if kind not in _REQUESTS or len(data) < 4:
            return
        seq = data[1] | data[2] << 8
        self._origin = origin
        registration, state = self._registration, self._machine.state
        if state is State.ALIVE:
            self._receive_alive(kind, data, seq)
            return
        if not registration.is_of(origin):
            # Of the registration it learns nothing: neither the id nor the count of requests.
            code = ErrorCode.PROTOCOL_ERROR_PDU_NOT_ALLOWED_IN_THIS_STATE
            expected = (seq + 1) & 0xFFFF
            registration.refuse(origin, seq, code, slave_id=data[3], expected=expected)
            return
        if data[3] != registration.slave_id:
            return
        if not registration.take(seq, origin):
            registration.nack(origin, seq, ErrorCode.INVALID_SEQUENCE_ID)
            return
        if kind == _INF_STATE and len(data) == 4:
            registration.beat(self._host.monotonic())
            answer = _STATE_ACK.pack(_P.RSP_state_ack, seq, registration.slave_id, state)
            registration.answer(origin, answer)
            return
        code = self._check(kind, data, state)
        if code is _OK:
            handler = self._handlers.get(kind)
            code = handler(data, seq) if handler else self._configuration_request(kind, data, seq)
        if code is not _OK:
            registration.nack(origin, seq, code)

    def _receive_alive(self, kind: int, data: bytes, seq: int) -> None:
        if kind == _INF_STATE:
            code = _OK if len(data) == 4 else ErrorCode.INVALID_LENGTH
            if code is _OK:
                answer = _STATE_ACK.pack(_P.RSP_state_ack, seq, data[3], State.ALIVE)
                self._registration.answer(self._origin, answer)
                return
        elif kind != _REGISTER:
            code = ErrorCode.PROTOCOL_ERROR_PDU_NOT_ALLOWED_IN_THIS_STATE
        elif data[3] == 0:
            return
        elif len(data) != LAYOUTS[kind].size:
            code = ErrorCode.INVALID_LENGTH
        else:
            self._register(data, seq)
            return
        # There is neither an id nor a last valid sequence id to report yet.
        self._registration.refuse(self._origin, seq, code, slave_id=0, expected=1)

    def _check(self, kind: int, data: bytes, state: State) -> ErrorCode:
        """Support, length and state, in this order; state_id of STC is the first meaning."""
        if not supported(kind, self.description.capabilities, self._run.mode):
            return ErrorCode.NOT_SUPPORTED_PDU
        if not length_fits(kind, data, self.configuration):
            return ErrorCode.INVALID_LENGTH
        return state_code(kind, data, state, self._machine.busy)

    def _ack(self, seq: int) -> None:
        self._registration.ack(self._origin, seq)

    # -- time and the outside ----------------------------------------------------------------

    def deadline(self) -> float | None:
        """Monotonic time at which :meth:`on_time` must be called, None for never."""
        heartbeat, tick = self._registration.heartbeat_until, self._run.deadline()
        if heartbeat is None or tick is None:
            return heartbeat if tick is None else tick
        return min(heartbeat, tick)

    def on_time(self) -> None:
        """Do what is due: notice a missing heartbeat, compute the next tick."""
        now = self._host.monotonic()
        if self._registration.missed_heartbeat(now) and self.state in NORMAL_OPERATION:
            self.fail(ErrorCode.PROTOCOL_ERROR_HEARTBEAT_MISSED, "no heartbeat in time")
            return
        self._run.on_time(now)

    def fail(self, code: int, text: str) -> None:
        """Go to ERRORHANDLING and from there to ERRORRESOLVED."""
        self._machine.fail(code, text)

    def connection_lost(self, origin: Any, reason: str) -> bool:
        """A connection is lost; returns True if it was the master's, which is an error."""
        if origin is not self._registration.master or self.state is State.ALIVE:
            return False
        self.fail(ErrorCode.PROTOCOL_ERROR_GENERIC, f"the master was lost: {reason}")
        self._registration.master = None
        return True

    def is_master(self, origin: Any) -> bool:
        """Whether the slave is registered, over this connection."""
        return self.state is not State.ALIVE and origin is self._registration.master

    @property
    def expects_data(self) -> bool:
        """Whether other slaves may have opened connections, over which data come later."""
        return self.state in STOPPABLE

    def leave(self) -> None:
        """The process is about to end: bring the model to a safe state first."""
        if self.state in NORMAL_OPERATION:
            self.fail(ErrorCode.PROTOCOL_ERROR_GENERIC, "the program of the slave ends")

    # -- registration ------------------------------------------------------------------------

    def _register(self, data: bytes, seq: int) -> None:
        _, _, receiver, state, uuid, mode, major, minor = LAYOUTS[_REGISTER].packer.unpack(data)
        description = self.description
        if state != State.ALIVE:
            code = ErrorCode.INVALID_STATE_ID
        elif uuid != description.uuid_bytes:
            code = ErrorCode.INVALID_UUID
        elif mode not in description.op_modes:
            code = ErrorCode.INVALID_OP_MODE
        elif major != description.major_version:
            code = ErrorCode.INVALID_MAJOR_VERSION
        elif minor != description.minor_version:
            code = ErrorCode.INVALID_MINOR_VERSION
        else:
            code = _OK
        if code is not _OK:
            expected = (seq + 1) & 0xFFFF
            self._registration.refuse(self._origin, seq, code, slave_id=receiver, expected=expected)
            return
        self._run.mode = OpMode(mode)
        self._registration.begin(self._origin, receiver, seq)
        self._forget_configuration()
        self._machine.forget_error()
        self._ack(seq)
        self._machine.enter(State.CONFIGURATION)
        self._registration.beat(self._host.monotonic())

    def _deregister(self, data: bytes, seq: int) -> ErrorCode:
        self._ack(seq)
        self._run.leave()
        self._forget_configuration()
        self._machine.enter(State.ALIVE)
        self._registration.end()
        self._host.deregistered()
        return _OK

    def _forget_configuration(self) -> None:
        self.configuration.clear()
        self._log.clear()

    # -- configuration -----------------------------------------------------------------------

    def _configuration_setters(self) -> dict[PduType, Callable[..., ErrorCode]]:
        """The method that checks and takes the fields of each CFG PDU but CFG_clear."""
        configuration = self.configuration
        return {
            _P.CFG_time_res: configuration.set_time_res,
            _P.CFG_steps: configuration.set_steps,
            _P.CFG_input: configuration.set_input,
            _P.CFG_output: configuration.set_output,
            _P.CFG_target_network_information: configuration.set_target,
            _P.CFG_source_network_information: configuration.set_source,
            _P.CFG_parameter: configuration.set_parameter,
            _P.CFG_tunable_parameter: configuration.set_tunable,
            _P.CFG_param_network_information: configuration.set_param_source,
            _P.CFG_logging: configuration.set_logging,
            _P.CFG_scope: configuration.set_scope,
        }

    def _clear(self, data: bytes, seq: int) -> ErrorCode:
        self._forget_configuration()
        self._ack(seq)
        self._registration.rewind()
        return _OK

    def _configuration_request(self, kind: int, data: bytes, seq: int) -> ErrorCode:
        layout = LAYOUTS[kind]
        fields = layout.packer.unpack_from(data)[3:]
        if layout.tail is not None:
            fields += (data[layout.size :],)
        code = self._setters[PduType(kind)](*fields)
        if code is _OK:
            self._log.modes = self.configuration.logging
            self._ack(seq)
        return code

    # -- state changes on request ------------------------------------------------------------

    def _prepare(self, data: bytes, seq: int) -> ErrorCode:
        configuration = self.configuration
        code = configuration.check_complete(self._run.mode)
        if code is _OK and self.options.data_synchronisation and not configuration.inputs:
            code = ErrorCode.INCOMPLETE_CONFIGURATION
        if code is not _OK:
            return code
        self._ack(seq)
        self._machine.enter(State.PREPARING)
        self._data.build()
        self._run.prepare()
        listening = [*configuration.sources.values(), *configuration.param_sources.values()]
        try:
            self._transport.listen(listening)
        except OSError as error:
            self.fail(
                ErrorCode.INVALID_NETWORK_INFORMATION, f"cannot receive data: {cause_of(error)}"
            )
            return _OK
        self._machine.enter(State.PREPARED)
        return _OK

    def _configure(self, data: bytes, seq: int) -> ErrorCode:
        self._ack(seq)
        machine, model = self._machine, self.model
        machine.enter(State.CONFIGURING)
        if not self._data.connect():
            return _OK
        names = [v.name for v in self.description.of(Causality.PARAMETER, Causality.STRUCTURAL)]
        machine.configured = True
        model.resolution = self.configuration.resolution or Fraction(0)
        if machine.call(model.configure, dict(zip(names, model.parameters, strict=True))):
            machine.enter(State.CONFIGURED)
        return _OK

    def _initialize(self, data: bytes, seq: int) -> ErrorCode:
        self._ack(seq)
        self._machine.enter(State.INITIALIZING)
        if self._data.initialise():
            self._machine.enter(State.INITIALIZED)
        return _OK

    def _start(self, data: bytes, seq: int) -> ErrorCode:
        start_time = int.from_bytes(data[5:13], "little", signed=True)
        past = start_time != 0 and start_time < int(self._host.now())
        if past and self._run.mode is not OpMode.NRT:
            return ErrorCode.INVALID_START_TIME
        self._ack(seq)
        self._run.start(start_time)
        return _OK

    def _do_step(self, data: bytes, seq: int) -> ErrorCode:
        steps = int.from_bytes(data[5:9], "little")
        offer = self.description.non_real_time
        if offer is not None and not offer.allows(steps):
            return ErrorCode.INVALID_STEPS
        variable = self.description.capabilities.can_handle_variable_steps
        if not self._run.repeats(steps) and not variable:
            return ErrorCode.NOT_SUPPORTED_VARIABLE_STEPS
        self._ack(seq)
        self._run.do_step(steps)
        return _OK

    def _send_outputs(self, data: bytes, seq: int) -> ErrorCode:
        self._ack(seq)
        self._run.send_outputs()
        return _OK

    def _stop(self, data: bytes, seq: int) -> ErrorCode:
        self._ack(seq)
        self._run.stop()
        return _OK

    def _reset(self, data: bytes, seq: int) -> ErrorCode:
        self._ack(seq)
        self._run.leave()
        self._forget_configuration()
        self._machine.forget_error()
        if self._machine.call(self.model.reset):
            self._registration.rewind()
            self._machine.enter(State.CONFIGURATION)
            self._registration.beat(self._host.monotonic())
        return _OK

    # -- information -------------------------------------------------------------------------

    def _inf_error(self, data: bytes, seq: int) -> ErrorCode:
        slave_id, code = self._registration.slave_id, self._machine.error_code
        answer = _ERROR_ACK.pack(_P.RSP_error_ack, seq, slave_id, code)
        self._registration.answer(self._origin, answer)
        return _OK

    def _inf_log(self, data: bytes, seq: int) -> ErrorCode:
        if not self._log.knows(data[4]):
            return ErrorCode.INVALID_LOG_CATEGORY
        transport = self.description.udp or self.description.tcp
        assert transport is not None  # over one of them the request has come
        entries = self._log.take(data[4], data[5], transport.max_pdu_size - ACK_BYTES)
        head = _LOG_ACK.pack(_P.RSP_log_ack, seq, self._registration.slave_id)
        self._registration.answer(self._origin, head + entries)
        return _OK
