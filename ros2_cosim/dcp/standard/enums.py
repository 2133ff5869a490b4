# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The enumerations of DCP 1.0: PDU types, states, modes, error codes, data types."""

from __future__ import annotations

from enum import IntEnum


class PduType(IntEnum):
    """First byte of every PDU."""

    STC_register = 0x01
    STC_deregister = 0x02
    STC_prepare = 0x03
    STC_configure = 0x04
    STC_initialize = 0x05
    STC_run = 0x06
    STC_do_step = 0x07
    STC_send_outputs = 0x08
    STC_stop = 0x09
    STC_reset = 0x0A
    CFG_time_res = 0x20
    CFG_steps = 0x21
    CFG_input = 0x22
    CFG_output = 0x23
    CFG_clear = 0x24
    CFG_target_network_information = 0x25
    CFG_source_network_information = 0x26
    CFG_parameter = 0x27
    CFG_tunable_parameter = 0x28
    CFG_param_network_information = 0x29
    CFG_logging = 0x2A
    CFG_scope = 0x2B
    INF_state = 0x80
    INF_error = 0x81
    INF_log = 0x82
    RSP_ack = 0xB0
    RSP_nack = 0xB1
    RSP_state_ack = 0xB2
    RSP_error_ack = 0xB3
    RSP_log_ack = 0xB4
    NTF_state_changed = 0xE0
    NTF_log = 0xE1
    DAT_input_output = 0xF0
    DAT_parameter = 0xF1


class State(IntEnum):
    """The nineteen states of a slave."""

    ALIVE = 0x00
    CONFIGURATION = 0x01
    PREPARING = 0x02
    PREPARED = 0x03
    CONFIGURING = 0x04
    CONFIGURED = 0x05
    INITIALIZING = 0x06
    INITIALIZED = 0x07
    SENDING_I = 0x08
    SYNCHRONIZING = 0x09
    SYNCHRONIZED = 0x0A
    RUNNING = 0x0B
    COMPUTING = 0x0C
    COMPUTED = 0x0D
    SENDING_D = 0x0E
    STOPPING = 0x0F
    STOPPED = 0x10
    ERRORHANDLING = 0x11
    ERRORRESOLVED = 0x12


class OpMode(IntEnum):
    """Operating mode, chosen at registration."""

    HRT = 0
    SRT = 1
    NRT = 2


class Scope(IntEnum):
    """In which superstates a data PDU is exchanged."""

    INITIALIZATION_RUN_NRT = 0
    INITIALIZATION = 1
    RUN_NRT = 2


class TransportProtocol(IntEnum):
    """Value of the transport_protocol field."""

    UDP_IPv4 = 0
    BLUETOOTH = 1
    CAN = 2
    USB2 = 3
    TCP_IPv4 = 4


class LogLevel(IntEnum):
    """Severity of a log template."""

    FATAL = 0
    ERROR = 1
    WARNING = 2
    INFORMATION = 3
    DEBUG = 4


class LogMode(IntEnum):
    """What a slave does with log entries of a category and level."""

    NONE = 0
    ON_REQUEST = 1
    ON_NOTIFICATION = 2


class DataType(IntEnum):
    """Value of the source_data_type field; the names are those of log templates."""

    uint8 = 0x0
    uint16 = 0x1
    uint32 = 0x2
    uint64 = 0x3
    int8 = 0x4
    int16 = 0x5
    int32 = 0x6
    int64 = 0x7
    float32 = 0x8
    float64 = 0x9
    string = 0xA
    binary = 0xB


class ErrorCode(IntEnum):
    """Error codes of RSP_nack and RSP_error_ack."""

    NONE = 0x0000
    PROTOCOL_ERROR_GENERIC = 0x1001
    PROTOCOL_ERROR_HEARTBEAT_MISSED = 0x1002
    PROTOCOL_ERROR_PDU_NOT_ALLOWED_IN_THIS_STATE = 0x1003
    PROTOCOL_ERROR_PROPERTY_VIOLATED = 0x1004
    PROTOCOL_ERROR_STATE_TRANSITION_IN_PROGRESS = 0x1005
    INVALID_LENGTH = 0x2001
    INVALID_LOG_CATEGORY = 0x2002
    INVALID_LOG_LEVEL = 0x2003
    INVALID_LOG_MODE = 0x2004
    INVALID_MAJOR_VERSION = 0x2005
    INVALID_MINOR_VERSION = 0x2006
    INVALID_NETWORK_INFORMATION = 0x2007
    INVALID_OP_MODE = 0x2008
    INVALID_PAYLOAD = 0x2009
    INVALID_SCOPE = 0x200A
    INVALID_SOURCE_DATA_TYPE = 0x200B
    INVALID_START_TIME = 0x200C
    INVALID_STATE_ID = 0x200D
    INVALID_STEPS = 0x200E
    INVALID_TIME_RESOLUTION = 0x200F
    INVALID_TRANSPORT_PROTOCOL = 0x2010
    INVALID_UUID = 0x2011
    INVALID_VALUE_REFERENCE = 0x2012
    INVALID_SEQUENCE_ID = 0x2013
    INCOMPLETE_CONFIG_GAP_INPUT_POS = 0x3001
    INCOMPLETE_CONFIG_GAP_OUTPUT_POS = 0x3002
    INCOMPLETE_CONFIG_GAP_TUNABLE_POS = 0x3003
    INCOMPLETE_CONFIG_NW_INFO_INPUT = 0x3004
    INCOMPLETE_CONFIG_NW_INFO_OUTPUT = 0x3005
    INCOMPLETE_CONFIG_NW_INFO_TUNABLE = 0x3006
    INCOMPLETE_CONFIG_SCOPE = 0x3007
    INCOMPLETE_CONFIG_STEPS = 0x3008
    INCOMPLETE_CONFIG_TIME_RESOLUTION = 0x3009
    INCOMPLETE_CONFIGURATION = 0x300A
    NOT_SUPPORTED_LOG_ON_NOTIFICATION = 0x4001
    NOT_SUPPORTED_LOG_ON_REQUEST = 0x4002
    NOT_SUPPORTED_VARIABLE_STEPS = 0x4003
    NOT_SUPPORTED_TRANSPORT_PROTOCOL = 0x4004
    NOT_SUPPORTED_PDU = 0x4005
    NOT_SUPPORTED_PDU_SIZE = 0x4006


def code_name(code: int) -> str:
    """Name of an error code with its number, also of codes the table does not know."""
    try:
        return f"{ErrorCode(code).name} (0x{code:04X})"
    except ValueError:
        return f"error code 0x{code:04X}"
