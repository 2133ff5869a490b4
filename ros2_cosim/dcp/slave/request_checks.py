# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Checks of a request before its meaning: support, length, state, state_id."""

from __future__ import annotations

from ros2_cosim.dcp.slave.configuration import Configuration, address_length
from ros2_cosim.dcp.standard.enums import ErrorCode, OpMode, PduType, State
from ros2_cosim.dcp.standard.pdu import LAYOUTS
from ros2_cosim.dcp.standard.slave_description import Capabilities
from ros2_cosim.dcp.standard.states import ALLOWED, ERROR, RUN, TRANSIENT

_P = PduType
ALLOWED_BY_NUMBER = {int(kind): states for kind, states in ALLOWED.items()}
_NETWORK_PART = {_P.CFG_target_network_information: 0, _P.CFG_source_network_information: 1}


def supported(kind: int, flags: Capabilities, mode: OpMode) -> bool:
    """Whether this slave supports the request in this mode."""
    if kind == _P.STC_do_step:
        return mode is OpMode.NRT
    if kind == _P.STC_reset:
        return flags.can_handle_reset
    if 0x20 <= kind < 0x80 and not flags.can_accept_config_pdus:
        return False
    if kind in (_P.CFG_logging, _P.INF_log):
        return flags.can_provide_log_on_request or flags.can_provide_log_on_notification
    return True


def length_fits(kind: int, data: bytes, configuration: Configuration) -> bool:
    """Whether the PDU has exactly the length that its type and its fields demand."""
    layout = LAYOUTS[kind]
    if not layout.fits(len(data)):
        return False
    if layout.tail == "address":
        length = address_length(data[6], _NETWORK_PART.get(PduType(kind), 2))
        return length is None or len(data) == layout.size + length
    if kind == _P.CFG_parameter:
        _, _, _, vr, source = layout.packer.unpack_from(data)
        exact = configuration.parameter_length(vr, source)
        return exact is None or len(data) == layout.size + exact
    return True


def state_code(kind: int, data: bytes, state: State, busy: bool) -> ErrorCode:
    """Whether the request is allowed in this state, and for STC whether state_id agrees.

    :param busy: a callback of the model is running; in the error states that is not a transition
        which a request has begun
    """
    is_stc = kind < 0x20
    free = kind == _P.STC_stop or (kind == _P.STC_run and state in RUN) or state in ERROR
    if busy and is_stc and not free:
        return ErrorCode.PROTOCOL_ERROR_STATE_TRANSITION_IN_PROGRESS
    if state not in ALLOWED_BY_NUMBER[kind]:
        if is_stc and state in TRANSIENT:
            return ErrorCode.PROTOCOL_ERROR_STATE_TRANSITION_IN_PROGRESS
        return ErrorCode.PROTOCOL_ERROR_PDU_NOT_ALLOWED_IN_THIS_STATE
    if is_stc and data[4] != state:
        return ErrorCode.INVALID_STATE_ID
    return ErrorCode.NONE
