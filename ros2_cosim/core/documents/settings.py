# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
r"""The one way in which settings are declared and checked: pydantic models, one error text.

>>> class Wheel(Section):
...     radius: float = Field(gt=0)
>>> read_section(Wheel, {"radius": -1}, origin="car.yaml", place="wheel")
Traceback (most recent call last):
ros2_cosim.core.kernel.errors.ConfigurationError: car.yaml: wheel.radius: found -1; allowed is ...
"""

from __future__ import annotations

import ipaddress
import json
import re
import reprlib
import types
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from fractions import Fraction
from typing import Annotated, Any, ClassVar, TypeVar, Union, get_args, get_origin

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    ValidationError,
    ValidationInfo,
    WithJsonSchema,
)

from ros2_cosim.core.documents.former_keys import instead_of
from ros2_cosim.core.documents.one_line import printable
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.guesses import did_you_mean
from ros2_cosim.core.kernel.time import (
    FOREVER,
    NEEDS_UNIT,
    format_ns,
    parse_duration,
    parse_ros_time,
)

#: So many faults are listed in one error.
MAX_FAULTS = 3

_ABBREVIATED = reprlib.Repr()
_ABBREVIATED.maxstring = _ABBREVIATED.maxother = 60

_Path = tuple[str | int, ...]


class Section(BaseModel):
    """A mapping whose keys are all known, whose numbers are finite, and which does not change."""

    # Most sections are never read in a process: a validator is built when one is.
    model_config: ClassVar[ConfigDict] = ConfigDict(
        extra="forbid", frozen=True, allow_inf_nan=False, defer_build=True
    )
    #: Fields that say where something is: with other values the same is simulated.
    whereabouts: ClassVar[frozenset[str]] = frozenset()


_Section = TypeVar("_Section", bound=BaseModel)


def build_validators(sections: type[BaseModel] = Section) -> None:
    """Build the validators of all sections now, for the processes that are copies of this one."""
    for section in sections.__subclasses__():
        section.model_rebuild()
        build_validators(section)


#: Context of a validation: the data was written by a user, so that a number needs its unit.
BY_HAND = "by hand"


def _read_duration(value: object, context: object, minimum: int) -> int:
    if type(value) is int and value >= minimum and context != BY_HAND:
        return value  # computed here, or written by this project [ns]
    try:
        return parse_duration(value, minimum=minimum)
    except ConfigurationError as error:
        # The place is added by fault_text.
        raise ValueError(str(error).removeprefix("duration: ")) from None


def _duration(value: object, info: ValidationInfo) -> int:
    return _read_duration(value, info.context, 0)


def _positive(value: object, info: ValidationInfo) -> int:
    return _read_duration(value, info.context, 1)


def _in_text(time: int) -> str:
    return format_ns(time) if time < FOREVER else f"{time}ns"


_DURATION_SCHEMA = WithJsonSchema(
    {
        "anyOf": [
            {"const": 0},
            {"type": "string", "pattern": r"^\s*([0-9.]+\s*(ns|us|ms|s|min|h)|0)\s*$"},
        ],
        "description": "Time: 40ms, 1.5 s, or 0",
    }
)
_WRITTEN = PlainSerializer(_in_text, when_used="json")
#: Integer nanoseconds, written as "40ms" or "1.5 s"; only 0 needs no unit.
Duration = Annotated[int, BeforeValidator(_duration), _WRITTEN, _DURATION_SCHEMA]
PositiveDuration = Annotated[int, BeforeValidator(_positive), _WRITTEN, _DURATION_SCHEMA]


def _ros_time(value: object, info: ValidationInfo) -> int:
    if type(value) is int and value >= 0 and info.context != BY_HAND:
        return value
    try:
        return parse_ros_time(value)
    except ConfigurationError as error:
        raise ValueError(str(error).removeprefix("time: ")) from None


#: A point in time as ROS counts it, in integer nanoseconds; see :func:`.time.parse_ros_time`.
RosTime = Annotated[
    int,
    BeforeValidator(_ros_time),
    _WRITTEN,
    WithJsonSchema(
        {
            "anyOf": [
                {"const": 0},
                {"type": "string"},
                {"type": "object", "additionalProperties": {"type": "integer"}},
            ],
            "description": "Time since 1970: 1767225600s, 2026-01-01T00:00:00Z, or "
            "{sec: 1767225600, nanosec: 0}",
        }
    ),
]
_SIZE = re.compile(r"([0-9]{1,15})(?:\.([0-9]{1,9}))? ?(k|[KMGT]i|[MGT])?B")
_SIZE_UNITS = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12} | {
    "Ki": 2**10,
    "Mi": 2**20,
    "Gi": 2**30,
    "Ti": 2**40,
}


def _size(value: object) -> object:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    match = _SIZE.fullmatch(value.strip()) if isinstance(value, str) else None
    if match is None or (match[2] and not match[3]):
        raise ValueError(
            f"found {_ABBREVIATED.repr(value)}; allowed is a whole number of bytes or a text like "
            "'100MB' (units B, kB, MB, GB, TB; KiB, MiB, GiB, TiB)"
        )
    whole, decimals, unit = match.groups(default="")
    return int(Fraction(f"{whole}.{decimals or 0}") * _SIZE_UNITS[unit])


#: Bytes, written as "100MB", "1.5 GiB" or a plain number of bytes; a part of a byte is left off.
Size = Annotated[
    int,
    BeforeValidator(_size),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "integer", "minimum": 0},
                {"type": "string", "pattern": r"^\s*[0-9.]+ ?([kKMGT]i?)?B\s*$"},
            ],
            "description": "Size: 100MB, 1.5 GiB, or a whole number of bytes",
        }
    ),
]
Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")]
#: A number, integer or not, and no text, truth value or infinity.
Number = Annotated[float, Field(strict=True, allow_inf_nan=False)]
#: A whole number, and no text or truth value.
Whole = Annotated[int, Field(strict=True)]


def _host(value: str) -> str:
    try:
        ipaddress.ip_address(value)
    except ValueError:
        labels = value.removesuffix(".").split(".")
        if len(value) > 253 or not all(map(_HOST_LABEL.fullmatch, labels)):
            raise ValueError(
                f"found {_ABBREVIATED.repr(value)}; allowed is an IP address or a host name"
            ) from None
    return value


_HOST_LABEL = re.compile(r"(?!-)[A-Za-z0-9_-]{1,63}(?<!-)")
#: An IP address or the name of a host; whether it is there is not looked up.
Host = Annotated[str, AfterValidator(_host)]


def read_section(
    kind: type[_Section],
    data: Any,
    *,
    origin: str = "",
    place: str = "",
    error: type[ConfigurationError] = ConfigurationError,
    by_hand: bool = True,
) -> _Section:
    """Check plain data against a model.

    :param kind: the model
    :param data: mappings, lists, texts, numbers
    :param origin: the file or document of the data, for messages
    :param place: dotted keys of the data within it, for messages
    :param error: class of the error to raise
    :param by_hand: whether a user wrote the data: a time needs a unit then, and is a whole number
        of nanoseconds otherwise
    :raises ConfigurationError: (or ``error``) naming origin and place of each fault, what was
        found there and what is allowed
    """
    try:
        return kind.model_validate(data, context=BY_HAND if by_hand else None)
    except ValidationError as fault:
        raise error(fault_text(fault, kind, data, origin=origin, place=place)) from None


def with_units(kind: type[BaseModel], data: Mapping[str, Any]) -> dict[str, Any]:
    """A copy of data that a program wrote, its times with units as a user writes them.

    :param kind: the model of the data; other faults stay unchanged
    """
    made: dict[str, Any] = deepcopy(dict(data))
    try:
        kind.model_validate(made, context=BY_HAND)
    except ValidationError as fault:
        for found in fault.errors(include_url=False):
            if NEEDS_UNIT in found["msg"] and type(found["input"]) is int:
                *parents, last = _path(found, made)
                holder: Any = made
                for part in parents:
                    holder = holder[part]
                holder[last] = f"{found['input']}ns"
    return made


def without_former(kind: type[BaseModel], data: Mapping[str, Any]) -> dict[str, Any]:
    """A copy of data that a program wrote, without unknown keys that say nothing: null, empty, 0.

    An older version wrote further keys.
    """
    made: dict[str, Any] = deepcopy(dict(data))
    try:
        kind.model_validate(made)
    except ValidationError as fault:
        for found in fault.errors(include_url=False):
            if found["type"] == "extra_forbidden" and not found["input"]:
                *parents, last = _path(found, made)
                holder: Any = made
                for part in parents:
                    holder = holder[part]
                del holder[last]
    return made


def fault_text(
    fault: ValidationError,
    kind: type[BaseModel],
    data: Any,
    *,
    origin: str = "",
    place: str = "",
) -> str:
    """What pydantic found, in one line; see :func:`read_section` for the parameters."""
    return (f"{origin}: " if origin else "") + in_one_line(fault_texts(fault, kind, data, place))


def fault_texts(
    fault: ValidationError, kind: type[BaseModel], data: Any, place: str = ""
) -> list[str]:
    """What pydantic found, a sentence for each place; see :func:`read_section`."""
    faults: dict[_Path, list[Any]] = {}
    for found in fault.errors(include_url=False):
        faults.setdefault(_path(found, data), []).append(found)
    texts = []
    for path, found_there in faults.items():
        dotted = printable(".".join(str(part) for part in ((place,) if place else ()) + path))
        former = instead_of(dotted) if found_there[0]["type"] == "extra_forbidden" else None
        sentence = f"gone; allowed is {former}" if former else _sentence(found_there, kind)
        texts.append(f"{dotted}: {sentence}" if dotted else sentence)
    return texts


def in_one_line(faults: Sequence[str]) -> str:
    """Several faults as one line; beyond the first few, their number."""
    more = [f"and {len(faults) - MAX_FAULTS} more"] if len(faults) > MAX_FAULTS else []
    return "; ".join([*faults[:MAX_FAULTS], *more])


def _path(found: Any, data: Any) -> _Path:
    """Where a finding lies in the data: without the marks that pydantic adds for unions."""
    path: list[str | int] = []
    for part in found["loc"]:
        if isinstance(data, Mapping) and part in data:
            data = data[part]
        elif _is_list(data) and isinstance(part, int) and part < len(data):
            data = data[part]
        else:
            continue
        path.append(part)
    if found["type"] == "missing":
        path.append(found["loc"][-1])
    return tuple(path)


def _is_list(data: Any) -> bool:
    return isinstance(data, Sequence) and not isinstance(data, (str, bytes))


def _sentence(faults: list[Any], kind: type[BaseModel]) -> str:
    """What is wrong at one place; several faults are those of the members of a union."""
    first = faults[0]
    if first["type"] == "extra_forbidden":
        return _unknown_key(first["loc"], kind)
    if first["type"] == "missing":
        return "missing"
    message = first["msg"].removeprefix("Value error, ")
    if first["type"] == "value_error" and isinstance(first["input"], Mapping):
        return str(message)  # a rule between several keys
    if message.startswith("found "):
        return str(message)
    allowed = dict.fromkeys(_allowed(fault) for fault in faults)
    either, *others = allowed
    others = [other.removeprefix("allowed is ") for other in others]
    return f"found {_found(first)}; {' or '.join([either, *others])}"


def _found(fault: Any) -> str:
    """What was found, as YAML and JSON write it; of a list of the wrong length, its length."""
    value = fault["input"]
    if value and fault["type"] in ("too_short", "too_long"):
        return f"{fault['ctx']['actual_length']} entries"
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    return _ABBREVIATED.repr(value)


#: Type of pydantic's finding -> what is allowed, with the finding's context.
_ALLOWED = {
    "greater_than": "a number above {gt}",
    "greater_than_equal": "a number of at least {ge}",
    "less_than": "a number below {lt}",
    "less_than_equal": "a number of at most {le}",
    "finite_number": "a finite number",
    "float_type": "a number",
    "float_parsing": "a number",
    "int_type": "an integer",
    "int_parsing": "an integer",
    "int_parsing_size": "an integer",
    "int_from_float": "an integer",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "string_type": "a text",
    "string_pattern_mismatch": "a text of the form {pattern}",
    "string_too_short": "a text of at least {min_length} characters",
    "string_too_long": "a text of at most {max_length} characters",
    "literal_error": "{expected}",
    "enum": "{expected}",
    "invalid_key": "a text as key",
    "none_required": "null",
    "list_type": "a list",
    "tuple_type": "a list",
    "dict_type": "a mapping",
    "mapping_type": "a mapping",
    "model_type": "a mapping",
    "too_short": "at least {min_length}",
    "too_long": "at most {max_length}",
}


def _allowed(fault: Any) -> str:
    text = _ALLOWED.get(fault["type"])
    if text is None:
        message = fault["msg"].removeprefix("Value error, ")
        if message.startswith("Input should be "):
            return "allowed is " + message.removeprefix("Input should be ")
        return f"{message[:1].lower()}{message[1:]}"
    limits = {
        name: int(limit) if isinstance(limit, float) and limit.is_integer() else limit
        for name, limit in fault.get("ctx", {}).items()
    }
    return "allowed is " + text.format(**limits)


def _unknown_key(path: _Path, kind: type[BaseModel]) -> str:
    known = list(dict.fromkeys(_keys_at(path[:-1], kind)))
    return (
        f"unknown key; {did_you_mean(str(path[-1]), known)}allowed are {', '.join(known)}"
        if known
        else "unknown key"
    )


def _keys_at(path: _Path, kind: type[BaseModel]) -> Iterator[str]:
    """The keys of the models that may stand at a place."""
    kinds: list[Any] = [kind]
    for part in path:
        kinds = [inner for outer in kinds for inner in _inside(outer, part)] or kinds
    for model in kinds:
        if isinstance(model, type) and issubclass(model, BaseModel):
            for name, field in model.model_fields.items():
                yield field.alias or name


def _inside(kind: Any, part: str | int) -> list[Any]:
    """The types that may stand at a key or index of a type."""
    arguments = get_args(kind)
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        for name, field in kind.model_fields.items():
            if part in (name, field.alias):
                return _members(field.annotation)
        return []
    if get_origin(kind) in (dict, Mapping):
        return _members(arguments[1])
    if get_origin(kind) in (list, tuple) and isinstance(part, int):
        fixed = [argument for argument in arguments if argument is not ...]
        return _members(fixed[min(part, len(fixed) - 1)])
    return []


def _members(kind: Any) -> list[Any]:
    """The types of a union, each without its annotations."""
    if get_origin(kind) is Annotated:
        return _members(get_args(kind)[0])
    if get_origin(kind) in (Union, types.UnionType):
        return [member for part in get_args(kind) for member in _members(part)]
    return [kind]
