# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The scenarios that a page may start, and the numbers of them that it may change.

The page sends a name of this list and values of the numbers listed with it: none of its paths or
texts gets into a scenario.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

from ros2_cosim.core.documents.plain_data import read_mapping
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.time import SECOND
from ros2_cosim.core.scenario.composition import read_whole
from ros2_cosim.core.scenario.library import library, library_file
from ros2_cosim.core.scenario.schema import Scenario, load_scenario
from ros2_cosim.core.scenario.templates import imported_suffixes

LIBRARY, FOLDER = "library", "folder"
#: A folder is searched for so many scenarios; further ones are started by ``cosim run``.
MOST_FILES = 200
_SUFFIXES = (".yaml", ".yml")
#: One of these is in each scenario file.
_SECTIONS = ("participants", "platoon", "openscenario", "include")
_DURATION = "duration"


class Startable(NamedTuple):
    """A scenario that can be started: ``origin`` is ``LIBRARY`` or ``FOLDER``."""

    name: str
    description: str
    origin: str
    file: Path


class Value(NamedTuple):
    """A number or switch of a scenario: its key as ``--set`` has it, and its value.

    ``declared`` are those that the scenario declares as its parameters. The duration is in s.
    """

    key: str
    value: float | bool
    declared: bool


def startable(folder: Path) -> list[Startable]:
    """The scenarios of a folder, by the names of their files, and those of the library."""
    found = []
    imported = imported_suffixes()
    known = (*_SUFFIXES, *imported)
    files = (f for f in sorted(folder.iterdir()) if f.suffix in known and f.is_file())
    for file in list(files)[:MOST_FILES]:
        if file.suffix in imported:
            found.append(Startable(file.name, "", FOLDER, file))
            continue
        try:
            data = read_mapping(file, "scenario")
        except (ConfigurationError, OSError):
            continue  # another program's file
        if any(section in data for section in _SECTIONS):
            found.append(Startable(file.name, str(data.get("description", "")), FOLDER, file))
    for entry in library():
        found.append(Startable(entry.name, entry.description, LIBRARY, library_file(entry.name)))
    return found


def values_of(entry: Startable) -> list[Value]:
    """What of a scenario can be changed: declared parameters, seed, duration, numbers of models.

    :raises ConfigurationError: the scenario is wrong
    """
    scenario = load_scenario(entry.file)
    found = []
    if entry.file.suffix not in imported_suffixes():
        declared = read_whole(entry.file).get("parameters", {})
        found = [Value(key, value, True) for key, value in _numbers("parameters", declared)]
    found += [
        Value("seed", scenario.seed, False),
        Value(_DURATION, scenario.duration / SECOND, False),
    ]
    for name, participant in scenario.participants.items():
        numbers = _numbers(f"participants.{name}.parameters", participant.parameters)
        found += [Value(key, value, False) for key, value in numbers]
    return found


def changed_scenario(entry: Startable, changes: Mapping[str, float | bool]) -> Scenario:
    """The scenario, with some of its numbers changed.

    :param changes: key -> value, of :func:`values_of`
    :raises ConfigurationError: a key is not among them, its value of another kind, or what comes
        out is wrong
    """
    known = {value.key: value.value for value in values_of(entry)}
    overrides = []
    for key, value in changes.items():
        if key not in known:
            raise ConfigurationError(
                f"values: found {key[:100]!r}; scenario '{entry.name}' has {', '.join(known)}"
            )
        endless = isinstance(value, float) and not math.isfinite(value)
        if isinstance(value, bool) is not isinstance(known[key], bool) or endless:
            raise ConfigurationError(
                f"values: {key}: found {value}; allowed is "
                f"{'true or false' if isinstance(known[key], bool) else 'a number'}"
            )
        overrides.append(f"{key}={_written(key, value)}")
    return load_scenario(entry.file, overrides)


def _numbers(place: str, values: Mapping[str, Any]) -> Iterator[tuple[str, float | bool]]:
    """Keys and values of all numbers and switches; lists are left alone."""
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from _numbers(f"{place}.{name}", value)
        elif isinstance(value, int | float):
            yield f"{place}.{name}", value


def _written(key: str, value: float | bool) -> str:
    """A value as ``--set`` reads it: without an exponent, which YAML takes for a text."""
    if isinstance(value, bool):
        return "true" if value else "false"
    text = format(Decimal(repr(value)), "f")
    return f"{text}s" if key == _DURATION else text
