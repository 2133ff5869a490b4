# SPDX-License-Identifier: Apache-2.0
"""Writes a scenario as an FMU: FMI 2.0 for Co-Simulation, for the platform that it is written on.

The FMU does not contain this package: its library (``fmu_library.cpp``, compiled here) starts the
Python that has written the FMU, or that ``COSIM_PYTHON`` names, for each instance. It holds the
resolved scenario; files that the scenario names are found where they were.
"""

from __future__ import annotations

import io
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import uuid
import zipfile
from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree as Xml

from ros2_cosim.documents.files import cause_of, write_atomically
from ros2_cosim.kernel.errors import ConfigurationError
from ros2_cosim.run.bringup import RunRequest, adjusted_scenario
from ros2_cosim.run.fmu_instance import GUID_FILE, SCENARIO_FILE
from ros2_cosim.run.fmu_variables import FmuVariable, variables_of
from ros2_cosim.scenario.check import check_scenario
from ros2_cosim.scenario.external import Seam
from ros2_cosim.scenario.schema import Scenario

_LIBRARY_SOURCE = Path(__file__).with_name("fmu_library.cpp")
_TYPES = {float: "Real", int: "Integer", bool: "Boolean", str: "String"}
_START = {float: "0", int: "0", bool: "false", str: ""}
_NS = 1_000_000_000
#: Name space of the GUIDs: equal scenarios give equal FMUs.
_NAMESPACE = uuid.UUID("6f3d0d5e-6b0b-5c1f-9f0e-6d2f7a1c4b90")
#: Files in the archive have one date, so that equal scenarios give equal FMUs.
_DATE = (1980, 1, 1, 0, 0, 0)


def export_fmu(path: Path, out: Path | None = None, changes: Sequence[str] = ()) -> Path:
    """Write the FMU of a scenario file.

    :param path: the scenario, with a section ``external``
    :param out: the FMU (default: the name of the scenario in the working directory)
    :param changes: ``dotted.key=value`` texts
    :returns: where it is
    :raises ConfigurationError: the scenario is wrong, or there is no compiler
    """
    scenario = adjusted_scenario(RunRequest(path, set=tuple(changes)))
    check_scenario(scenario, "inproc")
    scenario = scenario.model_copy(
        update={"base_directory": str(Path(scenario.base_directory).absolute())}
    )
    seam = Seam(scenario)
    text = scenario.model_dump_json(by_alias=True, indent=1)
    variables = variables_of(seam)
    guid = str(uuid.uuid5(_NAMESPACE, text + repr(variables)))
    target = out or Path(f"{scenario.name}.fmu")
    with tempfile.TemporaryDirectory() as directory:
        library = _compile(Path(directory) / f"{scenario.name}.so")
        content = {
            "modelDescription.xml": _description(scenario, seam, variables, guid),
            f"binaries/{_platform()}/{scenario.name}.so": library.read_bytes(),
            f"resources/{SCENARIO_FILE}": text.encode(),
            f"resources/{GUID_FILE}": f"{guid}\n".encode(),
            "resources/command.txt": "\n".join(_command()).encode(),
        }
    _write(target, content)
    return target


def _command() -> list[str]:
    """What starts the process of an instance; the library adds its arguments.

    Nothing is imported from the importer's working directory, and what was found by
    ``PYTHONPATH`` still is.
    """
    paths = [os.path.abspath(p) for p in os.environ.get("PYTHONPATH", "").split(os.pathsep) if p]
    code = (
        f"import sys; sys.path[:0] = {json.dumps(paths)}; "
        "from ros2_cosim.run.fmu_instance import main; main()"
    )
    return [sys.executable, "-I", "-c", code]


def _platform() -> str:
    """The name of this platform in FMI 2.0."""
    if sys.platform != "linux" or platform.machine() != "x86_64":
        raise ConfigurationError(
            f"platform: found {sys.platform} {platform.machine()}; FMI 2.0 has a name, and this "
            "command a library, for Linux on x86_64"
        )
    return "linux64"


def _compile(library: Path) -> Path:
    compiler = shutil.which(os.environ.get("CXX") or "g++")
    if compiler is None:
        raise ConfigurationError(
            "compiler: found none; the library of an FMU needs g++ (sudo apt-get install g++), or "
            "another one that CXX names"
        )
    command = [compiler, "-std=c++11", "-shared", "-fPIC", "-O1", "-fvisibility=hidden"]
    command += ["-static-libstdc++", "-static-libgcc", "-Wl,--exclude-libs,ALL", "-s"]
    done = subprocess.run(
        [*command, "-o", str(library), str(_LIBRARY_SOURCE)],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        lines = done.stderr.strip().splitlines() or ["no message"]
        raise ConfigurationError(f"{compiler} cannot make the library of the FMU: {lines[0]}")
    return library


def _description(
    scenario: Scenario, seam: Seam, variables: Sequence[FmuVariable], guid: str
) -> bytes:
    root = Xml.Element(
        "fmiModelDescription",
        fmiVersion="2.0",
        modelName=scenario.name,
        guid=guid,
        description=scenario.description or f"scenario {scenario.name}",
        generationTool="ros2_cosim",
        variableNamingConvention="flat",
    )
    Xml.SubElement(
        root,
        "CoSimulation",
        modelIdentifier=scenario.name,
        needsExecutionTool="true",
        canHandleVariableCommunicationStepSize="true",
        canNotUseMemoryManagementFunctions="true",
    )
    Xml.SubElement(
        root,
        "DefaultExperiment",
        startTime="0",
        stopTime=repr(scenario.duration / _NS),
        stepSize=repr(seam.step / _NS),
    )
    list_ = Xml.SubElement(root, "ModelVariables")
    for variable in variables:
        fixed = variable.causality == "parameter"
        scalar = Xml.SubElement(
            list_,
            "ScalarVariable",
            name=variable.name,
            valueReference=str(variable.reference),
            causality=variable.causality,
            variability="fixed" if fixed else "discrete",
        )
        if variable.description:
            scalar.set("description", variable.description)
        start = {} if variable.causality == "output" else {"start": _START[variable.kind]}
        Xml.SubElement(scalar, _TYPES[variable.kind], start)
    structure = Xml.SubElement(root, "ModelStructure")
    for section in ("Outputs", "InitialUnknowns"):
        unknowns = Xml.SubElement(structure, section)
        for variable in variables:
            if variable.causality == "output":
                Xml.SubElement(unknowns, "Unknown", index=str(variable.reference + 1))
    Xml.indent(root)
    return Xml.tostring(root, encoding="utf-8", xml_declaration=True)


def _write(target: Path, content: dict[str, bytes]) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in content.items():
            archive.writestr(zipfile.ZipInfo(name, _DATE), data, zipfile.ZIP_DEFLATED)
    try:
        write_atomically(target, packed.getvalue())
    except OSError as error:
        raise ConfigurationError(f"{target}: {cause_of(error)}") from None
