# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The slave description of an FMU: variables, units, step size, as FMI 2.0 and 3.0 name them.

FMI's value references are unique per type only and may be shared by aliases, so DCP's are
counted from 1 in the order of the FMU's description.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from fractions import Fraction
from itertools import product
from math import prod
from pathlib import Path
from typing import Any, NamedTuple

from ros2_cosim.core.documents.archives import opened_archive
from ros2_cosim.core.documents.one_line import one_line
from ros2_cosim.dcp.fmi.completion import complete
from ros2_cosim.dcp.fmi.interface_type import (
    InterfaceType,
    choose_interface,
    interface_of,
    offers_clocks,
    steps_vary,
)
from ros2_cosim.dcp.fmi.runtime import CLOCK, FmuPlace
from ros2_cosim.dcp.slave.c_source import MAX_ELEMENTS, SUFFIX, fmu_content, require_compiler
from ros2_cosim.dcp.slave.declare import DEFAULT_MODES, describe
from ros2_cosim.dcp.standard.attributes import BASE_UNITS
from ros2_cosim.dcp.standard.enums import DataType, OpMode
from ros2_cosim.dcp.standard.errors import DescriptionError
from ros2_cosim.dcp.standard.slave_description import (
    Causality,
    Dimension,
    DisplayUnit,
    NonRealTime,
    SlaveDescription,
    TypeAttributes,
    Unit,
    Variable,
)
from ros2_cosim.dcp.standard.values import FLOATS

FMU_STEP = Fraction(1, 100)
"""Seconds per resolution of an FMU, if neither the user nor the FMU names one."""
MAX_STEPS = 1_000_000
DESCRIPTION = "modelDescription.xml"
_UINT32 = 2**32
_NAMESPACE = uuid.UUID("0f5a0c0e-7b7d-5b0e-9f0a-4f2d1a6b9c33")
_TYPES: Mapping[str, DataType] = {
    "Real": DataType.float64,
    "Integer": DataType.int32,
    "Float32": DataType.float32,
    "Float64": DataType.float64,
    "Boolean": DataType.uint8,
    "String": DataType.string,
    "Binary": DataType.binary,
    CLOCK: DataType.uint8,
    **{
        f"{sign}{bits}": DataType[f"{sign.lower()}{bits}"]
        for sign in ("Int", "UInt")
        for bits in (8, 16, 32, 64)
    },
}
_SIZED = ("String", "Binary")
_CAUSALITIES = {
    "input": Causality.INPUT,
    "output": Causality.OUTPUT,
    "parameter": Causality.PARAMETER,
    "structuralParameter": Causality.STRUCTURAL,
    "calculatedParameter": Causality.OUTPUT,
}


class FmuVariable(NamedTuple):
    """A variable of the slave and where it is in the FMU.

    A ``structural`` one is set in configuration mode, to another value than ``fmi_start``, which a
    fresh instance has. In DCP only sizes of arrays are structural. DCP has no arrays of strings and
    binaries: each element is a variable ``name[1]``, and they share one ``place``.
    """

    variable: Variable
    place: FmuPlace
    structural: bool = False
    fmi_start: Any = None


def read_fmu(path: str | Path, interface: InterfaceType | None = None) -> Any:
    """The FMU's own description (FMPy's ``ModelDescription``), with one interface type in it.

    :param interface: by default the first interface type that the FMU has
    :raises DescriptionError: no FMU, a wrong one, one out of bounds
        (:mod:`ros2_cosim.core.documents.archives`), none of FMI 2.0 or 3.0, or without that
        interface type; or the package FMPy is not installed
    """
    path = Path(path)
    try:
        from fmpy import read_model_description
    except ImportError as error:
        raise DescriptionError(
            f"{path}: FMUs are run by FMPy, which cannot be imported ({error}); install it by: "
            "pip install fmpy==0.3.32"
        ) from None
    text = b""
    if path.suffix != SUFFIX:
        with opened_archive(path, DescriptionError) as archive:  # what FMPy unpacks is in bounds
            if DESCRIPTION in archive.namelist():
                text = archive.read(DESCRIPTION)
    content = fmu_content(path, compiled=False)
    try:
        model: Any = read_model_description(content)
    except Exception as error:  # FMPy raises whatever zip and XML readers raise
        raise DescriptionError(f"{path}: no valid FMU: {one_line(error)}") from None
    if model.fmiVersion not in ("2.0", "3.0"):
        raise DescriptionError(
            f"{path}: found FMI {model.fmiVersion}; FMI 2.0 and 3.0 are supported"
        )
    choose_interface(model, interface, str(path))
    if model.fmiVersion == "2.0":
        from ros2_cosim.dcp.fmi.osmp import with_binaries

        model.modelVariables = with_binaries(model.modelVariables, text, str(path))
    else:
        complete(model, text, str(path))
    return model


def require_platform(path: Path) -> None:
    """Check whether an FMU has a library for this platform, or a C file could be compiled.

    :raises DescriptionError: it has none
    """
    from fmpy import platform, supported_platforms

    if path.suffix == SUFFIX:
        require_compiler(path)
        return
    offered = [name for name in supported_platforms(str(path)) if name != "c-code"]
    if platform not in offered:
        raise DescriptionError(
            f"{path}: found libraries for {', '.join(offered) or 'no platform'}; this one is "
            f"{platform}"
        )


def fmu_variables(model: Any) -> list[FmuVariable]:
    """Inputs, outputs and parameters of an FMU as variables of a slave.

    Local and independent variables and constants have no counterpart in DCP. A clock that others
    trigger is an input of type uint8: it ticks in a step that begins with 1. A clock of
    the FMU is an output, 1 after a step in which it has ticked. Others tick by themselves.

    :raises DescriptionError: an array whose size is not a structural parameter, or too large a one
        of strings or binaries
    """
    listed = [v for v in model.modelVariables if v.causality in _CAUSALITIES]
    if not offers_clocks(model):
        listed = [v for v in listed if v.type != CLOCK]
    listed = [v for v in listed if v.type != CLOCK or v.intervalVariability == "triggered"]
    # The number of variables of a slave does not change, so these sizes do not either.
    kept = {
        d.valueReference: int(d.variable.start)
        for v in listed
        if v.type in _SIZED
        for d in v.dimensions
        if d.valueReference is not None
    }
    chosen = [
        part
        for v in listed
        if v.causality != "structuralParameter" or v.valueReference not in kept
        for part in _parts(v, kept)
    ]
    sizes = {d.valueReference for v, *_ in chosen for d in v.dimensions}
    structural = {
        v.valueReference: number
        for number, (v, *_) in enumerate(chosen, start=1)
        if v.causality == "structuralParameter" and v.valueReference in sizes
    }
    return [_variable(model, v, n, structural, place) for n, (v, place) in enumerate(chosen, 1)]


def _parts(v: Any, kept: Mapping[int, int]) -> list[tuple[Any, FmuPlace]]:
    """The variable, or one for each element; those share a place."""
    place = FmuPlace(
        v.name,
        v.type,
        v.valueReference,
        v.variability != "continuous",
        tuple(clock.valueReference for clock in v.clocks or ()),
        v.intermediateUpdate,
    )
    dimensions = [_kept(d, kept) for d in v.dimensions]
    if v.type not in _SIZED or not dimensions:
        return [(_with(v, dimensions=dimensions), place)]
    sizes = [int(d.start) for d in dimensions]  # they are all known here
    if prod(sizes) > MAX_ELEMENTS:
        raise DescriptionError(
            f"variable {v.name!r}: found an array of {prod(sizes)}; each element is a variable, "
            f"and allowed are {MAX_ELEMENTS}"
        )
    shape = [range(1, size + 1) for size in sizes]
    starts = list(v.start) if v.start is not None else []
    return [
        (
            _with(
                v,
                name=f"{v.name}[{','.join(map(str, at))}]",
                dimensions=[],
                start=starts[i] if i < len(starts) else None,
            ),
            place,
        )
        for i, at in enumerate(product(*shape))
    ]


def _kept(dimension: Any, kept: Mapping[int, int]) -> Any:
    if dimension.valueReference not in kept:
        return dimension
    return _with(dimension, start=kept[dimension.valueReference], valueReference=None)


def _with(found: Any, **changes: Any) -> Any:
    """A copy of one of FMPy's objects."""
    changed = copy(found)
    for name, value in changes.items():
        setattr(changed, name, value)
    return changed


def fmu_slave_description(
    path: str | Path,
    model: Any,
    variables: Iterable[FmuVariable],
    *,
    step: Fraction | None = None,
    modes: Sequence[OpMode] = (),
    **more: Any,
) -> SlaveDescription:
    """The slave description of an FMU.

    :param step: seconds per resolution; by default the FMU's fixed or suggested step size
    :param modes: operating modes that are offered, by default NRT and SRT; whether the FMU is
        quick enough for HRT, only its user knows
    :param more: further arguments of :func:`~ros2_cosim.dcp.slave.declare.describe`
    :raises DescriptionError: the step size cannot be expressed, or a rule is broken
    """
    resolution = step or _step_size(model)
    if resolution <= 0 or resolution.numerator >= _UINT32 or resolution.denominator >= _UINT32:
        raise DescriptionError(f"{path}: step size {resolution} s cannot be a DCP resolution")
    variable_steps = steps_vary(model)
    steps = NonRealTime(1, False, 1, MAX_STEPS) if variable_steps else NonRealTime()
    offered = frozenset(modes or DEFAULT_MODES)
    described = [v.variable for v in variables]
    # Two FMUs may share a token: copies of one project often do.
    told = [(v.value_reference, v.name, v.data_type.name, v.causality.name) for v in described]
    identity = f"{model.fmiVersion}/{model.instantiationToken}/{resolution}/{told}"
    kind = interface_of(model)
    if kind is not InterfaceType.CO_SIMULATION:
        identity += f"/{kind.value}"
    if offered != frozenset(DEFAULT_MODES):
        identity += "/" + ",".join(sorted(mode.name for mode in offered))
    return describe(
        described,
        name=model.modelName,
        uuid=str(uuid.uuid5(_NAMESPACE, identity)),
        op_modes=tuple(offered),
        resolutions=(resolution,),
        steps=steps,
        can_handle_variable_steps=variable_steps,
        units=_units(model),
        description=model.description,
        author=model.author,
        version=model.version,
        copyright=model.copyright,
        license=model.license,
        **more,
    )


def _step_size(model: Any) -> Fraction:
    internal = model.coSimulation and model.coSimulation.fixedInternalStepSize
    experiment = model.defaultExperiment
    suggested = experiment.stepSize if experiment is not None else None
    found = internal or suggested
    return FMU_STEP if not found else Fraction(str(found))


def _dimension(v: Any, dimension: Any, structural: Mapping[int, int]) -> Dimension:
    linked = dimension.valueReference
    if linked is None:
        return Dimension(constant=int(dimension.start))
    if linked not in structural:
        raise DescriptionError(
            f"variable {v.name!r}: found a dimension of the size of valueReference {linked}; "
            "allowed are structural parameters"
        )
    return Dimension(linked_vr=structural[linked])


# Complex, yet one table: each branch is a case in which FMI and DCP say a thing differently.
def _variable(
    model: Any, v: Any, number: int, structural: Mapping[int, int], place: FmuPlace
) -> FmuVariable:
    if place.kind == "Enumeration":
        place = place._replace(kind="Integer" if model.fmiVersion == "2.0" else "Int64")
    kind = _TYPES[place.kind]
    causality = _CAUSALITIES[v.causality]
    structural_in_fmi = causality is Causality.STRUCTURAL
    if structural_in_fmi and v.valueReference not in structural:
        causality = Causality.PARAMETER
    dimensions = tuple(_dimension(v, d, structural) for d in v.dimensions)
    parameter = causality in (Causality.PARAMETER, Causality.STRUCTURAL)
    if parameter:
        tunable = v.variability == "tunable" and (
            causality is Causality.STRUCTURAL or not structural_in_fmi
        )
        variability = "tunable" if tunable else "fixed"
    else:
        smooth = kind in FLOATS and v.variability in (None, "continuous")
        variability = "continuous" if smooth else "discrete"
    fmi_start = start = _start(v, kind, bool(dimensions))
    if start is None and causality is not Causality.OUTPUT:
        start = "" if kind is DataType.string else b"" if kind is DataType.binary else 0
        start = (start,) if dimensions else start
    if causality is Causality.STRUCTURAL:
        start = max(1, int(start))
    return FmuVariable(
        Variable(
            name=v.name,
            value_reference=number,
            causality=causality,
            data_type=kind,
            start=start,
            variability=variability,
            attributes=_attributes(v, kind),
            dimensions=dimensions,
            description=v.description,
            initialization=v.causality == "calculatedParameter"
            and (v.variability == "fixed" or isinstance(v.valueReference, tuple)),
        ),
        place,
        structural_in_fmi,
        fmi_start,
    )


def _start(v: Any, kind: DataType, array: bool) -> Any:
    text = v.start
    if text is None:
        return None
    if kind is DataType.string:
        return text
    if kind is DataType.binary:
        return bytes.fromhex(text)
    values = tuple(_number(part, v.type, kind) for part in str(text).split())
    return values if array else values[0]


def _number(text: str, fmi_type: str, kind: DataType) -> Any:
    if fmi_type == "Boolean":
        return int(text in ("true", "1"))
    return float(text) if kind in FLOATS else int(text)


def _attributes(v: Any, kind: DataType) -> TypeAttributes:
    """Limits and units, completed from the declared type."""

    def found(name: str) -> Any:
        value = getattr(v, name)
        return getattr(v.declaredType, name, None) if value is None else value

    def number(name: str) -> Any:
        value = found(name)
        return None if value is None else (float(value) if kind in FLOATS else int(value))

    if kind not in FLOATS:
        return TypeAttributes(min=number("min"), max=number("max"))
    return TypeAttributes(
        min=number("min"),
        max=number("max"),
        nominal=number("nominal"),
        quantity=found("quantity"),
        unit=found("unit"),
        display_unit=found("displayUnit"),
    )


def _units(model: Any) -> tuple[Unit, ...]:
    units = []
    for unit in model.unitDefinitions:
        base = unit.baseUnit
        exponents = {n: int(getattr(base, n)) for n in BASE_UNITS if base and getattr(base, n)}
        units.append(
            Unit(
                unit.name,
                exponents,
                float(base.factor) if base else 1.0,
                float(base.offset) if base else 0.0,
                has_base=base is not None,
                display_units=tuple(
                    DisplayUnit(d.name, float(d.factor), float(d.offset)) for d in unit.displayUnits
                ),
            )
        )
    return tuple(units)
