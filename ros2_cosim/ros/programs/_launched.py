# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Starts a launch file, and prints a line of JSON for each process: its words, the variables of
its environment that the launch file changes (null: it removes it), and its working directory.

Of a container it prints the words of each component instead, as ``ros2 run`` would have them, and
leaves the container empty. It ends the launch when nothing more has been started for a while, and
no timer of the launch file goes on. A last line says what it did not wait for (``unseen``).
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

#: Nothing more starts after so long a rest [s]; it is over after so long in any case.
_REST_S = 3.0
_LONGEST_S = 30.0
_POLL_S = 0.25
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
    )
    from launch.event_handlers import OnProcessStart
    from launch.events import Shutdown
    from launch.launch_description import LaunchDescription
    from launch.launch_description_sources import AnyLaunchDescriptionSource
    from launch.launch_service import LaunchService

    path, *values = arguments
    told, sys.stdout = sys.stdout, sys.stderr  # launch prints what the processes do

    before = dict(os.environ)

    waits = _Waits()

    def say(words: list[str], environment: Mapping[str, str], directory: str | None) -> None:
        names = sorted({*before, *environment})
        changed = {n: environment.get(n) for n in names if environment.get(n) != before.get(n)}
        found = {"words": words, "environment": changed, "directory": directory}
        print(json.dumps(found), file=told, flush=True)
        waits.note_start()

    def tell(event: Any, context: Any) -> None:
        if not Path(event.cmd[0]).name.startswith(_CONTAINER):
            environment = context.environment if event.env is None else event.env
            say(list(event.cmd), environment, event.cwd)

    async def end(context: Any) -> None:
        while not waits.are_over():
            await asyncio.sleep(_POLL_S)
        print(json.dumps({"unseen": waits.unseen()}), file=told, flush=True)
        await context.emit_event(Shutdown(reason="all is seen"))

    def begin(context: Any) -> None:
        waits.begin()
        context.add_completion_future(context.asyncio_loop.create_task(end(context)))

    _tell_components(say)
    service = LaunchService(argv=values, noninteractive=True)
    source = AnyLaunchDescriptionSource(path)
    named = [(name, value) for name, _, value in (v.partition(":=") for v in values)]
    service.include_launch_description(
        LaunchDescription(
            [
                RegisterEventHandler(OnProcessStart(on_start=tell)),
                OpaqueFunction(function=begin),
                IncludeLaunchDescription(source, launch_arguments=named),
            ]
        )
    )
    return int(service.run())


class _Waits:
    """What a launch file waits for: timers, and events such as the end of a process."""

    def __init__(self) -> None:
        self._began = self._last_start = time.monotonic()
        self._timers: list[Any] = []
        self._handlers: list[Any] = []

    def begin(self) -> None:
        """Note the timers and the handlers of events that are there from now on."""
        from launch.actions import RegisterEventHandler, TimerAction
        from launch.event_handlers import OnShutdown

        self._began = self._last_start = time.monotonic()
        start, register = TimerAction.execute, RegisterEventHandler.execute

        def note_timer(timer: Any, context: Any) -> Any:
            self._timers.append(timer)
            return start(timer, context)

        def note_handler(action: Any, context: Any) -> Any:
            handler = action.event_handler
            handle = handler.handle

            def handled(event: Any, context: Any) -> Any:
                with suppress(ValueError):  # it comes again
                    self._handlers.remove(handler)
                return handle(event, context)

            if not isinstance(handler, OnShutdown):
                handler.handle = handled
                self._handlers.append(handler)
            return register(action, context)

        TimerAction.execute, RegisterEventHandler.execute = note_timer, note_handler

    def note_start(self) -> None:
        """Something has been started."""
        self._last_start = time.monotonic()

    def are_over(self) -> bool:
        """Whether nothing more is waited for."""
        now = time.monotonic()
        if now - self._began > _LONGEST_S:
            return True
        return now - self._last_start > _REST_S and not self._open()

    def unseen(self) -> list[str]:
        """What was not waited for, or did not come."""
        within = f"within {_LONGEST_S:g} s"
        found = [f"a timer does not end {within}"] if self._open() else []
        kinds = sorted({type(handler).__name__ for handler in self._handlers})
        return found + [f"{kind}, for which a handler waits, did not come" for kind in kinds]

    def _open(self) -> list[Any]:
        futures = [timer.get_asyncio_future() for timer in self._timers]
        return [future for future in futures if future is not None and not future.done()]


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
    yield from ("ros2", "run", request.package_name, request.plugin_name)
    yield from _given(request.extra_arguments)
    yield "--ros-args"
    rules = [f"__node:={request.node_name}"] if request.node_name else []
    rules += [f"__ns:={request.node_namespace}"] if request.node_namespace else []
    for rule in (*rules, *request.remap_rules):
        yield from ("-r", rule)
    for given in _given(request.parameters):
        yield from ("-p", given)


def _given(parameters: Any) -> Iterator[str]:
    from rclpy.parameter import parameter_value_to_python

    for each in parameters:
        yield f"{each.name}:={json.dumps(parameter_value_to_python(each.value))}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
