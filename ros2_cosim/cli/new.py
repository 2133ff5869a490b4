# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""``cosim new``: a scenario of the library in the user's folder."""

from __future__ import annotations

import json
import sys
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
    from_node: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COMMAND",
            help="Begin with nodes: a command or a launch file. May be given several times. Each "
            "runs alone until nothing changes for 4 s (30 s at most), and becomes a participant.",
        ),
    ] = None,
    as_list: Annotated[bool, typer.Option("--list", help="List the scenario library.")] = False,
    as_json: AsJson = False,
) -> None:
    """Make your own scenario from another one, with its road map, or from running nodes."""
    from ros2_cosim.core.scenario.library import (
        checked_name,
        library,
        new_scenario,
        write_new,
    )

    if as_list == (name is not None) or (as_list and template is not None):
        raise typer.BadParameter("allowed is either NAME, or --list alone")
    if from_node and (as_list or template is not None):
        raise typer.BadParameter("--from-node goes with NAME alone")
    notes: list[str] = []
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
        if from_node:
            from ros2_cosim.ros.bringup.dds import check_ros

            name = checked_name(name)
            check_ros("--from-node")
            from ros2_cosim.ros.bringup.from_nodes import scenario_of_nodes

            text, notes = scenario_of_nodes(name, from_node, Path())
            files = write_new({Path(f"{name}.yaml"): text})
        else:
            files = new_scenario(name, template, Path())
    if as_json:
        written = [str(file) for file in files]
        print(json.dumps({"scenario": written[0], "files": written, "notes": notes}))
        return
    for note in notes:
        print(f"cosim: note: {note}", file=sys.stderr)
    for file in files:
        print(f"written: {file}")
    print(f"run it with: cosim run {files[0]}")
