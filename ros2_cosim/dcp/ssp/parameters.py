# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Parameter bindings: which values a system gives to variables of its FMUs and to its connectors.

Those of an outer element come before those of an inner one, a later binding before an earlier one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import inf, isfinite
from sys import float_info
from typing import Any, NamedTuple

from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.dcp.ssp.conversions import NONE, Conversion, between, transformation
from ros2_cosim.dcp.ssp.fmus import Fmu
from ros2_cosim.dcp.ssp.package import (
    SSM,
    SSV,
    Package,
    below,
    child,
    children,
    name_of,
    place_of,
)
from ros2_cosim.dcp.ssp.structure import TYPES, Declared, Path, SystemElement, declared_in, text
from ros2_cosim.dcp.standard.enums import DataType
from ros2_cosim.dcp.standard.errors import PduError
from ros2_cosim.dcp.standard.slave_description import Unit
from ros2_cosim.dcp.standard.values import FLOATS, SIZED, Value, encode_value

_TYPES_OF = {
    SSV: "application/x-ssp-parameter-set",
    SSM: "application/x-ssp-parameter-mapping",
}
_LARGEST_WHOLE = 2**53


class Given(NamedTuple):
    """A value of a parameter set; that of an enumeration is the name of an item.

    ``conversion`` is what a mapping does with it, after units.
    """

    node: Any
    value: Any
    unit: Unit | None
    conversion: Conversion = NONE
    by_unit: bool = True


Target = tuple[Path, str]
"""An element, and a variable or connector of it."""


def bound_values(
    system: SystemElement, package: Package, declared: Declared, fmus: Mapping[Path, Fmu]
) -> tuple[dict[Target, Given], list[str]]:
    """What all bindings give, and notes of bindings of which nothing fits.

    :param declared: by the description
    :raises ConfigurationError: a binding is wrong
    """
    values: dict[Target, Given] = {}
    notes: list[str] = []
    for element in reversed(system.all()):
        for node in element.bindings:
            idle = True
            for name, given in _applied(node, package, declared):
                targets = _targets(element, name, fmus)
                idle = idle and not targets
                values.update(dict.fromkeys(targets, given))
            if idle:
                notes.append(f"{place_of(node)}: none of its parameters is in the system")
    return values, notes


def _targets(element: SystemElement, name: str, fmus: Mapping[Path, Fmu]) -> list[Target]:
    """The variables and connectors that a hierarchical name means in an element."""
    found: list[Target] = []
    for inner in element.all():
        prefix = "".join(f"{part}." for part in inner.path[len(element.path) :])
        rest = name.removeprefix(prefix)
        if not name.startswith(prefix):
            continue
        fmu = fmus.get(inner.path)
        if rest in (inner.connectors if fmu is None else fmu.variables) or (
            fmu is not None and rest in fmu.others
        ):
            found.append((inner.path, rest))
    return found


def _applied(node: Any, package: Package, declared: Declared) -> Iterator[tuple[str, Given]]:
    """The values of a binding, by the names under which they are applied."""
    root = _content(node, node, "ParameterValues", SSV, package)
    own = declared_in(root)
    units = {**declared.units, **own.units}
    prefix = node.get("prefix") or ""
    values = {}
    for parameter in below(root, "Parameters", "Parameter"):
        values[prefix + text(parameter, "name")] = _given(parameter, units)
    mapping = child(node, "ParameterMapping")
    if mapping is None:
        yield from values.items()
        return
    entries = _content(mapping, mapping, None, SSM, package)
    for entry in children(entries, "MappingEntry"):
        given = values.get(text(entry, "source"))
        if given is not None:
            by_unit = entry.get("suppressUnitConversion") not in ("true", "1")
            changed = given._replace(conversion=transformation(entry), by_unit=by_unit)
            yield text(entry, "target"), changed


def _content(node: Any, holder: Any, group: str | None, kind: str, package: Package) -> Any:
    """The document of an element: that of its source, or the one inside it."""
    found = node.get("type", _TYPES_OF[kind])
    if found != _TYPES_OF[kind]:
        raise ConfigurationError(
            f"{place_of(node)}: type: found '{found}'; allowed is {_TYPES_OF[kind]}"
        )
    if node.get("sourceBase", "SSD") != "SSD":
        raise ConfigurationError(
            f"{place_of(node)}: sourceBase: found '{node.get('sourceBase')}'; allowed is SSD"
        )
    if node.get("source") is not None:
        return package.document(node, kind)
    inside = holder if group is None else child(holder, group)
    root = None if inside is None else child(inside, kind)
    if root is None:
        raise ConfigurationError(f"{place_of(node)}: neither a source nor {kind} inside")
    return root


def _given(node: Any, units: Mapping[str, Unit]) -> Given:
    kind = child(node, *TYPES)
    if kind is None or name_of(kind) in ("Binary", "Clock"):
        raise ConfigurationError(
            f"{place_of(node)} '{node.get('name')}': found "
            f"{'no value' if kind is None else name_of(kind)}; allowed are numbers, texts and "
            "enumerations"
        )
    name = kind.get("unit")
    unit = None if name is None else units.get(name, Unit(name, has_base=False))
    inner = [n.get("value") for n in children(kind, "Value")]
    texts = inner or [kind.get("value") or ""]
    array = bool(children(node, "Dimension"))
    if array and not inner and name_of(kind) not in ("String", "Enumeration"):
        texts = texts[0].split()
    try:
        values = [_parsed(name_of(kind), t or "") for t in texts]
    except ValueError as error:
        raise ConfigurationError(f"{place_of(kind)}: {error}") from None
    return Given(node, values if array or len(values) > 1 else values[0], unit)


def _parsed(kind: str, given: str) -> Any:
    if kind in ("String", "Enumeration"):
        return given
    if kind == "Boolean":
        if given not in ("true", "false", "1", "0"):
            raise ValueError(f"found '{given}'; allowed are true and false")
        return int(given in ("true", "1"))
    try:
        found = float(given) if kind in ("Real", "Float64", "Float32") else int(given)
    except ValueError:
        found = inf
    if not abs(found) <= float_info.max:
        raise ValueError(f"found '{given}'; allowed is a number of the type {kind}")
    return found


def fitting(given: Given, fmu: Fmu, name: str) -> Value:
    """The value that a variable of an FMU gets, as plain data.

    :raises ConfigurationError: it does not fit
    """
    where = f"{place_of(given.node)} '{given.node.get('name')}'"
    variable = fmu.variables[name].variable
    value = given.value
    if given.by_unit and variable.data_type in FLOATS:
        value = between(given.unit, fmu.unit_of(name), where).of(value)
    value = given.conversion.of(value)
    items = fmu.items.get(name)
    found = value if isinstance(value, list) else [value]
    many = [_fit(v, variable.data_type, items) for v in found]
    if None in many or isinstance(value, list) != bool(variable.dimensions):
        allowed = f"an item of {', '.join(items)}" if items else variable.data_type.name
        raise ConfigurationError(
            f"{where}: found {value!r}; '{name}' takes {allowed}"
            f"{' values, an array' if variable.dimensions else ''}"
        )
    return many if variable.dimensions else many[0]


def _fit(value: Any, kind: DataType, items: Mapping[str, int] | None) -> Value | None:
    """The value in a type of DCP; None: it does not fit."""
    if isinstance(value, str) and kind is not DataType.string:
        value = (items or {}).get(value)
    if kind in FLOATS and isinstance(value, int) and abs(value) <= _LARGEST_WHOLE:
        value = float(value)
    if kind not in SIZED and kind not in FLOATS and isinstance(value, float) and isfinite(value):
        value = int(value) if value == int(value) else None
    try:
        encode_value(kind, value)
    except PduError:
        return None
    return None if isinstance(value, float) and not isfinite(value) else value
