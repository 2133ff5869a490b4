# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The shape of a message on the wire, walked without a record class.

Writers leave arbitrary bytes in the gaps that alignment makes. Two runs with the same messages
then differ in bytes without meaning; :meth:`Layout.canonical` sets them to zero.
"""

from __future__ import annotations

import struct
from collections.abc import Callable

from ros2_cosim.core.kernel.errors import ProtocolError
from ros2_cosim.core.messages.cdr import ENCAPSULATION, MAX_BYTES, MAX_TRAILING
from ros2_cosim.core.messages.definitions import PRIMITIVES, SCALAR, SEQUENCE, Field

Lookup = Callable[[str], tuple[Field, ...]]
Walk = Callable[["_Body", int], int]

_LENGTH = struct.Struct("<I")


class _Body:
    """The bytes behind the encapsulation, and the gaps among them that are not zero."""

    __slots__ = ("data", "gaps", "size")

    def __init__(self, data: memoryview) -> None:
        self.data = data
        self.size = len(data)
        self.gaps: list[tuple[int, int]] = []


class Layout:
    """Where the fields of a message type lie (XCDR1, little endian).

    :param type_name: full name of a known type
    :param lookup: full type name -> its fields
    """

    def __init__(self, type_name: str, lookup: Lookup) -> None:
        self.type_name = type_name
        self._lookup = lookup
        self._known: dict[str, tuple[Walk, ...]] = {}
        self._walks = self._structure(type_name)

    def canonical(self, data: bytes | bytearray | memoryview) -> bytes:
        """The same message with zeros in its gaps and nothing behind its last field.

        :raises ProtocolError: the bytes are not such a message
        """
        if data[:2] != ENCAPSULATION[:2]:
            found = bytes(data[:4]).hex(" ") or "nothing"
            raise ProtocolError(
                f"{self.type_name}: starts with {found}; only little-endian CDR (00 01) is read"
            )
        if len(data) > MAX_BYTES:
            raise ProtocolError(
                f"{self.type_name}: message of {len(data)} bytes, at most {MAX_BYTES} are read"
            )
        body = _Body(memoryview(data)[4:])
        offset = 0
        try:
            for walk in self._walks:
                offset = walk(body, offset)
        except (struct.error, IndexError):
            offset = body.size + 1
        if offset > body.size:
            raise ProtocolError(
                f"{self.type_name}: message of {len(data)} bytes is cut short"
            ) from None
        if body.size - offset > MAX_TRAILING:
            raise ProtocolError(
                f"{self.type_name}: {len(data)} bytes where {offset + 4} are needed"
            )
        end = offset + 4
        if not body.gaps and data[:4] == ENCAPSULATION:
            if type(data) is bytes and len(data) == end:
                return data  # the messages of our own writers are never copied
            return bytes(memoryview(data)[:end])
        zeroed = bytearray(memoryview(data)[:end])
        zeroed[:4] = ENCAPSULATION
        for start, stop in body.gaps:
            zeroed[start + 4 : stop + 4] = bytes(stop - start)
        return bytes(zeroed)

    def _structure(self, type_name: str) -> tuple[Walk, ...]:
        walks = self._known.get(type_name)
        if walks is None:
            walks = tuple(self._field(field) for field in self._lookup(type_name))
            self._known[type_name] = walks
        return walks

    def _field(self, field: Field) -> Walk:
        if field.type in PRIMITIVES:
            size = struct.calcsize(PRIMITIVES[field.type])
            if field.length == SEQUENCE:
                return _primitives(size)
            return _fixed(size, field.length or 1)
        element = (_text,) if field.type == "string" else self._structure(field.type)
        if field.length == SEQUENCE:
            return _sequence(element)
        return _repeated(element, field.length or 1) if field.length != SCALAR else _one(element)


def _align(body: _Body, offset: int, size: int) -> int:
    pad = -offset % size
    if pad:
        if offset + pad > body.size:
            raise IndexError
        if any(body.data[offset : offset + pad]):
            body.gaps.append((offset, offset + pad))
    return offset + pad


def _count(body: _Body, offset: int, smallest: int) -> tuple[int, int]:
    """Read a length; ``smallest`` is the least size of an element, so that lies end soon."""
    offset = _align(body, offset, 4)
    (count,) = _LENGTH.unpack_from(body.data, offset)
    if count * smallest > body.size - offset - 4:
        raise IndexError
    return count, offset + 4


def _text(body: _Body, offset: int) -> int:
    count, offset = _count(body, offset, 1)
    return offset + count


def _fixed(size: int, count: int) -> Walk:
    def walk(body: _Body, offset: int) -> int:
        return _align(body, offset, size) + size * count

    return walk


def _primitives(size: int) -> Walk:
    def walk(body: _Body, offset: int) -> int:
        count, offset = _count(body, offset, size)
        return _align(body, offset, size) + size * count if count else offset

    return walk


def _one(element: tuple[Walk, ...]) -> Walk:
    def walk(body: _Body, offset: int) -> int:
        for part in element:
            offset = part(body, offset)
        return offset

    return walk


def _repeated(element: tuple[Walk, ...], count: int) -> Walk:
    def walk(body: _Body, offset: int) -> int:
        for _ in range(count):
            for part in element:
                offset = part(body, offset)
        return offset

    return walk


def _sequence(element: tuple[Walk, ...]) -> Walk:
    def walk(body: _Body, offset: int) -> int:
        # Every element of a structure has at least one byte.
        count, offset = _count(body, offset, 1)
        for _ in range(count):
            for part in element:
                offset = part(body, offset)
                if offset > body.size:
                    raise IndexError
        return offset

    return walk
