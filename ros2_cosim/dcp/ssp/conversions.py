# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""How values change on their way: by units, linear transformations and tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from ros2_cosim.core.documents.fmi2 import base_unit
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.dcp.ssp.package import child, children, place_of
from ros2_cosim.dcp.ssp.structure import number, whole
from ros2_cosim.dcp.standard.slave_description import Unit

_TABLES = (
    "BooleanMappingTransformation",
    "IntegerMappingTransformation",
    "EnumerationMappingTransformation",
)
_TRUE = ("true", "1")


class Conversion(NamedTuple):
    """target = factor * source + offset, or what the table has; a value that it lacks stays."""

    factor: float = 1.0
    offset: float = 0.0
    table: Mapping[Any, Any] = {}

    @property
    def is_linear(self) -> bool:
        """Whether a number is changed by it."""
        return (self.factor, self.offset) != (1.0, 0.0)

    def of(self, value: Any) -> Any:
        """The converted value, lists item by item; a text cannot be scaled."""
        if isinstance(value, list):
            return [self.of(item) for item in value]
        if self.is_linear and not isinstance(value, str):
            return self.factor * value + self.offset
        return self.table.get(value, value) if self.table else value

    def then(self, other: Conversion) -> Conversion:
        """This one, and another one behind it."""
        keys = [*self.table, *(key for key in other.table if key not in self.table)]
        return Conversion(
            other.factor * self.factor,
            other.factor * self.offset + other.offset,
            {key: other.table.get(self.of(key), self.of(key)) for key in keys},
        )


NONE = Conversion()


def between(source: Unit | None, target: Unit | None, where: str) -> Conversion:
    """From one unit to another; none if one of them is not known.

    :raises ConfigurationError: they measure different things
    """
    if source is None or target is None or source.name == target.name:
        return NONE
    first, second = _defined(source), _defined(target)
    if first is None or second is None:
        return NONE
    if dict(first.exponents) != dict(second.exponents) or not second.factor:
        raise ConfigurationError(
            f"{where}: unit '{source.name}' cannot be converted to '{target.name}'"
        )
    if (first.factor, first.offset) == (second.factor, second.offset):
        return NONE
    return Conversion(first.factor / second.factor, (first.offset - second.offset) / second.factor)


def _defined(unit: Unit) -> Unit | None:
    """The unit with base units; those without are known by their names."""
    if unit.has_base:
        return unit
    found = base_unit(unit.name)
    return None if found is None else Unit(unit.name, found.exponents, found.factor)


def transformation(
    node: Any, source: Mapping[str, int] | None = None, target: Mapping[str, int] | None = None
) -> Conversion:
    """That below a connection or an entry of a parameter mapping.

    :param source: values of the items of the enumerations on both sides; None: a table of items
        keeps their names
    :raises ConfigurationError: it is wrong
    """
    linear = child(node, "LinearTransformation")
    if linear is not None:
        return Conversion(number(linear, "factor", 1.0), number(linear, "offset", 0.0))
    found = child(node, *_TABLES)
    if found is None:
        return NONE
    table: dict[Any, Any] = {}
    for entry in children(found, "MapEntry"):
        kind = _TABLES.index(found.tag.rpartition("}")[2])
        key = _entry(entry, "source", kind, source)
        if key in table:
            raise ConfigurationError(
                f"{place_of(entry)}: source: found '{entry.get('source')}' twice"
            )
        table[key] = _entry(entry, "target", kind, target)
    return Conversion(table=table)


def _entry(node: Any, key: str, kind: int, items: Mapping[str, int] | None) -> Any:
    text = node.get(key) or ""
    if kind == 0:
        return int(text in _TRUE)
    if kind == 1:
        return whole(node, key)
    if items is None:
        return text
    if text not in items:
        raise ConfigurationError(
            f"{place_of(node)}: {key}: found '{text}'; allowed are {', '.join(items) or 'no items'}"
        )
    return items[text]
