# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Operations of FMI-LS-BUS for CAN, as FMUs exchange them in binary variables.

All of version 1.0.0 but frames of CAN XL: modelica/fmi-ls-bus, commit 9cf92599 (v1.3.0-beta.1,
whose CAN is 1.0.0), docs/4_4_1_can.adoc and headers/fmi3LsBusCan.h.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from ros2_cosim.driving.can.confinement import ErrorState, FrameError
from ros2_cosim.driving.can.frames import BusFrame

_HEADER: Final = struct.Struct("<II")
_FORMAT_ERROR, _TRANSMIT, _TRANSMIT_FD = 0x01, 0x10, 0x11
_CONFIRM, _ARBITRATION_LOST, _BUS_ERROR = 0x20, 0x30, 0x31
_CONFIGURATION, _STATUS, _WAKE_UP = 0x40, 0x41, 0x42
_BIT_RATE, _FD_BIT_RATE, _BEHAVIOUR = 1, 2, 4
_KEEP_LOST, _DISCARD_LOST = 1, 2
_CAN = struct.Struct("<IBBH")
_CAN_FD = struct.Struct("<IBBBH")
_ID = struct.Struct("<I")
_ERROR = struct.Struct("<IBBB")
_LENGTH = struct.Struct("<H")
_PRIMARY, _SECONDARY = 1, 2


class Transmit(NamedTuple):
    """A frame is to be sent, or has arrived."""

    frame: BusFrame


class Confirm(NamedTuple):
    """A frame of this identifier has arrived."""

    id: int


class ArbitrationLost(NamedTuple):
    """A frame of this identifier was discarded, for another one was more urgent."""

    id: int


class BusError(NamedTuple):
    """The frame of this identifier was destroyed."""

    id: int
    code: FrameError
    primary: bool
    sender: bool


class BusConfiguration(NamedTuple):
    """One setting for the bus; the others are None. Rates in bit/s."""

    bit_rate: int | None = None
    fd_bit_rate: int | None = None
    keep_lost: bool | None = None


class NodeStatus(NamedTuple):
    """The error state of a node."""

    state: ErrorState


class WakeUp(NamedTuple):
    """The bus wakes its nodes."""


class FormatError(NamedTuple):
    """An operation that was not understood."""

    data: bytes


Operation = (
    Transmit
    | Confirm
    | ArbitrationLost
    | BusError
    | BusConfiguration
    | NodeStatus
    | WakeUp
    | FormatError
)


def encoded(operations: Iterable[Operation]) -> bytes:
    """Operations one behind the other."""
    return b"".join(map(_encoded, operations))


def decoded(data: bytes) -> Iterator[Operation]:
    """The operations of a buffer.

    An operation that is not understood, or not known, gives a :class:`FormatError` with its bytes,
    which is how FMI-LS-BUS answers it; behind a wrong length nothing is read.
    """
    at = 0
    while at < len(data):
        rest = data[at:]
        length = _HEADER.unpack_from(rest)[1] if len(rest) >= _HEADER.size else 0
        if not _HEADER.size <= length <= len(rest):
            yield FormatError(rest[:0xFFFF])
            return
        yield _decoded(rest[:length])
        at += length


def _operation(code: int, content: bytes = b"") -> bytes:
    return _HEADER.pack(code, _HEADER.size + len(content)) + content


def _encoded(operation: Operation) -> bytes:
    # One line for each kind.
    match operation:
        case Transmit(frame) if frame.fd:
            flags = frame.extended, frame.bit_rate_switch, frame.error_passive
            head = _CAN_FD.pack(frame.id, *flags, len(frame.data))
            return _operation(_TRANSMIT_FD, head + frame.data)
        case Transmit(frame):
            head = _CAN.pack(frame.id, frame.extended, frame.remote, len(frame.data))
            return _operation(_TRANSMIT, head + frame.data)
        case Confirm(identifier):
            return _operation(_CONFIRM, _ID.pack(identifier))
        case ArbitrationLost(identifier):
            return _operation(_ARBITRATION_LOST, _ID.pack(identifier))
        case BusError(identifier, code, primary, sender):
            flag = _PRIMARY if primary else _SECONDARY
            return _operation(_BUS_ERROR, _ERROR.pack(identifier, code, flag, sender))
        case BusConfiguration(int() as rate):
            return _operation(_CONFIGURATION, bytes([_BIT_RATE]) + _ID.pack(rate))
        case BusConfiguration(None, int() as rate):
            return _operation(_CONFIGURATION, bytes([_FD_BIT_RATE]) + _ID.pack(rate))
        case BusConfiguration(_, _, keep):
            kind = _KEEP_LOST if keep else _DISCARD_LOST
            return _operation(_CONFIGURATION, bytes([_BEHAVIOUR, kind]))
        case NodeStatus(state):
            return _operation(_STATUS, bytes([state]))
        case WakeUp():
            return _operation(_WAKE_UP)
        case FormatError(data):
            return _operation(_FORMAT_ERROR, _LENGTH.pack(len(data)) + data)


def _decoded(data: bytes) -> Operation:
    code, _ = _HEADER.unpack_from(data)
    content = data[_HEADER.size :]
    try:
        operation = _content(code, content)
    except (struct.error, ValueError):
        operation = None
    return FormatError(data[:0xFFFF]) if operation is None else operation


def _content(code: int, content: bytes) -> Operation | None:
    """What an operation says; None: nothing that is known.

    :raises ValueError, struct.error: not what such an operation has
    """
    if code == _TRANSMIT:
        identifier, extended, remote, length = _CAN.unpack_from(content)
        data = _exactly(content[_CAN.size :], length)
        return Transmit(BusFrame(identifier, _boolean(extended), _boolean(remote), data=data))
    if code == _TRANSMIT_FD:
        identifier, extended, switch, passive, length = _CAN_FD.unpack_from(content)
        data = _exactly(content[_CAN_FD.size :], length)
        flags = _boolean(switch), _boolean(passive)
        return Transmit(BusFrame(identifier, _boolean(extended), False, True, *flags, data))
    if code == _CONFIRM:
        return Confirm(*_ID.unpack(content))
    if code == _ARBITRATION_LOST:
        return ArbitrationLost(*_ID.unpack(content))
    if code == _BUS_ERROR:
        identifier, what, flag, sender = _ERROR.unpack(content)
        if flag not in (_PRIMARY, _SECONDARY) or what == FrameError.NONE:
            return None
        return BusError(identifier, FrameError(what), flag == _PRIMARY, _boolean(sender))
    if code == _CONFIGURATION:
        return _configuration(content)
    if code == _STATUS:
        return NodeStatus(ErrorState(*_exactly(content, 1)))
    if code == _WAKE_UP and not content:
        return WakeUp()
    if code == _FORMAT_ERROR:
        return FormatError(_exactly(content[_LENGTH.size :], *_LENGTH.unpack_from(content)))
    return None


def _configuration(content: bytes) -> BusConfiguration | None:
    kind, value = content[:1], content[1:]
    if kind == bytes([_BIT_RATE]):
        return BusConfiguration(bit_rate=_rate(value))
    if kind == bytes([_FD_BIT_RATE]):
        return BusConfiguration(fd_bit_rate=_rate(value))
    if kind == bytes([_BEHAVIOUR]) and value in (bytes([_KEEP_LOST]), bytes([_DISCARD_LOST])):
        return BusConfiguration(keep_lost=value == bytes([_KEEP_LOST]))
    return None


def _rate(value: bytes) -> int:
    (rate,) = _ID.unpack(value)
    if rate == 0:
        raise ValueError("a bit rate of 0")
    return int(rate)


def _exactly(data: bytes, length: int) -> bytes:
    if len(data) != length:
        raise ValueError(f"{len(data)} bytes instead of {length}")
    return data


def _boolean(value: int) -> bool:
    if value not in (0, 1):
        raise ValueError(f"truth value {value}")
    return value == 1
