# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The tester's procedures: one function each, from ALIVE back to ALIVE.

A procedure raises :class:`~ros2_cosim.dcp.tools.tester_dialogue.Deviation` where the slave departs
from the standard. Procedures that some slaves are known not to survive are ``hostile``.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from ros2_cosim.dcp.standard.enums import DataType, ErrorCode, OpMode, PduType, State
from ros2_cosim.dcp.standard.slave_description import Causality, SlaveDescription
from ros2_cosim.dcp.standard.values import convertible, encode_value
from ros2_cosim.dcp.tools.tester_dialogue import Deviation
from ros2_cosim.dcp.tools.tester_session import INPUTS, OUTPUTS, SLAVE_ID, TesterSession

_P, _S, _E = PduType, State, ErrorCode
_UNKNOWN_VR = 2**63 + 12345


@dataclass(frozen=True)
class Procedure:
    """One test of a slave.

    :ivar needs: why it does not apply to a slave, or "" if it does
    """

    name: str
    run: Callable[[TesterSession], None]
    about: str
    needs: Callable[[SlaveDescription], str]
    hostile: bool = False


PROCEDURES: list[Procedure] = []


def _always(description: SlaveDescription) -> str:
    return ""


def _mode(mode: OpMode) -> Callable[[SlaveDescription], str]:
    return lambda d: "" if mode in d.op_modes else f"the slave does not offer {mode.name}"


def _flag(name: str) -> Callable[[SlaveDescription], str]:
    return lambda d: "" if getattr(d.capabilities, name) else f"the slave lacks {name}"


def _has(causality: Causality) -> Callable[[SlaveDescription], str]:
    return lambda d: "" if d.of(causality) else f"the slave has no {causality.value}"


def procedure(
    name: str,
    needs: Callable[[SlaveDescription], str] = _always,
    *,
    hostile: bool = False,
) -> Callable[[Callable[[TesterSession], None]], Callable[[TesterSession], None]]:
    """Register a procedure; its docstring is what reports say about it."""

    def register(function: Callable[[TesterSession], None]) -> Callable[[TesterSession], None]:
        about = str(function.__doc__).strip().rstrip(".")
        PROCEDURES.append(Procedure(name, function, about, needs, hostile))
        return function

    return register


def first_mode(description: SlaveDescription) -> OpMode:
    """The mode that mode-independent procedures use: NRT where it is offered."""
    for mode in (OpMode.NRT, OpMode.SRT, OpMode.HRT):
        if mode in description.op_modes:
            return mode
    raise Deviation("the description offers no operating mode")


def _registered(s: TesterSession) -> None:
    s.register(first_mode(s.description))


@procedure("alive")
def alive(s: TesterSession) -> None:
    """In ALIVE the slave reports its state and refuses other requests."""
    pdu = s.answer(s.make(_P.INF_state))
    if pdu.kind is not _P.RSP_state_ack or pdu.state_id != _S.ALIVE:
        raise Deviation(f"INF_state in ALIVE must be answered with ALIVE; got {pdu}")
    pdu = s.answer(s.make(_P.STC_prepare, state_id=_S.ALIVE))
    if pdu.kind is not _P.RSP_nack:
        raise Deviation(f"STC_prepare in ALIVE must be refused; got {pdu}")


@procedure("registration.refusals")
def registration_refusals(s: TesterSession) -> None:
    """Wrong state, uuid, operating mode and versions, each with its own error code."""
    mode = first_mode(s.description)
    right = s.register_fields(mode)
    wrong_uuid = bytes(255 - b for b in s.description.uuid_bytes)
    cases: list[tuple[ErrorCode, dict[str, object]]] = [
        (_E.INVALID_STATE_ID, {"state_id": _S.CONFIGURATION}),
        (_E.INVALID_UUID, {"slave_uuid": wrong_uuid}),
        (_E.INVALID_OP_MODE, {"op_mode": 77}),
        (_E.INVALID_MAJOR_VERSION, {"major_version": 2}),
        (_E.INVALID_MINOR_VERSION, {"minor_version": 1}),
    ]
    for code, change in cases:
        s.refused(_P.STC_register, code, **(right | change))
    absent = [m for m in OpMode if m not in s.description.op_modes]
    for other in absent:
        s.refused(_P.STC_register, _E.INVALID_OP_MODE, **(right | {"op_mode": other}))


@procedure("registration")
def registration(s: TesterSession) -> None:
    """Registration and deregistration, twice, and in every operating mode offered."""
    for mode in sorted(s.description.op_modes):
        for _ in range(2):
            s.register(mode)
            s.ask_state(_S.CONFIGURATION)
            s.deregister()


@procedure("sequence")
def sequence(s: TesterSession) -> None:
    """A wrong sequence id is refused, tells the right one and changes nothing."""
    _registered(s)
    right = s.seq
    for wrong in (right + 1, right - 1, right + 1000):
        s.seq = wrong & 0xFFFF
        pdu = s.expect(_P.INF_state, _P.RSP_nack)
        if pdu.error_code != _E.INVALID_SEQUENCE_ID or pdu.exp_seq_id != right:
            raise Deviation(f"INVALID_SEQUENCE_ID expecting {right} must follow; got {pdu}")
    s.seq = right
    s.ask_state(_S.CONFIGURATION)
    s.refused(_P.STC_configure, *_not_now())  # its id counts although it was refused
    s.ask_state(_S.CONFIGURATION)
    s.deregister()


def _not_now() -> tuple[ErrorCode, ...]:
    return (_E.PROTOCOL_ERROR_PDU_NOT_ALLOWED_IN_THIS_STATE, _E.INVALID_STATE_ID)


@procedure("receiver")
def receiver(s: TesterSession) -> None:
    """A request to another slave's id is ignored."""
    _registered(s)
    s.dialogue.send(s.make(_P.INF_state, receiver=SLAVE_ID + 1))
    s.dialogue.silence(0.2, "INF_state to another slave")
    s.seq = (s.seq - 1) & 0xFFFF
    s.ask_state(_S.CONFIGURATION)
    s.deregister()


@procedure("length")
def length(s: TesterSession) -> None:
    """A request that is too long or too short is refused with INVALID_LENGTH."""
    _registered(s)
    for longer in (True, False):
        numerator, denominator = s.resolution()
        right = s.make(_P.CFG_time_res, numerator=numerator, denominator=denominator)
        pdu = s.answer(right + b"\0" if longer else right[:-1])
        if pdu.kind is not _P.RSP_nack or pdu.error_code != _E.INVALID_LENGTH:
            raise Deviation(f"INVALID_LENGTH must follow; got {pdu}")
    s.deregister()


@procedure("configuration.not_allowed")
def configuration_not_allowed(s: TesterSession) -> None:
    """CONFIGURATION refuses what belongs to other states."""
    _registered(s)
    kinds = (_P.STC_configure, _P.STC_initialize, _P.STC_run, _P.STC_send_outputs, _P.STC_stop)
    s.not_allowed((*kinds, _P.INF_error))
    s.refused(_P.STC_prepare, _E.INVALID_STATE_ID, state_id=_S.RUNNING)
    s.ask_state(_S.CONFIGURATION)
    s.deregister()


@procedure("configuration.refusals", _flag("can_accept_config_pdus"))
def configuration_refusals(s: TesterSession) -> None:
    """Wrong resolutions, value references, types and transports are refused."""
    _registered(s)
    for numerator, denominator in ((0, 1000), (1, 0), (0, 0)):
        s.refused(
            _P.CFG_time_res,
            _E.INVALID_TIME_RESOLUTION,
            numerator=numerator,
            denominator=denominator,
        )
    place = {"data_id": OUTPUTS, "pos": 0}
    s.refused(_P.CFG_output, _E.INVALID_VALUE_REFERENCE, **place, source_vr=_UNKNOWN_VR)
    kind = {"source_data_type": DataType.float64}
    s.refused(_P.CFG_input, _E.INVALID_VALUE_REFERENCE, **place, target_vr=_UNKNOWN_VR, **kind)
    for v in s.description.of(Causality.OUTPUT)[:1]:
        wrong = {"target_vr": v.value_reference, "source_data_type": v.data_type}
        s.refused(_P.CFG_input, _E.INVALID_VALUE_REFERENCE, **place, **wrong)
    for v in s.description.of(Causality.INPUT)[:4]:
        s.refused(_P.CFG_output, _E.INVALID_VALUE_REFERENCE, **place, source_vr=v.value_reference)
        narrow = next((t for t in DataType if not convertible(t, v.data_type)), None)
        if narrow is not None:
            wrong = {"target_vr": v.value_reference, "source_data_type": narrow}
            s.refused(_P.CFG_input, _E.INVALID_SOURCE_DATA_TYPE, **place, **wrong)
    s.accepted(_P.CFG_clear)
    s.recover()


@procedure("configuration.incomplete", _flag("can_accept_config_pdus"))
def configuration_incomplete(s: TesterSession) -> None:
    """STC_prepare names what is missing, in the order of the standard."""
    outputs = s.description.of(Causality.OUTPUT)
    inputs = s.description.of(Causality.INPUT)
    cases: list[tuple[PduType, ErrorCode]] = []
    if inputs:
        cases.append((_P.CFG_source_network_information, _E.INCOMPLETE_CONFIG_NW_INFO_INPUT))
    if outputs:
        cases.append((_P.CFG_target_network_information, _E.INCOMPLETE_CONFIG_NW_INFO_OUTPUT))
    if inputs or outputs:
        cases.append((_P.CFG_scope, _E.INCOMPLETE_CONFIG_SCOPE))
    for left_out, code in cases:
        _registered(s)
        s.configure(leave_out=(left_out,))
        s.refused(_P.STC_prepare, code)
        s.deregister()
    if inputs:
        _registered(s)
        fields = {"target_vr": inputs[0].value_reference, "source_data_type": inputs[0].data_type}
        for pos in (0, 2):
            s.accepted(_P.CFG_input, data_id=INPUTS, pos=pos, **fields)
        s.refused(_P.STC_prepare, _E.INCOMPLETE_CONFIG_GAP_INPUT_POS)
        s.deregister()


@procedure("states")
def states(s: TesterSession) -> None:
    """Every state that can be stopped is reached and left by STC_stop."""
    mode = first_mode(s.description)
    reached = [_S.PREPARED, _S.CONFIGURED, _S.INITIALIZED, _S.SYNCHRONIZED, _S.RUNNING]
    if mode is OpMode.NRT:
        reached.append(_S.COMPUTED)
    for state in reached:
        s.register(mode)
        s.configure()
        s.to(state)
        s.ask_state(state)
        if state not in (_S.SYNCHRONIZED, _S.RUNNING, _S.COMPUTED):
            s.not_allowed((_P.STC_prepare, _P.STC_deregister))
        s.stop()
        s.not_allowed((_P.STC_prepare, _P.STC_run))
        s.deregister()


@procedure("initialization", _has(Causality.OUTPUT))
def initialization(s: TesterSession) -> None:
    """Two initialization loops with inputs and outputs."""
    _registered(s)
    s.configure()
    s.to(_S.CONFIGURED)
    for _ in range(2):
        s.send_inputs()
        s.accepted(_P.STC_initialize, _S.INITIALIZING, _S.INITIALIZED)
        s.accepted(_P.STC_send_outputs, _S.SENDING_I, _S.CONFIGURED)
        _check_outputs(s, "SENDING_I")
    s.stop()
    s.deregister()


def _check_outputs(s: TesterSession, what: str) -> int:
    """One data PDU with all outputs; returns its sequence id."""
    pdu = s.dialogue.collect_data(1, what)[0]
    if pdu.kind is not _P.DAT_input_output or pdu.data_id != OUTPUTS:
        raise Deviation(f"{what}: data_id {OUTPUTS} must be sent; got {pdu}")
    s.codec(Causality.OUTPUT).unpack(pdu.payload, 0)
    return int(pdu.pdu_seq_id)


@procedure("nrt", _mode(OpMode.NRT))
def non_real_time(s: TesterSession) -> None:
    """Five steps in NRT: states, outputs after each, their sequence ids."""
    s.register(OpMode.NRT)
    s.configure()
    s.to(_S.RUNNING)
    nrt = s.description.non_real_time
    steps = nrt.default_steps if nrt else 1
    last: int | None = None
    for _ in range(5):
        s.send_inputs()
        s.accepted(_P.STC_do_step, _S.COMPUTING, _S.COMPUTED, steps=steps)
        s.accepted(_P.STC_send_outputs, _S.SENDING_D, _S.RUNNING)
        if s.description.of(Causality.OUTPUT):
            number = _check_outputs(s, "SENDING_D")
            if last is not None and number != (last + 1) & 0xFFFF:
                raise Deviation(f"data PDU {number} follows {last}; ids count by one")
            last = number
    if nrt and not nrt.allows(0):
        s.refused(_P.STC_do_step, _E.INVALID_STEPS, steps=0)
    s.stop()
    s.deregister()


@procedure("srt", _mode(OpMode.SRT))
def soft_real_time(s: TesterSession) -> None:
    """In SRT the outputs come by themselves; a start in the past is refused."""
    s.register(OpMode.SRT)
    s.configure()
    s.to(_S.CONFIGURED)
    s.refused(_P.STC_run, _E.INVALID_START_TIME, time=1)
    s.accepted(_P.STC_run, _S.SYNCHRONIZING, _S.SYNCHRONIZED, time=0)
    s.accepted(_P.STC_run, _S.RUNNING, time=0)
    s.refused(_P.STC_do_step, _E.NOT_SUPPORTED_PDU, *_not_now(), steps=1)
    if s.description.of(Causality.OUTPUT):
        for _ in range(3):
            _check_outputs(s, "RUNNING")
    s.stop()
    s.deregister()


@procedure("reset", _flag("can_handle_reset"))
def reset(s: TesterSession) -> None:
    """STC_reset leads from STOPPED to CONFIGURATION, and everything can be done again."""
    _registered(s)
    for _ in range(2):
        s.configure()
        s.to(_S.RUNNING)
        s.stop()
        s.accepted(_P.STC_reset, _S.CONFIGURATION)
        s.follow_state()  # the slave may count on from STC_register now
    s.deregister()


@procedure("parameters", _has(Causality.PARAMETER))
def parameters(s: TesterSession) -> None:
    """CFG_parameter takes a right value and refuses unknown parameters."""
    _registered(s)
    for v in s.description.of(Causality.PARAMETER)[:8]:
        if v.dimensions:
            continue
        payload = encode_value(v.data_type, v.start)
        fields = {"parameter_vr": v.value_reference, "source_data_type": v.data_type}
        s.accepted(_P.CFG_parameter, **fields, payload=payload)
    fields = {"parameter_vr": _UNKNOWN_VR, "source_data_type": DataType.uint8}
    s.refused(_P.CFG_parameter, _E.INVALID_VALUE_REFERENCE, **fields, payload=b"\0")
    s.deregister()


@procedure("logging", _flag("can_provide_log_on_request"))
def logging(s: TesterSession) -> None:
    """CFG_logging and INF_log; an unknown category is refused."""
    _registered(s)
    category = s.description.log_categories[0].id
    fields = {"log_category": category, "log_level": 1}
    s.accepted(_P.CFG_logging, **fields, log_mode=1)
    s.expect(_P.INF_log, _P.RSP_log_ack, log_category=category, log_max_num=5)
    known = {c.id for c in s.description.log_categories}
    unknown = next(i for i in range(1, 256) if i not in known)
    s.refused(_P.INF_log, _E.INVALID_LOG_CATEGORY, log_category=unknown, log_max_num=1)
    s.deregister()


@procedure("heartbeat", _flag("can_monitor_heartbeat"))
def heartbeat(s: TesterSession) -> None:
    """Without INF_state the slave goes to its error state and says why."""
    _registered(s)
    interval = float(s.description.heartbeat or 1)
    s.ask_state(_S.CONFIGURATION)
    time.sleep(interval / 2)
    s.ask_state(_S.CONFIGURATION)
    for state in (_S.ERRORHANDLING, _S.ERRORRESOLVED):
        pdu = s.dialogue.next_control(f"NTF_state_changed {state.name}", interval + s.timeout_s)
        if pdu.kind is not _P.NTF_state_changed or pdu.state_id != state:
            raise Deviation(f"NTF_state_changed {state.name} must follow; got {pdu}")
        s.state = state
    pdu = s.expect(_P.INF_error, _P.RSP_error_ack)
    if pdu.error_code != _E.PROTOCOL_ERROR_HEARTBEAT_MISSED:
        raise Deviation(f"INF_error must report PROTOCOL_ERROR_HEARTBEAT_MISSED; got {pdu}")
    s.deregister()


@procedure("hostile.unknown", hostile=True)
def hostile_unknown(s: TesterSession) -> None:
    """Unknown PDU types, responses and scraps are dropped silently."""
    _registered(s)
    for data in (b"\x55 is an unknown type", b"\xb0\0\0\1", b"\xe0\1\1", b"\x80", b"\xf0\1"):
        s.dialogue.send(data)
    s.dialogue.silence(0.2, "garbage")
    s.ask_state(_S.CONFIGURATION)
    s.deregister()


@procedure("hostile.fields", _flag("can_accept_config_pdus"), hostile=True)
def hostile_fields(s: TesterSession) -> None:
    """Scopes and step counts outside their ranges are refused."""
    _registered(s)
    s.refused(_P.CFG_scope, _E.INVALID_SCOPE, data_id=OUTPUTS, scope=3)
    if s.mode is not OpMode.NRT:
        s.refused(_P.CFG_steps, _E.INVALID_STEPS, steps=0, data_id=OUTPUTS)
    s.recover()
