# SPDX-License-Identifier: Apache-2.0
"""Reads ROS message definition texts (the ``.msg`` format) into field lists."""

from __future__ import annotations

import re
from typing import NamedTuple

from ros2_cosim.kernel.errors import ConfigurationError

PRIMITIVES = {
    "bool": "?",
    "byte": "B",
    "char": "B",
    "int8": "b",
    "uint8": "B",
    "int16": "h",
    "uint16": "H",
    "int32": "i",
    "uint32": "I",
    "int64": "q",
    "uint64": "Q",
    "float32": "f",
    "float64": "d",
}
"""ROS primitive type -> code of :mod:`struct` (all sizes are those of CDR)."""

SCALAR = 0
SEQUENCE = -1

_FIELD = re.compile(
    r"(?P<type>[A-Za-z][A-Za-z0-9_/]*)(?P<bound><=\d+)?(?P<array>\[(?:<=)?\d*\])?"
    r"\s+(?P<name>[a-z][a-z0-9_]*)(?:\s+(?P<default>\S.*))?"
)
_CONSTANT = re.compile(r"[A-Za-z][A-Za-z0-9_]*(?:<=\d+)?\s+[A-Z][A-Z0-9_]*\s*=")
_TYPE_NAME = re.compile(r"[a-z][a-z0-9_]*/msg/[A-Z][A-Za-z0-9]*")


class Field(NamedTuple):
    """One field of a message.

    ``type`` is a primitive, ``string`` or a full type name; ``length`` is that of a
    fixed array, ``SCALAR`` or ``SEQUENCE``.
    """

    name: str
    type: str
    length: int


def check_type_name(name: str) -> str:
    """Return ``name`` if it is a full type name such as ``nav_msgs/msg/Odometry``.

    :raises ConfigurationError: if it is not
    """
    if not _TYPE_NAME.fullmatch(name):
        raise ConfigurationError(
            f"message type {name!r} is not a full name of the form package/msg/Type"
        )
    return name


def parse_definition(type_name: str, text: str) -> tuple[Field, ...]:
    """Read the fields of a message definition; comments, constants and defaults are skipped.

    :param type_name: full name, used for relative type references and in errors
    :param text: the definition as it stands in a ``.msg`` file
    :raises ConfigurationError: a line is not understood (names type and line number)
    """
    package = check_type_name(type_name).split("/", 1)[0]
    fields: list[Field] = []
    for number, raw in enumerate(text.splitlines(), start=1):
        line = raw.split("#", 1)[0].strip()
        if not line or _CONSTANT.match(line):
            continue
        match = _FIELD.fullmatch(line)
        if match is None or (match["bound"] and match["type"] != "string"):
            raise ConfigurationError(
                f"{type_name}, line {number}: {line!r} is not a field 'type name'"
            )
        if any(field.name == match["name"] for field in fields):
            raise ConfigurationError(f"{type_name}, line {number}: second field {match['name']!r}")
        fields.append(
            Field(match["name"], _full_type(match["type"], package), _count(match["array"]))
        )
    return tuple(fields)


def _full_type(name: str, package: str) -> str:
    if name in PRIMITIVES or name == "string":
        return name
    parts = name.split("/")
    if len(parts) == 1:
        return check_type_name(f"{package}/msg/{name}")
    return check_type_name(f"{parts[0]}/msg/{parts[-1]}" if len(parts) == 2 else name)


def _count(array: str | None) -> int:
    if array is None:
        return SCALAR
    if array == "[]" or array.startswith("[<="):
        return SEQUENCE
    return int(array[1:-1])
