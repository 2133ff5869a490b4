# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Fields of records by their dotted names; a list on the way stands for all of its elements."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, get_args, get_origin, get_type_hints

from ros2_cosim.core.kernel.errors import ConfigurationError


def type_of_field(record: Any, path: str, where: str) -> Any:
    """The type of a field; of lists that end the path, the list's.

    :param record: a NamedTuple class
    :raises ConfigurationError: there is no such field
    """
    found: Any = record
    for part in path.split("."):
        if get_origin(found) is tuple:
            found = get_args(found)[0]
        names = fields_of(found)
        if part not in names:
            raise ConfigurationError(
                f"{where}: found '{path}'; there is no '{part}', allowed are "
                f"{', '.join(names) or 'no further fields'}"
            )
        found = get_type_hints(found)[part]
    return found


def fields_of(kind: Any) -> tuple[str, ...]:
    """The fields of a record class; none of another type."""
    return tuple(get_type_hints(kind)) if isinstance(kind, type) else ()


def with_field(value: Any, path: str, change: Callable[[Any], Any]) -> Any:
    """A record with a field changed.

    :param change: old value of the field -> new one
    """
    first, _, rest = path.partition(".")
    old = value[value._fields.index(first)]
    if not rest:
        new = change(old)
    elif type(old) is tuple:
        new = tuple(with_field(each, rest, change) for each in old)
    else:
        new = with_field(old, rest, change)
    return value._replace(**{first: new})


def values_of(value: Any, path: str) -> Iterator[Any]:
    """The values of a field, one for each element of a list."""
    first, _, rest = path.partition(".")
    inner = value[value._fields.index(first)]
    for each in inner if type(inner) is tuple else (inner,):
        if rest:
            yield from values_of(each, rest)
        else:
            yield each
