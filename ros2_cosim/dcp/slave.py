# SPDX-License-Identifier: Apache-2.0
"""The protocol side of a slave: takes PDUs, keeps the state, calls the model.

No sockets here: everything outside goes through :class:`SlaveIO`, so that the same engine
runs on any transport and in tests. Checks follow the order of the standard: receiver,
sequence id, support, length, state, then the meaning of the fields.
"""

from __future__ import annotations

import logging
import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from ros2_cosim.dcp.data_path import DataCounters, InputPdu, Missing, OutputPdu
from ros2_cosim.dcp.description import SlaveDescription
from ros2_cosim.dcp.enums import ErrorCode, OpMode, PduType, Scope, State, code_name
from ros2_cosim.dcp.errors import PduError, SlaveFault
from ros2_cosim.dcp.model import SlaveModel, StepInfo
from ros2_cosim.dcp.pdu import LAYOUTS
from ros2_cosim.dcp.slave_config import Endpoint, SlaveConfig, address_length
from ros2_cosim.dcp.slave_log import SlaveLog
from ros2_cosim.dcp.slave_realtime import TickPlan
from ros2_cosim.dcp.states import (
    ALLOWED,
    ERROR,
    INITIALIZATION,
    NORMAL_OPERATION,
    RUN,
    TRANSIENT,
)

logger = logging.getLogger("ros2_cosim.dcp.slave")

_ACK = struct.Struct("<BHB")
_NACK = struct.Struct("<BHBHH")
_STATE_ACK = struct.Struct("<BHBB")
_ERROR_ACK = struct.Struct("<BHBH")
_OK = ErrorCode.NONE
_P = PduType
_DAT_IO, _DAT_PARAM = int(_P.DAT_input_output), int(_P.DAT_parameter)
_DATA = frozenset({_DAT_IO, _DAT_PARAM})
_REGISTER, _INF_STATE = int(_P.STC_register), int(_P.INF_state)
_REQUESTS = frozenset(int(k) for k in PduType if k < 0xB0)
_USED = ALLOWED[_P.DAT_input_output]


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
    :ivar use_stale: use data PDUs that a newer one has overtaken
    """

    data_synchronisation: bool = False
    missing: Missing = Missing.HOLD
    acceptable_loss: float | None = None
    input_wait_s: float = 0.0
    use_stale: bool = False


class Slave:
    """One DCP slave.

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
        self._flags = description.capabilities
        self.state = State.ALIVE
        self.mode = OpMode.NRT
        self.error_code: int = _OK
        self.error_text = ""
        self.config = SlaveConfig(description, control_ports, usable_host)
        self.log = SlaveLog(description, io.now, self._notify_log)
        self.plan = TickPlan()
        self._io = io
        self._id = 0
        self._master: Any = None
        self._origin: Any = None
        self._expected = 0
        self._alternate: int | None = None
        self._register_seq = 0
        self._heartbeat_until: float | None = None
        self._inputs: dict[int, InputPdu] = {}
        self._params: dict[int, InputPdu] = {}
        self._arrived: list[InputPdu] = []
        self._arrived_params: list[InputPdu] = []
        self._outputs: list[OutputPdu] = []
        self._ticks = 0
        self._run_state = State.RUNNING
        self._first_steps: int | None = None
        self._configured = False
        self._busy = False
        self._afterwards: Callable[[], None] | None = None
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

    @property
    def master(self) -> Any:
        """Origin of the accepted STC_register, None in ALIVE."""
        return self._master

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
        self._io.send(self._origin, _NACK.pack(_P.RSP_nack, seq, 0, 1, code))

    def _check(self, kind: int, data: bytes) -> ErrorCode:
        """Support, length and state, in this order; state_id of STC is the first meaning."""
        flags = self._flags
        if 0x20 <= kind < 0x80 and not flags.can_accept_config_pdus:
            return ErrorCode.NOT_SUPPORTED_PDU
        if kind == _P.STC_do_step and self.mode is not OpMode.NRT:
            return ErrorCode.NOT_SUPPORTED_PDU
        if kind == _P.STC_reset and not flags.can_handle_reset:
            return ErrorCode.NOT_SUPPORTED_PDU
        if kind in (_P.CFG_logging, _P.INF_log) and not (
            flags.can_provide_log_on_request or flags.can_provide_log_on_notification
        ):
            return ErrorCode.NOT_SUPPORTED_PDU
        if not self._length_fits(kind, data):
            return ErrorCode.INVALID_LENGTH
        if self._busy and kind < 0x20 and kind != _P.STC_stop and self.state not in RUN:
            return ErrorCode.PROTOCOL_ERROR_STATE_TRANSITION_IN_PROGRESS
        if self.state not in ALLOWED[PduType(kind)]:
            if kind < 0x20 and self.state in TRANSIENT:
                return ErrorCode.PROTOCOL_ERROR_STATE_TRANSITION_IN_PROGRESS
            return ErrorCode.PROTOCOL_ERROR_PDU_NOT_ALLOWED_IN_THIS_STATE
        if kind < 0x20 and data[4] != self.state:
            return ErrorCode.INVALID_STATE_ID
        return _OK

    def _length_fits(self, kind: int, data: bytes) -> bool:
        layout = LAYOUTS[kind]
        if not layout.fits(len(data)):
            return False
        if layout.tail == "address":
            part = {
                _P.CFG_target_network_information: 0,
                _P.CFG_source_network_information: 1,
            }.get(PduType(kind), 2)
            length = address_length(data[6], part)
            return length is None or len(data) == layout.size + length
        if kind == _P.CFG_parameter:
            _, _, _, vr, source = layout.packer.unpack_from(data)
            exact = self.config.parameter_length(vr, source)
            return exact is None or len(data) == layout.size + exact
        return True

    def _nack(self, seq: int, code: int) -> None:
        self._io.send(self._origin, _NACK.pack(_P.RSP_nack, seq, self._id, self._expected, code))

    def _ack(self, seq: int) -> None:
        self._io.send(self._origin, _ACK.pack(_P.RSP_ack, seq, self._id))

    def _enter(self, state: State) -> None:
        self.state = state
        self._io.send(self._master, bytes((_P.NTF_state_changed, self._id, state)))

    def _notify_log(self, body: bytes) -> None:
        self._io.send(self._master, bytes((_P.NTF_log, self._id)) + body)

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
            self._io.send(self._origin, _NACK.pack(_P.RSP_nack, seq, receiver, expected, code))
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
        config, model = self.config, self.model
        model.bind(self.description, config.structural, config.parameters)
        self._inputs = config.input_pdus(model.index)
        self._params = config.parameter_pdus(model.index)
        self._outputs = config.output_pdus(model.index)
        self._arrived, self._arrived_params = [], []
        self._ticks, self._first_steps = 0, None
        self.plan = TickPlan()
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

    def _become_synchronized(self) -> None:
        if self.state is State.SYNCHRONIZING and self.model.synchronized():
            self._enter(State.SYNCHRONIZED)

    def _do_step(self, data: bytes, seq: int) -> ErrorCode:
        steps = int.from_bytes(data[5:9], "little")
        offer = self.description.non_real_time
        if offer is not None and not offer.allows(steps):
            return ErrorCode.INVALID_STEPS
        if self._first_steps is None:
            self._first_steps = steps
        elif steps != self._first_steps and not self._flags.can_handle_variable_steps:
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
        self._inputs, self._params, self._outputs = {}, {}, []

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
        room = (transport.max_pdu_size if transport else 1000) - _ACK.size
        entries = self.log.take(data[4], data[5], room)
        self._io.send(self._origin, _ACK.pack(_P.RSP_log_ack, seq, self._id) + entries)
        return _OK

    # -- heartbeat -------------------------------------------------------------------------

    def _beat(self) -> None:
        interval = self.description.heartbeat
        if interval is not None and self.state is not State.ALIVE:
            self._heartbeat_until = self._io.monotonic() + float(interval)

    # -- data ------------------------------------------------------------------------------

    def _receive_data(self, kind: int, data: bytes) -> None:
        if len(data) < 5:
            return
        number = data[3] | data[4] << 8
        pdu = (self._inputs if kind == _DAT_IO else self._params).get(number)
        state = self.state
        if pdu is None or state not in _USED:
            return
        initial = state in INITIALIZATION
        if pdu.scope and (pdu.scope == Scope.INITIALIZATION) != initial:
            return
        missed = pdu.watch.take(data[1] | data[2] << 8)
        if missed == -2 and not self.options.use_stale:
            return
        try:
            pdu.take(data)
        except PduError:
            pdu.watch.counters.refused += 1
            return
        arrived = self._arrived if kind == _DAT_IO else self._arrived_params
        if pdu not in arrived:
            arrived.append(pdu)
        if missed > 0:
            self._check_loss(pdu, missed)
        if self.options.data_synchronisation and self.state is State.RUNNING and not self._busy:
            self._data_step()

    def _check_loss(self, pdu: InputPdu, missed: int) -> None:
        limit = self.options.acceptable_loss
        rate = pdu.watch.counters.loss_rate
        if pdu.max_missed is not None and missed > pdu.max_missed:
            text = f"data_id {pdu.data_id}: {missed} PDUs missed, {pdu.max_missed} allowed"
        elif limit is not None and rate > limit:
            text = f"data_id {pdu.data_id}: {rate:.3f} of the PDUs lost, {limit} allowed"
        else:
            return
        self.fail(ErrorCode.PROTOCOL_ERROR_PROPERTY_VIOLATED, text)

    def _take_inputs(self) -> None:
        """Let what has arrived take effect, parameters first."""
        if self._arrived_params:
            self._take_parameters()
        for pdu in self._arrived:
            pdu.apply(self.model.inputs)
        self._arrived.clear()

    def _take_parameters(self) -> None:
        names: list[str] = []
        resize = False
        for pdu in self._arrived_params:
            pdu.apply(self.model.parameters)
            for variable in self.config.variables_of(pdu.data_id):
                names.append(variable.name)
                value = self.model.get(variable.name)
                if variable.value_reference in self.config.structural:
                    resize = resize or self.config.structural[variable.value_reference] != value
                    self.config.structural[variable.value_reference] = max(1, value)
        self._arrived_params.clear()
        if resize:
            self._resize()
        self.model.parameters_changed(names)

    def _resize(self) -> None:
        """Arrays whose size hangs on a structural parameter that has just changed."""
        if self.config.check_sizes() is not _OK:
            raise SlaveFault(
                "a structural parameter makes a data PDU too large",
                ErrorCode.NOT_SUPPORTED_PDU_SIZE,
            )
        self.model.resize(self.description, self.config.structural)
        fresh_in = self.config.input_pdus(self.model.index)
        fresh_params = self.config.parameter_pdus(self.model.index)
        for old, new in ((self._inputs, fresh_in), (self._params, fresh_params)):
            for number, pdu in old.items():
                new[number].watch = pdu.watch
        for pdu_out, again in zip(
            self._outputs, self.config.output_pdus(self.model.index), strict=True
        ):
            pdu_out.codec = again.codec
        self._arrived = []
        self._inputs, self._params = fresh_in, fresh_params

    def _due_inputs(self) -> list[InputPdu]:
        return [
            pdu
            for pdu in self._inputs.values()
            if pdu.pending is None and pdu.scope != Scope.INITIALIZATION
        ]

    def _handle_missing(self) -> None:
        """Apply the policy for data_ids without anything new for this step."""
        missing = self._due_inputs()
        if missing and self.options.input_wait_s > 0:
            self._io.await_input(lambda: not self._due_inputs())
            missing = self._due_inputs()
        for pdu in missing:
            pdu.watch.counters.held += 1
            if self.options.missing is Missing.STOP:
                raise SlaveFault(
                    f"data_id {pdu.data_id} brought no new data for the step",
                    ErrorCode.PROTOCOL_ERROR_PROPERTY_VIOLATED,
                )
            if self.options.missing is Missing.EXTRAPOLATE:
                guess = pdu.extrapolated()
                if guess is not None:
                    pdu.put(guess, self.model.inputs)

    def _step_model(self, steps: int) -> bool:
        """One computation step of the model; False when the state changed meanwhile."""
        options = self.options
        cares = options.input_wait_s > 0 or options.missing is not Missing.HOLD
        if cares and not self._guard(self._handle_missing):
            return False
        if not self._guard(self._take_inputs):
            return False
        assert self.config.resolution is not None
        step = StepInfo(self._ticks, steps, self.config.resolution)
        if not self._call(self.model.do_step, step):
            return False
        self._ticks += steps
        return True

    def _transmit(self, pdus: list[OutputPdu]) -> bool:
        """Send data PDUs; False when that ended in the error state."""
        values = self.model.outputs
        for pdu in pdus:
            try:
                data = pdu.encode(values)
                for target in pdu.targets:
                    self._io.send_data(target, data)
            except (PduError, OSError) as error:
                self.fail(
                    ErrorCode.PROTOCOL_ERROR_GENERIC, f"sending data_id {pdu.data_id}: {error}"
                )
                return False
        return True

    def _data_step(self) -> None:
        """Data-PDU synchronisation: all inputs are new, so compute and answer."""
        if self._due_inputs():
            return
        if self._step_model(1) and self.state is State.RUNNING:
            self._transmit([p for p in self._outputs if p.scope != Scope.INITIALIZATION])
            self._check_own_stop()

    # -- time ------------------------------------------------------------------------------

    def deadline(self) -> float | None:
        """Monotonic time at which ``on_time`` must be called, None for never."""
        times = [self._heartbeat_until] if self._heartbeat_until is not None else []
        if not self._busy and self.plan.due is not None and self._clocked():
            times.append(self.plan.due)
        return min(times) if times else None

    def _clocked(self) -> bool:
        synchronised = self.options.data_synchronisation and self.state is State.RUNNING
        return self.state in RUN and not synchronised

    def on_time(self) -> None:
        """Do what is due: notice a missing heartbeat, compute the next tick."""
        now = self._io.monotonic()
        if self._heartbeat_until is not None and now >= self._heartbeat_until:
            self._heartbeat_until = None
            if self.state in NORMAL_OPERATION:
                self.fail(ErrorCode.PROTOCOL_ERROR_HEARTBEAT_MISSED, "no heartbeat in time")
                return
        due = self.plan.due
        if due is None or now < due or self._busy or not self._clocked():
            return
        if self.state is State.SYNCHRONIZING:
            self._become_synchronized()
        if not self._step_model(1):
            return
        ticks = self._ticks
        chosen = [
            p for p in self._outputs if p.scope != Scope.INITIALIZATION and ticks % p.steps == 0
        ]
        if not self._transmit(chosen):
            return
        late = self.plan.advance(self._io.monotonic())
        if late and self.mode is OpMode.HRT:
            self.fail(ErrorCode.PROTOCOL_ERROR_GENERIC, "a tick missed its deadline")
            return
        self._check_own_stop()

    def _check_own_stop(self) -> None:
        if self.model.stop_requested and self.state in RUN:
            self.model.stop_requested = False
            self._begin_stop()

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

    def counters(self) -> dict[int, DataCounters]:
        """Received, lost, duplicated and reordered PDUs by data_id."""
        return {number: pdu.watch.counters for number, pdu in self._inputs.items()}
