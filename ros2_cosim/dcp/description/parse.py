# SPDX-License-Identifier: Apache-2.0
"""From the XML of a .dcpx file to a checked slave description."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from lxml import etree

from ros2_cosim.dcp.description.check import check_description, check_schema
from ros2_cosim.dcp.description.slave_description import (
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
from ros2_cosim.dcp.wire.enums import DataType
from ros2_cosim.dcp.wire.errors import DescriptionError
from ros2_cosim.dcp.wire.values import FLOATS

ELEMENT_OF: dict[DataType, str] = {t: t.name.capitalize() for t in DataType}
TYPE_OF: dict[str, DataType] = {name: t for t, name in ELEMENT_OF.items()}
BASE_UNITS = ("kg", "m", "s", "A", "K", "mol", "cd", "rad")


def parse_description(data: bytes, source: str = "slave description") -> SlaveDescription:
    """Parse and check the bytes of a .dcpx file; ``source`` names them in errors.

    :raises DescriptionError: naming source and line
    """
    root = check_schema(data, source)
    description = _description(root)
    check_description(description, source)
    return description


def _bool(text: str) -> bool:
    return text.strip() in ("true", "1")


def _get(node: Any, name: str, kind: Callable[[str], Any], default: Any = None) -> Any:
    text = node.get(name)
    return default if text is None else kind(text)


def _host(node: Any) -> str | None:
    return node.get("host") or None


def _steps(node: Any) -> dict[str, Any]:
    return {
        "default_steps": _get(node, "defaultSteps", int, 1),
        "fixed_steps": _get(node, "fixedSteps", _bool, True),
        "min_steps": _get(node, "minSteps", int),
        "max_steps": _get(node, "maxSteps", int),
    }


def _tools(node: Any) -> tuple[tuple[str, str | None], ...]:
    if node is None:
        return ()
    tools = []
    for tool in node.findall("Tool"):
        inner = etree.tostring(tool[0], encoding="unicode").strip() if len(tool) else None
        tools.append((tool.get("name"), inner))
    return tuple(tools)


def _attributes(node: Any, kind: DataType) -> TypeAttributes:
    number: Callable[[str], Any] = float if kind in FLOATS else int
    return TypeAttributes(
        min=_get(node, "min", number),
        max=_get(node, "max", number),
        gradient=_get(node, "gradient", number),
        nominal=_get(node, "nominal", float),
        quantity=node.get("quantity"),
        unit=node.get("unit"),
        display_unit=node.get("displayUnit"),
        max_size=_get(node, "maxSize", int),
        mime_type=node.get("mimeType"),
    )


def _start(text: str | None, kind: DataType, array: bool) -> Any:
    if text is None:
        return None
    if kind is DataType.string:
        return text
    if kind is DataType.binary:
        return bytes.fromhex(text.strip())
    number: Callable[[str], Any] = float if kind in FLOATS else int
    items = tuple(number(item) for item in text.split())
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


def _variable(node: Any) -> Variable:
    child = next(c for c in node if c.tag != "Annotations" and isinstance(c.tag, str))
    typed = next(c for c in child if c.tag in TYPE_OF)
    kind = TYPE_OF[typed.tag]
    dimensions = tuple(
        Dimension(_get(d, "constant", int), _get(d, "linkedVR", int))
        for d in child.findall("Dimensions/Dimension")
    )
    causality = Causality(child.tag)
    extra: dict[str, Any] = {}
    if causality is Causality.OUTPUT:
        extra = _steps(child) | {
            "initialization": _get(child, "initialization", _bool, False),
            "dependencies_init": _dependencies(child, "Initialization"),
            "dependencies_run": _dependencies(child, "Run"),
        }
    return Variable(
        name=node.get("name"),
        value_reference=int(node.get("valueReference")),
        causality=causality,
        data_type=kind,
        start=_start(typed.get("start"), kind, bool(dimensions)),
        variability=node.get("variability", "continuous"),
        attributes=_attributes(typed, kind),
        dimensions=dimensions,
        declared_type=node.get("declaredType"),
        description=node.get("description"),
        pre_edge=_get(node, "preEdge", float),
        post_edge=_get(node, "postEdge", float),
        max_consec_missed_pdus=_get(node, "maxConsecMissedPdus", int),
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
    return DataPorts(_host(node), tuple(ranges))


def _ipv4(node: Any, default_size: int) -> IPv4Transport | None:
    if node is None:
        return None
    control = node.find("Control")
    return IPv4Transport(
        max_pdu_size=_get(node, "maxPduSize", int, default_size),
        host=None if control is None else _host(control),
        port=None if control is None else _get(control, "port", int),
        has_control=control is not None,
        data=_ports(node.find("DAT_input_output")),
        parameter=_ports(node.find("DAT_parameter")),
    )


def _unit(node: Any) -> Unit:
    base = node.find("BaseUnit")
    display = tuple(
        DisplayUnit(d.get("name"), _get(d, "factor", float, 1.0), _get(d, "offset", float, 0.0))
        for d in node.findall("DisplayUnit")
    )
    if base is None:
        return Unit(node.get("name"), has_base=False, display_units=display)
    exponents = {u: int(base.get(u)) for u in BASE_UNITS if int(base.get(u, "0"))}
    return Unit(
        node.get("name"),
        exponents,
        _get(base, "factor", float, 1.0),
        _get(base, "offset", float, 0.0),
        display_units=display,
    )


def _resolution(node: Any) -> Resolution | ResolutionRange:
    if node.tag == "Resolution":
        return Resolution(
            _get(node, "numerator", int, 1),
            _get(node, "denominator", int, 1000),
            _get(node, "fixed", _bool, True),
            _get(node, "recommended", _bool),
        )
    return ResolutionRange(
        int(node.get("numeratorFrom")),
        int(node.get("numeratorTo")),
        int(node.get("denominator")),
    )


def _simple_type(node: Any) -> SimpleType:
    typed = next(c for c in node if c.tag in TYPE_OF)
    kind = TYPE_OF[typed.tag]
    return SimpleType(node.get("name"), kind, _attributes(typed, kind), node.get("description"))


def _description(root: Any) -> SlaveDescription:
    nrt = root.find("OpMode/NonRealTime")
    flags = root.find("CapabilityFlags")
    beat = root.find("Heartbeat/MaximumPeriodicInterval")
    usb = root.find("TransportProtocols/USB2")
    blue = root.find("TransportProtocols/Bluetooth")
    heartbeat = None
    if beat is not None:
        denominator = _get(beat, "denominator", int, 1)
        if denominator == 0:
            raise DescriptionError("Heartbeat: the denominator of the interval is 0")
        heartbeat = Fraction(_get(beat, "numerator", int, 1), denominator)
    return SlaveDescription(
        name=root.get("dcpSlaveName"),
        uuid=root.get("uuid"),
        variables=tuple(_variable(v) for v in root.findall("Variables/Variable")),
        resolutions=tuple(_resolution(r) for r in root.find("TimeRes") if isinstance(r.tag, str)),
        non_real_time=None if nrt is None else NonRealTime(**_steps(nrt)),
        soft_real_time=root.find("OpMode/SoftRealTime") is not None,
        hard_real_time=root.find("OpMode/HardRealTime") is not None,
        udp=_ipv4(root.find("TransportProtocols/UDP_IPv4"), UDP_MAX_PDU_SIZE),
        tcp=_ipv4(root.find("TransportProtocols/TCP_IPv4"), TCP_MAX_PDU_SIZE),
        can=root.find("TransportProtocols/CAN") is not None,
        usb2=None
        if usb is None
        else Usb2(
            tuple(
                DataPipe(int(p.get("endpointAddress")), int(p.get("intervall")), p.get("direction"))
                for p in usb.findall("DataPipe")
            ),
            _get(usb, "maxPower", int),
            _get(usb, "maxPduSize", int, 1024),
        ),
        bluetooth=None
        if blue is None
        else Bluetooth(
            blue.find("Address").get("bd_addr"),
            int(blue.find("Address").get("port")),
            blue.find("Address").get("alias"),
            _get(blue, "maxPduSize", int, 1011),
        ),
        capabilities=Capabilities(
            _get(flags, "canAcceptConfigPdus", _bool, False),
            _get(flags, "canHandleReset", _bool, False),
            _get(flags, "canHandleVariableSteps", _bool, False),
            _get(flags, "canMonitorHeartbeat", _bool, False),
            _get(flags, "canProvideLogOnRequest", _bool, False),
            _get(flags, "canProvideLogOnNotification", _bool, False),
        ),
        heartbeat=heartbeat,
        units=tuple(_unit(u) for u in root.findall("UnitDefinitions/Unit")),
        types=tuple(_simple_type(t) for t in root.findall("TypeDefinitions/SimpleType")),
        log_categories=tuple(
            LogCategory(int(c.get("id")), c.get("name"))
            for c in root.findall("Log/Categories/Category")
        ),
        log_templates=tuple(
            LogTemplate(int(t.get("id")), int(t.get("category")), int(t.get("level")), t.get("msg"))
            for t in root.findall("Log/Templates/Template")
        ),
        vendor_annotations=_tools(root.find("VendorAnnotations")),
        major_version=int(root.get("dcpMajorVersion")),
        minor_version=int(root.get("dcpMinorVersion")),
        description=root.get("description"),
        author=root.get("author"),
        version=root.get("version"),
        copyright=root.get("copyright"),
        license=root.get("license"),
        generation_tool=root.get("generationTool"),
        generation_date_and_time=root.get("generationDateAndTime"),
        variable_naming_convention=root.get("variableNamingConvention", "flat"),
    )
