# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""FMUs written by this project as FMI 3.0 for Co-Simulation, beside FMI 2.0.

Source of all names: Functional Mock-up Interface 3.0.2, chapters 2.4, 2.5 and 4.4.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple
from xml.etree import ElementTree as Xml

from ros2_cosim.core.documents.fmi2 import (
    Fmi2Model,
    Fmi2Variable,
    add_experiment,
    add_units,
    begun_description,
    description_of,
    start_text,
    this_platform,
)
from ros2_cosim.core.kernel.errors import ConfigurationError

TIME_REFERENCE: Final = 4_000_000_000
"""Value reference of the time, which FMI 3.0 wants among the variables; the libraries know it."""
TERMINALS_FILE: Final = "terminalsAndIcons/terminalsAndIcons.xml"
_TYPES: Final = {float: "Float64", int: "Int32", bool: "Boolean", str: "String"}


MACHINE: Final = "x86_64"
"""The machine of libraries by default."""
INCLUDED: Final = Path(__file__).parent
"""Directory of ``fmi3_refused.h``, for libraries."""


class FmiFormat(NamedTuple):
    """A version of FMI, as far as writing an FMU differs.

    :ivar describe: makes ``modelDescription.xml``
    :ivar terminals: makes the file of terminals, if there are any
    :ivar platforms: machine -> directory of libraries
    """

    version: str
    describe: Callable[[Fmi2Model, Sequence[Fmi2Variable]], bytes]
    platforms: Mapping[str, str]
    terminals: Callable[[Sequence[Fmi2Variable]], bytes | None] = lambda variables: None

    @property
    def number(self) -> str:
        """The main version, as in the names of its functions."""
        return self.version[0]

    def content(self, model: Fmi2Model, variables: Sequence[Fmi2Variable]) -> dict[str, bytes]:
        """The files of an FMU that say what it is."""
        terminals = self.terminals(variables)
        found = {"modelDescription.xml": self.describe(model, variables)}
        return found if terminals is None else found | {TERMINALS_FILE: terminals}

    def library(self, name: str, machine: str = MACHINE) -> str:
        """Where an FMU has the library for a machine with Linux.

        :raises ConfigurationError: the version has no name for it, or this platform cannot make it
        """
        if machine not in self.platforms:
            raise ConfigurationError(
                f"machine: found {machine}; FMI {self.version} has names for "
                f"{', '.join(self.platforms)}"
            )
        this_platform()
        return f"binaries/{self.platforms[machine]}/{name}.so"


def fmi3_description_of(model: Fmi2Model, variables: Sequence[Fmi2Variable]) -> bytes:
    """The file ``modelDescription.xml``."""
    root, _ = begun_description(model, "3.0", "instantiationToken")
    add_units(root, variables)
    add_experiment(root, model)
    listed = Xml.SubElement(root, "ModelVariables")
    for reference, variable in enumerate(variables):
        _add_variable(listed, reference, variable)
    taken = {variable.name for variable in variables}
    Xml.SubElement(
        listed,
        "Float64",
        name=next(name for name in ("time", "time of FMI") if name not in taken),
        valueReference=str(TIME_REFERENCE),
        causality="independent",
        variability="continuous",
    )
    structure = Xml.SubElement(root, "ModelStructure")
    for section in ("Output", "InitialUnknown"):
        for reference, variable in enumerate(variables):
            if variable.causality == "output":
                Xml.SubElement(structure, section, valueReference=str(reference))
    Xml.indent(root)
    return bytes(Xml.tostring(root, encoding="utf-8", xml_declaration=True))


def _add_variable(listed: Xml.Element, reference: int, variable: Fmi2Variable) -> None:
    element = Xml.SubElement(
        listed,
        _TYPES[variable.kind],
        name=variable.name,
        valueReference=str(reference),
        causality=variable.causality,
        variability="fixed" if variable.causality == "parameter" else "discrete",
    )
    if variable.description:
        element.set("description", variable.description)
    if variable.unit is not None:
        element.set("unit", variable.unit)
    if variable.causality != "output":
        if variable.kind is str:
            Xml.SubElement(element, "Start", value=start_text(variable))
        else:
            element.set("start", start_text(variable))


def terminals_of(variables: Sequence[Fmi2Variable]) -> bytes | None:
    """The file of terminals: one for each prefix of names, ``leader`` of ``leader.x``."""
    groups: dict[str, list[str]] = {}
    for variable in variables:
        prefix, dot, _ = variable.name.rpartition(".")
        if dot:
            groups.setdefault(prefix, []).append(variable.name)
    if not groups:
        return None
    root = Xml.Element("fmiTerminalsAndIcons", fmiVersion="3.0")
    listed = Xml.SubElement(root, "Terminals")
    for prefix, names in groups.items():
        terminal = Xml.SubElement(listed, "Terminal", name=prefix, matchingRule="bus")
        for name in names:
            Xml.SubElement(
                terminal,
                "TerminalMemberVariable",
                variableName=name,
                memberName=name.rpartition(".")[2],
                variableKind="signal",
            )
    Xml.indent(root)
    return bytes(Xml.tostring(root, encoding="utf-8", xml_declaration=True))


FORMATS: Final[Mapping[str, FmiFormat]] = {
    form.version: form
    for form in (
        FmiFormat("2.0", description_of, {MACHINE: "linux64"}),
        FmiFormat(
            "3.0",
            fmi3_description_of,
            {MACHINE: "x86_64-linux", "aarch64": "aarch64-linux"},
            terminals_of,
        ),
    )
}


def fmi_format(version: str) -> FmiFormat:
    """What is written for a version.

    :raises ConfigurationError: there is no such version
    """
    if version not in FORMATS:
        raise ConfigurationError(f"FMI: found {version}; allowed are {', '.join(FORMATS)}")
    return FORMATS[version]
