# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Records made of values at paths, as :mod:`ros2_cosim.core.messages.field_paths` reads them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.messages.field_paths import VALID, FieldPath, field_path, kinds_of

_PART: Final = re.compile(r"(\w+)(?:\[(\d+)\])?")


def settable_path(record: type, path: str, where: str) -> FieldPath:
    """A path that a record can be made with.

    :raises ConfigurationError: the record has none such, or it cannot be set
    """
    found = field_path(record, path, where)
    if found.repeated or not all(map(_PART.fullmatch, path.split("."))):
        raise ConfigurationError(
            f"{where}: found {path!r}; allowed are single values, of lists as name[0]"
        )
    return found


def made_record(record: type, values: Mapping[str, Any]) -> Any:
    """A record with these values, and zero for all others.

    A list is as long as its highest index asks for; elements whose ``valid`` is false are left out.

    :param values: settable path -> value
    """
    return _made(record, [(path.split("."), value) for path, value in values.items()])


def _made(record: Any, values: list[tuple[list[str], Any]]) -> Any:
    fields = {}
    for name, kind in kinds_of(record).items():
        own: dict[int, list[tuple[list[str], Any]]] = {}
        for (first, *rest), value in values:
            part = _PART.fullmatch(first)
            if part is not None and part[1] == name:
                own.setdefault(int(part[2] or 0), []).append((rest, value))
        if kind.record is not None:
            made = [_made(kind.record, inner) for inner in _elements(own)]
            fields[name] = tuple(made) if kind.repeated else (made or [_made(kind.record, [])])[0]
        elif kind.repeated:
            fields[name] = tuple(inner[0][1] for inner in _elements(own))
        else:
            scalar = kind.scalar or float
            fields[name] = own[0][0][1] if own else scalar()
    return record(**fields)


def _elements(own: Mapping[int, list[tuple[list[str], Any]]]) -> list[list[tuple[list[str], Any]]]:
    found = []
    for index in sorted(own):
        there = [value for rest, value in own[index] if rest == [VALID]]
        if all(there):
            found.append([(rest, value) for rest, value in own[index] if rest != [VALID]])
    return found
