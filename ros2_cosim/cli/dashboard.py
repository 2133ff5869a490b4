# SPDX-License-Identifier: Apache-2.0
"""The command ``cosim dashboard``; what it needs of ROS is imported when it is called."""

from __future__ import annotations

from typing import Annotated

import typer

from ros2_cosim.cli.console import visiting
from ros2_cosim.cli.control import Domain, Namespace


def add_dashboard_command(app: typer.Typer) -> None:
    """Add the command to ``cosim``."""

    @app.command()
    def dashboard(
        http_port: Annotated[int, typer.Option(help="Port of the page; 0: any free one.")] = 8080,
        http_host: Annotated[str, typer.Option(help="Address to listen at.")] = "127.0.0.1",
        token: Annotated[
            str | None, typer.Option(help="What requests must show (made up if not loopback).")
        ] = None,
        domain: Domain = None,
        namespace: Namespace = None,
    ) -> None:
        """Show a run under way in the browser, and pause, step and pace it there."""
        with visiting() as visit:
            from ros2_cosim.web.dashboard import show

            show(visit, domain, namespace, host=http_host, port=http_port, token=token)
