# SPDX-License-Identifier: Apache-2.0
"""The commands ``cosim fmu export`` and ``cosim fmu build``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ros2_cosim.cli.console import clear_errors
from ros2_cosim.cli.verbs import make_group

app = make_group("fmu", "A scenario or a control law as an FMU, which another program steps.")


@app.callback()
def _fmu() -> None:
    """A scenario or a control law as an FMU, which another program steps."""


@app.command()
def export(
    scenario: Annotated[
        Path, typer.Option("--scenario", help="Scenario file with a section external.")
    ],
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="key=value (may be repeated).")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="The FMU (default: NAME.fmu of the scenario).")
    ] = None,
) -> None:
    """Write a scenario as an FMU (2.0, co-simulation) for this platform and this installation."""
    from ros2_cosim.dcp.export.fmu_export import export_fmu

    with clear_errors():
        print(export_fmu(scenario, out, settings or ()))


@app.command()
def build(
    law: Annotated[
        str,
        typer.Argument(
            help="Control law: a C file, a name, module:Class or file.py:Class.", metavar="LAW"
        ),
    ],
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", help="parameter=value, its start value (may be repeated)."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="The FMU (default: NAME.fmu of the law).")
    ] = None,
) -> None:
    """Write a control law as an FMU (2.0, co-simulation) for this platform."""
    from ros2_cosim.driving.controllers.law_as_fmu import build_law

    given = {}
    for text in settings or ():
        key, equals, value = text.partition("=")
        if not equals or not key:
            raise typer.BadParameter(f"--set: found '{text}'; allowed is parameter=value")
        given[key.strip()] = value.strip()
    with clear_errors():
        print(build_law(law, out, given))
