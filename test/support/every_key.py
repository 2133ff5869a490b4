# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Every key of a scenario, where an example has it, and other legal values for it.

Keys are the fields of the classes that check a scenario: those of the file, of its templates, of
the models' parameters and of the control laws. Nothing is listed by hand.
"""

from __future__ import annotations

import copy
import types
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Annotated, Any, NamedTuple, Union, get_args, get_origin

import yaml
from pydantic import BaseModel
from typing_extensions import Self

from ros2_cosim.core.faults.kinds import FieldFault, fault_kinds
from ros2_cosim.core.faults.settings import FaultSettings
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.time import format_ns, parse_duration
from ros2_cosim.core.scenario.composition import read_whole, resolved
from ros2_cosim.core.scenario.registry import available_models, find_model
from ros2_cosim.core.scenario.schema import Scenario
from ros2_cosim.core.scenario.templates import templates
from ros2_cosim.core.scene.scene import SceneSettings
from ros2_cosim.driving.controllers.registry import ENTRY_POINT_GROUP as LAW_GROUP

Path_ = tuple[str | int, ...]
#: Sections of a file that are gone in what it resolves to.
TEMPLATES = templates()
_FAULTS = (FaultSettings, FieldFault)


class Key(NamedTuple):
    """A field of a section, by its name in a file."""

    section: type[BaseModel]
    name: str

    def __str__(self) -> str:
        module = self.section.__module__.removeprefix("ros2_cosim.")
        return f"{module}.{self.section.__qualname__}.{self.name}"


def _inner(kind: Any) -> Iterator[type[BaseModel]]:
    """The sections that a declared type holds."""
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        yield kind
    else:
        for part in get_args(kind):
            yield from _inner(part)


def name_of(section: type[BaseModel], field: str) -> str:
    """The key of a field in a file."""
    return section.model_fields[field].alias or field


def roots() -> list[type[BaseModel]]:
    """The sections in which reading begins."""
    models = [find_model(name, "models").kind.Parameters for name in available_models()]
    laws = [entry.load() for entry in sorted(entry_points(group=LAW_GROUP))]
    sections = [Scenario, SceneSettings, *TEMPLATES.values(), *models, *laws]
    sections += [FieldFault, *fault_kinds().values()]
    return [s for s in sections if isinstance(s, type) and issubclass(s, BaseModel)]


def keys() -> list[Key]:
    """Every key, once."""
    found: dict[type[BaseModel], None] = {}
    waiting = roots()
    while waiting:
        section = waiting.pop(0)
        if section not in found:
            found[section] = None
            for field in section.model_fields.values():
                waiting += _inner(field.annotation)
    return [Key(s, name_of(s, field)) for s in found for field in _own_fields(s)]


def _own_fields(section: type[BaseModel]) -> Iterator[str]:
    """Those of a kind of faults that it does not share with others."""
    shared = [each for each in _FAULTS if issubclass(section, each) and section is not each]
    for field in section.model_fields:
        if not any(field in each.model_fields for each in shared):
            yield field


class Example(NamedTuple):
    """A scenario that is run to see what a key does."""

    name: str
    raw: dict[str, Any]
    plain: dict[str, Any]
    changes: tuple[Any, ...]

    @classmethod
    def read(cls, name: str, file: Path, changes: Sequence[str], put_in: Mapping[str, Any]) -> Self:
        """From a file; ``changes`` are ``key=value`` texts, ``put_in`` values by key."""
        raw = read_whole(file)
        later: list[tuple[Sequence[str], Any]] = []
        texts = (change.partition("=") for change in changes)
        given = [(key, yaml.safe_load(text)) for key, _, text in texts]
        for key, value in (*given, *put_in.items()):
            path = key.split(".")
            if path[0] in (*TEMPLATES, "parameters"):
                put(raw, path, value)
            else:
                later.append((path, value))
        return cls(name, raw, _plain(raw, later, name), tuple(later))

    def lasting(self, duration: str) -> Self:
        """The same with another duration; empty: the same."""
        if not duration:
            return self
        changes = (*self.changes, (["duration"], duration))
        return self._replace(plain={**self.plain, "duration": duration}, changes=changes)


def _plain(raw: dict[str, Any], changes: Any, name: str) -> dict[str, Any]:
    plain = resolved(copy.deepcopy(raw), (), name)
    for path, value in changes:
        put(plain, path, value)
    return plain


def put(data: Any, path: Sequence[str | int], value: Any) -> None:
    """Set what stands at a path of plain data; mappings on the way are made."""
    for part in path[:-1]:
        if isinstance(data, dict) and data.get(part) is None:
            data[part] = {}
        data = data[part]
    data[path[-1]] = value


class Place(NamedTuple):
    """Where an example has a section."""

    example: Example
    path: Path_
    #: Whether it is in the file as written, before templates are resolved.
    raw: bool

    @property
    def at(self) -> str:
        """The path in one word."""
        return ".".join(map(str, self.path))

    def given(self, name: str) -> Any:
        """What the example has for a key of the section; None: nothing."""
        data = self.example.raw if self.raw else self.example.plain
        return value_at(data, (*self.path, name))


def _sections(kind: Any, data: Any, path: Path_) -> Iterator[tuple[type[BaseModel], Path_]]:
    origin = get_origin(kind)
    if kind is FaultSettings:
        kind = fault_kinds()[data["kind"]]
        for each in _FAULTS:
            if issubclass(kind, each):
                yield each, path
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        names = {name_of(kind, field): field for field in kind.model_fields}
        if isinstance(data, Mapping) and data.keys() <= names.keys():
            yield kind, path
            for key, value in data.items():
                annotation = kind.model_fields[names[key]].annotation
                yield from _sections(annotation, value, (*path, key))
    elif origin is Annotated:
        yield from _sections(get_args(kind)[0], data, path)
    elif origin in (Union, types.UnionType):
        for part in get_args(kind):
            yield from _sections(part, data, path)
    elif origin is not None and isinstance(data, Mapping):
        for key, value in data.items():
            yield from _sections(get_args(kind)[-1], value, (*path, key))
    elif origin is not None and isinstance(data, Sequence) and not isinstance(data, str):
        for index, value in enumerate(data):
            yield from _sections(get_args(kind)[0], value, (*path, index))


@cache
def _laws() -> dict[str, EntryPoint]:
    return {entry.name: entry for entry in entry_points(group=LAW_GROUP)}


def places(example: Example) -> Iterator[tuple[type[BaseModel], Place]]:
    """Every section that an example has, and where."""
    laws = _laws()
    for key, section in TEMPLATES.items():
        if key in example.raw:
            for kind, path in _sections(section, example.raw[key], (key,)):
                yield kind, Place(example, path, True)
    found: list[tuple[type[BaseModel], Any, Path_]] = [(Scenario, example.plain, ())]
    found += [(SceneSettings, example.plain.get("scene") or {}, ("scene",))]
    for name, participant in example.plain["participants"].items():
        kind = find_model(participant["model"], name).kind.Parameters
        given = participant.get("parameters") or {}
        at = ("participants", name, "parameters")
        if kind is not None:
            found.append((kind, given, at))
        if given.get("law") in laws:
            law = laws[given["law"]].load()
            found.append((law, given.get("law_parameters") or {}, (*at, "law_parameters")))
    for section, data, path in found:
        for inner, there in _sections(section, data, path):
            yield inner, Place(example, there, False)


def value_at(data: Any, path: Path_) -> Any:
    """What stands at a path; None where nothing does."""
    for part in path:
        if isinstance(data, Mapping):
            data = data.get(part)
        elif isinstance(data, (list, tuple)) and isinstance(part, int):
            data = data[part]
        else:
            return None
    return data


def changed(place: Place, name: str, value: Any) -> dict[str, Any]:
    """The example with another value, resolved."""
    example = place.example
    data = copy.deepcopy(example.raw if place.raw else example.plain)
    put(data, (*place.path, name), value)
    return _plain(data, example.changes, example.name) if place.raw else data


def others(key: Key, given: Any) -> Iterator[Any]:
    """Other values by the declaration of a key; one that does not fit is refused when read."""
    field = next(
        f for n, f in key.section.model_fields.items() if name_of(key.section, n) == key.name
    )
    schema = key.section.model_json_schema(by_alias=True)
    entry = schema.get("properties", {}).get(key.name, {})
    now = field.get_default(call_default_factory=True) if given is None else given
    if field.is_required() and given is None:
        now = None
    seen = [now]
    for value in _values(entry, schema.get("$defs", {}), now):
        if value not in seen or type(value) is not type(seen[seen.index(value)]):
            seen.append(value)
            yield value


def _values(entry: Mapping[str, Any], defs: Mapping[str, Any], now: Any) -> Iterator[Any]:
    if "$ref" in entry:
        entry = defs[entry["$ref"].rpartition("/")[2]]
    if "const" in entry:
        yield entry["const"]
    elif "enum" in entry:
        yield from entry["enum"]
    elif "anyOf" in entry or "oneOf" in entry or "allOf" in entry:
        if {"const": 0} in entry.get("anyOf", ()):
            yield from _times(now)
            return
        for part in (*entry.get("anyOf", ()), *entry.get("oneOf", ()), *entry.get("allOf", ())):
            yield from _values(part, defs, now)
    elif entry.get("type") == "boolean":
        yield now is not True
    elif entry.get("type") in ("integer", "number"):
        yield from _numbers(entry, now)
    elif entry.get("type") == "null":
        yield None
    elif entry.get("type") == "string":
        yield from ("nosuch", "/nosuch", "nosuch.nosuch")
    elif entry.get("type") == "array" or "prefixItems" in entry:
        if isinstance(now, Sequence) and not isinstance(now, str) and now:
            yield list(now)[:-1]
            yield list(reversed(now))
            for value in _values(entry.get("items") or {}, defs, now[0]):
                yield [value, *now[1:]]
        low = entry.get("minItems", 1)
        made = list(_values(entry.get("items") or {}, defs, None))
        if made:
            yield made[:1] * low
            yield (made * low)[:low]
        yield []
    elif entry.get("type") == "object" or "properties" in entry:
        made_section = _section(entry, defs)
        if made_section is not None:
            yield made_section
        if isinstance(now, Mapping) and now:
            yield {}
            yield dict(list(now.items())[:-1])
    elif not entry.keys() - {"title", "default", "description"}:
        yield from _numbers({}, now) if isinstance(now, (int, float)) else ("nosuch",)


def _section(entry: Mapping[str, Any], defs: Mapping[str, Any]) -> dict[str, Any] | None:
    """The least section: what is required, and no more."""
    made = {}
    for name in entry.get("required", ()):
        value = next(iter(_values(entry["properties"][name], defs, None)), None)
        if value is None:
            return None
        made[name] = value
    return made


def _times(now: Any) -> Iterator[str]:
    try:
        time = parse_duration(f"{now}ns" if type(now) is int else now) if now is not None else 0
    except ConfigurationError:
        time = 0
    if time:
        yield from (format_ns(time // 2), format_ns(2 * time), format_ns(time + time // 10))
    yield from ("100ms", "20ms", "1s", "0s")


def _numbers(entry: Mapping[str, Any], now: Any) -> Iterator[float | int]:
    low = entry.get("minimum", entry.get("exclusiveMinimum"))
    high = entry.get("maximum", entry.get("exclusiveMaximum"))
    whole = entry.get("type") == "integer"
    found: list[float] = []
    if isinstance(now, (int, float)) and not isinstance(now, bool):
        found += [now * 0.7, now * 1.3, now + 1, now - 1, now * 2]
    if low is not None and high is not None:
        found += [low + 0.3 * (high - low), low + 0.7 * (high - low)]
    found += [1.0, 2.0, 0.5, 0.1, 10.0, 0.01]
    for value in found:
        if whole:
            value = round(value)
        if (low is None or value >= low) and (high is None or value <= high):
            yield int(value) if whole else round(value, 6)
