# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""FMUs written by this project: FMI 2.0 for Co-Simulation, described and packed.

Source of all names: Functional Mock-up Interface 2.0.4, chapters 2.2, 2.3 and 4.3.
"""

from __future__ import annotations

import io
import os
import platform
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Mapping, Sequence
from math import pi
from pathlib import Path
from typing import Final, NamedTuple
from xml.etree import ElementTree as Xml

from ros2_cosim.core.documents.files import cause_of, write_atomically
from ros2_cosim.core.kernel.errors import ConfigurationError

#: Files in the archive have one date, so that equal content gives equal FMUs.
_DATE: Final = (1980, 1, 1, 0, 0, 0)
_TYPES: Final = {float: "Real", int: "Integer", bool: "Boolean", str: "String"}
_BASES: Final = ("kg", "m", "s", "A", "K", "mol", "cd", "rad")
#: Other names of units -> exponents of base units, factor.
_DERIVED: Final[Mapping[str, tuple[Mapping[str, int], float]]] = {
    **{name: ({name: 1}, 1.0) for name in _BASES},
    "km": ({"m": 1}, 1000.0),
    "h": ({"s": 1}, 3600.0),
    "min": ({"s": 1}, 60.0),
    "ms": ({"s": 1}, 1e-3),
    "deg": ({"rad": 1}, pi / 180.0),
    "N": ({"kg": 1, "m": 1, "s": -2}, 1.0),
    "Hz": ({"s": -1}, 1.0),
}
_FACTOR: Final = re.compile(r"\s*([*/.]?)\s*([A-Za-z]+|1)(?:\^?(-?\d+))?")


class BaseUnit(NamedTuple):
    """A unit by base units: SI value = factor * value + offset."""

    exponents: Mapping[str, int]
    factor: float


class Fmi2Variable(NamedTuple):
    """One scalar variable; its value reference is its place. ``kind`` is a Python type."""

    name: str
    causality: str
    kind: type
    start: float | int | bool | str | None = None
    unit: str | None = None
    description: str = ""


class Fmi2Model(NamedTuple):
    """What a description says beside the variables; times in s."""

    name: str
    guid: str
    description: str
    step: float
    stop: float | None = None
    needs_tool: bool = False
    once: bool = False


def base_unit(text: str) -> BaseUnit | None:
    """A unit such as ``m/s^2`` or ``km/h`` by base units; None: it has another form."""
    exponents: dict[str, int] = {}
    factor, at = 1.0, 0
    while at < len(text):
        found = _FACTOR.match(text, at)
        if found is None or (found[2] != "1" and found[2] not in _DERIVED):
            return None
        at = found.end()
        power = int(found[3] or 1) * (-1 if found[1] == "/" else 1)
        if found[2] == "1":
            continue
        bases, size = _DERIVED[found[2]]
        factor *= size**power
        for name, exponent in bases.items():
            exponents[name] = exponents.get(name, 0) + power * exponent
    return BaseUnit({name: exponents[name] for name in _BASES if exponents.get(name)}, factor)


def begun_description(
    model: Fmi2Model, version: str, token: str
) -> tuple[Xml.Element, Xml.Element]:
    """What descriptions begin with in each version of FMI.

    :param token: the name of the attribute with the model's identifier
    :returns: the root, and the element of co-simulation
    """
    root = Xml.Element(
        "fmiModelDescription",
        {
            "fmiVersion": version,
            "modelName": model.name,
            token: model.guid,
            "description": model.description,
            "generationTool": "ros2_cosim",
            "variableNamingConvention": "flat",
        },
    )
    interface = Xml.SubElement(root, "CoSimulation", modelIdentifier=model.name)
    if model.needs_tool:
        interface.set("needsExecutionTool", "true")
    interface.set("canHandleVariableCommunicationStepSize", "true")
    if model.once:
        interface.set("canBeInstantiatedOnlyOncePerProcess", "true")
    return root, interface


def description_of(model: Fmi2Model, variables: Sequence[Fmi2Variable]) -> bytes:
    """The file ``modelDescription.xml``."""
    root, interface = begun_description(model, "2.0", "guid")
    interface.set("canNotUseMemoryManagementFunctions", "true")
    add_units(root, variables)
    add_experiment(root, model)
    listed = Xml.SubElement(root, "ModelVariables")
    for reference, variable in enumerate(variables):
        _add_variable(listed, reference, variable)
    structure = Xml.SubElement(root, "ModelStructure")
    for section in ("Outputs", "InitialUnknowns"):
        unknowns = Xml.SubElement(structure, section)
        for index, variable in enumerate(variables, start=1):
            if variable.causality == "output":
                Xml.SubElement(unknowns, "Unknown", index=str(index))
    Xml.indent(root)
    return bytes(Xml.tostring(root, encoding="utf-8", xml_declaration=True))


def add_units(root: Xml.Element, variables: Sequence[Fmi2Variable]) -> None:
    """Add the definitions of all units that variables have."""
    units = dict.fromkeys(v.unit for v in variables if v.unit is not None)
    if not units:
        return
    definitions = Xml.SubElement(root, "UnitDefinitions")
    for name in units:
        unit = Xml.SubElement(definitions, "Unit", name=name)
        base = base_unit(name)
        if base is not None:
            content = {key: str(value) for key, value in base.exponents.items()}
            if base.factor != 1.0:
                content["factor"] = repr(base.factor)
            Xml.SubElement(unit, "BaseUnit", content)


def add_experiment(root: Xml.Element, model: Fmi2Model) -> None:
    """Add the suggested step and end."""
    experiment = Xml.SubElement(root, "DefaultExperiment", startTime="0")
    if model.stop is not None:
        experiment.set("stopTime", repr(model.stop))
    experiment.set("stepSize", repr(model.step))


def _add_variable(listed: Xml.Element, reference: int, variable: Fmi2Variable) -> None:
    fixed = variable.causality == "parameter"
    scalar = Xml.SubElement(
        listed,
        "ScalarVariable",
        name=variable.name,
        valueReference=str(reference),
        causality=variable.causality,
        variability="fixed" if fixed else "discrete",
    )
    if variable.description:
        scalar.set("description", variable.description)
    kind = Xml.SubElement(scalar, _TYPES[variable.kind])
    if variable.causality != "output":
        kind.set("start", start_text(variable))
    if variable.unit is not None:
        kind.set("unit", variable.unit)


def start_text(variable: Fmi2Variable) -> str:
    """The start value of a variable, as both versions of FMI write it."""
    value = variable.kind() if variable.start is None else variable.start
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return repr(int(value)) if value.is_integer() and abs(value) < 1e9 else repr(value)
    return str(value)


def packed(content: Mapping[str, bytes]) -> bytes:
    """The archive with these files."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, part in content.items():
            archive.writestr(zipfile.ZipInfo(name, _DATE), part, zipfile.ZIP_DEFLATED)
    return data.getvalue()


def write_fmu(target: Path, content: Mapping[str, bytes]) -> None:
    """Write an archive whole or not at all.

    :raises ConfigurationError: it cannot be written
    """
    try:
        write_atomically(target, packed(content))
    except OSError as error:
        raise ConfigurationError(f"{target}: {cause_of(error)}") from None


def this_platform() -> str:
    """The name of this platform in FMI 2.0.

    :raises ConfigurationError: it is another one than Linux on x86_64
    """
    if sys.platform != "linux" or platform.machine() != "x86_64":
        raise ConfigurationError(
            f"platform: found {sys.platform} {platform.machine()}; FMI 2.0 has a name, and this "
            "project a library, for Linux on x86_64"
        )
    return "linux64"


def found_compiler(chosen: str | None, usual: str, variable: str) -> str:
    """The path of a compiler.

    :param chosen: the one that the environment names
    :param variable: where the environment names it
    :raises ConfigurationError: there is none
    """
    compiler = shutil.which(chosen or usual)
    if compiler is None:
        raise ConfigurationError(
            f"compiler: found none; the library of an FMU needs {usual} (sudo apt-get install "
            f"{usual}), or another one that {variable} names"
        )
    return compiler


def compile_library(command: Sequence[str], what: str) -> None:
    """Run a compiler.

    :param what: how messages call that which is compiled
    :raises ConfigurationError: it fails; the message has its first error
    """
    environment = {**os.environ, "LC_ALL": "C"}
    done = subprocess.run(
        list(command), capture_output=True, text=True, check=False, env=environment
    )
    if done.returncode:
        lines = done.stderr.strip().splitlines() or ["no message"]
        first = next((line for line in lines if "error: " in line), lines[0])
        raise ConfigurationError(f"{command[0]} cannot make the library of {what}: {first}")
