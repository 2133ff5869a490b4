# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Encoding of values: the twelve data types, arrays, payloads, conversions.

A payload is the values of its variables one after the other, little endian, without
padding; arrays row-major without a count; strings and binaries behind a uint32 byte count.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import Any

from ros2_cosim.dcp.standard.enums import DataType
from ros2_cosim.dcp.standard.errors import PduError

Value = Any
"""A scalar (int, float, str, bytes), or a tuple of scalars for an array."""

STRUCT_CODES: dict[DataType, str] = dict(zip(DataType, "BHIQbhiqfd", strict=False))
"""Of all but strings and binaries, which come last."""
SIZES: dict[DataType, int] = {t: struct.calcsize("<" + c) for t, c in STRUCT_CODES.items()}
FLOATS = frozenset({DataType.float32, DataType.float64})
SIZED = frozenset({DataType.string, DataType.binary})
_COUNT = struct.Struct("<I")

_U = (DataType.uint8, DataType.uint16, DataType.uint32, DataType.uint64)
_I = (DataType.int8, DataType.int16, DataType.int32, DataType.int64)
_F32, _F64 = DataType.float32, DataType.float64

CONVERSIONS: dict[DataType, frozenset[DataType]] = {
    DataType.uint8: frozenset({*_U, *_I[1:], _F32, _F64}),
    DataType.uint16: frozenset({*_U[1:], *_I[2:], _F32, _F64}),
    DataType.uint32: frozenset({*_U[2:], _I[3], _F64}),
    DataType.uint64: frozenset({_U[3]}),
    DataType.int8: frozenset({*_I, _F32, _F64}),
    DataType.int16: frozenset({*_I[1:], _F32, _F64}),
    DataType.int32: frozenset({*_I[2:], _F64}),
    DataType.int64: frozenset({_I[3]}),
    _F32: frozenset({_F32, _F64}),
    _F64: frozenset({_F64}),
    DataType.string: frozenset({DataType.string}),
    DataType.binary: frozenset({DataType.binary}),
}
"""Type on the wire -> types of a variable that may receive it (Table 11)."""


def convertible(source: int, target: DataType) -> bool:
    """Whether values of type ``source`` on the wire fit a variable of type ``target``."""
    try:
        return target in CONVERSIONS[DataType(source)]
    except ValueError:
        return False


def encode_value(kind: DataType, value: Value) -> bytes:
    """Encode one scalar.

    :raises PduError: the value does not fit the type
    """
    try:
        if kind is DataType.string:
            data = value.encode("utf-8")
            return _COUNT.pack(len(data)) + data
        if kind is DataType.binary:
            return _COUNT.pack(len(value)) + bytes(value)
        packed: bytes = struct.pack("<" + STRUCT_CODES[kind], value)
        return packed
    except (AttributeError, TypeError):
        raise PduError(f"value {value!r} does not fit type {kind.name}") from None
    except (struct.error, OverflowError, UnicodeError) as error:
        raise PduError(f"value {value!r} does not fit type {kind.name}: {error}") from None


def _encode_field(kind: DataType, count: int | None, value: Value) -> bytes:
    """Encode a scalar, or an array of ``count`` elements."""
    if count is None:
        return encode_value(kind, value)
    try:
        elements = (value,) if isinstance(value, str | bytes) else tuple(value)
    except TypeError:
        raise PduError(f"found {value!r} where an array of {count} elements belongs") from None
    if len(elements) != count:
        raise PduError(f"array of {len(elements)} elements where {count} belong")
    return b"".join(encode_value(kind, element) for element in elements)


def decode_value(kind: DataType, data: bytes, offset: int) -> tuple[Value, int]:
    """Decode one scalar at ``offset``; returns it and the offset behind it.

    :raises PduError: the bytes end before the value does, or are not UTF-8
    """
    if kind in SIZED:
        start = offset + 4
        if start > len(data):
            raise PduError(f"{kind.name} at byte {offset}: its length is cut off")
        end = start + _COUNT.unpack_from(data, offset)[0]
        if end > len(data):
            raise PduError(f"{kind.name} at byte {offset}: {end - len(data)} bytes are missing")
        raw = bytes(data[start:end])
        if kind is DataType.binary:
            return raw, end
        try:
            return raw.decode("utf-8"), end
        except UnicodeDecodeError as error:
            raise PduError(f"string at byte {offset} is not UTF-8: {error.reason}") from None
    end = offset + SIZES[kind]
    if end > len(data):
        raise PduError(f"{kind.name} at byte {offset}: {end - len(data)} bytes are missing")
    return struct.unpack_from("<" + STRUCT_CODES[kind], data, offset)[0], end


class PayloadCodec:
    """Packs and unpacks the payload of one data PDU; compiled once, used every step.

    :param fields: one (type, count) per variable in the order of their positions;
        count is None for a scalar and the number of elements for an array
    :param names: of the variables, for errors; empty: errors name their positions
    :ivar size: exact length in bytes, None when a string or binary is among the fields
    """

    def __init__(
        self, fields: Sequence[tuple[DataType, int | None]], names: Sequence[str] = ()
    ) -> None:
        self.fields = tuple(fields)
        self._names = tuple(names)
        self.size: int | None = None
        self._struct: struct.Struct | None = None
        self._flat = all(count is None for _, count in self.fields)
        if not any(kind in SIZED for kind, _ in self.fields):
            codes = [(1 if n is None else n, STRUCT_CODES[kind]) for kind, n in self.fields]
            self._struct = struct.Struct("<" + "".join(f"{n}{code}" for n, code in codes))
            self.size = self._struct.size

    def pack(self, values: Sequence[Value]) -> bytes:
        """Payload of the values, one per field.

        :raises PduError: a value does not fit its type or an array its length
        """
        try:
            if self._struct is not None:
                if self._flat:
                    return self._struct.pack(*values)
                return self._struct.pack(*self._flatten(values))
        except (struct.error, OverflowError, TypeError):
            pass  # the slow way below finds out which value it was
        if len(values) != len(self.fields):
            raise PduError(f"{len(values)} values for {len(self.fields)} variables")
        parts = []
        for position, (field, value) in enumerate(zip(self.fields, values, strict=True)):
            try:
                parts.append(_encode_field(*field, value))
            except PduError as error:
                named = repr(self._names[position]) if self._names else f"at position {position}"
                raise PduError(f"variable {named}: {error}") from None
        return b"".join(parts)

    def unpack(self, data: bytes, offset: int = 0) -> Sequence[Value]:
        """Values of a payload that begins at ``offset`` and goes to the end of ``data``.

        :raises PduError: the length is not exactly that of the fields
        """
        if self._struct is not None:
            if len(data) - offset != self.size:
                raise PduError(f"payload of {len(data) - offset} bytes where {self.size} belong")
            flat = self._struct.unpack_from(data, offset)
            return flat if self._flat else self._unflatten(flat)
        values: list[Value] = []
        for kind, count in self.fields:
            if count is None:
                value, offset = decode_value(kind, data, offset)
                values.append(value)
            else:
                elements = []
                for _ in range(count):
                    value, offset = decode_value(kind, data, offset)
                    elements.append(value)
                values.append(tuple(elements))
        if offset != len(data):
            raise PduError(f"{len(data) - offset} bytes too many behind the payload")
        return values

    def _flatten(self, values: Sequence[Value]) -> list[Value]:
        flat: list[Value] = []
        for (_, count), value in zip(self.fields, values, strict=True):
            if count is None:
                flat.append(value)
            elif len(value) == count:
                flat.extend(value)
            else:
                raise TypeError
        return flat

    def _unflatten(self, flat: Sequence[Value]) -> list[Value]:
        values: list[Value] = []
        at = 0
        for _, count in self.fields:
            if count is None:
                values.append(flat[at])
                at += 1
            else:
                values.append(tuple(flat[at : at + count]))
                at += count
        return values


def converter(source: DataType, target: DataType) -> Callable[[Value], Value] | None:
    """How to turn a received value into one of the variable's type; None: as it is."""
    if target not in FLOATS or source in FLOATS:
        return None
    return lambda value: tuple(map(float, value)) if isinstance(value, tuple) else float(value)
