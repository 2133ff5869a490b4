# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Record classes made from message definitions.

========================  ===================================================================
field of the message      field of the record
========================  ===================================================================
number, string            ``float``, ``int``, ``bool``, ``str``
array of numbers          a read-only ``memoryview`` of the message: it is indexed like a list,
                          and ``numpy.asarray`` sees it without a copy. Written from a sequence
                          or a buffer (bytes, ``array``, NumPy array).
message                   a record, made in the same way
array of strings or       a tuple
messages
constant                  an attribute of the class
========================  ===================================================================

A field whose name is a word of Python has ``_`` behind its name.
"""

from __future__ import annotations

import struct
from collections import namedtuple
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any

from ros2_cosim.core.messages.binding import BUFFER, record_name
from ros2_cosim.core.messages.definitions import PRIMITIVES, SCALAR, SEQUENCE, Field

_KINDS = {"?": bool, "f": float, "d": float}


def make_record(
    type_name: str,
    fields: Sequence[Field],
    constants: Mapping[str, Any],
    part: Callable[[str], type],
) -> type:
    """Make the record class of a message type.

    :param fields: those of its fields that the record has
    :param constants: name -> value
    :param part: full type name of a message in it -> record class
    """
    package, _, name = type_name.partition("/msg/")
    names = [record_name(field.name) for field in fields]
    parts = [_described(field, part) for field in fields]
    make: Any = namedtuple  # its stub wants to read the fields in the source
    made = make(name, names, defaults=[default for _, default in parts])
    made.__annotations__ = dict(zip(names, (hint for hint, _ in parts), strict=True))
    made.__doc__ = f"A {type_name}, made from its definition."
    made.__module__ = f"{package}.msg"
    for constant, value in constants.items():
        setattr(made, constant, value)
    record: type = made
    return record


def _described(field: Field, part: Callable[[str], type]) -> tuple[Any, Any]:
    """Annotation and default of a field."""
    code = PRIMITIVES.get(field.type)
    count = max(field.length, 0)
    if code is not None:
        kind: Any = _KINDS.get(code, int)
        if field.length == SCALAR:
            return kind, kind()
        zeros = bytes(count * struct.calcsize(code))
        return Annotated[tuple[kind, ...], BUFFER], _buffer(zeros, code)
    hint: Any = str if field.type == "string" else part(field.type)
    if field.length == SCALAR:
        return hint, hint()
    return tuple[hint, ...], () if field.length == SEQUENCE else (hint(),) * count


def _buffer(data: bytes, code: Any) -> Any:
    return memoryview(data).cast(code)
