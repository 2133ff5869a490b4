# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""``cosim check``: what is wrong with a scenario, or with slave descriptions."""

from __future__ import annotations

import json
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ros2_cosim.cli.completion import scenario_files
from ros2_cosim.cli.console import EXIT_ERROR, clear_errors
from ros2_cosim.cli.options import RunWords, with_options
from ros2_cosim.cli.parameters import AsJson
from ros2_cosim.core.kernel.errors import ConfigurationError

if TYPE_CHECKING:
    from ros2_cosim.core.kernel.graph import Graph
    from ros2_cosim.core.scenario.schema import Scenario


@with_options
def check(
    *,
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE...",
            help="Scenario file (YAML or JSON), or slave descriptions (.dcpx and .dcp) of DCP.",
            autocompletion=scenario_files,
        ),
    ],
    wanted: Annotated[RunWords, "set shape"],
    as_json: AsJson = False,
    untrusted: Annotated[
        bool,
        typer.Option(
            "--untrusted",
            help="Load only data; code that the scenario names is a fault.",
        ),
    ] = False,
    graph: Annotated[
        bool,
        typer.Option(
            "--graph",
            help="Compare it, too, with the nodes that run in this ROS domain, if they are its "
            "foreign nodes.",
        ),
    ] = False,
) -> None:
    """Check a scenario: file, wiring, models and their parameters. It runs no part of it.

    It imports the modules of the models that the scenario names, except with --untrusted. It checks
    slave descriptions against the schema and the rules of the standard.
    """
    if all(file.suffix in (".dcpx", ".dcp") for file in files):
        from ros2_cosim.cli.dcp import check_descriptions

        if not check_descriptions(files, as_json=as_json):
            raise typer.Exit(EXIT_ERROR)
        return
    if len(files) > 1:
        raise typer.BadParameter("allowed is one scenario, or descriptions alone")
    _check_scenario(files[0], wanted, as_json=as_json, untrusted=untrusted, running=graph)


def _known_as(shape: str) -> str:
    """What models know a run shape by; one of this package is not imported for it."""
    from ros2_cosim.core.documents.offered import find_entry
    from ros2_cosim.core.kernel.loading import is_own_module
    from ros2_cosim.core.run.request import SHAPE_GROUP
    from ros2_cosim.core.run.shape import find_shape

    entry = find_entry(SHAPE_GROUP, shape, "--shape")
    return shape if is_own_module(entry.module) else find_shape(shape).name


def _differences(scenario: Scenario, graph: Graph) -> list[str]:
    """In what the nodes of this ROS domain differ from a scenario."""
    from ros2_cosim.ros.bringup.dds import check_ros

    check_ros("--graph")
    from ros2_cosim.ros.foreign.comparison import graph_faults, graph_of_domain

    return graph_faults(scenario, graph, graph_of_domain())


def _check_scenario(
    scenario: Path, wanted: RunWords, *, as_json: bool, untrusted: bool, running: bool
) -> None:
    from ros2_cosim.core.kernel import lookahead
    from ros2_cosim.core.kernel.loading import data_only
    from ros2_cosim.core.scenario.check import check_scenario
    from ros2_cosim.core.scenario.doubts import doubts_of
    from ros2_cosim.core.scenario.scenario_error import ScenarioError
    from ros2_cosim.core.scenario.schema import load_scenario

    with clear_errors():
        try:
            with data_only() if untrusted else nullcontext():
                loaded = load_scenario(scenario, wanted["set"] or ())
                graph = check_scenario(loaded, _known_as(wanted["shape"] or "ros"))
                notes = doubts_of(loaded)
                if running and (found := _differences(loaded, graph)):
                    raise ScenarioError(found)
        except ConfigurationError as error:
            faults = error.faults if isinstance(error, ScenarioError) else [str(error)]
            if as_json:
                print(json.dumps({"scenario": str(scenario), "good": False, "faults": faults}))
            else:
                for fault in faults:
                    print(f"cosim: {fault}", file=sys.stderr)
            raise typer.Exit(EXIT_ERROR) from None
    if as_json:
        data = {"scenario": str(scenario), "good": True, "faults": [], "notes": notes}
        print(json.dumps(data))
        return
    for note in notes:
        print(f"cosim: note: {note}", file=sys.stderr)
    print(
        f"{scenario}: {len(graph.participants)} participants, {len(graph.connections)} connections"
    )
    for name in graph.order:
        promised = [
            port.name
            for port in graph.participants[name].outputs
            if lookahead.needs_promises(graph, name, port.name)
        ]
        notes = graph.participants[name].describe_membership()
        notes += [f"promises explicitly on {', '.join(promised)}"] if promised else []
        print("; ".join([f"  rank {graph.ranks[name]}  {name}", *notes]))
