# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Parameters that several commands have."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ros2_cosim.cli import completion
from ros2_cosim.core.run.request import run_options

if TYPE_CHECKING:
    from ros2_cosim.core.kernel.address import Address

#: Environment variable: what requests to a page must show. The words of a command are seen by all.
TOKEN = "COSIM_TOKEN"
ScenarioFile = Annotated[
    Path,
    typer.Argument(
        help="Scenario file (YAML or JSON), or the name of one of the library.",
        autocompletion=completion.scenario_files,
    ),
]
ScenarioChanges = Annotated[
    list[str] | None,
    typer.Option("--set", help=run_options()["set"].told.help),
]
Dashboard = Annotated[
    str,
    typer.Option(
        metavar="[HOST:]PORT",
        help="Show and control the run in the browser (cosim run: in shape inproc; for others "
        "there is cosim dashboard).",
    ),
]
Duration = Annotated[str, typer.Option(help="Simulated time at which the run ends, as 20s.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]


def page_address(address: str, shape: str, repeat: int) -> Address | None:
    """The address of the page of a run, if the run has one."""
    if not address:
        return None
    from ros2_cosim.core.kernel.address import Address
    from ros2_cosim.lab.web.driven_run import check_shown

    check_shown(shape, repeat)
    return Address.of(address, "--dashboard")
