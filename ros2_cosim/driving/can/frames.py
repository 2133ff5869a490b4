# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""CAN and CAN FD frames, bit by bit: fields, CRC, stuff bits, and which bits are fast.

Fields of frames: torvalds/linux, commit 10711b11, include/linux/can/length.h. CRC and stuff bits of
classical frames: linux-can/can-utils, commit 95aae6bf, canframelen.c. CRC, stuff count and fixed
stuff bits of FD frames (ISO 11898-1): pierremolinaro/codes-can, commit 3d3fb704,
codes-de-calcul-canfd/CANFDFrameGenerator.h.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Final, NamedTuple

from ros2_cosim.core.kernel.errors import ConfigurationError

#: Bytes that an FD frame may carry, by its data length code.
FD_LENGTHS: Final = (0, 1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 20, 24, 32, 48, 64)
#: Bits between two frames.
INTERMISSION: Final = 3
#: Equal bits after which a stuff bit follows.
STUFF_WIDTH: Final = 5
_CLASSIC_LONGEST: Final = 8
_BASE_BITS, _EXTENSION_BITS = 11, 18
#: Longest FD frame with the shorter CRC [bytes].
_SHORT_CRC_LONGEST: Final = 16
_CRC15, _CRC17, _CRC21 = (15, 0x4599, 0), (17, 0x1685B, 1 << 16), (21, 0x102899, 1 << 20)
#: Stuff bits modulo 8 as a Gray code, with its parity.
_STUFF_COUNT: Final = (0b0000, 0b0011, 0b0110, 0b0101, 0b1100, 0b1111, 0b1010, 0b1001)
#: Bits of the CRC between two fixed stuff bits.
_FIXED_STUFF: Final = 4
_END_OF_FRAME: Final = 7


class BusFrame(NamedTuple):
    """A frame. ``error_passive`` is the error state indicator of an FD frame; ``requested`` the
    number of bytes that a remote frame asks for.
    """

    id: int
    extended: bool = False
    remote: bool = False
    fd: bool = False
    bit_rate_switch: bool = False
    error_passive: bool = False
    data: bytes = b""
    requested: int = 0


class WireFrame(NamedTuple):
    """The bits of a frame on the bus, from its start to its end without intermission.

    ``bits`` has a byte for each bit, 0 being dominant. Bits ``fast[0]`` to ``fast[1] - 1`` have
    the data bit rate. Up to ``stuffed`` a stuff bit follows five equal bits; ``acknowledge`` is the
    index of the acknowledge slot; ``format`` that of the bit which says that it is an FD frame.
    """

    bits: bytes
    fast: tuple[int, int]
    stuffed: int
    acknowledge: int
    format: int
    stuff_bits: int
    crc: int

    def fast_bits(self, count: int) -> int:
        """How many of the first bits have the data bit rate."""
        begin, end = self.fast
        return min(max(count, begin), end) - begin


def check_frame(frame: BusFrame, where: str) -> None:
    """Check whether there is such a frame.

    :raises ConfigurationError: there is not
    """
    highest = (1 << (_BASE_BITS + _EXTENSION_BITS if frame.extended else _BASE_BITS)) - 1
    if not 0 <= frame.id <= highest:
        kind = "29" if frame.extended else "11"
        raise ConfigurationError(
            f"{where}: found identifier {frame.id:#x} of {kind} bits; allowed is 0 to {highest:#x}"
        )
    length = len(frame.data)
    if frame.fd:
        if frame.remote or length not in FD_LENGTHS:
            found = "a remote FD frame" if frame.remote else f"an FD frame of {length} bytes"
            lengths = ", ".join(map(str, FD_LENGTHS))
            raise ConfigurationError(
                f"{where}: found {found}; allowed are data frames of {lengths} bytes"
            )
    elif length > _CLASSIC_LONGEST or (frame.remote and frame.data):
        raise ConfigurationError(
            f"{where}: found a {'remote' if frame.remote else 'classical'} frame of {length} bytes;"
            f" allowed are {'none' if frame.remote else f'up to {_CLASSIC_LONGEST}'}"
        )
    elif frame.bit_rate_switch or not 0 <= frame.requested <= _CLASSIC_LONGEST:
        raise ConfigurationError(
            f"{where}: found a classical frame with a bit rate switch, or that asks for "
            f"{frame.requested} bytes; allowed are frames without, for up to {_CLASSIC_LONGEST}"
        )


def priority(frame: BusFrame) -> tuple[int, int, int, int]:
    """What decides the arbitration: the lowest wins, bit by bit from the first one."""
    if not frame.extended:
        return frame.id, int(frame.remote), 0, 0
    return frame.id >> _EXTENSION_BITS, 1, 1, _extension(frame) << 1 | frame.remote


@lru_cache(maxsize=4096)
def on_wire(frame: BusFrame) -> WireFrame:
    """The bits of a frame that :func:`check_frame` allows."""
    head = _Bits()
    head.number(0, 1)  # start of frame
    if frame.extended:
        head.number(frame.id >> _EXTENSION_BITS, _BASE_BITS)
        head.number(0b11, 2)  # substitute remote request, identifier extension
        head.number(_extension(frame), _EXTENSION_BITS)
        head.number(frame.remote, 1)
    else:
        head.number(frame.id, _BASE_BITS)
        head.number(frame.remote, 1)
        head.number(0, 1)  # no identifier extension
    return _fd(frame, head) if frame.fd else _classical(frame, head)


def _extension(frame: BusFrame) -> int:
    return frame.id & ((1 << _EXTENSION_BITS) - 1)


class _Bits(list[int]):
    def number(self, value: int, width: int) -> None:
        """Append a number, its highest bit first."""
        self.extend(value >> shift & 1 for shift in range(width - 1, -1, -1))


def _crc(bits: Iterable[int], kind: tuple[int, int, int]) -> int:
    width, polynomial, value = kind
    mask = (1 << width) - 1
    for bit in bits:
        carry = value >> (width - 1) ^ bit
        value = value << 1 & mask
        if carry:
            value ^= polynomial
    return value


def _stuffed(bits: list[int], *, last_too: bool) -> tuple[_Bits, list[int]]:
    """Bits with their stuff bits, and the places of those.

    :param last_too: whether a stuff bit may follow the last bit
    """
    found, places = _Bits(), []
    last, run = -1, 0
    for index, bit in enumerate(bits):
        run = run + 1 if bit == last else 1
        last = bit
        found.append(bit)
        if run == STUFF_WIDTH and (last_too or index + 1 < len(bits)):
            places.append(len(found))
            last, run = 1 - bit, 1
            found.append(last)
    return found, places


def _classical(frame: BusFrame, bits: _Bits) -> WireFrame:
    bits.number(0, 1 + frame.extended)  # reserved
    bits.number(frame.requested if frame.remote else len(frame.data), 4)
    for byte in frame.data:
        bits.number(byte, 8)
    crc = _crc(bits, _CRC15)
    bits.number(crc, _CRC15[0])
    wire, places = _stuffed(bits, last_too=True)
    stuffed = len(wire)
    wire += (1, 0, 1, *[1] * _END_OF_FRAME)  # CRC delimiter, acknowledge slot and delimiter
    return WireFrame(bytes(wire), (0, 0), stuffed, stuffed + 1, 0, len(places), crc)


def _fd(frame: BusFrame, bits: _Bits) -> WireFrame:
    form = len(bits)
    bits.number(0b10, 2)  # FD format, reserved
    switch = len(bits)
    bits.number(frame.bit_rate_switch, 1)
    bits.number(frame.error_passive, 1)
    bits.number(FD_LENGTHS.index(len(frame.data)), 4)
    for byte in frame.data:
        bits.number(byte, 8)
    wire, places = _stuffed(bits, last_too=False)
    stuffed = len(wire)
    count = _Bits()
    count.number(_STUFF_COUNT[len(places) % 8], 4)
    kind = _CRC17 if len(frame.data) <= _SHORT_CRC_LONGEST else _CRC21
    crc = _crc([*wire, *count], kind)
    check = _Bits(count)
    check.number(crc, kind[0])
    for start in range(0, len(check), _FIXED_STUFF):
        wire.append(1 - wire[-1])
        wire += check[start : start + _FIXED_STUFF]
    wire.append(1)  # CRC delimiter
    # The rate changes within two bits, at the same share of both: one of them counts as fast.
    fast = (_behind(switch, places), len(wire)) if frame.bit_rate_switch else (0, 0)
    acknowledge = len(wire)
    wire += (0, 1, *[1] * _END_OF_FRAME)
    return WireFrame(
        bytes(wire), fast, stuffed, acknowledge, _behind(form, places) - 1, len(places), crc
    )


def _behind(index: int, stuff_places: list[int]) -> int:
    """Where the bit behind one of the unstuffed bits lies on the wire, its stuff bit aside."""
    place = index + 1
    for stuff in stuff_places:
        if stuff >= place:
            break
        place += 1
    return place
