# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The command ``cosim messages build``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from ros2_cosim.cli.console import clear_errors
from ros2_cosim.cli.parameters import AsJson
from ros2_cosim.cli.verbs import make_group

app = make_group("messages", "Message types that are not part of this environment.")


@app.callback()
def _messages() -> None:
    """Message types that are not part of this environment."""


@app.command()
def build(
    directories: Annotated[
        list[Path],
        typer.Argument(
            metavar="DIR...",
            help="Message packages (directories with msg/*.msg), or directories that contain them.",
        ),
    ],
    prefix: Annotated[
        Path | None,
        typer.Option(
            help="Install below this directory, not into the environment; programs then need the "
            "printed variables."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Compile message packages from their definitions, for ROS topics of any type.

    The packages of one call may depend on each other.
    """
    from ros2_cosim.core.messages.building import (
        build_packages,
        environment_prefix,
        variables_for,
    )

    with clear_errors():
        place = (prefix or environment_prefix()).absolute()
        built = build_packages(directories, place)
    variables = variables_for(place) if prefix is not None else {}
    if as_json:
        packages = [
            {
                "name": package.name,
                "version": package.version,
                "directory": str(package.directory),
                "types": package.types,
            }
            for package in built
        ]
        print(json.dumps({"prefix": str(place), "variables": variables, "packages": packages}))
        return
    for package in built:
        print(f"{package.name} {package.version} ({package.directory})")
        for name in package.types:
            print(f"  {name}")
    print(f"installed in {place}")
    for name, value in variables.items():
        print(f'  export {name}="{value}${{{name}:+:${name}}}"')
