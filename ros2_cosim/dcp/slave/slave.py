# SPDX-License-Identifier: Apache-2.0
"""The protocol side of a slave: takes PDUs, answers them, changes state.

Checks follow the order of the standard: receiver, sequence id, support, length, state,
then the meaning of the fields.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from ros2_cosim.dcp.description.model import SlaveDescription
from ros2_cosim.dcp.slave.checks import length_fits, state_code, supported
from ros2_cosim.dcp.slave.core import ACK, NACK, SlaveIO, SlaveOptions
from ros2_cosim.dcp.slave.model import SlaveModel
from ros2_cosim.dcp.slave.time import SlaveTime
from ros2_cosim.dcp.wire.enums import ErrorCode, OpMode, PduType, Scope, State
from ros2_cosim.dcp.wire.pdu import LAYOUTS
from ros2_cosim.dcp.wire.ticks import TickPlan

_STATE_ACK = struct.Struct("<BHBB")
_ERROR_ACK = struct.Struct("<BHBH")
_OK = ErrorCode.NONE
_P = PduType
_DATA = frozenset({int(_P.DAT_input_output), int(_P.DAT_parameter)})
_REGISTER, _INF_STATE = int(_P.STC_register), int(_P.INF_state)
_REQUESTS = frozenset(int(k) for k in PduType if k < 0xB0)


class Slave(SlaveTime):
    """One DCP slave: give it PDUs with :meth:`receive` and time with :meth:`on_time`."""

    def __init__(
        self,
        model: SlaveModel,
        description: SlaveDescription,
        io: SlaveIO,
        control_ports: dict[int, int],
        usable_host: Callable[[str], bool],
        options: SlaveOptions | None = None,
    ) -> None:
        super().__init__(model, description, io, control_ports, usable_host, options)
        self._alternate: int | None = None
        self._register_seq = 0
        self._run_state = State.RUNNING
        self._first_steps: int | None = None
        self._build_data_path()
        model.log = self.log.write
        model.bind(description)
        self._handlers: dict[int, Callable[[bytes, int], ErrorCode]] = {
            _P.STC_deregister: self._deregister,
            _P.STC_prepare: self._prepare,
            _P.STC_configure: self._configure,
            _P.STC_initialize: self._initialize,
            _P.STC_run: self._run,
            _P.STC_do_step: self._do_step,
            _P.STC_send_outputs: self._send_outputs,
            _P.STC_stop: self._stop,
            _P.STC_reset: self._reset,
            _P.CFG_clear: self._clear,
            _P.INF_error: self._inf_error,
            _P.INF_log: self._inf_log,
        }

    # -- receiving -----------------------------------------------------------------------

    def receive(self, data: bytes, origin: Any) -> None:
        """Take one PDU; answers go to ``origin``. Bytes that are no PDU are dropped."""
        if not data:
            return
        kind = data[0]
        if kind in _DATA:
            self._receive_data(kind, data)
            return
        if kind not in _REQUESTS or len(data) < 4:
            return
        seq = data[1] | data[2] << 8
        self._origin = origin
        if self.state is State.ALIVE:
            self._receive_alive(kind, data, seq)
            return
        if data[3] != self._id:
            return
        if seq != self._expected and seq != self._alternate:
            self._nack(seq, ErrorCode.INVALID_SEQUENCE_ID)
            return
        self._expected = (seq + 1) & 0xFFFF
        self._alternate = None
        if self._master is None:
            self._master = origin  # the former connection is gone; this one takes its place
        if kind == _INF_STATE and len(data) == 4:
            self._beat()
            self._io.send(origin, _STATE_ACK.pack(_P.RSP_state_ack, seq, self._id, self.state))
            return
        code = self._check(kind, data)
        if code is _OK:
            handler = self._handlers.get(kind)
            code = handler(data, seq) if handler else self._configuration(kind, data, seq)
        if code is not _OK:
            self._nack(seq, code)

    def _receive_alive(self, kind: int, data: bytes, seq: int) -> None:
        if kind == _INF_STATE:
            code = _OK if len(data) == 4 else ErrorCode.INVALID_LENGTH
            if code is _OK:
                self._io.send(
                    self._origin, _STATE_ACK.pack(_P.RSP_state_ack, seq, data[3], State.ALIVE)
                )
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
        self._io.send(self._origin, NACK.pack(_P.RSP_nack, seq, 0, 1, code))

    def _check(self, kind: int, data: bytes) -> ErrorCode:
        """Support, length and state, in this order; state_id of STC is the first meaning."""
        if not supported(kind, self.description.capabilities, self.mode):
            return ErrorCode.NOT_SUPPORTED_PDU
        if not length_fits(kind, data, self.config):
            return ErrorCode.INVALID_LENGTH
        return state_code(kind, data, self.state, self._busy)

    # -- registration --------------------------------------------------------------------

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
        expected = (seq + 1) & 0xFFFF
        if code is not _OK:
            self._io.send(self._origin, NACK.pack(_P.RSP_nack, seq, receiver, expected, code))
            return
        self._id, self._master, self.mode = receiver, self._origin, OpMode(mode)
        self._register_seq, self._expected, self._alternate = seq, expected, None
        self._forget_configuration()
        self.error_code, self.error_text = _OK, ""
        self._ack(seq)
        self._enter(State.CONFIGURATION)
        self._beat()

    def _deregister(self, data: bytes, seq: int) -> ErrorCode:
        self._ack(seq)
        self._leave_run()
        self._forget_configuration()
        self._enter(State.ALIVE)
        self._id, self._master, self._heartbeat_until = 0, None, None
        self._io.deregistered()
        return _OK

    def _forget_configuration(self) -> None:
        self.config.clear()
        self.log.clear()

    def _rewind(self) -> None:
        """After CFG_clear and STC_reset some masters count on from their STC_register."""
        alternate = (self._register_seq + 1) & 0xFFFF
        self._alternate = alternate if alternate != self._expected else None

    # -- configuration -------------------------------------------------------------------

    def _clear(self, data: bytes, seq: int) -> ErrorCode:
        self._forget_configuration()
        self._ack(seq)
        self._rewind()
        return _OK

    def _configuration(self, kind: int, data: bytes, seq: int) -> ErrorCode:
        """All CFG PDUs but CFG_clear: hand the fields to the method that checks them."""
        layout = LAYOUTS[kind]
        fields = layout.packer.unpack_from(data)[3:]
        if layout.tail is not None:
            fields += (data[layout.size :],)
        config = self.config
        setters: dict[PduType, Callable[..., ErrorCode]] = {
            _P.CFG_time_res: config.set_time_res,
            _P.CFG_steps: config.set_steps,
            _P.CFG_input: config.set_input,
            _P.CFG_output: config.set_output,
            _P.CFG_target_network_information: config.set_target,
            _P.CFG_source_network_information: config.set_source,
            _P.CFG_parameter: config.set_parameter,
            _P.CFG_tunable_parameter: config.set_tunable,
            _P.CFG_param_network_information: config.set_param_source,
            _P.CFG_logging: config.set_logging,
            _P.CFG_scope: config.set_scope,
        }
        code = setters[PduType(kind)](*fields)
        if code is _OK:
            self.log.modes = config.logging
            self._ack(seq)
        return code

    # -- state changes on request ---------------------------------------------------------

    def _prepare(self, data: bytes, seq: int) -> ErrorCode:
        code = self.config.check_complete(self.mode)
        if code is _OK and self.options.data_synchronisation and not self.config.inputs:
            code = ErrorCode.INCOMPLETE_CONFIGURATION
        if code is not _OK:
            return code
        self._ack(seq)
        self._enter(State.PREPARING)
        self._build_data_path()
        self._first_steps = None
        self.plan = TickPlan()
        config = self.config
        listening = [*config.sources.values(), *config.param_sources.values()]
        try:
            self._io.listen(listening)
        except OSError as error:
            self.fail(ErrorCode.INVALID_NETWORK_INFORMATION, f"cannot receive data: {error}")
            return _OK
        self._enter(State.PREPARED)
        return _OK

    def _configure(self, data: bytes, seq: int) -> ErrorCode:
        self._ack(seq)
        self._enter(State.CONFIGURING)
        for pdu in self._outputs:
            for endpoint in self.config.targets[pdu.data_id]:
                try:
                    pdu.targets.append(self._io.connect(endpoint))
                except OSError as error:
                    self.fail(
                        ErrorCode.PROTOCOL_ERROR_GENERIC,
                        f"cannot connect to {endpoint.host}:{endpoint.port}: {error}",
                    )
                    return _OK
        model = self.model
        names = [
            v.name for v in self.description.variables if v.causality.value.endswith("Parameter")
        ]
        self._configured = True
        model.resolution = self.config.resolution or Fraction(0)
        if self._call(model.configure, dict(zip(names, model.parameters, strict=True))):
            self._enter(State.CONFIGURED)
        return _OK

    def _initialize(self, data: bytes, seq: int) -> ErrorCode:
        self._ack(seq)
        self._enter(State.INITIALIZING)
        self._take_inputs()
        if self._call(self.model.initialise):
            self._enter(State.INITIALIZED)
        return _OK

    def _run(self, data: bytes, seq: int) -> ErrorCode:
        start = int.from_bytes(data[5:13], "little", signed=True)
        if self.mode is not OpMode.NRT and start != 0 and start < int(self._io.now()):
            return ErrorCode.INVALID_START_TIME
        self._ack(seq)
        first = self.state is State.CONFIGURED
        self._enter(State.SYNCHRONIZING if first else State.RUNNING)
        if self.mode is OpMode.NRT:
            if first:
                self._enter(State.SYNCHRONIZED)
            return _OK
        assert self.config.resolution is not None
        delay = max(0.0, start - self._io.now()) if start else 0.0
        if first or delay:
            self.plan.start(self._io.monotonic() + delay, self.config.resolution)
        if first and not delay:
            self._become_synchronized()
        return _OK

    def _do_step(self, data: bytes, seq: int) -> ErrorCode:
        steps = int.from_bytes(data[5:9], "little")
        offer = self.description.non_real_time
        if offer is not None and not offer.allows(steps):
            return ErrorCode.INVALID_STEPS
        if self._first_steps is None:
            self._first_steps = steps
        elif (
            steps != self._first_steps
            and not self.description.capabilities.can_handle_variable_steps
        ):
            return ErrorCode.NOT_SUPPORTED_VARIABLE_STEPS
        self._ack(seq)
        self._run_state = self.state
        self._enter(State.COMPUTING)
        if self._step_model(steps):
            self._enter(State.COMPUTED)
        return _OK

    def _send_outputs(self, data: bytes, seq: int) -> ErrorCode:
        self._ack(seq)
        initial = self.state is State.INITIALIZED
        self._enter(State.SENDING_I if initial else State.SENDING_D)
        if self._call(self.model.before_sending):
            excluded = Scope.RUN_NRT if initial else Scope.INITIALIZATION
            if self._transmit([p for p in self._outputs if p.scope != excluded]):
                self._enter(State.CONFIGURED if initial else self._run_state)
                if not initial:
                    self._check_own_stop()
        return _OK

    def _stop(self, data: bytes, seq: int) -> ErrorCode:
        self._ack(seq)
        self._begin_stop()
        return _OK

    def _begin_stop(self) -> None:
        self._enter(State.STOPPING)
        self.plan.stop()
        self._when_idle(self._finish_stop)

    def _finish_stop(self) -> None:
        configured, self._configured = self._configured, False
        self._report_data()
        if not configured or self._call(self.model.stop):
            self._io.close_data()
            self._enter(State.STOPPED)

    def _reset(self, data: bytes, seq: int) -> ErrorCode:
        self._ack(seq)
        self._leave_run()
        self._forget_configuration()
        self.error_code, self.error_text = _OK, ""
        if self._call(self.model.reset):
            self._rewind()
            self._enter(State.CONFIGURATION)
            self._beat()
        return _OK

    def _leave_run(self) -> None:
        self._io.close_data()
        self.plan.stop()
        self._clear_data_path()

    # -- information ----------------------------------------------------------------------

    def _inf_error(self, data: bytes, seq: int) -> ErrorCode:
        self._io.send(
            self._origin, _ERROR_ACK.pack(_P.RSP_error_ack, seq, self._id, self.error_code)
        )
        return _OK

    def _inf_log(self, data: bytes, seq: int) -> ErrorCode:
        if not self.log.knows(data[4]):
            return ErrorCode.INVALID_LOG_CATEGORY
        transport = self.description.udp or self.description.tcp
        room = (transport.max_pdu_size if transport else 1000) - ACK.size
        entries = self.log.take(data[4], data[5], room)
        self._io.send(self._origin, ACK.pack(_P.RSP_log_ack, seq, self._id) + entries)
        return _OK
