# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Checking slave descriptions: against the XSD, then against its assertions and the prose.

The schema is XSD 1.1. lxml knows XSD 1.0, so the assertions are left out of the schema when
it is loaded (and its one ``xs:override`` is read as ``xs:include``). What they and the text
of the standard ask for is checked here by code. The package xmlschema knows XSD 1.1, but it takes
1 s to load (lxml: 7 ms), gives no line numbers, says "assertion test is false", and refuses valid
descriptions at the assertion of TimeRes.
"""

from __future__ import annotations

import math
from functools import cache
from importlib import resources
from typing import Any

from lxml import etree

from ros2_cosim.core.documents.one_line import one_line
from ros2_cosim.core.documents.xml_reader import read_xml
from ros2_cosim.dcp.standard.enums import DataType
from ros2_cosim.dcp.standard.errors import DescriptionError, PduError
from ros2_cosim.dcp.standard.slave_description import (
    Causality,
    Resolution,
    SlaveDescription,
    Variable,
    element_count,
)
from ros2_cosim.dcp.standard.values import SIZED, encode_value

_XS = "{http://www.w3.org/2001/XMLSchema}"
_ROOT = "dcpSlaveDescription.xsd"


def _parser() -> etree.XMLParser:
    """A parser that follows no entity and opens no file or connection."""
    return etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False)


class _SchemaFiles(etree.Resolver):
    """Hands out the schema files of the package in the form that XSD 1.0 takes."""

    def resolve(self, url: str, public_id: str, context: Any) -> Any:
        return self.resolve_string(_schema_text(url.rsplit("/", 1)[-1]), context)


def _schema_text(name: str) -> bytes:
    folder = resources.files("ros2_cosim.dcp.standard") / "xsd"
    tree = etree.fromstring((folder / name).read_bytes(), _parser())
    for node in list(tree.iter(f"{_XS}assert")):
        node.getparent().remove(node)
    for node in tree.iter(f"{_XS}override"):
        node.tag = f"{_XS}include"
    return bytes(etree.tostring(tree))


@cache
def _schema() -> etree.XMLSchema:
    parser = _parser()
    parser.resolvers.add(_SchemaFiles())
    return etree.XMLSchema(etree.fromstring(_schema_text(_ROOT), parser, base_url=_ROOT))


def check_schema(data: bytes, source: str) -> Any:
    """Parse XML and validate it against the XSD; returns the root element.

    :raises DescriptionError: with source, line and what is wrong
    """
    root = read_xml(data, source, error=DescriptionError)
    schema = _schema()
    if not schema.validate(root):
        first = schema.error_log[0]
        more = len(schema.error_log) - 1
        tail = f" (and {more} more)" if more else ""
        raise DescriptionError(f"{source}, line {first.line}: {one_line(first.message)}{tail}")
    return root


def check_description(description: SlaveDescription, source: str = "slave description") -> None:
    """Check what the schema's assertions and the text of the standard demand.

    :raises DescriptionError: listing every fault found
    """
    faults = [
        *_check_modes(description),
        *_check_times(description),
        *_check_log(description),
        *_check_names(description),
    ]
    for variable in description.variables:
        found = _check_variable(description, variable)
        faults += [f"variable {variable.name!r}: {fault}" for fault in found]
    if faults:
        raise DescriptionError(f"{source}: " + "; ".join(faults))


def _check_modes(d: SlaveDescription) -> list[str]:
    faults = []
    if not d.op_modes:
        faults.append("OpMode names no operating mode; at least one of three is needed")
    nrt = d.non_real_time
    if nrt is not None:
        if nrt.fixed_steps and (nrt.min_steps is not None or nrt.max_steps is not None):
            faults.append("NonRealTime has minSteps or maxSteps although fixedSteps is true")
        if None not in (nrt.min_steps, nrt.max_steps) and nrt.max_steps < nrt.min_steps:  # type: ignore[operator]
            faults.append("NonRealTime has maxSteps below minSteps")
    return faults


def _check_times(d: SlaveDescription) -> list[str]:
    faults = []
    singles = [r for r in d.resolutions if isinstance(r, Resolution)]
    if any(r.fixed for r in singles) and len(d.resolutions) != 1:
        faults.append("TimeRes has a fixed Resolution beside others")
    if any(r.denominator == 0 for r in d.resolutions):
        faults.append("TimeRes has a denominator of 0")
    # A range from 0 has others in it.
    last = [r.numerator if isinstance(r, Resolution) else r.numerator_to for r in d.resolutions]
    if 0 in last:
        faults.append("TimeRes has a numerator of 0")
    if d.capabilities.can_monitor_heartbeat != (d.heartbeat is not None):
        faults.append("canMonitorHeartbeat and the element Heartbeat must come together")
    if d.heartbeat is not None and d.heartbeat <= 0:
        faults.append("Heartbeat has an interval that is not positive")
    return faults


def _check_log(d: SlaveDescription) -> list[str]:
    flags = d.capabilities
    logs = flags.can_provide_log_on_request or flags.can_provide_log_on_notification
    if logs != bool(d.log_categories):
        return ["a log capability and the element Log must come together"]
    known = {category.id for category in d.log_categories}
    faults = [
        f"log template {t.id} refers to category {t.category}, which is not declared"
        for t in d.log_templates
        if t.category not in known
    ]
    if 0 in known:
        faults.append("log category 0 is reserved for all categories")
    faults += [
        f"log template {t.id} has level {t.level}; levels go from 0 to 4"
        for t in d.log_templates
        if t.level > 4
    ]
    for what, ids in (
        ("category", [c.id for c in d.log_categories]),
        ("template", [t.id for t in d.log_templates]),
    ):
        if len(set(ids)) != len(ids):
            faults.append(f"a log {what} id is used twice")
    return faults


def _check_names(d: SlaveDescription) -> list[str]:
    faults = []
    names = [v.name for v in d.variables]
    references = [v.value_reference for v in d.variables]
    if not names:
        faults.append("there is no variable; at least one is needed")
    if len(set(names)) != len(names):
        faults.append("a variable name is used twice")
    if len(set(references)) != len(references):
        faults.append("a value reference is used twice")
    both = sorted({t.name for t in d.types} & set(names))
    if both:
        faults.append(f"{both[0]!r} names both a type and a variable")
    return faults


def _check_variable(d: SlaveDescription, v: Variable) -> list[str]:
    faults = []
    steady = v.causality in (Causality.PARAMETER, Causality.STRUCTURAL)
    allowed = ("fixed", "tunable") if steady else ("discrete", "continuous")
    if v.variability not in allowed:
        faults.append(f"{v.causality.value} cannot be {v.variability}, only {' or '.join(allowed)}")
    if v.causality is Causality.OUTPUT:
        if v.max_consec_missed_pdus is not None:
            faults.append("an Output has no maxConsecMissedPdus")
        if v.fixed_steps and (v.min_steps is not None or v.max_steps is not None):
            faults.append("minSteps or maxSteps although fixedSteps is true")
        if not v.fixed_steps and (
            v.min_steps is None or v.max_steps is None or v.max_steps <= v.min_steps
        ):
            faults.append("fixedSteps is false, so minSteps and a greater maxSteps are needed")
        if v.initialization and v.dependencies_run is not None:
            faults.append("constant after initialization, yet it has Dependencies/Run")
    elif v.start is None:
        faults.append("start is missing")
    if v.dimensions and v.data_type in SIZED:
        faults.append(f"{v.data_type.name} cannot have Dimensions")
    return faults + _check_links(d, v) + _check_start(d, v)


def _check_links(d: SlaveDescription, v: Variable) -> list[str]:
    faults = []
    structural = {s.value_reference for s in d.of(Causality.STRUCTURAL)}
    for dimension in v.dimensions:
        if (dimension.constant is None) == (dimension.linked_vr is None):
            faults.append("a Dimension has either constant or linkedVR")
        elif dimension.linked_vr is not None and dimension.linked_vr not in structural:
            faults.append(f"linkedVR {dimension.linked_vr} is not a StructuralParameter")
    unit = v.attributes.unit
    if unit is not None and d.units and unit not in {u.name for u in d.units}:
        faults.append(f"unit {unit!r} is not among the UnitDefinitions")
    if v.declared_type is not None:
        types = {t.name: t.data_type for t in d.types}
        if v.declared_type not in types:
            faults.append(f"declaredType {v.declared_type!r} is not among the TypeDefinitions")
        elif types[v.declared_type] is not v.data_type:
            faults.append(f"declaredType {v.declared_type!r} is of another data type")
    return faults


def _check_start(d: SlaveDescription, v: Variable) -> list[str]:
    if v.start is None:
        return []
    items = v.start if isinstance(v.start, tuple) else (v.start,)
    if isinstance(v.start, tuple) and not v.dimensions:
        return [f"start has {len(items)} values, but there are no Dimensions"]
    for item in items:
        if isinstance(item, float) and not math.isfinite(item):
            return ["start is not a finite number"]
        try:
            encode_value(v.data_type, item)
        except PduError as error:
            return [f"start: {error}"]
    if v.causality is Causality.STRUCTURAL and int(items[0]) < 1:
        return ["a StructuralParameter starts at 1 or above"]
    sizes = {s.value_reference: s.start for s in d.of(Causality.STRUCTURAL)}
    count = element_count(v, sizes)
    if count is not None and len(items) not in (1, count):
        return [f"start has {len(items)} values; the array has {count} elements"]
    limit = d.attributes(v).max_size
    if limit is not None and v.data_type in SIZED:
        length = len(v.start.encode() if v.data_type is DataType.string else v.start)
        if length > limit:
            return [f"start has {length} bytes; maxSize is {limit}"]
    return []
