# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Writes a scenario as an FMU for co-simulation (FMI 2.0 or 3.0), for the platform of the export.

The FMU does not contain this package: its library (``fmu_library_fmi2.cpp`` or ``_fmi3``, compiled
here) starts the Python that has written the FMU, or that ``COSIM_PYTHON`` names, for each instance.
It holds the resolved scenario; files that the scenario names are found where they were.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path

from ros2_cosim.core.documents.fmi2 import (
    Fmi2Model,
    Fmi2Variable,
    compile_library,
    found_compiler,
    write_fmu,
)
from ros2_cosim.core.documents.fmi3 import INCLUDED, FmiFormat, fmi_format
from ros2_cosim.core.kernel.time import SECOND
from ros2_cosim.core.run.request import RunRequest, adjusted_scenario
from ros2_cosim.core.scenario.check import check_scenario
from ros2_cosim.core.scenario.external import ExternalSeam
from ros2_cosim.dcp.export.fmu_instance import GUID_FILE, SCENARIO_FILE
from ros2_cosim.dcp.export.fmu_variables import variables_of

_HERE = Path(__file__).parent
#: Name space of the GUIDs: equal scenarios give equal FMUs.
_NAMESPACE = uuid.UUID("6f3d0d5e-6b0b-5c1f-9f0e-6d2f7a1c4b90")


def export_fmu(
    path: Path, out: Path | None = None, changes: Sequence[str] = (), *, fmi: str = "2.0"
) -> Path:
    """Write the FMU of a scenario file.

    :param path: the scenario, with a section ``external``
    :param out: the FMU (default: the name of the scenario in the working directory)
    :param changes: ``dotted.key=value`` texts
    :param fmi: version of FMI
    :returns: where it is
    :raises ConfigurationError: the scenario is wrong, or there is no compiler
    """
    scenario = adjusted_scenario(RunRequest(path, set=tuple(changes)))
    check_scenario(scenario, "inproc")
    scenario = scenario.model_copy(
        update={"base_directory": str(Path(scenario.base_directory).absolute())}
    )
    seam = ExternalSeam(scenario)
    text = scenario.model_dump_json(by_alias=True, indent=1)
    variables = variables_of(seam)
    guid = str(uuid.uuid5(_NAMESPACE, text + repr(variables)))
    target = out or Path(f"{scenario.name}.fmu")
    model = Fmi2Model(
        scenario.name,
        guid,
        scenario.description or f"scenario {scenario.name}",
        step=seam.step / SECOND,
        stop=scenario.duration / SECOND,
        needs_tool=True,
    )
    described = [
        Fmi2Variable(v.name, v.causality, v.kind, None, None, v.description) for v in variables
    ]
    resources = {SCENARIO_FILE: text.encode()}
    module = "ros2_cosim.dcp.export.fmu_instance"
    write_served(target, model, described, resources, module, fmi=fmi)
    return target


def write_served(
    target: Path,
    model: Fmi2Model,
    variables: Sequence[Fmi2Variable],
    resources: Mapping[str, bytes],
    module: str,
    *,
    fmi: str,
) -> None:
    """Write an FMU whose instances are processes of this installation.

    :param resources: files that an instance finds in its directory of resources
    :param module: its function ``main`` serves an instance
    :param fmi: version of FMI
    :raises ConfigurationError: there is no compiler, or the FMU cannot be written
    """
    form = fmi_format(fmi)
    with tempfile.TemporaryDirectory() as directory:
        library = _compile(Path(directory) / f"{model.name}.so", form)
        content = {
            **form.content(model, variables),
            form.library(model.name): library.read_bytes(),
            **{f"resources/{name}": data for name, data in resources.items()},
            f"resources/{GUID_FILE}": f"{model.guid}\n".encode(),
            "resources/command.txt": "\n".join(_command(module)).encode(),
        }
    write_fmu(target, content)


def _command(module: str) -> list[str]:
    """What starts the process of an instance; the library adds its arguments.

    Nothing is imported from the importer's working directory, and what was found by
    ``PYTHONPATH`` still is.
    """
    paths = [os.path.abspath(p) for p in os.environ.get("PYTHONPATH", "").split(os.pathsep) if p]
    code = f"import sys; sys.path[:0] = {json.dumps(paths)}; from {module} import main; main()"
    return [sys.executable, "-I", "-c", code]


def _compile(library: Path, form: FmiFormat) -> Path:
    compiler = found_compiler(os.environ.get("CXX"), "g++", "CXX")
    command = [compiler, "-std=c++11", "-shared", "-fPIC", "-O1", "-fvisibility=hidden"]
    command += ["-static-libstdc++", "-static-libgcc", "-Wl,--exclude-libs,ALL", "-s"]
    command += [f"-I{INCLUDED}", str(_HERE / f"fmu_library_fmi{form.number}.cpp")]
    compile_library([*command, "-o", str(library)], "the FMU")
    return library
