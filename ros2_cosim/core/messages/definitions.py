# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Definitions of message types: where their texts are, and which fields they have.

The project's own types are the files in ``msg/``, those of other packages the installed ones.
Without a ROS installation the standard types of ROS 2 Jazzy still are there, in
``jazzy_types.json``. ``rosbags`` reads the texts. It has the standard types, too, from which the
file is made: but it makes a class of each at every start. What it reads in the definitions of this
project's types, and of the types that they are built of, is in ``read_types.json``: a short run
would import it for those alone, which takes a twentieth of its time.
"""

from __future__ import annotations

import json
import re
from functools import cache, lru_cache
from hashlib import sha256
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from ros2_cosim.core.documents.files import cause_of
from ros2_cosim.core.documents.installed import PACKAGE, find_share, share_file
from ros2_cosim.core.kernel.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rosbags.interfaces.typing import FieldDesc, Typesdict

    Constants = dict[str, bool | int | float | str]

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

#: What the wire carries for a message without fields.
EMPTY = "uint8 structure_needs_at_least_one_member\n"
_COMMENT = re.compile(r"\s*(#|$)")
_WIDE = re.compile(r"(\s*wstring)<=\d+")
#: Characters of a digest that tell definitions apart.
_KEY = 16
_TYPE_NAME = re.compile(r"[a-z][a-z0-9_]*/msg/[A-Z][A-Za-z0-9]*")


class Field(NamedTuple):
    """One field of a message.

    ``type`` is a primitive, ``string`` or a full type name; ``length`` is that of a
    fixed array, ``SCALAR`` or ``SEQUENCE``. ``limit`` bounds the elements of a sequence and
    ``text_limit`` the characters of a string, 0 meaning that nothing does.
    """

    name: str
    type: str
    length: int
    limit: int = 0
    text_limit: int = 0


def check_type_name(name: str) -> str:
    """Return ``name`` if it is a full type name such as ``nav_msgs/msg/Odometry``.

    :raises ConfigurationError: if it is not
    """
    if not _TYPE_NAME.fullmatch(name):
        raise ConfigurationError(
            f"message type {name!r} is not a full name of the form package/msg/Type"
        )
    return name


def find_definition(type_name: str) -> str | None:
    """The definition text of an own, installed or standard message type, None if there is none.

    :param type_name: full name such as ``sensor_msgs/msg/LaserScan``
    :raises ConfigurationError: the text is not understood
    """
    package, _, name = check_type_name(type_name).partition("/msg/")
    text = _own_text(name) if package == PACKAGE else _installed_text(package, name)
    if text is None:
        text = jazzy_texts().get(type_name)
    return text if text is None or parse_definition(type_name, text) else EMPTY


def _own_text(name: str) -> str | None:
    try:
        return share_file(f"msg/{name}.msg").read_text(encoding="utf-8")
    except ConfigurationError:
        return None


def _installed_text(package: str, name: str) -> str | None:
    path = find_share(package, f"msg/{name}.msg")
    try:
        return None if path is None else path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(
            f"message type {package}/msg/{name}: {path}: {cause_of(error)}"
        ) from None


@cache
def jazzy_texts() -> Mapping[str, str]:
    """Full name -> definition of the standard types of ROS 2 Jazzy."""
    path = Path(__file__).with_name("jazzy_types.json")
    texts: dict[str, str] = json.loads(path.read_text(encoding="utf-8"))
    return MappingProxyType(texts)


@lru_cache(maxsize=1024)  # a page that reads many bags lives long
def types_in(text: str, type_name: str) -> Typesdict:
    """What ``rosbags`` reads in a definition; reading takes a few milliseconds.

    :raises TypesysError: it does not understand the text
    """
    from rosbags.typesys import get_types_from_msg

    # It does not know the limit of a wide string, of which only the name is wanted here.
    lines = [_WIDE.sub(r"\1", line, count=1) for line in _lines(text)]
    return get_types_from_msg("\n".join(lines), type_name)


def _lines(text: str) -> list[str]:
    # Of the time that comments and the parser take, comments take nearly a half.
    return [line for line in text.splitlines() if not _COMMENT.match(line)]


@cache
def recorded(what: Literal["fields", "descriptions"]) -> Mapping[str, Any]:
    """What ``rosbags`` has made of the definitions of some types, by :func:`key_of`.

    ``fields``: constants, and fields; ``descriptions``: text with those of all parts, and hash.
    """
    path = Path(__file__).with_name("read_types.json")
    return MappingProxyType(json.loads(path.read_text(encoding="utf-8"))[what])


def key_of(texts: Mapping[str, str]) -> str:
    """The key of what is read in definitions: full type name -> text, comments left out."""
    plain = [f"{name}\n" + "\n".join(_lines(text)) for name, text in sorted(texts.items())]
    return sha256("\0".join(plain).encode()).hexdigest()[:_KEY]


@lru_cache(maxsize=1024)
def _read(type_name: str, text: str) -> tuple[Constants, tuple[Field, ...]]:
    """Constants and fields of a definition.

    :raises ConfigurationError: a line is not understood (names type and line number)
    """
    check_type_name(type_name)
    known = recorded("fields").get(key_of({type_name: text}))
    if known is None:
        known = read_anew(type_name, text)
    return dict(known[0]), tuple(Field(*field) for field in known[1])


def read_anew(type_name: str, text: str) -> tuple[Constants, tuple[Field, ...]]:
    """The same, read by ``rosbags``."""
    from rosbags.typesys import TypesysError

    try:
        constants, described = types_in(text, type_name)[type_name]
    except TypesysError:
        raise ConfigurationError(f"{type_name}, {_wrong_line(text, type_name)}") from None
    values = {name: value for name, _, value in constants}
    return values, tuple(read_field(name, description) for name, description in described)


def parse_definition(type_name: str, text: str) -> tuple[Field, ...]:
    """Read the fields of a message definition; comments, constants and defaults are skipped.

    :param type_name: full name, used for relative type references and in errors
    :param text: the text of the definition, as in a ``.msg`` file
    :raises ConfigurationError: a line is not understood (names type and line number)
    """
    _, fields = _read(type_name, text)
    names = [field.name for field in fields]
    for field in fields:
        if names.count(field.name) > 1:
            raise ConfigurationError(f"{type_name}: there is a second field {field.name!r}")
        if field.type == "wstring":
            raise ConfigurationError(
                f"{type_name}: field {field.name!r} is a wstring, which is not supported; "
                "allowed is string"
            )
        if field.type not in PRIMITIVES and field.type != "string":
            check_type_name(field.type)
    return fields


def used_types(type_name: str, text: str) -> set[str]:
    """Full names of the types that a definition names, those of its own package included.

    :raises ConfigurationError: a line is not understood (names type and line number)
    """
    return {field.type for field in _read(type_name, text)[1] if "/" in field.type}


def parse_constants(type_name: str, text: str) -> Constants:
    """The constants of a definition that :func:`parse_definition` has read: name -> value."""
    return _read(type_name, text)[0]


def read_field(name: str, description: FieldDesc) -> Field:
    """A field from what ``rosbags`` says of it."""
    from rosbags.interfaces import Nodetype

    length, limit = SCALAR, 0
    if description[0] == Nodetype.ARRAY:
        length = description[1][1]
        description = description[1][0]
    elif description[0] == Nodetype.SEQUENCE:
        length, limit = SEQUENCE, description[1][1]
        description = description[1][0]
    if description[0] == Nodetype.BASE:
        return Field(name, description[1][0], length, limit, description[1][1])
    assert description[0] == Nodetype.NAME
    # ``rosbags`` takes a wide string for a message of the same package.
    return Field(name, re.sub(".*/wstring$", "wstring", description[1]), length, limit)


def _wrong_line(text: str, type_name: str) -> str:
    """The first line that is not a definition when it stands alone."""
    from rosbags.typesys import TypesysError, get_types_from_msg

    for number, line in enumerate(text.splitlines(), start=1):
        try:
            get_types_from_msg(line, type_name)
        except TypesysError:
            return f"line {number}: {line.strip()!r} is not a field 'type name'"
    return "found no definition"
