# SPDX-License-Identifier: Apache-2.0
"""Parameters that several commands have."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ros2_cosim.cli import completion

if TYPE_CHECKING:
    from ros2_cosim.core.live.address import Address

ScenarioFile = Annotated[
    Path,
    typer.Argument(help="Scenario file (YAML or JSON).", autocompletion=completion.scenario_files),
]
Dashboard = Annotated[
    str,
    typer.Option(
        metavar="[HOST:]PORT",
        help="Show and control the run in the browser (shape inproc; for others: cosim dashboard).",
    ),
]
Open = Annotated[bool, typer.Option("--open", help="Serve other users of this machine, too.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]


def page_address(address: str, shape: str, repeat: int) -> Address | None:
    """Where the page of a run is to be, if it is to have one."""
    if not address:
        return None
    from ros2_cosim.core.live.address import Address
    from ros2_cosim.lab.web.driven_run import check_shown

    check_shown(shape, repeat)
    return Address.of(address, "--dashboard")
