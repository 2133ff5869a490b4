# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Checks of the configuration requests: each setting, and the whole at STC_prepare."""

from __future__ import annotations

import struct
from dataclasses import replace
from fractions import Fraction
from typing import Any

from support.dcp_session import HOME, E, P, S, Session, box

from ros2_cosim.dcp.standard.pdu import encode_address
from ros2_cosim.dcp.standard.slave_description import Capabilities


def test_wrong_time_resolutions_are_refused() -> None:
    session = Session()
    for pair in ((0, 100), (1, 0), (0, 0), (1, 50)):
        session.refused(
            E.INVALID_TIME_RESOLUTION, P.CFG_time_res, numerator=pair[0], denominator=pair[1]
        )
    session.ok(P.CFG_time_res, numerator=2, denominator=20)
    fixed = Session(box(resolutions=(Fraction(1, 100),)))
    fixed.ok(P.CFG_time_res, numerator=1, denominator=100)
    fixed.refused(E.INVALID_TIME_RESOLUTION, P.CFG_time_res, numerator=1, denominator=10)


def test_steps_that_do_not_suit_the_outputs_are_refused_in_either_order() -> None:
    session = Session()
    session.refused(E.INVALID_STEPS, P.CFG_steps, data_id=1, steps=0)
    session.ok(P.CFG_output, data_id=1, pos=0, source_vr=4)
    session.refused(E.INVALID_STEPS, P.CFG_steps, data_id=1, steps=5)
    session.ok(P.CFG_steps, data_id=1, steps=3)
    session.refused(E.INVALID_STEPS, P.CFG_output, data_id=1, pos=1, source_vr=3)
    session.ok(P.CFG_steps, data_id=2, steps=7)
    session.refused(E.INVALID_STEPS, P.CFG_output, data_id=2, pos=0, source_vr=3)


def test_wrong_value_references_and_types_are_refused() -> None:
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


def test_wrong_network_information_is_refused() -> None:
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
    for kind, name, lengths in (
        (target, "data_id", {1: 9, 2: 0, 3: 17}),
        (P.CFG_source_network_information, "data_id", {1: 9, 2: 0, 3: 1}),
        (P.CFG_param_network_information, "param_id", {1: 6, 2: 0, 3: 1}),
    ):
        for protocol, length in lengths.items():
            fields = {name: 1, "transport_protocol": protocol}
            wrong, right = bytes(length + 1), bytes(length)
            session.refused(E.INVALID_LENGTH, kind, address=wrong, **fields)
            session.refused(E.INVALID_TRANSPORT_PROTOCOL, kind, address=right, **fields)
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


def test_wrong_logging_is_refused_in_the_order_of_the_checks() -> None:
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


def test_unknown_scopes_are_refused() -> None:
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
    session.bench.slave.configuration.steps.clear()
    session.ok(P.STC_prepare)
