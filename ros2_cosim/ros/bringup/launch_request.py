# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The request of ``ros2 launch``, made ready; the launch file itself only starts processes."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from ros2_cosim.core.documents.files import write_atomically
from ros2_cosim.core.kernel.errors import ConfigurationError, RunError
from ros2_cosim.core.kernel.guesses import did_you_mean
from ros2_cosim.core.messages.namespaces import qualified
from ros2_cosim.core.record.summary import Summary, read_summary, summary_lines
from ros2_cosim.core.run.bringup import bring_up
from ros2_cosim.core.run.crashes import crash_of
from ros2_cosim.core.run.removed import REMOVED
from ros2_cosim.core.run.request import RunRequest, read_options, run_options
from ros2_cosim.core.run.results import complete_results
from ros2_cosim.ros.bringup.plan import Process
from ros2_cosim.ros.bringup.prepared import PreparedProcesses
from ros2_cosim.ros.bringup.starter_channel import AnyMessage, ClockProgress, Failed, Over
from ros2_cosim.ros.bringup.watch import RunWatch

PARAMETER_FILE = "parameters.yaml"


class LaunchArgument(NamedTuple):
    """One argument of the launch file; an empty value leaves the thing as the scenario has it.

    ``default`` None: it must be given.
    """

    name: str
    default: str | None
    description: str


class Conclusion(NamedTuple):
    """What a complete run says of itself, in lines, and why it failed; empty: it did not."""

    lines: list[str]
    failure: str


class Seconds:
    """Tells each second of simulated time once.

    The clock gives a sign of life also while time stands.

    :param tell: gets the second
    """

    def __init__(self, tell: Callable[[int], None]) -> None:
        self._tell = tell
        self._told: int | None = None

    def __call__(self, progress: ClockProgress) -> None:
        """Take a sign of life."""
        second = progress.time_ns // 1_000_000_000
        if second != self._told:
            self._told = second
            self._tell(second)


def launch_arguments() -> list[LaunchArgument]:
    """The arguments of ``scenario.launch.py``: the scenario and the options of a run."""
    return [
        LaunchArgument("scenario", None, "Scenario file (YAML or JSON)."),
        LaunchArgument("duration", "", "Simulated time of the run, as set:=duration=20s."),
        *(LaunchArgument(name, o.text, o.told.help) for name, o in run_options().items()),
    ]


def check_names(given: Mapping[str, Any]) -> None:
    """Refuse launch arguments that do not exist; ``launch`` itself would ignore them.

    :raises ConfigurationError: one is unknown
    """
    known = [argument.name for argument in launch_arguments()]
    for name in given:
        if new := REMOVED.get(f"launch {name}"):
            raise ConfigurationError(f"launch argument '{name}' is gone; it is {new} now")
        if name not in known:
            raise ConfigurationError(
                f"launch argument '{name}' is unknown; {did_you_mean(name, known)}"
                f"there are {', '.join(known)}"
            )


class LaunchRequest:
    """A run that is ready to be started by ``launch``, and what is known of its processes.

    :param prepared: the run
    :param release: gives directory and domain back
    """

    def __init__(self, prepared: PreparedProcesses, release: Callable[[], None]) -> None:
        # Launch hands no sockets over: its servers bind the numbers that were free.
        prepared.ports.close()
        self._channel = channel = prepared.channel
        self._release = release
        self.prepared = prepared
        self.plan: list[Process] = prepared.plan
        self.output = prepared.output
        #: Called, in a thread, when the clock tells the time.
        self.on_progress: Callable[[ClockProgress], None] = lambda progress: None
        #: What differs from the present environment.
        self.environment = {
            key: value
            for key, value in prepared.environment.items()
            if os.environ.get(key) != value
        }
        self.parameter_file = self.output / PARAMETER_FILE
        text = yaml.safe_dump(_parameters(self.plan))
        write_atomically(self.parameter_file, text)
        self.watch = RunWatch(
            self.plan,
            lambda: channel.required,
            channel.turn_in,
            lambda name, number: crash_of(prepared.scenario, channel.going_on_in(name), number),
        )
        channel.listen(self._take, self.watch.printed)

    def ended(self, name: str, code: int) -> None:
        """Take the exit code of a process; when all have ended, the run gives everything back."""
        self._channel.hear_out()
        self.watch.ended(name, code)
        for participant, how in self.watch.early_leaves():
            self._channel.leave_early(participant, how)
        if self.watch.all_ended:
            self.release()

    def release(self) -> None:
        """Complete the bag, make the report, and give directory and domain back."""
        try:
            complete_results(self.output)
        finally:
            self._release()

    def conclusion(self) -> Conclusion:
        """What the complete run says of itself.

        :raises RunError: there is no summary
        """
        summary = self._summary()
        lines = [*summary_lines(summary), f"results in {self.output}"]
        failed = [verdict.name for verdict in summary.verdicts if not verdict.passed]
        return Conclusion(lines, f"verdict not met: {', '.join(failed)}" if failed else "")

    def _summary(self) -> Summary:
        try:
            return read_summary(self.output)
        except ConfigurationError as error:
            raise RunError(f"the run left no summary: {error}") from None

    def _take(self, name: str, message: AnyMessage) -> None:
        if isinstance(message, Failed):
            self.watch.told(name, message.reason)
        elif isinstance(message, Over):
            self.watch.over()
        elif isinstance(message, ClockProgress):
            self.on_progress(message)


def prepare_launch(values: Mapping[str, str]) -> LaunchRequest:
    """Bring up the run that launch arguments ask for; see :mod:`ros2_cosim.core.run.bringup`.

    :param values: all launch arguments
    :raises ConfigurationError: one is wrong, or another run is in the way
    """
    options = read_options({name: values[name] for name in run_options()})
    if duration := values["duration"]:
        options["set"] = (*options.get("set", ()), f"duration={duration}")
    request = RunRequest(Path(values["scenario"]), **options)
    if request.shape == "inproc":
        raise ConfigurationError(
            "shape: found 'inproc', which has no processes to launch; allowed are ros and composed"
        )
    held = ExitStack()
    with ExitStack() as stack:
        prepared = stack.enter_context(bring_up(request))
        assert isinstance(prepared, PreparedProcesses)
        ready = LaunchRequest(prepared, held.close)
        held.push(stack.pop_all())
    return ready


def _parameters(plan: list[Process]) -> dict[str, Any]:
    """The content of a ROS parameter file for all nodes of a plan."""
    return {
        qualified(process.namespace, f"/{process.node}"): {
            "ros__parameters": dict(process.parameters)
        }
        for process in plan
        if process.is_ros
    }
