# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""``cosim fmu``: a scenario or a control law as an FMU, or a scenario of FMUs as an SSP."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ros2_cosim.cli.console import clear_errors
from ros2_cosim.core.documents.fmi3 import MACHINE


def fmu(
    source: Annotated[
        str,
        typer.Argument(
            help="Scenario file with a section external (YAML or JSON), or a control law: a C "
            "file, a name, module:Class or file.py:Class."
        ),
    ],
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            help="Change one value of the scenario: dotted.key=value; of a law: parameter=value, "
            "its start value (several are allowed).",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="File of the FMU (NAME.fmu of the scenario or law). NAME.ssp: a scenario of FMUs "
            "as an SSP 1.0."
        ),
    ] = None,
    fmi: Annotated[str, typer.Option(help="Version of FMI: 2.0 or 3.0.")] = "2.0",
    machines: Annotated[
        list[str] | None,
        typer.Option(
            "--machine",
            help="FMI 3.0 of a C function: machine of a library, x86_64 or aarch64 (several are "
            "allowed).",
        ),
    ] = None,
) -> None:
    """Write a scenario or a control law as an FMU for co-simulation on this platform.

    The FMU of a scenario needs this installation, an SSP does not.
    """
    if out is not None and out.suffix == ".ssp":
        from ros2_cosim.dcp.ssp.export import export_ssp

        with clear_errors():
            print(export_ssp(Path(source), out, settings or ()))
        return
    if ":" not in source and Path(source).suffix not in ("", ".c"):
        from ros2_cosim.dcp.export.fmu_export import export_fmu

        if machines:
            raise typer.BadParameter("--machine: allowed for a C function")
        with clear_errors():
            print(export_fmu(Path(source), out, settings or (), fmi=fmi))
        return
    from ros2_cosim.driving.controllers.law_as_fmu import build_law

    given = {}
    for text in settings or ():
        key, equals, value = text.partition("=")
        if not equals or not key:
            raise typer.BadParameter(f"--set: found '{text}'; allowed is parameter=value")
        given[key.strip()] = value.strip()
    with clear_errors():
        print(build_law(source, out, given, fmi=fmi, machines=machines or (MACHINE,)))
