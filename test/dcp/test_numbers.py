# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The numbers of DCP 1.0 on the wire: PDU types and their sizes, states, modes, codes, types."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from enum import IntEnum
from fractions import Fraction
from typing import Any

import pytest

from ros2_cosim.dcp.master.cosimulation import CoSimulation
from ros2_cosim.dcp.master.master import Master
from ros2_cosim.dcp.master.remote import MAX_LOG_ENTRIES
from ros2_cosim.dcp.slave.c_source import MAX_ELEMENTS, MAX_SOURCE, SUGGESTED_STEP
from ros2_cosim.dcp.slave.declare import ERROR_LOG_ID
from ros2_cosim.dcp.slave.fmu_description import FMU_STEP, MAX_STEPS
from ros2_cosim.dcp.slave.loading import MODEL_STEP
from ros2_cosim.dcp.slave.log import MAX_STORED
from ros2_cosim.dcp.slave.sockets import CONNECT_TIMEOUT_S
from ros2_cosim.dcp.slave.state_machine import MAX_ERROR_TEXT
from ros2_cosim.dcp.standard.accepted import MAX_CONNECTIONS, MAX_WAITING_BYTES, SILENT_LIMIT_NS
from ros2_cosim.dcp.standard.data_report import CATEGORY as DATA_CATEGORY
from ros2_cosim.dcp.standard.enums import (
    DataType,
    ErrorCode,
    LogLevel,
    LogMode,
    OpMode,
    PduType,
    Scope,
    State,
    TransportProtocol,
    code_name,
)
from ros2_cosim.dcp.standard.pdu import (
    FIRST_CONFIGURATION,
    FIRST_INFORMATION,
    LAYOUTS,
    REQUEST_HEAD,
    STATE_CHANGE_HEAD,
)
from ros2_cosim.dcp.standard.sizes import MAX_PDU_BYTES, USUAL_PDU_BYTES
from ros2_cosim.dcp.standard.slave_description import ZEROS
from ros2_cosim.dcp.standard.slave_package import MAX_FILE_BYTES
from ros2_cosim.dcp.standard.transport import (
    _RECEIVE_BUFFER,
    MAX_DATAGRAM,
    MAX_DATAGRAMS,
    MAX_FRAME,
    MAX_SEGMENT,
    MAX_SEGMENTS,
    READ_SIZE,
    SEND_TIMEOUT_S,
)
from ros2_cosim.dcp.tools.tester import verify_slave

#: Groups of members that are numbered one after the other: the first number, and their names.
NUMBERS: dict[type[IntEnum], dict[int, str]] = {
    PduType: {
        0x01: (
            "STC_register STC_deregister STC_prepare STC_configure STC_initialize STC_run "
            "STC_do_step STC_send_outputs STC_stop STC_reset"
        ),
        0x20: (
            "CFG_time_res CFG_steps CFG_input CFG_output CFG_clear "
            "CFG_target_network_information CFG_source_network_information CFG_parameter "
            "CFG_tunable_parameter CFG_param_network_information CFG_logging CFG_scope"
        ),
        0x80: "INF_state INF_error INF_log",
        0xB0: "RSP_ack RSP_nack RSP_state_ack RSP_error_ack RSP_log_ack",
        0xE0: "NTF_state_changed NTF_log",
        0xF0: "DAT_input_output DAT_parameter",
    },
    State: {
        0x00: (
            "ALIVE CONFIGURATION PREPARING PREPARED CONFIGURING CONFIGURED INITIALIZING "
            "INITIALIZED SENDING_I SYNCHRONIZING SYNCHRONIZED RUNNING COMPUTING COMPUTED "
            "SENDING_D STOPPING STOPPED ERRORHANDLING ERRORRESOLVED"
        ),
    },
    OpMode: {
        0x00: "HRT SRT NRT",
    },
    Scope: {
        0x00: "INITIALIZATION_RUN_NRT INITIALIZATION RUN_NRT",
    },
    TransportProtocol: {
        0x00: "UDP_IPv4 BLUETOOTH CAN USB2 TCP_IPv4",
    },
    LogLevel: {
        0x00: "FATAL ERROR WARNING INFORMATION DEBUG",
    },
    LogMode: {
        0x00: "NONE ON_REQUEST ON_NOTIFICATION",
    },
    DataType: {
        0x00: "uint8 uint16 uint32 uint64 int8 int16 int32 int64 float32 float64 string binary",
    },
    ErrorCode: {
        0x0000: "NONE",
        0x1001: (
            "PROTOCOL_ERROR_GENERIC PROTOCOL_ERROR_HEARTBEAT_MISSED "
            "PROTOCOL_ERROR_PDU_NOT_ALLOWED_IN_THIS_STATE PROTOCOL_ERROR_PROPERTY_VIOLATED "
            "PROTOCOL_ERROR_STATE_TRANSITION_IN_PROGRESS"
        ),
        0x2001: (
            "INVALID_LENGTH INVALID_LOG_CATEGORY INVALID_LOG_LEVEL INVALID_LOG_MODE "
            "INVALID_MAJOR_VERSION INVALID_MINOR_VERSION INVALID_NETWORK_INFORMATION "
            "INVALID_OP_MODE INVALID_PAYLOAD INVALID_SCOPE INVALID_SOURCE_DATA_TYPE "
            "INVALID_START_TIME INVALID_STATE_ID INVALID_STEPS INVALID_TIME_RESOLUTION "
            "INVALID_TRANSPORT_PROTOCOL INVALID_UUID INVALID_VALUE_REFERENCE INVALID_SEQUENCE_ID"
        ),
        0x3001: (
            "INCOMPLETE_CONFIG_GAP_INPUT_POS INCOMPLETE_CONFIG_GAP_OUTPUT_POS "
            "INCOMPLETE_CONFIG_GAP_TUNABLE_POS INCOMPLETE_CONFIG_NW_INFO_INPUT "
            "INCOMPLETE_CONFIG_NW_INFO_OUTPUT INCOMPLETE_CONFIG_NW_INFO_TUNABLE "
            "INCOMPLETE_CONFIG_SCOPE INCOMPLETE_CONFIG_STEPS INCOMPLETE_CONFIG_TIME_RESOLUTION "
            "INCOMPLETE_CONFIGURATION"
        ),
        0x4001: (
            "NOT_SUPPORTED_LOG_ON_NOTIFICATION NOT_SUPPORTED_LOG_ON_REQUEST "
            "NOT_SUPPORTED_VARIABLE_STEPS NOT_SUPPORTED_TRANSPORT_PROTOCOL NOT_SUPPORTED_PDU "
            "NOT_SUPPORTED_PDU_SIZE"
        ),
    },
}
#: Bytes of each type of PDU up to its variable part; a plus: it has one.
SIZES = {
    "STC_register": "24",
    "STC_deregister": "5",
    "STC_prepare": "5",
    "STC_configure": "5",
    "STC_initialize": "5",
    "STC_run": "13",
    "STC_do_step": "9",
    "STC_send_outputs": "5",
    "STC_stop": "5",
    "STC_reset": "5",
    "CFG_time_res": "12",
    "CFG_steps": "10",
    "CFG_input": "17",
    "CFG_output": "16",
    "CFG_clear": "4",
    "CFG_target_network_information": "7+",
    "CFG_source_network_information": "7+",
    "CFG_parameter": "13+",
    "CFG_tunable_parameter": "17",
    "CFG_param_network_information": "7+",
    "CFG_logging": "7",
    "CFG_scope": "7",
    "INF_state": "4",
    "INF_error": "4",
    "INF_log": "6",
    "RSP_ack": "4",
    "RSP_nack": "8",
    "RSP_state_ack": "5",
    "RSP_error_ack": "6",
    "RSP_log_ack": "4+",
    "NTF_state_changed": "3",
    "NTF_log": "11+",
    "DAT_input_output": "5+",
    "DAT_parameter": "5+",
}


@pytest.mark.parametrize("kind", NUMBERS, ids=lambda kind: kind.__name__)
def test_members_have_the_numbers_of_the_standard(kind: type[IntEnum]) -> None:
    wanted = {
        name: first + index
        for first, names in NUMBERS[kind].items()
        for index, name in enumerate(names.split())
    }
    assert {member.name: member.value for member in kind} == wanted


def test_pdus_have_the_sizes_of_the_standard() -> None:
    found = {PduType(k).name: f"{v.size}{'+' if v.tail else ''}" for k, v in LAYOUTS.items()}
    assert found == SIZES
    assert (REQUEST_HEAD, STATE_CHANGE_HEAD) == (4, 5)
    assert (FIRST_CONFIGURATION, FIRST_INFORMATION) == (0x20, 0x80)
    for kind, layout in LAYOUTS.items():
        assert not layout.fits(layout.size - 1) and layout.fits(layout.size)
        assert layout.fits(layout.size + 1) == SIZES[PduType(kind).name].endswith("+")


def test_values_begin_at_nothing() -> None:
    """What a variable without a start value has: a number of its kind, or an empty text."""
    for kind in DataType:
        zero = {"string": "", "binary": b"", "float32": 0.0, "float64": 0.0}.get(kind.name, 0)
        assert (ZEROS[kind], type(ZEROS[kind])) == (zero, type(zero)), kind


def test_sizes_have_these_limits() -> None:
    assert (MAX_PDU_BYTES, USUAL_PDU_BYTES) == (16_777_216, 65_536)
    assert (MAX_FILE_BYTES, MAX_FRAME, MAX_WAITING_BYTES) == (16_777_216,) * 3
    assert (MAX_SOURCE, MAX_ELEMENTS, MAX_STEPS) == (16_000_000, 1000, 1_000_000)
    assert (MAX_DATAGRAM, MAX_DATAGRAMS, MAX_SEGMENTS, MAX_SEGMENT) == (65535, 64, 16, 1200)
    assert (READ_SIZE, _RECEIVE_BUFFER) == (65536, 1_048_576)
    assert (MAX_CONNECTIONS, MAX_LOG_ENTRIES, MAX_STORED) == (64, 10_000, 10_000)
    assert (MAX_ERROR_TEXT, ERROR_LOG_ID, DATA_CATEGORY.id) == (1000, 255, 254)


def test_times_are_so_long_unless_others_are_given() -> None:
    """In seconds."""

    def defaults(function: Callable[..., Any], *names: str) -> list[Any]:
        return [inspect.signature(function).parameters[name].default for name in names]

    assert defaults(Master, "timeout_s", "retry_s", "connect_wait_s", "data_wait_s") == [
        30.0, 0.1, 0.0, 0.2,
    ]  # fmt: skip
    assert defaults(verify_slave, "timeout_s") == [5.0]
    assert (SEND_TIMEOUT_S, CONNECT_TIMEOUT_S, SILENT_LIMIT_NS) == (10.0, 5.0, 10_000_000_000)
    assert (SUGGESTED_STEP, FMU_STEP, MODEL_STEP) == (0.01, Fraction(1, 100), Fraction(1, 1000))
    settings = CoSimulation.model_validate({"slaves": {"a": {"model": "m:M"}}, "steps": 0})
    assert (settings.timeout_s, settings.initialise, settings.mode) == (30.0, 1, "nrt")
    assert not settings.data_synchronisation and not settings.slaves["a"].process


def test_an_error_code_has_its_name_and_its_number() -> None:
    assert code_name(0x3006) == "INCOMPLETE_CONFIG_NW_INFO_TUNABLE (0x3006)"
    assert code_name(0x9999) == "error code 0x9999"
