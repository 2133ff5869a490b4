# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""VDS1: commands to a vehicle simulator and its states as binary datagrams.

Layout, little-endian, without gaps (docs/vds.md has it as a table of bytes): header of 24 bytes
(magic, version, type, sequence number, padding, time stamp), payload of 48 (command) or 192 bytes
(state), CRC-32 (IEEE 802.3) over all bytes before it. Any other datagram is refused and
has no effect on a receiver.
"""

from __future__ import annotations

import struct
import zlib
from math import isfinite
from typing import NamedTuple

from ros2_cosim.core.kernel.errors import ConfigurationError, ProtocolError
from ros2_cosim.core.kernel.time import SECOND
from ros2_cosim.vds.fleet import state_bytes, state_from_bytes
from ros2_cosim.vds.vehicle_plant import PlantState, VehicleCommand

MAGIC = 0x56445331
VERSION = 1
COMMAND_TYPE = 1
STATE_TYPE = 2
HEADER_SIZE = 24
COMMAND_SIZE = 76
STATE_SIZE = 220

_HEADER = struct.Struct("<IHHIId")
_COMMAND = struct.Struct("<dddiB3sdd")
_CRC = struct.Struct("<I")
_SEQUENCE = 2**32
_MAX_GEAR = 2**31 - 1
_NO_PADDING = b"\0\0\0"


class CommandPacket(NamedTuple):
    """A command with the sender's sequence number and its clock [s]."""

    seq: int
    timestamp: float
    command: VehicleCommand


class StatePacket(NamedTuple):
    """A state with the sender's sequence number and the simulated time of the state [s]."""

    seq: int
    timestamp: float
    state: PlantState


def encode_command(seq: int, timestamp: float, command: VehicleCommand) -> bytes:
    """The 76 bytes of a command.

    :param seq: sequence number, taken modulo 2^32
    :param timestamp: clock of the sender [s]
    :raises ConfigurationError: a receiver would not accept a value
    """
    c = command
    if not (isfinite(c.steer) and isfinite(c.throttle) and isfinite(c.brake)):
        raise ConfigurationError(f"command {c!r}: steer and pedals must be finite")
    if not -_MAX_GEAR - 1 <= c.gear <= _MAX_GEAR:
        raise ConfigurationError(f"command {c!r}: gear must fit into 32 bits")
    payload = _COMMAND.pack(
        c.steer,
        c.throttle,
        c.brake,
        c.gear,
        1 if c.handbrake else 0,
        _NO_PADDING,
        c.acceleration,
        c.speed,
    )
    return _sealed(COMMAND_TYPE, seq, timestamp, payload)


def encode_state(seq: int, timestamp: float, state: PlantState) -> bytes:
    """The 220 bytes of a state.

    :param seq: sequence number, taken modulo 2^32
    :param timestamp: simulated time of the state [s]
    """
    return _sealed(STATE_TYPE, seq, timestamp, state_bytes(state))


def decode_command(data: bytes) -> CommandPacket:
    """Read a command.

    :raises ProtocolError: the datagram is not a valid command; the text gives the reason
    """
    seq, timestamp = _opened(data, COMMAND_TYPE, COMMAND_SIZE, "command")
    steer, throttle, brake, gear, handbrake, padding, acceleration, speed = _COMMAND.unpack_from(
        data, HEADER_SIZE
    )
    if padding != _NO_PADDING or handbrake > 1:
        raise ProtocolError("VDS1 command: hand brake is not 0 or 1, or its padding is not 0")
    if not (isfinite(steer) and isfinite(throttle) and isfinite(brake)):
        raise ProtocolError("VDS1 command: steer or a pedal is not finite")
    command = VehicleCommand(steer, throttle, brake, gear, handbrake == 1, acceleration, speed)
    return CommandPacket(seq, timestamp, command)


def decode_state(data: bytes) -> StatePacket:
    """Read a state.

    :raises ProtocolError: the datagram is not a valid state; the text gives the reason
    """
    seq, timestamp = _opened(data, STATE_TYPE, STATE_SIZE, "state")
    state = state_from_bytes(data, HEADER_SIZE)
    if not all(map(isfinite, (*state[:14], *state.wheel_spin, *state[15:17], *state.wheel_load))):
        raise ProtocolError("VDS1 state: a value is not finite")
    return StatePacket(seq, timestamp, state)


def to_timestamp(time: int) -> float:
    """Simulated time [ns] as a packet has it [s]; exact to the nanosecond for months."""
    return time / SECOND


def is_newer(seq: int, last: int) -> bool:
    """Whether a sequence number follows another one, over the wrap at 2^32 (RFC 1982)."""
    return 0 < (seq - last) % _SEQUENCE < _SEQUENCE // 2


class SequenceFilter:
    """Accepts packets of one stream that are newer than all former ones.

    ``dropped`` counts the others: late, repeated, or overtaken by a newer one.
    """

    def __init__(self) -> None:
        self.last: int | None = None
        self.dropped = 0

    def accept(self, seq: int) -> bool:
        """Whether a packet is new; remembers it if so."""
        if self.last is not None and not is_newer(seq, self.last):
            self.dropped += 1
            return False
        self.last = seq
        return True

    def forget(self) -> None:
        """Accept any next number: the stream was silent and may start again."""
        self.last = None


def _sealed(kind: int, seq: int, timestamp: float, payload: bytes) -> bytes:
    if not isfinite(timestamp):
        raise ConfigurationError(f"VDS1 packet: time stamp {timestamp!r} is not finite")
    body = _HEADER.pack(MAGIC, VERSION, kind, seq % _SEQUENCE, 0, timestamp) + payload
    return body + _CRC.pack(zlib.crc32(body))


def _opened(data: bytes, kind: int, size: int, name: str) -> tuple[int, float]:
    """Sequence number and time stamp of a complete datagram of the expected type."""
    if len(data) != size:
        raise ProtocolError(f"VDS1 {name}: found {len(data)} bytes; allowed are {size}")
    magic, version, found_kind, seq, padding, timestamp = _HEADER.unpack_from(data)
    if magic != MAGIC:
        raise ProtocolError(f"VDS1 {name}: found magic {magic:#010x}; allowed is {MAGIC:#010x}")
    if version != VERSION:
        raise ProtocolError(f"VDS1 {name}: found version {version}; allowed is {VERSION}")
    if found_kind != kind:
        raise ProtocolError(f"VDS1 {name}: found type {found_kind}; allowed is {kind}")
    if _CRC.unpack_from(data, size - 4)[0] != zlib.crc32(data[: size - 4]):
        raise ProtocolError(f"VDS1 {name}: the checksum is wrong")
    if padding or not isfinite(timestamp):
        raise ProtocolError(f"VDS1 {name}: padding is not 0, or the time stamp is not finite")
    return seq, timestamp
