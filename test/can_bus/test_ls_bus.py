# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Operations of FMI-LS-BUS: there and back, the bytes of its headers, and strange ones."""

from __future__ import annotations

import pytest
from can_bus.test_frames import frames
from hypothesis import given
from hypothesis import strategies as st

from ros2_cosim.driving.can.confinement import ErrorState, FrameError
from ros2_cosim.driving.can.frames import BusFrame
from ros2_cosim.driving.can.ls_bus import (
    ArbitrationLost,
    BusConfiguration,
    BusError,
    Confirm,
    FormatError,
    NodeStatus,
    Operation,
    Transmit,
    WakeUp,
    decoded,
    encoded,
)

IDS = st.integers(0, 0x1FFFFFFF)
RATES = st.integers(1, 2**32 - 1)
OPERATIONS: st.SearchStrategy[Operation] = st.one_of(
    # A remote frame of FMI-LS-BUS does not say for how many bytes it asks.
    frames().map(lambda frame: Transmit(frame._replace(requested=0))),
    st.builds(Confirm, IDS),
    st.builds(ArbitrationLost, IDS),
    st.builds(BusError, IDS, st.sampled_from(list(FrameError)[1:]), st.booleans(), st.booleans()),
    RATES.map(lambda rate: BusConfiguration(bit_rate=rate)),
    RATES.map(lambda rate: BusConfiguration(fd_bit_rate=rate)),
    st.booleans().map(lambda keep: BusConfiguration(keep_lost=keep)),
    st.builds(NodeStatus, st.sampled_from(ErrorState)),
    st.builds(WakeUp),
    st.builds(FormatError, st.binary(max_size=40)),
)


@given(st.lists(OPERATIONS, max_size=5))
def test_operations_come_back(operations: list[Operation]) -> None:
    assert list(decoded(encoded(operations))) == operations


@given(st.binary(max_size=60))
def test_any_bytes_are_read_without_an_error(data: bytes) -> None:
    for operation in decoded(data):
        assert operation is not None


@given(st.lists(OPERATIONS, min_size=1, max_size=3), st.data())
def test_a_changed_byte_gives_operations_or_format_errors(
    operations: list[Operation], data: st.DataObject
) -> None:
    content = bytearray(encoded(operations))
    content[data.draw(st.integers(0, len(content) - 1))] ^= data.draw(st.integers(1, 255))
    list(decoded(bytes(content)))


@pytest.mark.parametrize(
    ("operation", "content"),
    [
        # What programs made of fmi3LsBusCan.h write: packed structures, little-endian.
        (
            Transmit(BusFrame(1, data=b"\1\2\3\4")),
            "10000000 14000000 01000000 00 00 0400 01020304",
        ),
        (
            Transmit(BusFrame(0x1234567, True, fd=True, bit_rate_switch=True, data=b"\xff")),
            "11000000 12000000 67452301 01 01 00 0100 ff",
        ),
        (Confirm(1), "20000000 0c000000 01000000"),
        (BusError(1, FrameError.ACKNOWLEDGE, True, True), "31000000 0f000000 01000000 05 01 01"),
        (BusConfiguration(bit_rate=100_000), "40000000 0d000000 01 a0860100"),
        (BusConfiguration(keep_lost=True), "40000000 0a000000 04 01"),
        (NodeStatus(ErrorState.BUS_OFF), "41000000 09000000 03"),
        (WakeUp(), "42000000 08000000"),
    ],
)
def test_the_bytes_are_those_of_the_headers(operation: Operation, content: str) -> None:
    assert encoded([operation]) == bytes.fromhex(content)


@pytest.mark.parametrize(
    "content",
    [
        "10000000 13000000 01000000 00 00 0400 010203",  # less data than it says
        "10000000 10000000 01000000 02 00 0000",  # no truth value
        "31000000 0f000000 01000000 09 01 01",  # no error code
        "40000000 0d000000 01 00000000",  # no bit rate
        "12000000 16000000 01000000 00 00 00 00 00000000 0000",  # CAN XL
        "41000000 09000000 07",
        "ff000000 08000000",
        "10000000 ff000000",  # longer than the buffer
        "100000",
    ],
)
def test_what_is_not_understood_is_a_format_error_with_its_bytes(content: str) -> None:
    data = bytes.fromhex(content)
    assert list(decoded(data)) == [FormatError(data)]
