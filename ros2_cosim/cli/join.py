# SPDX-License-Identifier: Apache-2.0
"""``cosim join``: this host takes part in a run of another one."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from ros2_cosim.cli.console import EXIT_ERROR, clear_errors, refuse_beside

if TYPE_CHECKING:
    from ros2_cosim.ros.bringup.far_link import FarLink


def join(
    context: typer.Context,
    run: Annotated[
        str | None,
        typer.Argument(
            metavar="ADDRESS:PORT",
            help="Address that the run prints; default: standard input and output (ssh).",
        ),
    ] = None,
    name: Annotated[str, typer.Argument(help="Name of this host in the scenario of the run.")] = "",
    wait: Annotated[
        str, typer.Option(help="Longest wall time to wait for an answer, as 20s.")
    ] = "2min",
) -> None:
    """Join a run of another host: start the processes that its scenario places on this one.

    The environment variable COSIM_RUN_SECRET has the secret of the run, which cosim run prints.
    """
    from ros2_cosim.core.kernel.errors import ConfigurationError
    from ros2_cosim.core.kernel.time import parse_duration, to_seconds
    from ros2_cosim.core.live.address import Address
    from ros2_cosim.core.process.seal import RUN_SECRET, secret_of
    from ros2_cosim.ros.hosts import far_part

    with clear_errors():
        if run is None:
            refuse_beside(context, "no ADDRESS:PORT", "wait")
            if os.isatty(0):
                raise ConfigurationError(
                    "ADDRESS:PORT: missing, and standard input is a terminal; give the address "
                    "that cosim run prints"
                )
            code = far_part.join(_over_pipes())  # the run says what happens
        else:
            secret = secret_of()
            if not secret:
                raise ConfigurationError(
                    f"{RUN_SECRET}: not in the environment; set it to the secret that cosim run "
                    "prints"
                )
            if not name:
                raise ConfigurationError("NAME: missing; give the name of this host")
            address = Address.of(run, "ADDRESS:PORT")
            limit_s = to_seconds(parse_duration(wait, "--wait"))
            link = far_part.connect((address.host, address.port), secret, name, limit_s)
            code = far_part.join(link, _say)
    if code:
        raise typer.Exit(EXIT_ERROR)


def _over_pipes() -> FarLink:
    """The connection over standard input and output; what else is printed goes to the errors."""
    from ros2_cosim.ros.bringup.far_link import FarLink

    reader, writer = os.dup(0), os.dup(1)
    os.dup2(2, 1)
    silent = os.open(os.devnull, os.O_RDONLY)
    os.dup2(silent, 0)
    os.close(silent)
    return FarLink(reader, writer)


def _say(text: str) -> None:
    print(f"cosim join: {text}", file=sys.stderr, flush=True)
