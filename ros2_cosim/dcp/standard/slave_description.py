# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The slave description as Python objects, one dataclass per element of the .dcpx file.

Optional attributes of the file are None where the standard has no default, otherwise they
carry the default. Reading is in ``parse``, writing in ``write``, checking in ``check``.
"""

from __future__ import annotations

import re
import uuid as uuid_module
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from fractions import Fraction

from ros2_cosim.dcp.standard.enums import DataType, LogLevel, OpMode, TransportProtocol
from ros2_cosim.dcp.standard.errors import DescriptionError
from ros2_cosim.dcp.standard.values import SIZED, Value


class Causality(Enum):
    """Which of the four kinds a variable is; the value is its element name."""

    INPUT = "Input"
    OUTPUT = "Output"
    PARAMETER = "Parameter"
    STRUCTURAL = "StructuralParameter"


@dataclass(frozen=True)
class NonRealTime:
    """Steps that one STC_do_step may ask for."""

    default_steps: int = 1
    fixed_steps: bool = True
    min_steps: int | None = None
    max_steps: int | None = None

    def allows(self, steps: int) -> bool:
        """Whether STC_do_step may carry ``steps``."""
        if self.fixed_steps:
            return steps == self.default_steps
        return steps >= (self.min_steps or 1) and (
            self.max_steps is None or steps <= self.max_steps
        )


@dataclass(frozen=True)
class DisplayUnit:
    """display value = factor * unit value + offset."""

    name: str
    factor: float = 1.0
    offset: float = 0.0


@dataclass(frozen=True)
class Unit:
    """base value = factor * unit value + offset; ``exponents`` of the SI base units."""

    name: str
    exponents: Mapping[str, int] = field(default_factory=dict)
    factor: float = 1.0
    offset: float = 0.0
    has_base: bool = True
    display_units: tuple[DisplayUnit, ...] = ()


@dataclass(frozen=True)
class TypeAttributes:
    """Attributes of a data type element, those of all types together."""

    min: float | int | None = None
    max: float | int | None = None
    gradient: float | int | None = None
    nominal: float | None = None
    quantity: str | None = None
    unit: str | None = None
    display_unit: str | None = None
    max_size: int | None = None
    mime_type: str | None = None


@dataclass(frozen=True)
class SimpleType:
    """A named type that variables refer to by ``declared_type``."""

    name: str
    data_type: DataType
    attributes: TypeAttributes = TypeAttributes()
    description: str | None = None


@dataclass(frozen=True)
class Dimension:
    """One dimension of an array: a constant or a structural parameter's value reference."""

    constant: int | None = None
    linked_vr: int | None = None


@dataclass(frozen=True)
class Dependency:
    """One entry of an output's dependencies: an input or parameter, and how."""

    vr: int
    linear: bool = False


@dataclass(frozen=True)
class Variable:
    """One variable.

    :ivar start: scalar, or a tuple for an array (row-major); None only for outputs
    :ivar pre_edge, post_edge: tolerated early and late arrival in seconds
    :ivar dependencies_run, dependencies_init: None = unknown, empty = on nothing
    """

    name: str
    value_reference: int
    causality: Causality
    data_type: DataType
    start: Value = None
    variability: str = "continuous"
    attributes: TypeAttributes = TypeAttributes()
    dimensions: tuple[Dimension, ...] = ()
    declared_type: str | None = None
    description: str | None = None
    pre_edge: float | None = None
    post_edge: float | None = None
    max_consec_missed_pdus: int | None = None
    default_steps: int = 1
    fixed_steps: bool = True
    min_steps: int | None = None
    max_steps: int | None = None
    initialization: bool = False
    dependencies_init: tuple[Dependency, ...] | None = None
    dependencies_run: tuple[Dependency, ...] | None = None
    annotations: tuple[tuple[str, str | None], ...] = ()

    def allows_steps(self, steps: int) -> bool:
        """Whether this output may be sent every ``steps`` resolutions (CFG_steps)."""
        if steps == self.default_steps:
            return True
        return (
            not self.fixed_steps
            and (self.min_steps or 1) <= steps
            and (self.max_steps is None or steps <= self.max_steps)
        )


@dataclass(frozen=True)
class Resolution:
    """A time resolution of numerator/denominator seconds."""

    numerator: int = 1
    denominator: int = 1000
    fixed: bool = True
    recommended: bool | None = None

    @property
    def seconds(self) -> Fraction:
        """The resolution as a fraction of a second."""
        return Fraction(self.numerator, self.denominator)


@dataclass(frozen=True)
class ResolutionRange:
    """All resolutions from numerator_from/denominator to numerator_to/denominator."""

    numerator_from: int
    numerator_to: int
    denominator: int


@dataclass(frozen=True)
class DataPorts:
    """Ports on which a slave can receive data PDUs: (from, to) pairs, both included."""

    host: str | None = None
    ranges: tuple[tuple[int, int], ...] = ()

    def allows(self, port: int) -> bool:
        """Whether ``port`` is offered; without any entry every port is."""
        return not self.ranges or any(low <= port <= high for low, high in self.ranges)


@dataclass(frozen=True)
class IPv4Transport:
    """UDP_IPv4 or TCP_IPv4 of the transport protocols."""

    max_pdu_size: int
    host: str | None = None
    port: int | None = None
    has_control: bool = True
    data: DataPorts | None = None
    parameter: DataPorts | None = None


UDP_MAX_PDU_SIZE = 65507
TCP_MAX_PDU_SIZE = 4294967267


@dataclass(frozen=True)
class Bluetooth:
    """Bluetooth RFCOMM address of the slave (described only, not driven)."""

    address: str
    port: int
    alias: str | None = None
    max_pdu_size: int = 1011


@dataclass(frozen=True)
class DataPipe:
    """One USB data pipe."""

    endpoint_address: int
    interval: int
    direction: str | None = None


@dataclass(frozen=True)
class Usb2:
    """USB 2.0 properties of the slave (described only, not driven)."""

    pipes: tuple[DataPipe, ...] = ()
    max_power: int | None = None
    max_pdu_size: int = 1024


@dataclass(frozen=True)
class Capabilities:
    """The six capability flags."""

    can_accept_config_pdus: bool = False
    can_handle_reset: bool = False
    can_handle_variable_steps: bool = False
    can_monitor_heartbeat: bool = False
    can_provide_log_on_request: bool = False
    can_provide_log_on_notification: bool = False


@dataclass(frozen=True)
class LogCategory:
    """A log category; id 0 is reserved for "all"."""

    id: int
    name: str


_PLACEHOLDER = re.compile(r"%(%|" + "|".join(t.name for t in DataType) + ")")


@dataclass(frozen=True)
class LogTemplate:
    """A log message with placeholders such as ``%float64``; ``%%`` is a percent sign."""

    id: int
    category: int
    level: int
    msg: str

    @property
    def arguments(self) -> tuple[DataType, ...]:
        """Types of the placeholders in order."""
        return tuple(DataType[m] for m in _PLACEHOLDER.findall(self.msg) if m != "%")

    def text(self, values: list[Value]) -> str:
        """The message with the argument values put in."""
        rest = iter(values)
        return _PLACEHOLDER.sub(lambda m: "%" if m.group(1) == "%" else str(next(rest)), self.msg)


@dataclass(frozen=True)
class SlaveDescription:
    """Everything a master knows about a slave before it connects."""

    name: str
    uuid: str
    variables: tuple[Variable, ...]
    resolutions: tuple[Resolution | ResolutionRange, ...]
    non_real_time: NonRealTime | None = None
    soft_real_time: bool = False
    hard_real_time: bool = False
    udp: IPv4Transport | None = None
    tcp: IPv4Transport | None = None
    can: bool = False
    usb2: Usb2 | None = None
    bluetooth: Bluetooth | None = None
    capabilities: Capabilities = Capabilities()
    heartbeat: Fraction | None = None
    units: tuple[Unit, ...] = ()
    types: tuple[SimpleType, ...] = ()
    log_categories: tuple[LogCategory, ...] = ()
    log_templates: tuple[LogTemplate, ...] = ()
    vendor_annotations: tuple[tuple[str, str | None], ...] = ()
    major_version: int = 1
    minor_version: int = 0
    description: str | None = None
    author: str | None = None
    version: str | None = None
    copyright: str | None = None
    license: str | None = None
    generation_tool: str | None = None
    generation_date_and_time: str | None = None
    variable_naming_convention: str = "flat"

    @property
    def uuid_bytes(self) -> bytes:
        """The sixteen bytes of STC_register, in the order of the text."""
        return uuid_module.UUID(self.uuid).bytes

    @property
    def op_modes(self) -> frozenset[OpMode]:
        """Operating modes that the slave offers."""
        offered = {
            OpMode.HRT: self.hard_real_time,
            OpMode.SRT: self.soft_real_time,
            OpMode.NRT: self.non_real_time is not None,
        }
        return frozenset(mode for mode, there in offered.items() if there)

    def of(self, *causalities: Causality) -> tuple[Variable, ...]:
        """Variables of these kinds in the order of the description."""
        return tuple(v for v in self.variables if v.causality in causalities)

    def variable(self, name: str) -> Variable:
        """The variable of that name.

        :raises DescriptionError: there is none
        """
        for candidate in self.variables:
            if candidate.name == name:
                return candidate
        known = ", ".join(v.name for v in self.variables)
        raise DescriptionError(f"slave {self.name!r} has no variable {name!r}; it has {known}")

    def attributes(self, variable: Variable) -> TypeAttributes:
        """Type attributes of a variable, completed from its declared type."""
        own = variable.attributes
        for simple in self.types:
            if simple.name == variable.declared_type:
                merged = {
                    key: getattr(simple.attributes, key) if value is None else value
                    for key, value in vars(own).items()
                }
                return TypeAttributes(**merged)
        return own

    def transport(self, protocol: int) -> IPv4Transport | None:
        """UDP or TCP part of the transport protocols, None if the slave lacks it."""
        if protocol == TransportProtocol.TCP_IPv4:
            return self.tcp
        return self.udp if protocol == TransportProtocol.UDP_IPv4 else None

    def error_template(self) -> LogTemplate | None:
        """The template that takes the text of an error: level at least ERROR, one string."""
        for template in self.log_templates:
            if template.level <= LogLevel.ERROR and template.arguments == (DataType.string,):
                return template
        return None

    def fixed_resolution(self) -> Fraction | None:
        """The resolution that holds without CFG_time_res (fixed, else recommended)."""
        singles = [r for r in self.resolutions if isinstance(r, Resolution)]
        for resolution in singles:
            if resolution.fixed:
                return resolution.seconds
        for resolution in singles:
            if resolution.recommended:
                return resolution.seconds
        return None

    def allows_resolution(self, numerator: int, denominator: int) -> bool:
        """Whether CFG_time_res may carry this; fractions compare by value."""
        if numerator == 0 or denominator == 0:
            return False
        wanted = Fraction(numerator, denominator)
        for offer in self.resolutions:
            if isinstance(offer, Resolution):
                if offer.denominator and offer.seconds == wanted:
                    return True
            elif offer.denominator:
                scaled = wanted * offer.denominator
                inside = offer.numerator_from <= scaled <= offer.numerator_to
                if inside and scaled.denominator == 1:
                    return True
        return False


def element_count(variable: Variable, structural: Mapping[int, int] | None = None) -> int | None:
    """Number of elements of an array, None for a scalar.

    :param structural: current values of structural parameters by value reference
    """
    if not variable.dimensions or variable.data_type in SIZED:
        return None
    count = 1
    for dimension in variable.dimensions:
        if dimension.constant is not None:
            count *= dimension.constant
        else:
            count *= int((structural or {}).get(dimension.linked_vr or 0, 1))
    return count


ZEROS: dict[DataType, Value] = {
    t: "" if t is DataType.string else b"" if t is DataType.binary else 0 for t in DataType
} | {DataType.float32: 0.0, DataType.float64: 0.0}


def start_value(variable: Variable, count: int | None) -> Value:
    """Value of a variable before it is set, as a tuple of ``count`` for arrays.

    A start shorter than the array is continued with its last element, a longer one cut.
    """
    start = ZEROS[variable.data_type] if variable.start is None else variable.start
    if count is None:
        return start[0] if isinstance(start, tuple) else start
    elements = start if isinstance(start, tuple) else (start,)
    return resized(elements, count)


def resized(elements: tuple[Value, ...], count: int) -> tuple[Value, ...]:
    """An array brought to ``count`` elements: cut, or continued with its last element."""
    if len(elements) >= count:
        return elements[:count]
    return elements + (elements[-1] if elements else 0,) * (count - len(elements))
