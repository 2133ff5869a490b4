# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The binary protocol against a decoder that shares no code with it."""

from __future__ import annotations

import struct
import zlib
from math import inf, isnan, nan

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.vds_peer import STATE_FIELDS, pack_command, unpack_state

from ros2_cosim.core.kernel.errors import ConfigurationError, ProtocolError
from ros2_cosim.vds.vds1 import (
    SequenceFilter,
    decode_command,
    decode_state,
    encode_command,
    encode_state,
    is_newer,
)
from ros2_cosim.vds.vehicle_plant import PlantState, VehicleCommand, VehiclePlant
from ros2_cosim.world.vehicle import SEDAN

FINITE = st.floats(allow_nan=False, allow_infinity=False)
COMMANDS = st.builds(
    VehicleCommand,
    *(FINITE, FINITE, FINITE),
    gear=st.integers(-(2**31), 2**31 - 1),
    handbrake=st.booleans(),
    acceleration=FINITE,
    speed=FINITE,
)
FOUR = st.tuples(FINITE, FINITE, FINITE, FINITE)
STATES = st.builds(PlantState, *[FINITE] * 14, FOUR, FINITE, FINITE, FOUR)


def test_a_command_is_these_bytes() -> None:
    command = VehicleCommand(0.25, 0.5, 0.125, -1, True, 1.5, 20.0)
    assert encode_command(7, 2.5, command).hex() == (
        "31534456"  # magic
        "0100"  # version
        "0100"  # type
        "07000000"  # sequence number
        "00000000"  # padding
        "0000000000000440"  # time stamp
        "000000000000d03f"  # steer
        "000000000000e03f"  # throttle
        "000000000000c03f"  # brake
        "ffffffff"  # gear
        "01000000"  # hand brake, padding
        "000000000000f83f"  # acceleration
        "0000000000003440"  # speed
        "08ef6e25"  # checksum
    )


@given(st.integers(0, 2**32 - 1), FINITE, COMMANDS)
def test_commands_of_the_other_side_are_understood(
    seq: int, timestamp: float, command: VehicleCommand
) -> None:
    c = command
    data = pack_command(
        seq,
        *(c.steer, c.throttle, c.brake, c.gear, int(c.handbrake), c.acceleration, c.speed),
        timestamp=timestamp,
    )
    assert encode_command(seq, timestamp, command) == data
    assert decode_command(data) == (seq, timestamp, command)


def test_advisory_values_may_be_missing() -> None:
    command = decode_command(pack_command(1, throttle=0.5)).command
    assert isnan(command.acceleration) and isnan(command.speed)


@given(st.integers(0, 2**32 - 1), FINITE, STATES)
def test_states_are_understood_by_the_other_side(
    seq: int, timestamp: float, state: PlantState
) -> None:
    data = encode_state(seq, timestamp, state)
    seen = unpack_state(data)
    assert (seen["seq"], seen["timestamp"]) == (seq, timestamp)
    flat = [*state[:14], *state.wheel_spin, state.steer, state.wheel_radius, *state.wheel_load]
    assert [seen[name] for name in STATE_FIELDS] == flat
    assert decode_state(data) == (seq, timestamp, state)


def test_the_sequence_number_wraps() -> None:
    assert decode_command(encode_command(2**32 + 5, 0.0, VehicleCommand())).seq == 5


VALID = pack_command(3, 0.1, 0.2, 0.3)


@given(st.integers(0, 75), st.integers(1, 255))
def test_no_changed_byte_goes_unnoticed(place: int, change: int) -> None:
    data = bytearray(VALID)
    data[place] ^= change
    with pytest.raises(ProtocolError):
        decode_command(bytes(data))


@given(st.binary(max_size=600))
def test_garbage_is_refused(data: bytes) -> None:
    for decode in (decode_command, decode_state):
        with pytest.raises(ProtocolError):
            decode(data)


def sealed(body: bytes) -> bytes:
    return body + struct.pack("<L", zlib.crc32(body))


@given(st.binary(min_size=72, max_size=72))
def test_a_right_checksum_does_not_save_a_wrong_packet(body: bytes) -> None:
    with pytest.raises(ProtocolError):
        decode_command(sealed(body))


@pytest.mark.parametrize(
    ("place", "bytes_", "text"),
    [
        (0, b"\0", "magic"),
        (4, b"\2", "version 2; allowed is 1"),
        (6, b"\2", "type 2; allowed is 1"),
        (12, b"\1", "padding"),
        (16, struct.pack("<d", inf), "time stamp"),
        (24, struct.pack("<d", nan), "finite"),
        (40, struct.pack("<d", inf), "finite"),
        (52, b"\2", "hand brake"),
        (55, b"\1", "padding"),
    ],
)
def test_wrong_fields_are_named(place: int, bytes_: bytes, text: str) -> None:
    body = bytearray(VALID[:72])
    body[place : place + len(bytes_)] = bytes_
    with pytest.raises(ProtocolError, match=text):
        decode_command(sealed(bytes(body)))


def test_a_state_that_is_no_number_is_refused() -> None:
    state = VehiclePlant(SEDAN).state()
    with pytest.raises(ProtocolError, match="finite"):
        decode_state(encode_state(0, 0.0, state._replace(wheel_load=(0.0, nan, 0.0, 0.0))))


def test_a_command_that_no_receiver_accepts_is_not_sent() -> None:
    with pytest.raises(ConfigurationError, match="finite"):
        encode_command(0, 0.0, VehicleCommand(steer=nan))
    with pytest.raises(ConfigurationError, match="gear"):
        encode_command(0, 0.0, VehicleCommand(gear=2**31))
    with pytest.raises(ConfigurationError, match="time stamp"):
        encode_command(0, inf, VehicleCommand())


@given(st.integers(0, 2**32 - 1), st.integers(1, 2**31 - 1))
def test_newer_holds_over_the_wrap(last: int, ahead: int) -> None:
    following = (last + ahead) % 2**32
    assert is_newer(following, last)
    assert not is_newer(last, following)
    assert not is_newer(last, last)


@given(st.lists(st.integers(0, 20), min_size=1))
def test_the_filter_lets_only_rising_numbers_through(numbers: list[int]) -> None:
    kept = SequenceFilter()
    through = [n for n in numbers if kept.accept(n)]
    assert through == sorted(set(through))
    assert through[0] == numbers[0]
    assert max(through) == max(numbers)
    assert kept.dropped == len(numbers) - len(through)
    kept.forget()
    assert kept.accept(0)
