# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Run any scenario: ``ros2 launch ros2_cosim scenario.launch.py scenario:=FILE``.

Launch files of users include it, with the same arguments. The processes are those of the bring-up
plan that ``cosim run`` executes, too. Launch ends with the run: when the clock is done, or when a
process ends that the run cannot do without.
"""

import sys
from pathlib import Path

from launch import LaunchContext, LaunchDescription
from launch.actions import (
    DeclareLaunchArgument,
    EmitEvent,
    ExecuteProcess,
    LogInfo,
    OpaqueFunction,
    RegisterEventHandler,
    TimerAction,
)
from launch.event_handlers import OnProcessExit, OnProcessIO
from launch.events import Shutdown
from launch.events.process import ProcessExited, ProcessIO
from launch.logging import get_logger
from launch_ros.actions import Node
from launch_ros.utilities import prefix_namespace

from ros2_cosim.core.documents.files import in_words
from ros2_cosim.core.kernel.errors import CosimError
from ros2_cosim.core.scenario.executables import find_installed
from ros2_cosim.ros.bringup.launch_request import (
    LaunchRequest,
    Seconds,
    check_names,
    launch_arguments,
    prepare_launch,
)
from ros2_cosim.ros.bringup.plan import Process
from ros2_cosim.ros.bringup.processes import command_of
from ros2_cosim.ros.bringup.watch import EARLY_S, GATHER_S

#: Launch files that take these arguments and no others.
OWN_FILES = ("scenario.launch.py", "platoon.launch.py")


def end_with(context: LaunchContext, failure: str) -> list:
    """End launch with one line and exit code 1.

    The handler of its loop is what launch takes the exit code from; an exception would look like a
    crash of launch itself.
    """
    context.asyncio_loop.call_exception_handler({"message": f"cosim: {failure}"})
    return [EmitEvent(event=Shutdown(reason="the run has failed"))]


def generate_launch_description() -> LaunchDescription:
    """Declare the arguments; everything else depends on their values."""
    arguments = [
        DeclareLaunchArgument(a.name, default_value=a.default, description=a.description)
        for a in launch_arguments()
    ]
    return LaunchDescription([*arguments, OpaqueFunction(function=bring_up)])


def bring_up(context: LaunchContext) -> list:
    """Prepare the run that the arguments ask for, and start its processes."""
    values = {a.name: context.launch_configurations[a.name] for a in launch_arguments()}
    # PushRosNamespace of a launch file that includes this one holds for the run, too.
    pushed = context.launch_configurations.get("ros_namespace", "")
    values["namespace"] = prefix_namespace(pushed, values["namespace"]) or ""
    try:
        if any(Path(argument).name in OWN_FILES for argument in sys.argv):
            # Started directly: no other launch file takes arguments that this one does not know.
            names = [text.partition(":=")[0] for text in context.argv if ":=" in text]
            check_names(dict.fromkeys(n for n in names if not n.startswith("launch-prefix")))
        request = prepare_launch(values)
    except (CosimError, OSError) as error:
        return end_with(context, in_words(error))
    run = Run(request)
    clock = get_logger("clock")
    request.on_progress = Seconds(lambda seconds: clock.info(f"time {seconds} s"))
    commands = request.prepared.commands_by_hand()
    actions = [LogInfo(msg=note) for note in request.prepared.notes()]
    actions += [LogInfo(msg=f"start {name} with: {command}") for name, command in commands]
    for process in request.plan:
        action = start_action(process, request)
        actions += [*run.handlers(process, action), action]
    return actions


def start_action(process: Process, request: LaunchRequest) -> ExecuteProcess:
    """Translate one process of the plan; a ``Node`` is an ``ExecuteProcess``, too."""
    common = {"output": "screen", "additional_env": request.environment}
    if not process.is_ros:
        command = command_of(process)
        if process.package:
            # As a node, it then ends quietly from its first moment on.
            program = find_installed(process.package, process.executable, process.name)
            command = [str(program), *process.arguments]
        return ExecuteProcess(name=process.name, cmd=command, **common)
    if process.package:
        program = {"package": process.package, "executable": process.executable}
    else:
        program = {"executable": sys.executable, "arguments": [process.executable]}
    return Node(
        name=process.node,
        namespace=process.namespace,
        ros_arguments=list(process.ros_arguments) or None,
        exec_name=process.name,
        parameters=[request.parameter_file],
        **program,
        **common,
    )


class Run:
    """Watches the processes of one run and ends launch with it."""

    def __init__(self, request: LaunchRequest) -> None:
        self._request = request
        self._watch = request.watch
        self._waiting = False
        self._patience = int(EARLY_S / GATHER_S)

    def handlers(self, process: Process, action: ExecuteProcess) -> list[RegisterEventHandler]:
        """Make the event handlers for one process."""

        def listen(event: ProcessIO) -> None:
            for line in event.text.decode(errors="replace").splitlines():
                if line.strip():
                    self._watch.printed(process.name, line.strip())

        def exited(event: ProcessExited, context: LaunchContext) -> list:
            self._request.ended(process.name, event.returncode)
            return [] if context.is_shutdown else self._after_exit()

        return [
            RegisterEventHandler(
                OnProcessIO(target_action=action, on_stdout=listen, on_stderr=listen)
            ),
            RegisterEventHandler(OnProcessExit(target_action=action, on_exit=exited)),
        ]

    def _after_exit(self) -> list:
        if self._watch.some_failed:
            return [TimerAction(period=GATHER_S, actions=[OpaqueFunction(function=self._fail)])]
        if self._watch.complete:
            return [OpaqueFunction(function=self._conclude)]
        if self._watch.some_ended and not self._waiting:
            self._waiting = True
            return [TimerAction(period=EARLY_S, actions=[OpaqueFunction(function=self._fail)])]
        return []

    def _fail(self, context: LaunchContext) -> list:
        if context.is_shutdown:
            return []
        if self._watch.some_failed and not self._watch.cause_known and self._patience > 0:
            # A node that fails tells the clock first and ends last.
            self._patience -= 1
            return [TimerAction(period=GATHER_S, actions=[OpaqueFunction(function=self._fail)])]
        reason = self._watch.failure() or self._watch.early()
        if reason is not None:
            return end_with(context, reason)
        # A node that has not received the clock's last message does not hold up the end.
        return self._conclude(context) if self._watch.clock_done else []

    def _conclude(self, context: LaunchContext) -> list:
        try:
            lines, failure = self._request.conclusion()
        except CosimError as error:
            return end_with(context, str(error))

        def end(context: LaunchContext) -> list:
            if failure:
                return end_with(context, failure)
            return [EmitEvent(event=Shutdown(reason="the run is complete"))]

        # The lines are printed before launch ends, also with an error.
        return [*(LogInfo(msg=line) for line in lines), OpaqueFunction(function=end)]
