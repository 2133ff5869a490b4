# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Starts a launch file, and prints a line of JSON for each process: its words, the variables of
its environment that the launch file changes (null: it removes it), and its working directory.

Of a container it prints the words of each component instead, as ``ros2 run`` would have them, and
leaves the container empty. It ends the launch when nothing more has been started for a while.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

#: Wall time [s] in which the processes of a launch file start.
_STARTED_S = 3.0
#: How the names of programs begin that load components.
_CONTAINER = "component_container"


def main(arguments: list[str]) -> int:
    """Start it.

    :param arguments: launch file, and arguments NAME:=VALUE
    """
    # Not where this module is loaded: an environment of wheels has no launch.
    from launch.actions import (
        IncludeLaunchDescription,
        OpaqueFunction,
        RegisterEventHandler,
        TimerAction,
    )
    from launch.event_handlers import OnProcessStart
    from launch.events import Shutdown
    from launch.launch_description import LaunchDescription
    from launch.launch_description_sources import AnyLaunchDescriptionSource
    from launch.launch_service import LaunchService

    path, *values = arguments
    told, sys.stdout = sys.stdout, sys.stderr  # launch prints what the processes do

    before = dict(os.environ)

    def say(words: list[str], environment: Mapping[str, str], directory: str | None) -> None:
        names = sorted({*before, *environment})
        changed = {n: environment.get(n) for n in names if environment.get(n) != before.get(n)}
        found = {"words": words, "environment": changed, "directory": directory}
        print(json.dumps(found), file=told, flush=True)

    def tell(event: Any, context: Any) -> None:
        if not Path(event.cmd[0]).name.startswith(_CONTAINER):
            environment = context.environment if event.env is None else event.env
            say(list(event.cmd), environment, event.cwd)

    def end(context: Any) -> None:
        context.emit_event_sync(Shutdown(reason="all is seen"))

    _tell_components(say)
    service = LaunchService(argv=values, noninteractive=True)
    source = AnyLaunchDescriptionSource(path)
    named = [(name, value) for name, _, value in (v.partition(":=") for v in values)]
    service.include_launch_description(
        LaunchDescription(
            [
                RegisterEventHandler(OnProcessStart(on_start=tell)),
                IncludeLaunchDescription(source, launch_arguments=named),
                TimerAction(period=_STARTED_S, actions=[OpaqueFunction(function=end)]),
            ]
        )
    )
    return int(service.run())


def _tell_components(say: Callable[[list[str], Mapping[str, str], str | None], None]) -> None:
    """Say what launch would load into containers, and let it load nothing."""
    with suppress(ImportError):  # there is launch, but not launch_ros
        from launch_ros.actions import load_composable_nodes

        request_of = load_composable_nodes.get_composable_node_load_request

        def tell(description: Any, context: Any) -> None:
            request = request_of(description, context)
            if request is not None:  # its condition holds
                say(list(_words(request)), context.environment, None)

        load_composable_nodes.get_composable_node_load_request = tell


def _words(request: Any) -> Iterator[str]:
    from rclpy.parameter import parameter_value_to_python

    yield from ("ros2", "run", request.package_name, request.plugin_name, "--ros-args")
    rules = [f"__node:={request.node_name}"] if request.node_name else []
    rules += [f"__ns:={request.node_namespace}"] if request.node_namespace else []
    for rule in (*rules, *request.remap_rules):
        yield from ("-r", rule)
    for each in request.parameters:
        value = json.dumps(parameter_value_to_python(each.value))
        yield from ("-p", f"{each.name}:={value}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
