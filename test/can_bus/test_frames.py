# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Frames have the bits that programs of others give them, and rules of their own."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.driving.can.frames import (
    FD_LENGTHS,
    INTERMISSION,
    BusFrame,
    check_frame,
    on_wire,
    priority,
)

VECTORS = [
    line.split()
    for line in (Path(__file__).parent / "can_vectors.txt").read_text().splitlines()
    if not line.startswith("#")
]


def data_of(text: str) -> bytes:
    return b"" if text == "-" else bytes.fromhex(text)


def test_classical_frames_have_the_length_that_can_utils_computes() -> None:
    vectors = [v for v in VECTORS if v[0] in ("classic", "remote")]
    assert len(vectors) == 150
    for kind, identifier, extended, data, bits in vectors:
        frame = BusFrame(
            int(identifier, 16), extended == "1", remote=kind == "remote", data=data_of(data)
        )
        assert len(on_wire(frame).bits) + INTERMISSION == int(bits), frame


def test_fd_frames_have_the_bits_that_another_generator_makes() -> None:
    vectors = [v for v in VECTORS if v[0] == "fd"]
    assert len(vectors) == 160
    for _, identifier, extended, switch, passive, data, bits, fast, stuff, crc in vectors:
        frame = BusFrame(
            int(identifier, 16),
            extended == "1",
            fd=True,
            bit_rate_switch=switch == "1",
            error_passive=passive == "1",
            data=data_of(data),
        )
        wire = on_wire(frame)
        found = (
            len(wire.bits) + INTERMISSION,
            wire.fast_bits(len(wire.bits)),
            wire.stuff_bits,
            f"{wire.crc:x}",
        )
        assert found == (int(bits), int(fast), int(stuff), crc), frame


@st.composite
def frames(draw: st.DrawFn) -> BusFrame:
    """Any frame that is allowed."""
    extended, fd = draw(st.booleans()), draw(st.booleans())
    identifier = draw(st.integers(0, 0x1FFFFFFF if extended else 0x7FF))
    if fd:
        length = draw(st.sampled_from(FD_LENGTHS))
        data = draw(st.binary(min_size=length, max_size=length))
        flags = draw(st.booleans()), draw(st.booleans())
        return BusFrame(identifier, extended, False, True, *flags, data)
    if draw(st.booleans()):
        return BusFrame(identifier, extended, remote=True, requested=draw(st.integers(0, 8)))
    return BusFrame(identifier, extended, data=draw(st.binary(max_size=8)))


@given(frames())
def test_no_six_equal_bits_where_bits_are_stuffed(frame: BusFrame) -> None:
    check_frame(frame, "frame")
    wire = on_wire(frame)
    stuffed = wire.bits[: wire.stuffed]
    assert b"\0" * 6 not in stuffed and b"\1" * 6 not in stuffed
    assert wire.bits[-7:] == b"\1" * 7 and wire.bits[wire.acknowledge] == 0


@given(frames(), frames())
def test_arbitration_is_that_of_the_bits(first: BusFrame, second: BusFrame) -> None:
    """The frame whose bit is dominant where both first differ wins."""
    if priority(first) == priority(second):
        return
    pairs = zip(on_wire(first).bits, on_wire(second).bits, strict=False)
    winner = next(a < b for a, b in pairs if a != b)
    assert winner == (priority(first) < priority(second))


@pytest.mark.parametrize(
    ("frame", "found"),
    [
        (BusFrame(0x800), "identifier 0x800 of 11 bits; allowed is 0 to 0x7ff"),
        (BusFrame(1 << 29, True), "identifier 0x20000000 of 29 bits"),
        (BusFrame(1, data=bytes(9)), "a classical frame of 9 bytes; allowed are up to 8"),
        (BusFrame(1, remote=True, data=b"1"), "a remote frame of 1 bytes; allowed are none"),
        (
            BusFrame(1, fd=True, data=bytes(9)),
            "an FD frame of 9 bytes; allowed are data frames of 0,",
        ),
        (BusFrame(1, fd=True, remote=True), "a remote FD frame"),
        (BusFrame(1, bit_rate_switch=True), "with a bit rate switch"),
        (BusFrame(1, remote=True, requested=9), "asks for 9 bytes"),
    ],
)
def test_what_no_frame_is_gets_an_error(frame: BusFrame, found: str) -> None:
    with pytest.raises(ConfigurationError, match="bus: found") as error:
        check_frame(frame, "bus")
    assert found in str(error.value)
