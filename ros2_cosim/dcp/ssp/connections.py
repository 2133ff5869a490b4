# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""From where each input and parameter of a component comes, through all systems in between."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.dcp.ssp.conversions import NONE, Conversion, between, transformation
from ros2_cosim.dcp.ssp.fmus import Fmu
from ros2_cosim.dcp.ssp.package import below, place_of
from ros2_cosim.dcp.ssp.structure import Connector, Declared, Path, SystemElement
from ros2_cosim.dcp.standard.slave_description import Unit

#: Kinds of connectors of an element that give values to others in its system; the kinds of a
#: system's own connectors are the other way round.
_GIVING = ("output", "calculatedParameter", "constant", "local")
_TAKING = ("input", "parameter", "structuralParameter")


class Node(NamedTuple):
    """A connector: the element that has it, and its name. All references to a signal dictionary
    have the same connectors: those of the system that defines it, under its name.
    """

    path: Path
    name: str
    dictionary: str = ""


class _Edge(NamedTuple):
    node: Any
    source: Node
    by_unit: bool


class ConnectedSource(NamedTuple):
    """Where a value comes from: an output of a component, or a connector that nothing feeds.

    ``at`` is the connection that leads to the target.
    """

    at: Any
    node: Node
    conversion: Conversion


class Connections:
    """The connections of a system and of all systems in it.

    :raises ConfigurationError: one names a connector that is not there, is not allowed, or is the
        second one into a connector
    """

    def __init__(self, root: SystemElement, declared: Declared, fmus: Mapping[Path, Fmu]) -> None:
        self._declared = declared
        self._fmus = fmus
        self._connectors: dict[Node, Connector] = {}
        self._edges: dict[Node, _Edge] = {}
        self._systems = {e.path: e for e in root.all() if e.kind == "System"}
        for element in root.all():
            for name, connector in element.connectors.items():
                self._connectors.setdefault(self._node(element, name), connector)
        for system in self._systems.values():
            for node in below(system.node, "Connections", "Connection"):
                self._add(node, system)

    def into(self, path: Path) -> dict[str, ConnectedSource]:
        """The sources of the connectors of a component, by their names."""
        return {
            target.name: self._source(target)
            for target in self._edges
            if target.path == path and not target.dictionary
        }

    def _add(self, node: Any, system: SystemElement) -> None:
        where = place_of(node)
        for key in ("startIndices", "endIndices"):
            if node.get(key) is not None:
                raise ConfigurationError(
                    f"{where}: {key}: found '{node.get(key)}'; allowed are whole connectors"
                )
        ends = [self._end(node, side, system) for side in ("start", "end")]
        giving = [gives for _, gives in ends]
        if giving in ([True, False], [True, None], [None, False]):
            source, target = ends[0][0], ends[1][0]
        elif giving in ([False, True], [False, None], [None, True]):
            source, target = ends[1][0], ends[0][0]
        else:
            kinds = [self._connectors[end].kind for end, _ in ends]
            raise ConfigurationError(
                f"{where}: found connectors of the kinds {kinds[0]} and {kinds[1]}; allowed is one "
                "that gives values and one that takes them"
            )
        for end in (source, target):
            if self._connectors[end].type == "Clock":
                raise ConfigurationError(f"{where}: '{end.name}' is a clock; clocks are not run")
        if target in self._edges:
            raise ConfigurationError(f"{where}: '{target.name}' has a connection already")
        suppressed = node.get("suppressUnitConversion") in ("true", "1")
        self._edges[target] = _Edge(node, source, not suppressed)

    def _end(self, node: Any, side: str, system: SystemElement) -> tuple[Node, bool | None]:
        """One end of a connection, and whether it gives values; None: either."""
        name, key = node.get(f"{side}Connector"), f"{side}Element"
        element = system
        if node.get(key):  # some tools write an empty name for none
            found = system.elements.get(node.get(key))
            if found is None:
                known = ", ".join(system.elements) or "none"
                raise ConfigurationError(
                    f"{place_of(node)}: {key}: found '{node.get(key)}'; allowed are the "
                    f"elements of this system: {known}"
                )
            element = found
        if name not in element.connectors:
            known = ", ".join(element.connectors) or "none"
            raise ConfigurationError(
                f"{place_of(node)}: {side}Connector: found '{name}'; allowed are the connectors of "
                f"{_called(element)}: {known}"
            )
        kind = element.connectors[name].kind
        gives = True if kind in _GIVING else False if kind in _TAKING else None
        if gives is not None and element is system:
            gives = not gives
        return self._node(element, name), gives

    def _node(self, element: SystemElement, name: str) -> Node:
        if element.kind != "SignalDictionaryReference":
            return Node(element.path, name)
        dictionary = element.node.get("dictionary")
        for depth in range(len(element.path) - 1, -1, -1):
            holder = self._systems[element.path[:depth]]
            defined = below(holder.node, "SignalDictionaries", "SignalDictionary")
            if any(n.get("name") == dictionary for n in defined):
                return Node(holder.path, name, dictionary)
        raise ConfigurationError(
            f"{place_of(element.node)}: dictionary: found '{dictionary}'; no system around it "
            "defines a signal dictionary of that name"
        )

    def _source(self, target: Node) -> ConnectedSource:
        """Where what arrives at a connector comes from."""
        at = self._edges[target].node
        way: list[tuple[Node, _Edge]] = []
        found = target
        while (edge := self._edges.get(found)) is not None:
            if len(way) > len(self._edges):
                raise ConfigurationError(f"{place_of(edge.node)}: it leads back to itself")
            way.append((found, edge))
            found = edge.source
        unit, conversion = self._unit(found), NONE
        for node, edge in reversed(way):
            own = self._unit(node)
            if edge.by_unit:
                conversion = conversion.then(between(unit, own, place_of(edge.node)))
            changed = transformation(edge.node, self._items(edge.source), self._items(node))
            conversion = conversion.then(changed)
            if own is not None or changed.is_linear or not edge.by_unit:
                unit = own
        return ConnectedSource(at, found, conversion)

    def _unit(self, node: Node) -> Unit | None:
        name, fmu = self._connectors[node].unit, self._fmus.get(node.path)
        if name is not None:
            return self._declared.units.get(name, Unit(name, has_base=False))
        if fmu is None or node.dictionary or node.name not in fmu.variables:
            return None
        return fmu.unit_of(node.name)

    def _items(self, node: Node) -> Mapping[str, int] | None:
        name, fmu = self._connectors[node].enumeration, self._fmus.get(node.path)
        own = None if fmu is None or node.dictionary else fmu.items.get(node.name)
        return own if name is None else self._declared.enumerations.get(name, own)


def _called(element: SystemElement) -> str:
    return f"'{'.'.join(element.path)}'" if element.path else "the system"
