# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Making a slave description from a model's declared variables."""

from __future__ import annotations

import uuid as uuid_module
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from typing import Any

from ros2_cosim.dcp.slave.slave_model import Declaration, SlaveModel
from ros2_cosim.dcp.standard.data_report import CATEGORY as DATA_CATEGORY
from ros2_cosim.dcp.standard.data_report import TEMPLATE as DATA_TEMPLATE
from ros2_cosim.dcp.standard.enums import LogLevel, OpMode
from ros2_cosim.dcp.standard.errors import DescriptionError
from ros2_cosim.dcp.standard.slave_description import (
    TCP_MAX_PDU_SIZE,
    UDP_MAX_PDU_SIZE,
    ZEROS,
    Capabilities,
    Causality,
    DataPorts,
    Dimension,
    IPv4Transport,
    LogCategory,
    LogTemplate,
    NonRealTime,
    Resolution,
    ResolutionRange,
    SlaveDescription,
    TypeAttributes,
    Unit,
    Variable,
)
from ros2_cosim.dcp.standard.write_description import description_bytes

_TYPE_FIELDS = {f.name for f in fields(TypeAttributes)}
_NAMESPACE = uuid_module.UUID("6f3c1a52-58a5-5d0c-9c1c-0d3f4b1f7a10")
DEFAULT_MODES = (OpMode.NRT, OpMode.SRT)
"""Operating modes of a slave whose user chooses none."""
ERROR_LOG_ID = 255
"""Id of the category and template for the text of errors."""
_ERROR_CATEGORY = LogCategory(ERROR_LOG_ID, "errors")
_ERROR_TEMPLATE = LogTemplate(ERROR_LOG_ID, ERROR_LOG_ID, LogLevel.ERROR, "%string")
_NO_UUID = "00000000-0000-0000-0000-000000000000"


@dataclass(frozen=True)
class SlaveAddress:
    """Where a slave is reached, as far as that is known beforehand.

    :ivar host, port: of the control port
    :ivar data_ports: (from, to) pairs of ports on which the slave receives data; none = any
    """

    host: str | None = None
    port: int | None = None
    data_ports: tuple[tuple[int, int], ...] = ()


_ANYWHERE = SlaveAddress()


def describe(
    model: type[SlaveModel] | Sequence[Variable],
    *,
    name: str | None = None,
    uuid: str | None = None,
    op_modes: Sequence[OpMode] = (OpMode.NRT,),
    resolutions: Sequence[Fraction | Resolution | ResolutionRange] = (Fraction(1, 1000),),
    steps: NonRealTime | None = None,
    heartbeat: Fraction | None = None,
    address: SlaveAddress = _ANYWHERE,
    can_handle_variable_steps: bool = True,
    log_categories: Sequence[LogCategory] = (),
    log_templates: Sequence[LogTemplate] = (),
    units: Sequence[Unit] = (),
    **more: Any,
) -> SlaveDescription:
    """Description of a model class (or of ready variables).

    The slave offers TCP and UDP, takes configuration and reset, and logs: beside the given
    templates the text of errors, and what became of its data over UDP.

    :param uuid: a fixed one; by default derived from the content, so that another content
        has another uuid
    :param resolutions: one resolution is fixed; of several the master chooses
    :param more: further fields of ``SlaveDescription``
    :raises DescriptionError: the result breaks a rule of the standard
    """
    variables = tuple(_variables(model)) if isinstance(model, type) else tuple(model)
    offers = tuple(
        Resolution(r.numerator, r.denominator, fixed=len(resolutions) == 1)
        if isinstance(r, Fraction)
        else r
        for r in resolutions
    )
    ports = DataPorts(ranges=address.data_ports)
    udp, tcp = (
        IPv4Transport(size, address.host, address.port, True, ports, ports)
        for size in (UDP_MAX_PDU_SIZE, TCP_MAX_PDU_SIZE)
    )
    description = SlaveDescription(
        name=name or (model.__name__ if isinstance(model, type) else "slave"),
        uuid=uuid or _NO_UUID,
        variables=variables,
        resolutions=offers,
        non_real_time=(steps or NonRealTime()) if OpMode.NRT in op_modes else None,
        soft_real_time=OpMode.SRT in op_modes,
        hard_real_time=OpMode.HRT in op_modes,
        udp=udp,
        tcp=tcp,
        capabilities=Capabilities(
            can_accept_config_pdus=True,
            can_handle_reset=True,
            can_handle_variable_steps=can_handle_variable_steps,
            can_monitor_heartbeat=heartbeat is not None,
            can_provide_log_on_request=True,
            can_provide_log_on_notification=True,
        ),
        heartbeat=heartbeat,
        units=tuple(units) or _units(variables),
        log_categories=(*log_categories, _ERROR_CATEGORY, DATA_CATEGORY),
        log_templates=(*log_templates, _ERROR_TEMPLATE, DATA_TEMPLATE),
        **more,
    )
    content = description_bytes(description)
    if uuid is None:
        derived = uuid_module.uuid5(_NAMESPACE, content.decode("utf-8"))
        description = replace(description, uuid=str(derived))
    return description


def at_address(description: SlaveDescription, address: SlaveAddress) -> SlaveDescription:
    """The same description (also its uuid) with the slave's addresses in it.

    Masters and test generators of other makers take them from there.
    """
    host, port, ranges = address.host, address.port, address.data_ports

    def placed(transport: IPv4Transport | None) -> IPv4Transport | None:
        if transport is None:
            return None
        data = DataPorts(host, ranges) if ranges else transport.data
        parameter = DataPorts(host, ranges) if ranges else transport.parameter
        return replace(
            transport,
            host=transport.host if host is None else host,
            port=transport.port if port is None else port,
            data=data,
            parameter=parameter,
        )

    return replace(description, udp=placed(description.udp), tcp=placed(description.tcp))


def _units(variables: Sequence[Variable]) -> tuple[Unit, ...]:
    names = {v.attributes.unit: None for v in variables if v.attributes.unit}
    return tuple(Unit(name, has_base=False) for name in names if name)


def _variables(model: type[SlaveModel]) -> list[Variable]:
    declarations = model.declarations()
    references = {d.name: number for number, d in enumerate(declarations, start=1)}
    return [_variable(model, d, references) for d in declarations]


def _variable(model: type[SlaveModel], d: Declaration, references: dict[str, int]) -> Variable:
    rest = dict(d.attributes)
    typed = {key: rest.pop(key) for key in list(rest) if key in _TYPE_FIELDS}
    dimensions = []
    for part in d.shape:
        if isinstance(part, int):
            dimensions.append(Dimension(constant=part))
        elif part in references:
            dimensions.append(Dimension(linked_vr=references[part]))
        else:
            raise DescriptionError(f"{model.__name__}.{d.name}: no structural parameter {part!r}")
    start = d.start
    if start is None and d.causality is not Causality.OUTPUT:
        start = ZEROS[d.data_type]
    if isinstance(start, list):
        start = tuple(start)
    if dimensions and start is not None and not isinstance(start, tuple):
        start = (start,)
    try:
        return Variable(
            name=d.name,
            value_reference=rest.pop("value_reference", references[d.name]),
            causality=d.causality,
            data_type=d.data_type,
            start=start,
            variability=rest.pop("variability", d.variability),
            attributes=TypeAttributes(**typed),
            dimensions=tuple(dimensions),
            **rest,
        )
    except TypeError as error:
        raise DescriptionError(f"{model.__name__}.{d.name}: {error}") from None
