# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Checks of every request: registration, sequence ids, support, length, state."""

from __future__ import annotations

from dataclasses import replace

import pytest
from support.dcp_engine import Bench
from support.dcp_session import Box, E, P, S, Session, box

from ros2_cosim.dcp.standard.enums import PduType
from ros2_cosim.dcp.standard.pdu import make
from ros2_cosim.dcp.standard.slave_description import Capabilities


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
    assert bench.slave.expected_seq == 0
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
def test_what_a_capability_flag_excludes_is_refused(
    flags: dict[str, bool], kind: PduType, fields: dict[str, int]
) -> None:
    every = {name: True for name in vars(Capabilities())} | {"can_monitor_heartbeat": False}
    session = Session(replace(box(), capabilities=Capabilities(**(every | flags))))
    session.refused(E.NOT_SUPPORTED_PDU, kind, **fields)


def test_a_wrong_state_id_is_refused() -> None:
    session = Session()
    session.refused(E.INVALID_STATE_ID, P.STC_prepare, state_id=S.PREPARED)
    session.refused(E.INVALID_STATE_ID, P.STC_prepare, state_id=200)


def test_requests_are_refused_in_states_where_they_are_not_allowed() -> None:
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
