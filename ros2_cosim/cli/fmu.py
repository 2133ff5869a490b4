# SPDX-License-Identifier: Apache-2.0
"""The command ``cosim fmu export``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ros2_cosim.cli.console import clear_errors

app = typer.Typer(
    name="fmu",
    help="A scenario as an FMU, which another program steps.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


@app.callback()
def _fmu() -> None:
    """A scenario as an FMU, which another program steps."""


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
    from ros2_cosim.run.fmu_export import export_fmu

    with clear_errors():
        print(export_fmu(scenario, out, settings or ()))
