# SPDX-License-Identifier: Apache-2.0
"""``cosim new``: a scenario of the library in the user's folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from ros2_cosim.cli.completion import library_names
from ros2_cosim.cli.console import clear_errors
from ros2_cosim.cli.parameters import AsJson


def new(
    name: Annotated[
        str | None,
        typer.Argument(help="Name of the new scenario; its file is NAME.yaml, in this directory."),
    ] = None,
    template: Annotated[
        str | None,
        typer.Option(
            "--from",
            help="Scenario of the library, or an OpenSCENARIO file (.xosc), to begin with "
            "(default: the one called NAME, else roadblock).",
            autocompletion=library_names,
        ),
    ] = None,
    as_list: Annotated[bool, typer.Option("--list", help="List the scenario library.")] = False,
    as_json: AsJson = False,
) -> None:
    """Make your own scenario from another one, with its road map."""
    from ros2_cosim.core.scenario.library import library, new_scenario

    if as_list == (name is not None) or (as_list and template is not None):
        raise typer.BadParameter("allowed is either NAME, or --list alone")
    with clear_errors():
        if as_list:
            entries = library()
            if as_json:
                print(json.dumps([entry._asdict() for entry in entries], indent=1))
                return
            width = max(len(entry.name) for entry in entries)
            for entry in entries:
                told = ", ".join(f"{key}={value}" for key, value in entry.parameters.items())
                print(f"{entry.name:{width}}  {entry.description}{f' ({told})' if told else ''}")
            return
        assert name is not None
        files = new_scenario(name, template, Path())
    if as_json:
        print(json.dumps({"scenario": str(files[0]), "files": [str(file) for file in files]}))
        return
    for file in files:
        print(f"written: {file}")
    print(f"run it with: cosim run {files[0]}")
