# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""``cosim plan``: the processes of a run, and what listens."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from ros2_cosim.cli.console import clear_errors
from ros2_cosim.cli.options import RunWords, with_options
from ros2_cosim.cli.parameters import AsJson, Dashboard, ScenarioFile, page_address
from ros2_cosim.core.run.request import RunRequest, adjusted_scenario, read_options
from ros2_cosim.core.sockets.peers import ADMISSION

if TYPE_CHECKING:
    from ros2_cosim.ros.bringup.listening import ListeningPort
    from ros2_cosim.ros.bringup.plan import Process


@with_options
def plan(
    *,
    scenario: ScenarioFile,
    wanted: Annotated[
        RunWords,
        "shape set without transport processes foxglove",
    ],
    dashboard: Dashboard = "",
    as_json: AsJson = False,
) -> None:
    """Print the processes that a run would start, their command lines, and its open ports."""
    from ros2_cosim.core.run.shape import find_shape
    from ros2_cosim.core.scenario.check import check_scenario
    from ros2_cosim.core.scenario.grouping import cores_for, grouped
    from ros2_cosim.core.scenario.held_ports import resolve_ports
    from ros2_cosim.ros.bringup.listening import STARTER, listening_ports
    from ros2_cosim.ros.bringup.plan import make_plan
    from ros2_cosim.ros.bringup.processes import command_of

    with clear_errors():
        request = RunRequest(scenario, **read_options(wanted, flags=True))
        wanted_shape = find_shape(request.shape)
        shape = wanted_shape.name
        page_address(dashboard, shape, 1)
        loaded = adjusted_scenario(request)
        wanted_shape.check(request, loaded)
        check_scenario(loaded, shape)
        options = request.options(out=Path("out/plan"))
        if shape == "ros":
            loaded = grouped(loaded, cores_for(request.processes))
        found = []
        if shape != "inproc":
            loaded = resolve_ports(loaded, shape)
            found = make_plan(loaded, options)
        ports = listening_ports(
            loaded, options, found, dashboard=dashboard, is_open=ADMISSION.is_open
        )
    if as_json:
        described = [_described(process, ports) for process in found]
        own = [asdict(port) for port in ports if port.process == STARTER]
        print(json.dumps([*described, {"name": STARTER, "ports": own}], indent=1))
        return
    for process in found:
        print(f"{process.name}{process.note}: {shlex.join(command_of(process))}")
        for there in process.there:
            print(f"  {there.name}{there.note}: {shlex.join(command_of(there))}")
    for listening in ports:
        print(listening)


def _described(process: Process, ports: Sequence[ListeningPort]) -> dict[str, object]:
    """A process of a plan as JSON data."""
    from ros2_cosim.ros.bringup.processes import command_of

    return {
        "name": process.name,
        "participants": process.participants,
        "required": process.required,
        "ros_node": process.is_ros,
        "command": command_of(process),
        "ports": [asdict(port) for port in ports if port.process == process.name],
        **({"there": [_described(each, ports) for each in process.there]} if process.there else {}),
    }
