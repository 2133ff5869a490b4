# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""From the XML of a .dcpx file to a checked slave description."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any, TypeVar

from lxml import etree

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
    given,
)
from ros2_cosim.dcp.standard.check_description import check_description, check_schema
from ros2_cosim.dcp.standard.enums import DataType
from ros2_cosim.dcp.standard.errors import DescriptionError
from ros2_cosim.dcp.standard.slave_description import (
    TCP_MAX_PDU_SIZE,
    UDP_MAX_PDU_SIZE,
    Bluetooth,
    Capabilities,
    Causality,
    DataPipe,
    DataPorts,
    Dependency,
    Dimension,
    DisplayUnit,
    IPv4Transport,
    LogCategory,
    LogTemplate,
    NonRealTime,
    Resolution,
    ResolutionRange,
    SimpleType,
    SlaveDescription,
    TypeAttributes,
    Unit,
    Usb2,
    Variable,
)
from ros2_cosim.dcp.standard.values import FLOATS

TYPE_OF: dict[str, DataType] = {name: t for t, name in ELEMENT_OF.items()}
_Made = TypeVar("_Made")


def parse_description(data: bytes, source: str = "slave description") -> SlaveDescription:
    """Parse and check the bytes of a .dcpx file; ``source`` names them in errors.

    :raises DescriptionError: naming source and line
    """
    root = check_schema(data, source)
    description = _description(root)
    check_description(description, source)
    return description


def _made(node: Any, kind: type[_Made], names: Names | None = None, **more: Any) -> _Made:
    """A dataclass out of the attributes of an element; what is not said has its default."""
    return kind(**given(node, kind, names) | more)


def _all(root: Any, path: str, kind: type[_Made], names: Names | None = None) -> tuple[_Made, ...]:
    return tuple(_made(node, kind, names) for node in root.findall(path))


def _tools(node: Any) -> tuple[tuple[str, str | None], ...]:
    tools = []
    for tool in [] if node is None else node.findall("Tool"):
        inner = etree.tostring(tool[0], encoding="unicode").strip() if len(tool) else None
        tools.append((tool.get("name"), inner))
    return tuple(tools)


def _number(kind: DataType) -> Callable[[str], Any]:
    return float if kind in FLOATS else int


def _attributes(node: Any, kind: DataType) -> TypeAttributes:
    number = dict.fromkeys(("min", "max", "gradient"), _number(kind))
    return TypeAttributes(**given(node, TypeAttributes, **number))


def _start(text: str | None, kind: DataType, array: bool) -> Any:
    if text is None:
        return None
    if kind is DataType.string:
        return text
    if kind is DataType.binary:
        return bytes.fromhex(text.strip())
    items = tuple(map(_number(kind), text.split()))
    if array:
        return items
    return items[0] if len(items) == 1 else items or None


def _dependencies(node: Any, name: str) -> tuple[Dependency, ...] | None:
    part = node.find(f"Dependencies/{name}")
    if part is None:
        return None
    return tuple(
        Dependency(int(d.get("vr")), d.get("dependencyKind") == "linear")
        for d in part.findall("Dependency")
    )


def _typed(node: Any) -> tuple[Any, DataType]:
    """The element of the type of a variable, or of a simple type."""
    typed = next(c for c in node if c.tag in TYPE_OF)
    return typed, TYPE_OF[typed.tag]


def _variable(node: Any) -> Variable:
    child = next(c for c in node if c.tag != "Annotations" and isinstance(c.tag, str))
    typed, kind = _typed(child)
    dimensions = _all(child, "Dimensions/Dimension", Dimension, DIMENSION)
    causality = Causality(child.tag)
    extra: dict[str, Any] = {}
    if causality is Causality.OUTPUT:
        extra = given(child, Variable, OUTPUT) | {
            "dependencies_init": _dependencies(child, "Initialization"),
            "dependencies_run": _dependencies(child, "Run"),
        }
    return _made(
        node,
        Variable,
        VARIABLE,
        causality=causality,
        data_type=kind,
        start=_start(typed.get("start"), kind, bool(dimensions)),
        attributes=_attributes(typed, kind),
        dimensions=dimensions,
        annotations=_tools(node.find("Annotations")),
        **extra,
    )


def _ports(node: Any) -> DataPorts | None:
    if node is None:
        return None
    ranges = []
    for child in node:
        if child.tag == "AvailablePort":
            ranges.append((int(child.get("port")), int(child.get("port"))))
        elif child.tag == "AvailablePortRange":
            ranges.append((int(child.get("from")), int(child.get("to"))))
    return DataPorts(node.get("host") or None, tuple(ranges))


def _ipv4(node: Any, default_size: int) -> IPv4Transport | None:
    if node is None:
        return None
    control = node.find("Control")
    place = {} if control is None else given(control, IPv4Transport)
    return IPv4Transport(
        int(node.get("maxPduSize", default_size)),
        place.get("host") or None,
        place.get("port"),
        has_control=control is not None,
        data=_ports(node.find("DAT_input_output")),
        parameter=_ports(node.find("DAT_parameter")),
    )


def _unit(node: Any) -> Unit:
    display = _all(node, "DisplayUnit", DisplayUnit)
    base = node.find("BaseUnit")
    if base is None:
        return Unit(node.get("name"), has_base=False, display_units=display)
    exponents = {u: int(base.get(u)) for u in BASE_UNITS if int(base.get(u, "0"))}
    named = {"name": node.get("name"), "exponents": exponents}
    return _made(base, Unit, **named, display_units=display)


def _simple_type(node: Any) -> SimpleType:
    typed, kind = _typed(node)
    return _made(node, SimpleType, data_type=kind, attributes=_attributes(typed, kind))


def _heartbeat(node: Any) -> Fraction | None:
    if node is None:
        return None
    denominator = int(node.get("denominator", 1))
    if denominator == 0:
        raise DescriptionError("Heartbeat: the denominator of the interval is 0")
    return Fraction(int(node.get("numerator", 1)), denominator)


def _description(root: Any) -> SlaveDescription:
    nrt = root.find("OpMode/NonRealTime")
    transports = root.find("TransportProtocols")
    usb, blue = transports.find("USB2"), transports.find("Bluetooth")
    return _made(
        root,
        SlaveDescription,
        ROOT,
        variables=tuple(_variable(v) for v in root.findall("Variables/Variable")),
        resolutions=tuple(
            _made(r, Resolution if r.tag == "Resolution" else ResolutionRange)
            for r in root.find("TimeRes")
            if isinstance(r.tag, str)
        ),
        non_real_time=None if nrt is None else _made(nrt, NonRealTime),
        soft_real_time=root.find("OpMode/SoftRealTime") is not None,
        hard_real_time=root.find("OpMode/HardRealTime") is not None,
        udp=_ipv4(transports.find("UDP_IPv4"), UDP_MAX_PDU_SIZE),
        tcp=_ipv4(transports.find("TCP_IPv4"), TCP_MAX_PDU_SIZE),
        can=transports.find("CAN") is not None,
        usb2=None
        if usb is None
        else _made(usb, Usb2, USB2, pipes=_all(usb, "DataPipe", DataPipe, PIPE)),
        bluetooth=None
        if blue is None
        else _made(blue.find("Address"), Bluetooth, BLUETOOTH, **given(blue, Bluetooth)),
        capabilities=_made(root.find("CapabilityFlags"), Capabilities),
        heartbeat=_heartbeat(root.find("Heartbeat/MaximumPeriodicInterval")),
        units=tuple(_unit(u) for u in root.findall("UnitDefinitions/Unit")),
        types=tuple(_simple_type(t) for t in root.findall("TypeDefinitions/SimpleType")),
        log_categories=_all(root, "Log/Categories/Category", LogCategory),
        log_templates=_all(root, "Log/Templates/Template", LogTemplate),
        vendor_annotations=_tools(root.find("VendorAnnotations")),
    )
