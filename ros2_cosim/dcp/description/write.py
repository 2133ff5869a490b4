# SPDX-License-Identifier: Apache-2.0
"""Writing a slave description as a .dcpx file that the schema accepts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lxml import etree

from ros2_cosim.core.documents.files import write_atomically
from ros2_cosim.dcp.description.parse import BASE_UNITS, ELEMENT_OF, parse_description
from ros2_cosim.dcp.description.slave_description import (
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
from ros2_cosim.dcp.wire.enums import DataType


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


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return repr(value) if isinstance(value, float) else str(value)


def _add(parent: Any, tag: str, **attributes: Any) -> Any:
    """A child element; attributes that are None are left out."""
    given = {name: _text(value) for name, value in attributes.items() if value is not None}
    return etree.SubElement(parent, tag, given)


def _root(d: SlaveDescription) -> Any:
    root = etree.Element("dcpSlaveDescription")
    attributes = {
        "dcpMajorVersion": d.major_version,
        "dcpMinorVersion": d.minor_version,
        "dcpSlaveName": d.name,
        "uuid": d.uuid,
        "description": d.description,
        "author": d.author,
        "version": d.version,
        "copyright": d.copyright,
        "license": d.license,
        "generationTool": d.generation_tool,
        "generationDateAndTime": d.generation_date_and_time,
        "variableNamingConvention": d.variable_naming_convention,
    }
    for name, value in attributes.items():
        if value is not None:
            root.set(name, _text(value))
    _modes(root, d)
    if d.units:
        units = _add(root, "UnitDefinitions")
        for unit in d.units:
            _unit(units, unit)
    if d.types:
        types = _add(root, "TypeDefinitions")
        for simple in d.types:
            node = _add(types, "SimpleType", name=simple.name, description=simple.description)
            _typed(node, simple.data_type, simple.attributes, None)
    _tools(root, "VendorAnnotations", d.vendor_annotations)
    _times(root, d)
    _transports(root, d)
    flags = d.capabilities
    _add(
        root,
        "CapabilityFlags",
        canAcceptConfigPdus=flags.can_accept_config_pdus,
        canHandleReset=flags.can_handle_reset,
        canHandleVariableSteps=flags.can_handle_variable_steps,
        canMonitorHeartbeat=flags.can_monitor_heartbeat,
        canProvideLogOnRequest=flags.can_provide_log_on_request,
        canProvideLogOnNotification=flags.can_provide_log_on_notification,
    )
    variables = _add(root, "Variables")
    for variable in d.variables:
        _variable(variables, variable)
    if d.log_categories:
        log = _add(root, "Log")
        categories = _add(log, "Categories")
        for c in d.log_categories:
            _add(categories, "Category", id=c.id, name=c.name)
        templates = _add(log, "Templates")
        for t in d.log_templates:
            _add(templates, "Template", id=t.id, category=t.category, level=t.level, msg=t.msg)
    return root


def _modes(root: Any, d: SlaveDescription) -> None:
    modes = _add(root, "OpMode")
    if d.hard_real_time:
        _add(modes, "HardRealTime")
    if d.soft_real_time:
        _add(modes, "SoftRealTime")
    nrt = d.non_real_time
    if nrt is not None:
        _add(
            modes,
            "NonRealTime",
            defaultSteps=nrt.default_steps,
            fixedSteps=nrt.fixed_steps,
            minSteps=nrt.min_steps,
            maxSteps=nrt.max_steps,
        )


def _unit(parent: Any, unit: Unit) -> None:
    node = _add(parent, "Unit", name=unit.name)
    if unit.has_base:
        exponents = {u: unit.exponents[u] for u in BASE_UNITS if unit.exponents.get(u)}
        _add(node, "BaseUnit", **exponents, factor=unit.factor, offset=unit.offset)
    for display in unit.display_units:
        _add(node, "DisplayUnit", name=display.name, factor=display.factor, offset=display.offset)


def _tools(parent: Any, tag: str, tools: tuple[tuple[str, str | None], ...]) -> None:
    if not tools:
        return
    node = _add(parent, tag)
    for name, inner in tools:
        tool = _add(node, "Tool", name=name)
        if inner is not None:
            tool.append(etree.fromstring(inner))


def _times(root: Any, d: SlaveDescription) -> None:
    node = _add(root, "TimeRes")
    for r in d.resolutions:
        if isinstance(r, Resolution):
            _add(
                node,
                "Resolution",
                numerator=r.numerator,
                denominator=r.denominator,
                fixed=r.fixed,
                recommended=r.recommended,
            )
        else:
            _add(
                node,
                "ResolutionRange",
                numeratorFrom=r.numerator_from,
                numeratorTo=r.numerator_to,
                denominator=r.denominator,
            )
    if d.heartbeat is not None:
        _add(
            _add(root, "Heartbeat"),
            "MaximumPeriodicInterval",
            numerator=d.heartbeat.numerator,
            denominator=d.heartbeat.denominator,
        )


def _transports(root: Any, d: SlaveDescription) -> None:
    node = _add(root, "TransportProtocols")
    if d.udp is not None:
        _ipv4(node, "UDP_IPv4", d.udp)
    if d.can:
        _add(node, "CAN")
    if d.usb2 is not None:
        usb = _add(node, "USB2", maxPduSize=d.usb2.max_pdu_size, maxPower=d.usb2.max_power)
        for pipe in d.usb2.pipes:
            _add(
                usb,
                "DataPipe",
                direction=pipe.direction,
                endpointAddress=pipe.endpoint_address,
                intervall=pipe.interval,
            )
    if d.bluetooth is not None:
        blue = _add(node, "Bluetooth", maxPduSize=d.bluetooth.max_pdu_size)
        _add(
            blue,
            "Address",
            bd_addr=d.bluetooth.address,
            port=d.bluetooth.port,
            alias=d.bluetooth.alias,
        )
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
            etree.SubElement(node, "AvailablePortRange", {"from": str(low), "to": str(high)})


def _typed(parent: Any, kind: DataType, attributes: TypeAttributes, start: Any) -> None:
    if isinstance(start, tuple):
        start = " ".join(_text(item) for item in start)
    elif isinstance(start, bytes):
        start = start.hex()
    _add(
        parent,
        ELEMENT_OF[kind],
        min=attributes.min,
        max=attributes.max,
        gradient=attributes.gradient,
        nominal=attributes.nominal,
        quantity=attributes.quantity,
        unit=attributes.unit,
        displayUnit=attributes.display_unit,
        maxSize=attributes.max_size,
        mimeType=attributes.mime_type,
        start=start,
    )


def _variable(parent: Any, v: Variable) -> None:
    node = _add(
        parent,
        "Variable",
        name=v.name,
        valueReference=v.value_reference,
        description=v.description,
        variability=v.variability,
        preEdge=v.pre_edge,
        postEdge=v.post_edge,
        maxConsecMissedPdus=v.max_consec_missed_pdus,
        declaredType=v.declared_type,
    )
    if v.causality is Causality.OUTPUT:
        child = _add(
            node,
            v.causality.value,
            defaultSteps=v.default_steps,
            fixedSteps=v.fixed_steps,
            minSteps=v.min_steps,
            maxSteps=v.max_steps,
            initialization=v.initialization,
        )
    else:
        child = _add(node, v.causality.value)
    _typed(child, v.data_type, v.attributes, v.start)
    if v.dimensions:
        dimensions = _add(child, "Dimensions")
        for d in v.dimensions:
            _add(dimensions, "Dimension", constant=d.constant, linkedVR=d.linked_vr)
    if v.dependencies_init is not None or v.dependencies_run is not None:
        both = _add(child, "Dependencies")
        _dependencies(both, "Initialization", v.dependencies_init)
        _dependencies(both, "Run", v.dependencies_run)
    _tools(node, "Annotations", v.annotations)


def _dependencies(parent: Any, tag: str, entries: tuple[Dependency, ...] | None) -> None:
    if entries is None:
        return
    node = _add(parent, tag)
    for entry in entries:
        _add(
            node,
            "Dependency",
            vr=entry.vr,
            dependencyKind="linear" if entry.linear else "dependent",
        )
