# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What a description says: systems, components, connectors, connections, as plain data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import inf, isfinite
from typing import Any, NamedTuple

from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.dcp.ssp.package import below, child, children, name_of, place_of
from ros2_cosim.dcp.standard.attributes import BASE_UNITS
from ros2_cosim.dcp.standard.slave_description import Unit

Path = tuple[str, ...]
"""Names of the elements that lead to one, from the root system, which has none."""

#: Elements that say which type a connector or a parameter has.
TYPES = frozenset(
    """Real Float64 Float32 Integer Int8 UInt8 Int16 UInt16 Int32 UInt32 Int64 UInt64 Boolean String
    Enumeration Binary Clock""".split()
)


class Declared(NamedTuple):
    """What a document defines by names: units, and the values of enumerations by their items."""

    units: Mapping[str, Unit]
    enumerations: Mapping[str, Mapping[str, int]]


class Connector(NamedTuple):
    """A connector; ``unit`` and ``enumeration`` are names, if its type says some."""

    node: Any
    name: str
    kind: str
    type: str | None
    unit: str | None
    enumeration: str | None


@dataclass(frozen=True)
class SystemElement:
    """A system, a component, or a reference to a signal dictionary."""

    node: Any
    path: Path
    connectors: Mapping[str, Connector]
    elements: Mapping[str, SystemElement] = field(default_factory=dict)

    @property
    def kind(self) -> str:
        """``System``, ``Component`` or ``SignalDictionaryReference``."""
        return name_of(self.node)

    @property
    def bindings(self) -> list[Any]:
        """Its parameter bindings, in their order."""
        return below(self.node, "ParameterBindings", "ParameterBinding")

    def all(self) -> list[SystemElement]:
        """It and all elements below, each before those in it."""
        return [self, *(found for inner in self.elements.values() for found in inner.all())]


def declared_in(root: Any) -> Declared:
    """The units and enumerations of a document.

    :raises ConfigurationError: a number is none
    """
    units = {text(n, "name"): _unit(n) for n in below(root, "Units", "Unit")}
    enumerations = {
        text(n, "name"): {text(i, "name"): whole(i, "value") for i in children(n, "Item")}
        for n in below(root, "Enumerations", "Enumeration")
    }
    return Declared(units, enumerations)


def read_system(node: Any, path: Path = ()) -> SystemElement:
    """A system and all that is in it.

    :raises ConfigurationError: a name is missing or used twice
    """
    elements = {
        name: _element(inner, (*path, name))
        for name, inner in _named(
            below(node, "Elements", "Component", "SignalDictionaryReference", "System")
        ).items()
    }
    return SystemElement(node, path, _connectors(node), elements)


def _element(node: Any, path: Path) -> SystemElement:
    if name_of(node) == "System":
        return read_system(node, path)
    return SystemElement(node, path, _connectors(node))


def _connectors(node: Any) -> dict[str, Connector]:
    found = _named(below(node, "Connectors", "Connector"))
    return {name: _connector(name, inner) for name, inner in found.items()}


def _connector(name: str, node: Any) -> Connector:
    kind = child(node, *TYPES)
    attributes: Mapping[str, str] = {} if kind is None else kind.attrib
    return Connector(
        node,
        name,
        node.get("kind") or "",
        None if kind is None else name_of(kind),
        attributes.get("unit"),
        attributes.get("name"),
    )


def _named(nodes: Sequence[Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for node in nodes:
        name = text(node, "name")
        if name in found:
            raise ConfigurationError(f"{place_of(node)}: name: found '{name}' twice")
        found[name] = node
    return found


def _unit(node: Any) -> Unit:
    base = child(node, "BaseUnit")
    if base is None:
        return Unit(node.get("name"), has_base=False)
    exponents = {n: whole(base, n, 0) for n in BASE_UNITS}
    return Unit(
        node.get("name"),
        {name: value for name, value in exponents.items() if value},
        number(base, "factor", 1.0),
        number(base, "offset", 0.0),
    )


def text(node: Any, key: str) -> str:
    """An attribute of an element that has to be there.

    :raises ConfigurationError: it is missing, or empty
    """
    found = node.get(key)
    if not found:
        raise ConfigurationError(f"{place_of(node)}: {key}: missing")
    return str(found)


def whole(node: Any, key: str, default: int | None = None) -> int:
    """As :func:`number`, of a whole number."""
    found = number(node, key, default)
    if found != int(found):
        raise ConfigurationError(
            f"{place_of(node)}: {key}: found {node.get(key)!r}; allowed is a whole number"
        )
    return int(found)


def number(node: Any, key: str, default: float | None = None) -> float:
    """A number that is an attribute of an element.

    :param default: where it is not given; None: it has to be
    :raises ConfigurationError: it is missing, or no number
    """
    given = node.get(key)
    if given is None and default is not None:
        return default
    try:
        found = float(given)
    except (TypeError, ValueError):
        found = inf
    if not isfinite(found):
        raise ConfigurationError(f"{place_of(node)}: {key}: found {given!r}; allowed is a number")
    return found
