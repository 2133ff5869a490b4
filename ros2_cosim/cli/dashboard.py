# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The command ``cosim dashboard``; what it needs of ROS is imported when it is called."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from ros2_cosim.cli.console import clear_errors, go_on_apart, running, visiting
from ros2_cosim.cli.control import Out
from ros2_cosim.cli.parameters import TOKEN
from ros2_cosim.core.kernel.errors import ConfigurationError


def dashboard(
    address: Annotated[
        str,
        typer.Argument(metavar="[HOST:]PORT", help="Address of the page; port 0: any free port."),
    ] = "8080",
    folder: Annotated[
        Path | None,
        typer.Argument(
            help="Offer the scenarios of this folder and of the library, to start them "
            "(without a run: this folder)."
        ),
    ] = None,
    out: Out = None,
) -> None:
    """Show a run under way in the browser, and control it; without one, start one there."""
    from ros2_cosim.core.kernel.address import Address
    from ros2_cosim.ros.bringup.domain_lock import active_runs

    named = out is not None or os.environ.get("ROS_DOMAIN_ID")
    with clear_errors():
        place = Address.of(address, "[HOST:]PORT")
        if folder is not None and out is not None:
            raise ConfigurationError("--out: found with FOLDER; allowed is only one of them")
        starts = folder is not None or (not named and not active_runs())
    token = os.environ.get(TOKEN)
    if starts:
        from ros2_cosim.lab.web.starter_page import StarterPage

        with running():
            go_on_apart("the page", outlasts=True)
            StarterPage(folder or Path(), host=place.host, port=place.port, token=token).serve()
        return
    with visiting() as visit:
        from ros2_cosim.lab.web.dashboard import show

        show(visit, out, host=place.host, port=place.port, token=token)
