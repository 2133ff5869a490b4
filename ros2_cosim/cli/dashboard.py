# SPDX-License-Identifier: Apache-2.0
"""The command ``cosim dashboard``; what it needs of ROS is imported when it is called."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from ros2_cosim.cli.console import clear_errors, go_on_apart, refuse_beside, running, visiting
from ros2_cosim.cli.control import Domain, Namespace, Out
from ros2_cosim.core.sockets.peers import ADMISSION


def dashboard(
    context: typer.Context,
    http_port: Annotated[int, typer.Option(help="Port of the page; 0: any free one.")] = 8080,
    http_host: Annotated[str, typer.Option(help="Address to listen at.")] = "127.0.0.1",
    token: Annotated[
        str | None, typer.Option(help="What requests must show (made up if not loopback).")
    ] = None,
    open_to_all: Annotated[
        bool, typer.Option("--open", help="Serve other users of this machine, too.")
    ] = False,
    domain: Domain = None,
    namespace: Namespace = None,
    out: Out = None,
    folder: Annotated[
        Path | None,
        typer.Option(
            help="Offer the scenarios of this folder and of the library, to start them "
            "(without a run: this folder)."
        ),
    ] = None,
) -> None:
    """Show a run under way in the browser, and control it; without one, start one there."""
    from ros2_cosim.ros.bringup.domain_lock import active_runs

    context.with_resource(ADMISSION.widened(open_to_all))
    given = any(option is not None for option in (domain, namespace, out))
    named = given or os.environ.get("ROS_DOMAIN_ID")
    with clear_errors():
        if folder is not None:
            refuse_beside(context, "--folder", "domain namespace out")
        starts = folder is not None or (not named and not active_runs())
    if starts:
        from ros2_cosim.lab.web.starter_page import StarterPage

        with running():
            go_on_apart("the page", outlasts=True)
            StarterPage(folder or Path(), host=http_host, port=http_port, token=token).serve()
        return
    with visiting() as visit:
        from ros2_cosim.lab.web.dashboard import show
        from ros2_cosim.ros.bringup.control import WhichRun

        which = WhichRun(domain, namespace, out)
        show(visit, which, host=http_host, port=http_port, token=token)
