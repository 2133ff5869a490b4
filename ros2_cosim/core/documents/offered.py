# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What installed distributions offer under a name: entry points, group by group."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from ros2_cosim.core.kernel.errors import ConfigurationError, MissingWingError
from ros2_cosim.core.kernel.guesses import did_you_mean
from ros2_cosim.core.kernel.loading import (
    is_own_module,
    line_of,
    note_code_of_others,
    refuse_code,
    refuse_missing_wing,
)


class _Groups(dict[str, dict[str, EntryPoint]]):
    """Group -> name -> entry point; a group is looked for when it is first asked for.

    There are hundreds of entry points in dozens of groups, and a command asks for a few of these.
    """

    def __init__(self) -> None:
        self._found = entry_points()

    def __missing__(self, group: str) -> dict[str, EntryPoint]:
        self[group] = {entry.name: entry for entry in sorted(self._found.select(group=group))}
        return self[group]


@lru_cache
def all_offered() -> _Groups:
    """What :func:`offered` answers, by groups: to read all of them takes as long as one."""
    return _Groups()


def offered(group: str) -> dict[str, EntryPoint]:
    """Name -> entry point of all that installed distributions offer in a group."""
    return all_offered()[group]


def functions_of(group: str) -> dict[str, Callable[..., Any]]:
    """Name -> function of all that installed distributions offer in a group.

    What needs a part of this package that is not there is left out.

    :raises ConfigurationError: one cannot be imported
    """
    found = {}
    for name, entry in offered(group).items():
        with suppress(MissingWingError):
            found[name] = load_entry(entry, group)
    return found


def load_entry(entry: EntryPoint, where: str, noun: str = "") -> Any:
    """What an entry point stands for.

    :param where: how messages call the place that needs it
    :param noun: what they call it there
    :raises MissingWingError: it needs a part of this package that is not there
    :raises ConfigurationError: it cannot be imported
    """
    if not is_own_module(entry.module):
        note_code_of_others()
    try:
        return entry.load()
    except Exception as error:
        what = f"{where}: {f'{noun} ' if noun else ''}'{entry.name}'"
        refuse_missing_wing(error, what)
        raise ConfigurationError(
            f"{what} cannot be loaded: {type(error).__name__}: {error}{line_of(error)}"
        ) from error


def find_entry(group: str, name: str, where: str) -> EntryPoint:
    """What an installed distribution offers under a name; it is not imported.

    :param where: how messages call the place that names it
    :raises ConfigurationError: there is none of this name
    """
    known = offered(group)
    entry = known.get(name)
    if entry is None:
        raise ConfigurationError(
            f"{where}: found '{name}'; {did_you_mean(name, known)}allowed are "
            f"{', '.join(known) or 'none'}"
        )
    return entry


def find_kind(group: str, name: str, where: str, noun: str, *kinds: type) -> Any:
    """The class that an installed distribution offers under a name.

    :param where: how messages call the place that names it
    :param kinds: what it may be derived from
    :raises ConfigurationError: there is none of this name, or it cannot be imported
    """
    entry = find_entry(group, name, where)
    if not is_own_module(entry.module):
        refuse_code(f"{where}: found '{name}', which")
    found = load_entry(entry, where, noun)
    if not (isinstance(found, type) and issubclass(found, kinds)):
        allowed = " or ".join(kind.__name__ for kind in kinds)
        raise ConfigurationError(
            f"{where}: {noun} '{name}' cannot be loaded: {entry.value} is not a {allowed}"
        )
    return found
