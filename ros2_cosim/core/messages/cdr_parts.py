# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Pieces of a CDR body (XCDR1, little endian): runs of primitives, strings, sequences.

Alignment is relative to the body's start, at most 8. Because strings and sequences have any
length, a run of primitives has one precompiled :class:`struct.Struct` per start offset
modulo 8. Each piece offers ``write(parts, offset, values)`` and ``read(data, offset, out)``;
both return the offset behind the piece (counted in the body, ``data`` being the body).
"""

from __future__ import annotations

import struct
from array import array
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from itertools import islice
from typing import Any, Final, Protocol

from ros2_cosim.core.kernel.errors import ProtocolError
from ros2_cosim.core.messages.binding import Block, Item, Repeated, Scalar, Structure, Text
from ros2_cosim.core.messages.definitions import SEQUENCE

_LENGTH: Final = struct.Struct("<I")
_PADDING: Final = (b"", b"\0" * 3, b"\0" * 2, b"\0")
_CHUNK: Final = 128


#: The bytes of a message, wherever they lie.
Data = bytes | bytearray | memoryview


class Piece(Protocol):
    """One stretch of a message body."""

    min_size: int

    def write(self, parts: list[Data], offset: int, values: Sequence[Any]) -> int:
        """Append the bytes of this piece to ``parts``."""

    def read(self, data: Data, offset: int, out: list[Any]) -> int:
        """Append the bound values of this piece to ``out``."""


@lru_cache(maxsize=1024)  # names and frame ids are the same in every message
def text_block(value: str) -> bytes:
    """A string with its length prefix, for a 4-aligned place.

    :raises ProtocolError: the text holds a NUL or is not valid Unicode
    """
    try:
        raw = value.encode()
    except UnicodeEncodeError:
        raise ProtocolError(f"text {value!r} is not valid Unicode") from None
    if b"\0" in raw:
        raise ProtocolError(f"text {value!r} holds a NUL character")
    return _LENGTH.pack(len(raw) + 1) + raw + b"\0"


def read_text(data: Data, offset: int) -> tuple[str, int]:
    """Read a string; returns it and the offset behind it.

    :raises ProtocolError: length or content is not allowed
    """
    start = offset + (-offset & 3)
    (length,) = _LENGTH.unpack_from(data, start)
    start += 4
    stop = start + length
    if stop > len(data):
        raise ProtocolError(f"string of {length} bytes exceeds the message of {len(data)} bytes")
    if length == 0:  # some writers send an empty string without its NUL
        return "", stop
    raw = bytes(data[start : stop - 1])
    if data[stop - 1] != 0 or b"\0" in raw:
        raise ProtocolError("string does not end with its only NUL")
    try:
        return raw.decode(), stop
    except UnicodeDecodeError:
        raise ProtocolError("string is not valid UTF-8") from None


def skip_text(data: Data, offset: int) -> int:
    """The offset behind a string that nothing is read from; it may be in any encoding.

    :raises ProtocolError: it ends behind the message
    """
    start = offset + (-offset & 3)
    (length,) = _LENGTH.unpack_from(data, start)
    stop: int = start + 4 + length
    if stop > len(data):
        raise ProtocolError(f"string of {length} bytes exceeds the message of {len(data)} bytes")
    return stop


class Run:
    """Consecutive primitives, packed in one go."""

    def __init__(self, scalars: Sequence[Scalar], start: int) -> None:
        self.scalars = tuple(scalars)
        self.start = start
        self.stop = start + sum(scalar.bound for scalar in scalars)
        self._structs = tuple(run_struct(self.scalars, residue) for residue in range(8))
        self.min_size = min(s.size for s in self._structs)

    def write(self, parts: list[Data], offset: int, values: Sequence[Any]) -> int:
        packer = self._structs[offset & 7]
        parts.append(packer.pack(*values[self.start : self.stop]))
        return offset + packer.size

    def read(self, data: Data, offset: int, out: list[Any]) -> int:
        packer = self._structs[offset & 7]
        out.extend(packer.unpack_from(data, offset))
        return offset + packer.size


class BoundText:
    """A string whose value is the record's."""

    min_size = 4

    def __init__(self, index: int, limit: int = 0) -> None:
        self._index = index
        self._limit = limit

    def write(self, parts: list[Data], offset: int, values: Sequence[Any]) -> int:
        text = values[self._index]
        if self._limit and len(text) > self._limit:
            raise ProtocolError(
                f"text of {len(text)} characters where at most {self._limit} are allowed"
            )
        block = text_block(text)
        pad = _PADDING[offset & 3]
        parts.append(pad + block)
        return offset + len(pad) + len(block)

    def read(self, data: Data, offset: int, out: list[Any]) -> int:
        text, offset = read_text(data, offset)
        out.append(text)
        return offset


class ConstantText:
    """A string that is always the same when written and ignored when read."""

    min_size = 4

    def __init__(self, value: str) -> None:
        self._block = text_block(value)

    def write(self, parts: list[Data], offset: int, values: Sequence[Any]) -> int:
        pad = _PADDING[offset & 3]
        parts.append(pad + self._block)
        return offset + len(pad) + len(self._block)

    def read(self, data: Data, offset: int, out: list[Any]) -> int:
        return skip_text(data, offset)


class _Length:
    """How many elements there are: the prefix of a sequence, or the length of a fixed array."""

    def __init__(self, count: int, limit: int) -> None:
        self._count = count
        self._limit = limit

    def write(self, parts: list[Data], offset: int, count: int) -> int:
        if self._count != SEQUENCE:
            if count != self._count:
                raise ProtocolError(f"array of {self._count} elements got {count}")
            return offset
        if self._limit and count > self._limit:
            raise ProtocolError(f"{count} elements where at most {self._limit} are allowed")
        pad = _PADDING[offset & 3]
        parts.append(pad + _LENGTH.pack(count))
        return offset + len(pad) + 4

    def read(self, data: Data, offset: int, min_size: int) -> tuple[int, int]:
        if self._count != SEQUENCE:
            return self._count, offset
        start = offset + (-offset & 3)
        (count,) = _LENGTH.unpack_from(data, start)
        if count * min_size > len(data) - start - 4:
            raise ProtocolError(f"sequence of {count} elements exceeds {len(data)} bytes")
        if self._limit and count > self._limit:
            raise ProtocolError(f"{count} elements where at most {self._limit} are allowed")
        return count, start + 4


class NumberBlock:
    """Primitives in a buffer: copied once when written, not at all when read.

    The result is a ``memoryview`` of the message, which cannot be written.
    """

    def __init__(self, item: Block, index: int) -> None:
        self._index = index
        self._code: Any = item.code
        self._size = struct.calcsize(item.code)
        self._length = _Length(item.length, item.limit)
        self.min_size = 4 if item.length == SEQUENCE else item.length * self._size

    def write(self, parts: list[Data], offset: int, values: Sequence[Any]) -> int:
        block = number_bytes(self._code, values[self._index])
        offset = self._length.write(parts, offset, len(block) // self._size)
        if not len(block):
            return offset
        pad = -offset % self._size
        if pad:
            parts.append(b"\0" * pad)
        parts.append(block)
        return offset + pad + len(block)

    def read(self, data: Data, offset: int, out: list[Any]) -> int:
        count, offset = self._length.read(data, offset, self._size)
        start = offset + (-offset % self._size if count else 0)
        stop = start + count * self._size
        if stop > len(data):
            raise ProtocolError(f"array of {count} elements exceeds {len(data)} bytes")
        view = memoryview(data)[start:stop]
        if not view.readonly:
            view = memoryview(bytes(view))  # what holds the message may be written again
        out.append(view.cast(self._code))
        return stop


#: Letters of the same kind of number; those of one size are one type on the wire.
_KINDS: Final = ("bhilqn", "BHILQN", "fd", "?")


def number_bytes(code: str, values: Any) -> Data:
    """The bytes of numbers as they are on the wire, without a copy where they are that already.

    :param code: of :mod:`struct`
    :param values: a sequence, or a buffer such as an ``array``, a ``memoryview`` or a NumPy array
    :raises TypeError: a value is not such a number
    :raises OverflowError: a value does not fit
    """
    if isinstance(values, str):
        raise TypeError(f"found the text {values!r} instead of numbers")
    try:
        view = memoryview(values)
    except TypeError:  # no buffer: a sequence of numbers
        return bytes(map(bool, values)) if code == "?" else array(code, values).tobytes()
    if not view.nbytes:
        return b""
    found = view.format.lstrip("@=<")
    kind = next(kind for kind in _KINDS if code in kind)
    if found in kind and view.itemsize == struct.calcsize(code) and view.c_contiguous:
        return view.cast("B")  # joined with the rest as it is
    if code == "b" and isinstance(values, bytes | bytearray):
        return bytes(values)
    letter: Any = found
    return number_bytes(code, memoryview(view.tobytes()).cast(letter).tolist())


class _List:
    """Base of the lists of structures."""

    def __init__(self, item: Repeated, index: int) -> None:
        self._bound = item.bound
        self.index = index
        self._element = item.element
        self._length = _Length(item.length, item.limit)

        self.min_size = 4 if item.length == SEQUENCE else 0


class FlatList(_List):
    """Sequence of primitives, or of structures of primitives: many elements per struct call."""

    def __init__(self, item: Repeated, index: int) -> None:
        super().__init__(item, index)
        self.scalars = tuple(s for s in item.element.items if isinstance(s, Scalar))
        self._width = sum(scalar.bound for scalar in self.scalars)
        self._size = sum(struct.calcsize(scalar.code) for scalar in self.scalars)
        #: Whether its elements are primitives, not records.
        self.is_single = item.element.build is tuple
        #: Whether it is a sequence of any number of elements.
        self.is_plain = item.bound and item.length == SEQUENCE and not item.limit
        #: Structs by eight times the number of elements plus the residue of the offset.
        self._packers: dict[int, struct.Struct] = {}

    def _packer(self, offset: int, count: int) -> struct.Struct:
        key = 8 * count + (offset & 7)
        packer = self._packers.get(key)
        if packer is None:
            packer = self._packers[key] = run_struct(self.scalars, offset & 7, count)
        return packer

    def write(self, parts: list[Data], offset: int, values: Sequence[Any]) -> int:
        if not self._bound:
            return self._length.write(parts, offset, 0)
        elements = values[self.index]
        count = len(elements)
        offset = self._length.write(parts, offset, count)
        rest = iter(elements)
        while count > 0:
            part = min(count, _CHUNK)
            packer = self._packer(offset, part)
            if self.is_single:
                parts.append(packer.pack(*islice(rest, part)))
            else:
                numbers: list[Any] = []
                self.append(numbers, islice(rest, part))
                parts.append(packer.pack(*numbers))
            offset += packer.size
            count -= part
        return offset

    def append(self, numbers: list[Any], elements: Iterable[Any]) -> None:
        """Append the numbers of elements."""
        if self.is_single:
            if type(elements) is tuple:
                numbers += elements  # faster where it is compiled; an array would be added to it
            else:
                numbers.extend(elements)
            return
        is_flat, flatten = self._element.flat, self._element.flatten
        for element in elements:
            if is_flat and isinstance(element, tuple):
                numbers += element[:]  # to extend by a named tuple takes longer than to pack it
            else:
                numbers.extend(element if is_flat else flatten(element))

    def read(self, data: Data, offset: int, out: list[Any]) -> int:
        count, offset = self._length.read(data, offset, self._size)
        flat: list[Any] = []
        while count > 0:
            packer = self._packer(offset, min(count, _CHUNK))
            flat.extend(packer.unpack_from(data, offset))
            offset += packer.size
            count -= _CHUNK
        if self._bound:
            if self.is_single:
                out.append(tuple(flat))
            else:
                rows = zip(*[iter(flat)] * self._width, strict=True)
                out.append(tuple(map(self._element.build, rows)))
        return offset


#: Number of combinations of lengths of a message that have their own struct.
_STRUCTS: Final = 256


class NumberPieces:
    """Pieces that are numbers alone, packed at once with the head before them.

    There is a struct for each combination of the lengths of the sequences, while they are few.

    :param head: struct format of the head
    :param offset: where it ends, in the body
    """

    def __init__(self, pieces: Sequence[Run | FlatList], head: str, offset: int) -> None:
        self._pieces = list(pieces)
        self._head = head
        self._offset = offset
        self._packers: dict[int, Callable[..., bytes]] = {}

    @staticmethod
    def hold(pieces: Sequence[Piece]) -> bool:
        """Whether all are runs of numbers, or sequences of numbers or of structures of them."""
        return all(
            isinstance(piece, Run) or (isinstance(piece, FlatList) and piece.is_plain)
            for piece in pieces
        )

    def pack(self, flat: list[Any], values: Sequence[Any]) -> bytes | None:
        """The whole message; None: there are too many lengths, or too many numbers.

        :param flat: values of the head; those of the pieces are appended
        """
        key = 0
        for piece in self._pieces:
            if isinstance(piece, Run):
                flat += values[piece.start : piece.stop]
                continue
            elements = values[piece.index]
            count = len(elements)
            if count > _CHUNK:
                return None
            key = key * (_CHUNK + 1) + count
            flat.append(count)
            if piece.is_single and type(elements) is tuple:
                flat += elements  # as append does
            else:
                piece.append(flat, elements)
        packer = self._packers.get(key)
        if packer is None:
            if len(self._packers) >= _STRUCTS:
                return None
            packer = self._packers[key] = self._packer(values)
        return packer(*flat)

    def _packer(self, values: Sequence[Any]) -> Callable[..., bytes]:
        codes, offset = [self._head], self._offset
        for piece in self._pieces:
            if isinstance(piece, Run):
                part = run_struct(piece.scalars, offset & 7)
            else:
                codes.append("x" * (-offset & 3) + "I")
                offset += (-offset & 3) + _LENGTH.size
                part = run_struct(piece.scalars, offset & 7, len(values[piece.index]))
            codes.append(part.format[1:])
            offset += part.size
        return struct.Struct("".join(codes)).pack


class MixedList(_List):
    """Sequence of strings, or of structures that hold strings or sequences."""

    def __init__(self, item: Repeated, index: int, constants: dict[str, str]) -> None:
        super().__init__(item, index)
        self._pieces = make_pieces(item.element.items, constants)
        self._size = max(1, sum(piece.min_size for piece in self._pieces))
        self._single = item.element.build is tuple

    def write(self, parts: list[Data], offset: int, values: Sequence[Any]) -> int:
        elements = values[self.index] if self._bound else ()
        offset = self._length.write(parts, offset, len(elements))
        for element in elements:
            flat = (element,) if self._single else self._element.flatten(element)
            for piece in self._pieces:
                offset = piece.write(parts, offset, flat)
        return offset

    def read(self, data: Data, offset: int, out: list[Any]) -> int:
        count, offset = self._length.read(data, offset, self._size)
        elements: list[Any] = []
        for _ in range(count):
            flat: list[Any] = []
            for piece in self._pieces:
                offset = piece.read(data, offset, flat)
            elements.append(flat[0] if self._single and flat else self._element.build(flat))
        if self._bound:
            out.append(tuple(elements))
        return offset


def make_pieces(items: Sequence[Item], constants: dict[str, str], *, first: int = 0) -> list[Piece]:
    """Group items into pieces; ``first`` is the index of the first bound value."""
    pieces: list[Piece] = []
    run: list[Scalar] = []
    index = first

    def close() -> None:
        if run:
            pieces.append(Run(run, index - sum(scalar.bound for scalar in run)))
            run.clear()

    for item in items:
        if isinstance(item, Scalar):
            run.append(item)
        else:
            close()
            pieces.append(_single_piece(item, index, constants))
        index += item.bound
    close()
    return pieces


def _single_piece(item: Text | Repeated | Block, index: int, constants: dict[str, str]) -> Piece:
    if isinstance(item, Block):
        return NumberBlock(item, index)
    if isinstance(item, Text):
        if item.bound:
            return BoundText(index, item.limit)
        return ConstantText(constants.get(item.path, ""))
    if all(isinstance(part, Scalar) for part in item.element.items):
        return FlatList(item, index)
    return MixedList(item, index, constants)


@lru_cache(maxsize=4096)
def run_struct(scalars: tuple[Scalar, ...], residue: int, repeat: int = 1) -> struct.Struct:
    """Layout of primitives that start at a body offset with the given residue modulo 8."""
    offset = residue
    codes: list[str] = []
    for scalar in scalars * repeat:
        size = struct.calcsize(scalar.code)
        pad = -offset % size
        codes.append("x" * pad + (scalar.code if scalar.bound else "x" * size))
        offset += pad + size
    return struct.Struct("<" + "".join(codes))


__all__ = [
    "Data",
    "NumberPieces",
    "Piece",
    "Structure",
    "make_pieces",
    "read_text",
    "run_struct",
    "text_block",
]
