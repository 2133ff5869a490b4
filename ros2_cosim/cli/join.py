# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""``cosim join``: this host takes part in a run of another one."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from ros2_cosim.cli.console import EXIT_ERROR, clear_errors

if TYPE_CHECKING:
    from ros2_cosim.ros.bringup.far_link import FarLink


def join(
    run: Annotated[
        str | None,
        typer.Argument(
            metavar="ADDRESS:PORT",
            help="Address that the run prints; default: standard input and output (ssh).",
        ),
    ] = None,
    name: Annotated[str, typer.Argument(help="Name of this host in the scenario of the run.")] = "",
) -> None:
    """Join a run of another host: start the processes that its scenario places on this one.

    The environment variable COSIM_RUN_SECRET has the secret of the run, which cosim run prints.
    """
    from ros2_cosim.core.kernel.address import Address
    from ros2_cosim.core.kernel.errors import ConfigurationError
    from ros2_cosim.core.process.seal import RUN_SECRET, secret_of
    from ros2_cosim.ros.bringup import far_part

    with clear_errors():
        if run is None:
            if os.isatty(0):
                raise ConfigurationError(
                    "ADDRESS:PORT: missing, and standard input is a terminal; give the address "
                    "that cosim run prints"
                )
            code = far_part.join(_over_pipes())  # the run says what happens
        else:
            if not name:
                raise ConfigurationError("NAME: missing; give the name of this host")
            secret = secret_of()
            if not secret:
                raise ConfigurationError(
                    f"{RUN_SECRET}: not in the environment; set it to the secret that cosim run "
                    "prints"
                )
            address = Address.of(run, "ADDRESS:PORT")
            link = far_part.connect((address.host, address.port), secret, name)
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
