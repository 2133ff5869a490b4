# SPDX-License-Identifier: Apache-2.0
"""Every check of every request: which error code, in which order, and what it leaves."""

from __future__ import annotations

import struct
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from support.dcp_engine import Bench

from ros2_cosim.dcp.declare import describe
from ros2_cosim.dcp.description import (
    Capabilities,
    LogCategory,
    LogTemplate,
    NonRealTime,
    SlaveDescription,
)
from ros2_cosim.dcp.enums import ErrorCode, OpMode, PduType, State
from ros2_cosim.dcp.model import Input, Output, Parameter, SlaveModel, StructuralParameter
from ros2_cosim.dcp.pdu import Pdu, encode_address, make

E, P, S = ErrorCode, PduType, State
HOME = encode_address("127.0.0.1", 9000)


class Box(SlaveModel):
    u = Input("float64", value_reference=1)
    s = Input("string", value_reference=2, max_size=5)
    y = Output("float64", value_reference=3, start=0.0)
    slow = Output("uint8", value_reference=4, start=0, fixed_steps=False, min_steps=2, max_steps=4)
    p = Parameter("uint16", value_reference=5)
    t = Parameter("float64", value_reference=6, variability="tunable")
    text = Parameter("string", value_reference=7, max_size=3)
    n = StructuralParameter("uint32", value_reference=8)
    array = Parameter("int32", value_reference=9, shape=("n",))
    m = StructuralParameter("uint8", value_reference=10, variability="tunable")


def box(**more: Any) -> SlaveDescription:
    defaults: dict[str, Any] = {
        "op_modes": (OpMode.NRT, OpMode.SRT),
        "resolutions": (Fraction(1, 100), Fraction(1, 10)),
        "data_ports": ((9000, 9005),),
        "log_categories": (LogCategory(3, "c"),),
        "log_templates": (LogTemplate(1, 3, 2, "x"),),
    }
    return describe(Box, **(defaults | more))


class Session:
    """An engine that has been registered, and requests with the right ids."""

    def __init__(self, description: SlaveDescription | None = None, mode: int = 2) -> None:
        self.description = description or box()
        self.bench = Bench(Box(), self.description)
        self.seq = 0
        self.ok(
            P.STC_register,
            slave_uuid=self.description.uuid_bytes,
            op_mode=mode,
            major_version=1,
            minor_version=0,
        )

    @property
    def state(self) -> State:
        return self.bench.slave.state

    def ask(self, kind: PduType, **fields: Any) -> list[Pdu]:
        if kind < 0x20:
            fields.setdefault("state_id", self.state)
        fields.setdefault("receiver", 1)
        data = make(kind, pdu_seq_id=self.seq, **fields)
        self.seq = (self.seq + 1) & 0xFFFF
        return self.bench.ask(data)

    def ok(self, kind: PduType, **fields: Any) -> list[State]:
        answers = self.ask(kind, **fields)
        assert answers[0].kind is P.RSP_ack, (kind.name, str(answers[0]))
        assert answers[0].resp_seq_id == (self.seq - 1) & 0xFFFF
        return [State(a.state_id) for a in answers[1:]]

    def refused(self, code: ErrorCode, kind: PduType, **fields: Any) -> None:
        state = self.state
        answers = self.ask(kind, **fields)
        assert [a.kind for a in answers] == [P.RSP_nack]
        assert ErrorCode(answers[0].error_code) is code
        assert answers[0].exp_seq_id == self.seq
        assert self.state is state

    def wire(self) -> None:
        """A complete configuration of one input, one output and one tunable parameter."""
        self.ok(P.CFG_time_res, numerator=1, denominator=100)
        self.ok(P.CFG_input, data_id=1, pos=0, target_vr=1, source_data_type=9)
        self.ok(P.CFG_output, data_id=2, pos=0, source_vr=3)
        self.ok(P.CFG_steps, data_id=2, steps=1)
        self.ok(P.CFG_scope, data_id=1, scope=0)
        self.ok(P.CFG_scope, data_id=2, scope=0)
        self.ok(P.CFG_tunable_parameter, param_id=1, pos=0, parameter_vr=6, source_data_type=9)
        for kind, name in (
            (P.CFG_source_network_information, "data_id"),
            (P.CFG_target_network_information, "data_id"),
            (P.CFG_param_network_information, "param_id"),
        ):
            number = 2 if kind is P.CFG_target_network_information else 1
            self.ok(kind, transport_protocol=0, address=HOME, **{name: number})

    def to(self, state: State) -> None:
        """Onwards to a state of the usual run."""
        self.wire()
        for kind, fields in (
            (P.STC_prepare, {}),
            (P.STC_configure, {}),
            (P.STC_run, {"time": 0}),
            (P.STC_run, {"time": 0}),
        ):
            if self.state is state:
                return
            self.ok(kind, **fields)
        assert self.state is state


def test_register_checks_in_order() -> None:
    description = box()
    good = {
        "slave_uuid": description.uuid_bytes,
        "op_mode": 2,
        "major_version": 1,
        "minor_version": 0,
        "state_id": 0,
    }
    bad = {
        "state_id": (1, E.INVALID_STATE_ID),
        "slave_uuid": (bytes(16), E.INVALID_UUID),
        "op_mode": (0, E.INVALID_OP_MODE),
        "major_version": (2, E.INVALID_MAJOR_VERSION),
        "minor_version": (1, E.INVALID_MINOR_VERSION),
    }
    wrong = {name: value for name, (value, _) in bad.items()}
    for name, (_, code) in bad.items():
        bench = Bench(Box(), description)
        (answer,) = bench.ask(make(P.STC_register, pdu_seq_id=9, receiver=7, **(good | wrong)))
        assert (answer.kind, answer.error_code, answer.sender) == (P.RSP_nack, code, 7)
        assert answer.exp_seq_id == 10
        wrong.pop(name)
    answers = bench.ask(make(P.STC_register, pdu_seq_id=65535, receiver=7, **good))
    assert [a.kind for a in answers] == [P.RSP_ack, P.NTF_state_changed]
    (answer,) = bench.ask(make(P.INF_state, pdu_seq_id=0, receiver=7))
    assert (answer.kind, answer.state_id) == (P.RSP_state_ack, S.CONFIGURATION)
    assert bench.ask(make(P.STC_register, pdu_seq_id=1, receiver=0, **good)) == []


def test_sequence_id_comes_before_everything_else_and_does_not_move() -> None:
    session = Session()
    (answer,) = session.bench.ask(make(P.CFG_clear, pdu_seq_id=5, receiver=1)[:4])
    assert (answer.error_code, answer.exp_seq_id) == (E.INVALID_SEQUENCE_ID, 1)
    (answer,) = session.bench.ask(make(P.CFG_clear, pdu_seq_id=0, receiver=1))
    assert (answer.error_code, answer.exp_seq_id) == (E.INVALID_SEQUENCE_ID, 1)
    session.ok(P.CFG_clear)


def test_both_ids_are_taken_after_clear() -> None:
    for follow in (4, 1):
        session = Session()
        for _ in range(2):
            session.ask(P.INF_state)
        session.ok(P.CFG_clear)
        session.seq = follow
        assert session.ask(P.INF_state)[0].kind is P.RSP_state_ack
        assert session.ask(P.INF_state)[0].kind is P.RSP_state_ack


def test_other_receivers_and_foreign_pdus_are_dropped() -> None:
    session = Session()
    for data in (
        make(P.INF_state, pdu_seq_id=1, receiver=2),
        make(P.RSP_ack, resp_seq_id=1, sender=1),
        make(P.NTF_state_changed, sender=1, state_id=0),
        b"\x77\x01\x00\x01",
        b"\x80\x01\x00",
        b"",
    ):
        assert session.bench.ask(data) == []
    session.ok(P.CFG_clear)


def test_support_comes_before_length_and_length_before_state() -> None:
    session = Session(mode=1)
    session.refused(E.NOT_SUPPORTED_PDU, P.STC_do_step, steps=1)
    data = make(P.STC_do_step, pdu_seq_id=session.seq, receiver=1, state_id=0, steps=1)[:-1]
    assert session.bench.ask(data)[0].error_code == E.NOT_SUPPORTED_PDU
    session.seq += 1
    data = make(P.STC_run, pdu_seq_id=session.seq, receiver=1, state_id=0, time=0)[:-1]
    assert session.bench.ask(data)[0].error_code == E.INVALID_LENGTH
    session.seq += 1
    session.refused(E.PROTOCOL_ERROR_PDU_NOT_ALLOWED_IN_THIS_STATE, P.STC_run, time=0)


@pytest.mark.parametrize(
    ("flags", "kind", "fields"),
    [
        ({"can_accept_config_pdus": False}, P.CFG_clear, {}),
        ({"can_handle_reset": False}, P.STC_reset, {}),
        (
            {"can_provide_log_on_request": False, "can_provide_log_on_notification": False},
            P.CFG_logging,
            {"log_category": 3, "log_level": 1, "log_mode": 1},
        ),
        (
            {"can_provide_log_on_request": False, "can_provide_log_on_notification": False},
            P.INF_log,
            {"log_category": 3, "log_max_num": 1},
        ),
    ],
)
def test_capability_flags(flags: dict[str, bool], kind: PduType, fields: dict[str, int]) -> None:
    every = {name: True for name in vars(Capabilities())} | {"can_monitor_heartbeat": False}
    session = Session(replace(box(), capabilities=Capabilities(**(every | flags))))
    session.refused(E.NOT_SUPPORTED_PDU, kind, **fields)


def test_state_id_is_the_first_meaning() -> None:
    session = Session()
    session.refused(E.INVALID_STATE_ID, P.STC_prepare, state_id=S.PREPARED)
    session.refused(E.INVALID_STATE_ID, P.STC_prepare, state_id=200)


def test_requests_in_states_where_they_are_not_allowed() -> None:
    code = E.PROTOCOL_ERROR_PDU_NOT_ALLOWED_IN_THIS_STATE
    for state in (S.CONFIGURATION, S.PREPARED, S.CONFIGURED, S.RUNNING):
        session = Session()
        if state is not S.CONFIGURATION:
            session.to(state)
            session.refused(code, P.CFG_clear)
            session.refused(code, P.STC_prepare)
        session.refused(code, P.STC_send_outputs)
        session.refused(code, P.INF_error)
        session.refused(code, P.STC_reset)


def test_time_resolution() -> None:
    session = Session()
    for pair in ((0, 100), (1, 0), (0, 0), (1, 50)):
        session.refused(
            E.INVALID_TIME_RESOLUTION, P.CFG_time_res, numerator=pair[0], denominator=pair[1]
        )
    session.ok(P.CFG_time_res, numerator=2, denominator=20)
    fixed = Session(box(resolutions=(Fraction(1, 100),)))
    fixed.ok(P.CFG_time_res, numerator=1, denominator=100)
    fixed.refused(E.INVALID_TIME_RESOLUTION, P.CFG_time_res, numerator=1, denominator=10)


def test_steps_and_outputs_must_suit_in_either_order() -> None:
    session = Session()
    session.refused(E.INVALID_STEPS, P.CFG_steps, data_id=1, steps=0)
    session.ok(P.CFG_output, data_id=1, pos=0, source_vr=4)
    session.refused(E.INVALID_STEPS, P.CFG_steps, data_id=1, steps=5)
    session.ok(P.CFG_steps, data_id=1, steps=3)
    session.refused(E.INVALID_STEPS, P.CFG_output, data_id=1, pos=1, source_vr=3)
    session.ok(P.CFG_steps, data_id=2, steps=7)
    session.refused(E.INVALID_STEPS, P.CFG_output, data_id=2, pos=0, source_vr=3)


def test_value_references_and_types() -> None:
    session = Session()
    for vr in (3, 5, 99):
        session.refused(
            E.INVALID_VALUE_REFERENCE,
            P.CFG_input,
            data_id=1,
            pos=0,
            target_vr=vr,
            source_data_type=9,
        )
    for vr in (1, 5, 99):
        session.refused(E.INVALID_VALUE_REFERENCE, P.CFG_output, data_id=1, pos=0, source_vr=vr)
    for source in (3, 10, 12, 255):
        session.refused(
            E.INVALID_SOURCE_DATA_TYPE,
            P.CFG_input,
            data_id=1,
            pos=0,
            target_vr=1,
            source_data_type=source,
        )
    session.ok(P.CFG_input, data_id=1, pos=0, target_vr=1, source_data_type=8)
    tunable = {"param_id": 1, "pos": 0, "source_data_type": 9}
    session.refused(E.INVALID_VALUE_REFERENCE, P.CFG_tunable_parameter, parameter_vr=1, **tunable)
    session.refused(E.INVALID_SOURCE_DATA_TYPE, P.CFG_tunable_parameter, parameter_vr=5, **tunable)
    session.refused(E.INVALID_VALUE_REFERENCE, P.CFG_tunable_parameter, parameter_vr=8, **tunable)


def test_network_information() -> None:
    session = Session()
    for kind, name in (
        (P.CFG_source_network_information, "data_id"),
        (P.CFG_param_network_information, "param_id"),
    ):
        fields = {name: 1, "transport_protocol": 4}
        for port in (0, 80, 8999, 9006):
            session.refused(
                E.INVALID_NETWORK_INFORMATION,
                kind,
                address=encode_address("127.0.0.1", port),
                **fields,
            )
        for port in (9000, 9005, 8080):
            session.ok(kind, address=encode_address("127.0.0.1", port), **fields)
        session.refused(E.INVALID_LENGTH, kind, address=HOME[:-1], **fields)
    target = P.CFG_target_network_information
    for protocol, length in ((1, 9), (2, 0), (3, 17), (5, 6), (200, 3)):
        session.refused(
            E.INVALID_TRANSPORT_PROTOCOL,
            target,
            data_id=1,
            transport_protocol=protocol,
            address=bytes(length),
        )
    session.refused(E.INVALID_LENGTH, target, data_id=1, transport_protocol=0, address=b"")
    session.ok(target, data_id=1, transport_protocol=0, address=encode_address("10.1.2.3", 80))


def test_parameters() -> None:
    session = Session()

    def set_to(vr: int, source: int, payload: bytes) -> dict[str, Any]:
        return {"parameter_vr": vr, "source_data_type": source, "payload": payload}

    kind = P.CFG_parameter
    session.refused(E.INVALID_VALUE_REFERENCE, kind, **set_to(1, 9, bytes(8)))
    session.refused(E.INVALID_VALUE_REFERENCE, kind, **set_to(77, 9, bytes(8)))
    session.refused(E.INVALID_SOURCE_DATA_TYPE, kind, **set_to(5, 2, bytes(4)))
    session.refused(E.INVALID_SOURCE_DATA_TYPE, kind, **set_to(5, 12, b"x"))
    session.refused(E.INVALID_LENGTH, kind, **set_to(5, 1, b"x"))
    session.ok(kind, **set_to(5, 0, b"\x07"))
    session.refused(E.INVALID_PAYLOAD, kind, **set_to(7, 10, b"\x04\0\0\0four"))
    session.refused(E.INVALID_PAYLOAD, kind, **set_to(7, 10, b"\x09\0\0\0abc"))
    session.refused(E.INVALID_PAYLOAD, kind, **set_to(7, 10, b"\x02\0\0\0\xff\xff"))
    session.ok(kind, **set_to(7, 10, b"\x03\0\0\0abc"))
    session.refused(E.INVALID_PAYLOAD, kind, **set_to(8, 2, bytes(4)))
    session.refused(E.INVALID_LENGTH, kind, **set_to(9, 6, bytes(8)))
    session.ok(kind, **set_to(8, 2, struct.pack("<I", 2)))
    session.ok(kind, **set_to(9, 4, b"\x01\xff"))
    session.to(S.CONFIGURED)
    model = session.bench.slave.model
    assert [model.get(name) for name in ("p", "text", "n", "array")] == [7, "abc", 2, (1, -1)]
    assert model.get("t") == 0.0


def test_logging_checks_in_order() -> None:
    on_request = replace(
        box(),
        capabilities=Capabilities(can_accept_config_pdus=True, can_provide_log_on_request=True),
    )
    session = Session(on_request)
    kind = P.CFG_logging
    session.refused(
        E.NOT_SUPPORTED_LOG_ON_NOTIFICATION, kind, log_category=9, log_level=9, log_mode=2
    )
    session.refused(E.INVALID_LOG_CATEGORY, kind, log_category=9, log_level=9, log_mode=9)
    session.refused(E.INVALID_LOG_LEVEL, kind, log_category=3, log_level=9, log_mode=9)
    session.refused(E.INVALID_LOG_MODE, kind, log_category=3, log_level=4, log_mode=3)
    session.ok(kind, log_category=0, log_level=4, log_mode=1)
    session.refused(E.INVALID_LOG_CATEGORY, P.INF_log, log_category=4, log_max_num=1)
    notify = replace(
        box(),
        capabilities=Capabilities(
            can_accept_config_pdus=True, can_provide_log_on_notification=True
        ),
    )
    Session(notify).refused(
        E.NOT_SUPPORTED_LOG_ON_REQUEST, kind, log_category=9, log_level=9, log_mode=1
    )


def test_scope() -> None:
    session = Session()
    session.refused(E.INVALID_SCOPE, P.CFG_scope, data_id=1, scope=3)
    for scope in range(3):
        session.ok(P.CFG_scope, data_id=1, scope=scope)


def test_incomplete_configuration_in_order() -> None:
    session = Session(mode=1)
    prepare = P.STC_prepare
    session.ok(P.CFG_input, data_id=1, pos=1, target_vr=1, source_data_type=9)
    session.ok(P.CFG_output, data_id=2, pos=2, source_vr=3)
    session.ok(P.CFG_tunable_parameter, param_id=1, pos=1, parameter_vr=6, source_data_type=9)
    session.refused(E.INCOMPLETE_CONFIG_GAP_INPUT_POS, prepare)
    session.ok(P.CFG_input, data_id=1, pos=0, target_vr=1, source_data_type=9)
    session.refused(E.INCOMPLETE_CONFIG_GAP_OUTPUT_POS, prepare)
    for pos in (0, 1):
        session.ok(P.CFG_output, data_id=2, pos=pos, source_vr=3)
    session.refused(E.INCOMPLETE_CONFIG_GAP_TUNABLE_POS, prepare)
    session.ok(P.CFG_tunable_parameter, param_id=1, pos=0, parameter_vr=6, source_data_type=9)
    address = {"transport_protocol": 0, "address": HOME}
    session.refused(E.INCOMPLETE_CONFIG_NW_INFO_INPUT, prepare)
    session.ok(P.CFG_source_network_information, data_id=1, **address)
    session.refused(E.INCOMPLETE_CONFIG_NW_INFO_OUTPUT, prepare)
    session.ok(P.CFG_target_network_information, data_id=2, **address)
    session.refused(E.INCOMPLETE_CONFIG_NW_INFO_TUNABLE, prepare)
    session.ok(P.CFG_param_network_information, param_id=1, **address)
    session.refused(E.INCOMPLETE_CONFIG_STEPS, prepare)
    session.ok(P.CFG_steps, data_id=2, steps=1)
    session.refused(E.INCOMPLETE_CONFIG_TIME_RESOLUTION, prepare)
    session.ok(P.CFG_time_res, numerator=1, denominator=10)
    session.refused(E.INCOMPLETE_CONFIG_SCOPE, prepare)
    session.ok(P.CFG_scope, data_id=1, scope=0)
    session.refused(E.INCOMPLETE_CONFIG_SCOPE, prepare)
    session.ok(P.CFG_scope, data_id=2, scope=0)
    assert session.ok(prepare) == [S.PREPARING, S.PREPARED]


def test_pdu_size() -> None:
    description = box()
    assert description.udp is not None
    session = Session(replace(description, udp=replace(description.udp, max_pdu_size=12)))
    session.wire()
    session.refused(E.NOT_SUPPORTED_PDU_SIZE, P.STC_prepare)
    huge = Session()
    huge.ok(
        P.CFG_parameter, parameter_vr=8, source_data_type=2, payload=struct.pack("<I", 2**32 - 1)
    )
    huge.wire()
    huge.refused(E.NOT_SUPPORTED_PDU_SIZE, P.STC_prepare)


def test_nothing_connected_can_be_prepared_and_steps_are_not_needed_in_nrt() -> None:
    session = Session()
    session.ok(P.CFG_time_res, numerator=1, denominator=100)
    assert session.ok(P.STC_prepare) == [S.PREPARING, S.PREPARED]
    session = Session()
    session.wire()
    session.bench.slave.config.steps.clear()
    session.ok(P.STC_prepare)


def test_start_time() -> None:
    session = Session(mode=1)
    session.to(S.CONFIGURED)
    session.refused(E.INVALID_START_TIME, P.STC_run, time=999)
    session.refused(E.INVALID_START_TIME, P.STC_run, time=-1)
    assert session.ok(P.STC_run, time=1001) == [S.SYNCHRONIZING]
    nrt = Session()
    nrt.to(S.CONFIGURED)
    assert nrt.ok(P.STC_run, time=5) == [S.SYNCHRONIZING, S.SYNCHRONIZED]


def test_steps_of_do_step() -> None:
    session = Session()
    session.to(S.RUNNING)
    for steps in (0, 2):
        session.refused(E.INVALID_STEPS, P.STC_do_step, steps=steps)
    for variable in (True, False):
        description = box(steps=NonRealTime(1, False, 1, 4), can_handle_variable_steps=variable)
        session = Session(description)
        session.to(S.RUNNING)
        session.refused(E.INVALID_STEPS, P.STC_do_step, steps=5)
        session.ok(P.STC_do_step, steps=3)
        session.ok(P.STC_send_outputs)
        if variable:
            session.ok(P.STC_do_step, steps=2)
        else:
            session.refused(E.NOT_SUPPORTED_VARIABLE_STEPS, P.STC_do_step, steps=2)


def test_do_step_is_allowed_while_synchronizing_and_returns_there() -> None:
    session = Session()
    session.to(S.CONFIGURED)
    session.ok(P.STC_run, time=0)
    assert session.ok(P.STC_do_step, steps=1) == [S.COMPUTING, S.COMPUTED]
    assert session.ok(P.STC_send_outputs) == [S.SENDING_D, S.SYNCHRONIZED]


def test_stop_from_every_state_that_can_be_stopped() -> None:
    for state in (S.PREPARED, S.CONFIGURED, S.SYNCHRONIZED, S.RUNNING):
        session = Session()
        session.to(state)
        assert session.ok(P.STC_stop) == [S.STOPPING, S.STOPPED]
        assert session.bench.open == []
        assert session.ok(P.STC_reset) == [S.CONFIGURATION]
        session.to(S.RUNNING)
        session.ok(P.STC_stop)
        assert session.ok(P.STC_deregister) == [S.ALIVE]


def test_scopes_gate_sending_and_receiving() -> None:
    for scope in range(3):
        session = Session()
        session.wire()
        session.ok(P.CFG_scope, data_id=1, scope=scope)
        session.ok(P.CFG_scope, data_id=2, scope=scope)
        session.ok(P.STC_prepare)
        session.ok(P.STC_configure)
        bench, model = session.bench, session.bench.slave.model

        def put(value: float, bench: Bench = bench) -> None:
            bench.ask(
                make(
                    P.DAT_input_output,
                    pdu_seq_id=0,
                    data_id=1,
                    payload=struct.pack("<d", value),
                )
            )

        put(1.5)
        session.ok(P.STC_initialize)
        assert model.get("u") == (1.5 if scope < 2 else 0.0)
        session.ok(P.STC_send_outputs)
        assert len(bench.data) == (scope < 2)
        bench.data.clear()
        session.ok(P.STC_run, time=0)
        put(2.5)
        session.ok(P.STC_do_step, steps=1)
        assert model.get("u") == (2.5 if scope != 1 else 1.5)
        session.ok(P.STC_send_outputs)
        assert len(bench.data) == (scope != 1)


def test_data_take_effect_at_the_next_computation_only() -> None:
    session = Session()
    session.to(S.RUNNING)
    session.bench.ask(
        make(P.DAT_input_output, pdu_seq_id=0, data_id=1, payload=struct.pack("<d", 4.0))
    )
    model = session.bench.slave.model
    assert model.get("u") == 0.0
    session.ok(P.STC_do_step, steps=1)
    assert model.get("u") == 4.0


def test_parameters_of_one_pdu_change_together_before_the_step() -> None:
    session = Session()
    session.ok(P.CFG_tunable_parameter, param_id=1, pos=1, parameter_vr=10, source_data_type=0)
    session.to(S.RUNNING)
    session.bench.ask(
        make(P.DAT_parameter, pdu_seq_id=0, param_id=1, payload=struct.pack("<dB", 2.5, 7))
    )
    session.ok(P.STC_do_step, steps=1)
    model = session.bench.slave.model
    assert (model.get("t"), model.get("m")) == (2.5, 7)


def test_outputs_in_real_time_follow_their_steps() -> None:
    session = Session(mode=1)
    session.wire()
    session.ok(P.CFG_output, data_id=3, pos=0, source_vr=4)
    session.ok(P.CFG_steps, data_id=3, steps=3)
    session.ok(P.CFG_scope, data_id=3, scope=0)
    session.ok(P.CFG_target_network_information, data_id=3, transport_protocol=0, address=HOME)
    session.ok(P.STC_prepare)
    session.ok(P.STC_configure)
    session.ok(P.STC_run, time=0)
    bench = session.bench
    for _ in range(7):
        bench.slave.on_time()
        bench.time += 0.01
    sent = [data[3] for _, data in bench.data]
    assert sent == [2, 2, 2, 3, 2, 2, 2, 3, 2]


def test_a_second_run_in_the_future_moves_the_start() -> None:
    session = Session(mode=1)
    session.to(S.CONFIGURED)
    session.ok(P.STC_run, time=0)
    bench = session.bench
    assert bench.slave.deadline() == 1000.0
    bench.slave.on_time()
    assert bench.slave.state is S.SYNCHRONIZED
    session.ok(P.STC_run, time=1002)
    assert bench.slave.deadline() == 1002.0


def test_heartbeat() -> None:
    session = Session(box(heartbeat=Fraction(1, 2)))
    bench = session.bench
    bench.time += 0.4
    session.ask(P.INF_state)
    bench.time += 0.4
    bench.slave.on_time()
    assert session.state is S.CONFIGURATION
    bench.time += 0.2
    bench.sent.clear()
    bench.slave.on_time()
    assert session.state is S.ERRORRESOLVED
    assert [data[2] for data in bench.sent] == [S.ERRORHANDLING, S.ERRORRESOLVED]
    (answer,) = session.ask(P.INF_error)
    assert answer.error_code == E.PROTOCOL_ERROR_HEARTBEAT_MISSED
    assert session.ok(P.STC_reset) == [S.CONFIGURATION]
    assert bench.slave.error_code == E.NONE
    assert bench.slave.deadline() == bench.time + 0.5
