# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Writing a slave description as a .dcpx file that the schema accepts."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from lxml import etree

from ros2_cosim.core.documents.files import write_atomically
from ros2_cosim.dcp.standard.attributes import (
    BASE_UNITS,
    BLUETOOTH,
    DIMENSION,
    ELEMENT_OF,
    OUTPUT,
    PIPE,
    ROOT,
    USB2,
    VARIABLE,
    Names,
    text_of,
    texts,
    told,
)
from ros2_cosim.dcp.standard.enums import DataType
from ros2_cosim.dcp.standard.parse_description import parse_description
from ros2_cosim.dcp.standard.slave_description import (
    Causality,
    DataPorts,
    Dependency,
    IPv4Transport,
    Resolution,
    SlaveDescription,
    TypeAttributes,
    Unit,
    Variable,
)


def write_description(description: SlaveDescription, path: str | Path) -> None:
    """Write a .dcpx file.

    :raises DescriptionError: the description breaks a rule of the standard
    """
    write_atomically(Path(path), description_bytes(description))


def description_bytes(description: SlaveDescription) -> bytes:
    """The bytes of the .dcpx file; the same description always gives the same bytes.

    :raises DescriptionError: the description breaks a rule of the standard
    """
    root = _root(description)
    data = bytes(etree.tostring(root, xml_declaration=True, encoding="UTF-8", pretty_print=True))
    parse_description(data, f"description of slave {description.name!r}")
    return data


def _add(parent: Any, tag: str, found: dict[str, str] | None = None, /, **more: Any) -> Any:
    """A child element; further attributes that are None are left out."""
    return etree.SubElement(parent, tag, (found or {}) | texts(more))


def _add_all(parent: Any, tag: str, sources: Iterable[Any], names: Names | None = None) -> None:
    """A child element for each dataclass."""
    for source in sources:
        _add(parent, tag, told(source, names))


def _root(d: SlaveDescription) -> Any:
    root = etree.Element("dcpSlaveDescription", told(d, ROOT))
    modes = _add(root, "OpMode")
    if d.hard_real_time:
        _add(modes, "HardRealTime")
    if d.soft_real_time:
        _add(modes, "SoftRealTime")
    if d.non_real_time is not None:
        _add(modes, "NonRealTime", told(d.non_real_time))
    if d.units:
        units = _add(root, "UnitDefinitions")
        for unit in d.units:
            _unit(units, unit)
    if d.types:
        types = _add(root, "TypeDefinitions")
        for simple in d.types:
            node = _add(types, "SimpleType", told(simple))
            _typed(node, simple.data_type, simple.attributes, None)
    _tools(root, "VendorAnnotations", d.vendor_annotations)
    times = _add(root, "TimeRes")
    for r in d.resolutions:
        _add(times, "Resolution" if isinstance(r, Resolution) else "ResolutionRange", told(r))
    if (beat := d.heartbeat) is not None:
        interval = {"numerator": beat.numerator, "denominator": beat.denominator}
        _add(_add(root, "Heartbeat"), "MaximumPeriodicInterval", **interval)
    _transports(root, d)
    _add(root, "CapabilityFlags", told(d.capabilities))
    variables = _add(root, "Variables")
    for variable in d.variables:
        _variable(variables, variable)
    if d.log_categories:
        log = _add(root, "Log")
        _add_all(_add(log, "Categories"), "Category", d.log_categories)
        _add_all(_add(log, "Templates"), "Template", d.log_templates)
    return root


def _unit(parent: Any, unit: Unit) -> None:
    node = _add(parent, "Unit", name=unit.name)
    if unit.has_base:
        exponents = {u: unit.exponents[u] for u in BASE_UNITS if unit.exponents.get(u)}
        _add(node, "BaseUnit", **exponents, factor=unit.factor, offset=unit.offset)
    _add_all(node, "DisplayUnit", unit.display_units)


def _tools(parent: Any, tag: str, tools: tuple[tuple[str, str | None], ...]) -> None:
    if not tools:
        return
    node = _add(parent, tag)
    for name, inner in tools:
        tool = _add(node, "Tool", name=name)
        if inner is not None:
            tool.append(etree.fromstring(inner))


def _transports(root: Any, d: SlaveDescription) -> None:
    node = _add(root, "TransportProtocols")
    if d.udp is not None:
        _ipv4(node, "UDP_IPv4", d.udp)
    if d.can:
        _add(node, "CAN")
    if d.usb2 is not None:
        _add_all(_add(node, "USB2", told(d.usb2, USB2)), "DataPipe", d.usb2.pipes, PIPE)
    if d.bluetooth is not None:
        device = _add(node, "Bluetooth", maxPduSize=d.bluetooth.max_pdu_size)
        _add(device, "Address", told(d.bluetooth, BLUETOOTH))
    if d.tcp is not None:
        _ipv4(node, "TCP_IPv4", d.tcp)


def _ipv4(parent: Any, tag: str, transport: IPv4Transport) -> None:
    node = _add(parent, tag, maxPduSize=transport.max_pdu_size)
    if transport.has_control:
        _add(node, "Control", host=transport.host, port=transport.port)
    _ports(node, "DAT_input_output", transport.data)
    _ports(node, "DAT_parameter", transport.parameter)


def _ports(parent: Any, tag: str, ports: DataPorts | None) -> None:
    if ports is None:
        return
    node = _add(parent, tag, host=ports.host)
    for low, high in ports.ranges:
        if low == high:
            _add(node, "AvailablePort", port=low)
        else:
            _add(node, "AvailablePortRange", {"from": str(low), "to": str(high)})


def _typed(parent: Any, kind: DataType, attributes: TypeAttributes, start: Any) -> None:
    if isinstance(start, tuple):
        start = " ".join(map(text_of, start))
    elif isinstance(start, bytes):
        start = start.hex()
    _add(parent, ELEMENT_OF[kind], told(attributes), start=start)


def _variable(parent: Any, v: Variable) -> None:
    node = _add(parent, "Variable", told(v, VARIABLE))
    is_output = v.causality is Causality.OUTPUT
    child = _add(node, v.causality.value, told(v, OUTPUT) if is_output else None)
    _typed(child, v.data_type, v.attributes, v.start)
    if v.dimensions:
        _add_all(_add(child, "Dimensions"), "Dimension", v.dimensions, DIMENSION)
    if v.dependencies_init is not None or v.dependencies_run is not None:
        both = _add(child, "Dependencies")
        _dependencies(both, "Initialization", v.dependencies_init)
        _dependencies(both, "Run", v.dependencies_run)
    _tools(node, "Annotations", v.annotations)


def _dependencies(parent: Any, tag: str, entries: tuple[Dependency, ...] | None) -> None:
    if entries is not None:
        node = _add(parent, tag)
        for entry in entries:
            kind = "linear" if entry.linear else "dependent"
            _add(node, "Dependency", vr=entry.vr, dependencyKind=kind)
