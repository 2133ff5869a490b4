# SPDX-License-Identifier: Apache-2.0
"""Starts a launch file, and prints a line of JSON for each process: its words.

It ends the launch when nothing more has been started for a while.
"""

from __future__ import annotations

import json
import sys
from typing import Any

#: Wall time [s] in which the processes of a launch file start.
_STARTED_S = 3.0


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

    def tell(event: Any, context: Any) -> None:
        print(json.dumps({"words": list(event.cmd)}), file=told, flush=True)

    def end(context: Any) -> None:
        context.emit_event_sync(Shutdown(reason="all is seen"))

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


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
