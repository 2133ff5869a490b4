# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Values inside a record by a text: nested records, elements of lists, and whether they are there.

=========================  =====================================================================
``speed``                  a field
``pose.position.x``        a field of a nested record
``objects[0].distance``    of an element of a list, counted from 0
``objects[nearest].id``    of the nearest element in the own lane (of detected objects)
``objects[].distance``     of all elements, for an array
``objects.count``          how many elements a list has
``objects[0].valid``       whether the element is there; also of a record that may be missing
=========================  =====================================================================

What is not there reads as zero: what depends on it looks at ``valid`` or ``count``.
"""

from __future__ import annotations

import re
import types
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any, Final, NamedTuple, Union, get_args, get_origin, get_type_hints

from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.messages.records import (
    Acceleration,
    ControlCommand,
    DetectedObject,
    Odometry,
    V2VMessage,
)

#: Lateral distance within which an object is in the own lane [m], as controllers have it.
LANE_HALF_WIDTH: Final = 1.75
VALID: Final = "valid"
COUNT: Final = "count"
NEAREST: Final = "nearest"

_PART = re.compile(r"([A-Za-z_]\w*)(?:\[(\d+|nearest|)\])?")
_ELEMENT = re.compile(r"(\d+|nearest)_(\w+)")
Units = Mapping[type, Mapping[str, str]]

#: SI units of the fields of records, as far as they have one.
RECORD_UNITS: Final[Units] = {
    Odometry: {
        **dict.fromkeys(("x", "y", "z"), "m"),
        **dict.fromkeys(("vx", "vy", "vz"), "m/s"),
        **dict.fromkeys(("wx", "wy", "wz"), "rad/s"),
    },
    Acceleration: dict.fromkeys(("ax", "ay", "az"), "m/s^2"),
    ControlCommand: {"acceleration": "m/s^2"},
    DetectedObject: {
        **dict.fromkeys(("distance", "lateral_offset", "length", "width"), "m"),
        "relative_speed": "m/s",
    },
    V2VMessage: {
        **dict.fromkeys(("x", "y", "length"), "m"),
        "speed": "m/s",
        **dict.fromkeys(("acceleration", "commanded_acceleration"), "m/s^2"),
    },
}


class FieldKind(NamedTuple):
    """What a field holds: a scalar class or a record, in a tuple (``repeated``) or not.

    ``octets``: it is ``uint8[]``, which may stand for bytes.
    """

    scalar: type | None
    repeated: bool = False
    record: Any = None
    octets: bool = False


class FieldPath(NamedTuple):
    """A value inside a record.

    ``read`` takes a record, or None where there is none; ``repeated``: it gives a tuple, or of
    ``octets`` what ``bytes`` takes.
    """

    scalar: type
    repeated: bool
    unit: str | None
    read: Callable[[Any], Any]
    octets: bool = False


@lru_cache(maxsize=256)
def kinds_of(record: type) -> dict[str, FieldKind]:
    """The fields of a class of records, in order."""
    kinds = {}
    defaults: Mapping[str, Any] = getattr(record, "_field_defaults", {})
    for name, hint in get_type_hints(record).items():
        if get_origin(hint) in (Union, types.UnionType):
            hint = next(part for part in get_args(hint) if part is not types.NoneType)
        repeated = get_origin(hint) is tuple
        inner = get_args(hint)[0] if repeated else hint
        is_record = isinstance(inner, type) and issubclass(inner, tuple)
        kinds[name] = FieldKind(
            None if is_record else inner,
            repeated,
            inner if is_record else None,
            octets=getattr(defaults.get(name), "format", "") == "B",
        )
    return kinds


def field_path(record: type, text: str, where: str, units: Units = RECORD_UNITS) -> FieldPath:
    """Find a value inside a record.

    :param record: class of the records
    :param text: see this module
    :param where: how messages call the place of the text
    :param units: class of records -> field -> unit
    :raises ConfigurationError: the record has no such value
    """
    try:
        return _walk(record, text.split("."), units)
    except _WrongPathError as error:
        raise ConfigurationError(f"{where}: found {text!r}: {error}") from None


def paths_of(record: type) -> list[str]:
    """The paths of all values, elements of lists as ``name[0]``; for messages."""
    found = []
    for name, kind in kinds_of(record).items():
        if kind.record is None:
            found.append(name)
        else:
            element = f"{name}[0]" if kind.repeated else name
            found += [f"{element}.{inner}" for inner in paths_of(kind.record)]
    return found


def path_of_identifier(record: type, name: str) -> str | None:
    """The path that an identifier of a programming language stands for; None: none.

    It is the path with underscores: ``objects_0_distance``, ``predecessor_speed``; the array
    ``objects_distance[8]``, whose elements other tools call ``objects_distance[0]`` and so on, is
    ``objects[].distance``.
    """
    base, bracket, index = name.partition("[")
    for path in _spelt(record, base, bool(bracket)):
        return path.replace("[]", f"[{index}", 1) if bracket else path
    return None


def array_path_of_identifier(record: type, name: str) -> str | None:
    """The path of all elements that an identifier of an array stands for; None: none."""
    return next(_spelt(record, name, True), None)


def _spelt(record: type, name: str, array: bool) -> Iterator[str]:
    kinds = kinds_of(record)
    if name in kinds and kinds[name].record is None:
        yield name
    if name == VALID:
        yield name
    for field, kind in kinds.items():
        rest = name.removeprefix(f"{field}_")
        if rest == name:
            continue
        if kind.repeated and rest == COUNT:
            yield f"{field}.{COUNT}"
        if kind.record is None:
            continue
        if not kind.repeated:
            yield from (f"{field}.{inner}" for inner in _spelt(kind.record, rest, array))
        elif array:
            yield from (f"{field}[].{inner}" for inner in _spelt(kind.record, rest, False))
        elif element := _ELEMENT.fullmatch(rest):
            inner_names = _spelt(kind.record, element[2], False)
            yield from (f"{field}[{element[1]}].{inner}" for inner in inner_names)


class _WrongPathError(Exception):
    """The text says what is wrong."""


def _walk(record: Any, parts: list[str], units: Units) -> FieldPath:
    if not parts:
        known = ", ".join((*kinds_of(record), VALID))
        raise _WrongPathError(f"{record.__name__} is not a single value; it has {known}")
    found = _PART.fullmatch(parts[0])
    if found is None:
        raise _WrongPathError(f"{parts[0]!r} is none of name, name[0], name[nearest], name[]")
    name, index = found[1], found[2]
    rest = parts[1:]
    kinds = kinds_of(record)
    if name == VALID and name not in kinds and index is None and not rest:
        return FieldPath(bool, False, None, lambda value: value is not None)
    kind = kinds.get(name)
    if kind is None:
        known = ", ".join(paths_of(record))
        raise _WrongPathError(f"{record.__name__} has no field {name!r}; there are {known}")
    at = list(kinds).index(name)
    if index is not None:
        return _element(kind, at, name, index, rest, units)
    if kind.repeated and rest == [COUNT]:
        return FieldPath(int, False, None, lambda value: 0 if value is None else len(value[at]))
    if kind.record is not None:
        if kind.repeated:
            raise _WrongPathError(
                f"{name} is a list; allowed is {name}[0], {name}[] or {name}.count"
            )
        inner = _walk(kind.record, rest, units)
        return inner._replace(read=lambda value: inner.read(None if value is None else value[at]))
    if rest:
        raise _WrongPathError(f"{name} is a single value, which has no {'.'.join(rest)!r}")
    scalar = kind.scalar or float
    nothing: Any = () if kind.repeated else scalar()
    unit = units.get(record, {}).get(name)
    return FieldPath(
        scalar,
        kind.repeated,
        unit,
        lambda value: nothing if value is None else value[at],
        kind.octets,
    )


def _element(
    kind: FieldKind, at: int, name: str, index: str, rest: list[str], units: Units
) -> FieldPath:
    """One element of a list, or all of them."""
    if not kind.repeated:
        raise _WrongPathError(f"{name} is not a list")
    if kind.record is None:
        scalar = kind.scalar or float
        if rest or not index.isdigit():
            raise _WrongPathError(f"{name} is a list of single values; allowed is {name}[0]")
        nth = int(index)
        return FieldPath(
            scalar,
            False,
            None,
            lambda value: (
                value[at][nth] if value is not None and nth < len(value[at]) else scalar()
            ),
        )
    inner = _walk(kind.record, rest, units)
    read = inner.read
    if not index:
        if inner.repeated:
            raise _WrongPathError(f"{name}[] holds lists of lists")
        return inner._replace(
            repeated=True,
            read=lambda value: () if value is None else tuple(read(item) for item in value[at]),
        )
    if index == NEAREST:
        if not {"distance", "lateral_offset"} <= set(kinds_of(kind.record)):
            raise _WrongPathError(f"{name} has no objects in lanes; allowed is {name}[0]")
        return inner._replace(
            read=lambda value: read(None if value is None else _nearest(value[at]))
        )
    number = int(index)
    return inner._replace(
        read=lambda value: read(
            value[at][number] if value is not None and number < len(value[at]) else None
        )
    )


def _nearest(objects: tuple[Any, ...]) -> Any:
    """The nearest object in the own lane, None if there is none."""
    best = None
    for item in objects:
        if abs(item.lateral_offset) <= LANE_HALF_WIDTH and (
            best is None or item.distance < best.distance
        ):
            best = item
    return best
