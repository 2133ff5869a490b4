# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Runs in processes of which a test starts, kills and watches single ones while they go on."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Collection
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from runs.cosim_process import user_environment
from support.patience import HANG_S

from ros2_cosim.core.documents.run_files import RESOLVED_SCENARIO
from ros2_cosim.core.kernel.errors import RunError
from ros2_cosim.core.record.summary import Summary, read_summary
from ros2_cosim.core.run.inproc import run_inproc
from ros2_cosim.core.run.request import RunOptions
from ros2_cosim.core.scenario.schema import make_scenario, save_scenario
from ros2_cosim.ros.bringup.dds import loopback_environment
from ros2_cosim.ros.bringup.plan import make_plan
from ros2_cosim.ros.bringup.processes import ProcessGroup
from ros2_cosim.ros.bringup.starter_channel import ClockProgress

TYPE = "ros2_cosim/msg/ControlCommand"


def participant(
    inputs: dict[str, object] | None = None, schedule: str = "every", **settings: object
) -> dict[str, Any]:
    """A mixer with one output ``out``."""
    parameters = {"silent_every": 3, "schedules": {"out": schedule}, "longest_delay_s": 0.0}
    return {
        "model": "support.graph_scenarios:MessageMixer",
        "parameters": parameters,
        "inputs": inputs or {},
        "schedule": schedule,
        "type": TYPE,
        **settings,
    }


def scenario(name: str, duration: str = "2s", **participants: dict[str, Any]) -> dict[str, Any]:
    """A scenario of such participants, each with a topic of its own."""
    for key, settings in participants.items():
        output = {"topic": f"/{key}/out", **{k: settings.pop(k) for k in ("type", "schedule")}}
        settings["outputs"] = {"out": output}
    return {"name": name, "duration": duration, "participants": participants}


class Direction:
    """What a test sees of a run, and does to it; called again and again while it goes on."""

    def __init__(
        self, group: ProcessGroup, environment: dict[str, str], lines: list[tuple[str, str]]
    ) -> None:
        self.group = group
        self.environment = environment
        self.lines = lines
        self.done: set[str] = set()
        #: Programs that know nothing of the run; they are killed at its end.
        self.outsiders: list[subprocess.Popen[bytes]] = []

    def said(self, name: str, text: str) -> bool:
        """Whether a process has printed a line with this text."""
        return any(n == name and text in line for n, line in list(self.lines))

    def once(self, what: str) -> bool:
        """True the first time only."""
        if what in self.done:
            return False
        self.done.add(what)
        return True

    def kill_outsiders(self) -> None:
        """Kill the programs that know nothing of the run."""
        for process in self.outsiders:
            process.kill()
            process.wait()

    def start(self, name: str) -> None:
        """Start a process that was held back, once."""
        if self.once(f"start {name}"):
            self.group.start(name)


def run_directed(
    directory: Path,
    data: dict[str, Any],
    held: Collection[str] = (),
    direct: Callable[[Direction], None] = lambda direction: None,
    *,
    bag: bool = False,
) -> Summary:
    """Run a scenario in shape ros.

    :param held: processes that are not started at once
    :raises RunError: the run was stopped
    """
    output = directory / "directed"
    output.mkdir()
    made = make_scenario(data, "directed")
    save_scenario(made, output / RESOLVED_SCENARIO)
    plan = make_plan(made, RunOptions(out=output, record=bag))
    with user_environment(directory / "log") as user:
        environment = loopback_environment(user, output)
        heard: list[tuple[str, str]] = []

        def progress(name: str, progress: ClockProgress) -> None:
            heard.append((name, f"time {progress.time_ns / 1e9:.3f} s"))

        with (
            ExitStack() as outside,
            ProcessGroup(
                plan,
                environment,
                lambda name, line: heard.append((name, line)),
                on_progress=progress,
                held=held,
            ) as group,
        ):
            direction = Direction(group, environment, heard)
            outside.callback(direction.kill_outsiders)
            deadline = time.monotonic() + HANG_S
            while not group.ended():
                if (failure := group.failure()) is not None:
                    raise RunError(failure)
                assert time.monotonic() < deadline, f"the run hangs: {heard[-20:]}"
                direct(direction)
                time.sleep(0.05)
            if (failure := group.failure()) is not None:
                raise RunError(failure)
    return read_summary(output)


def reference(directory: Path, data: dict[str, Any]) -> Summary:
    """The same scenario in shape inproc."""
    output = directory / "reference"
    output.mkdir()
    return run_inproc(make_scenario(data, "reference"), output, record=False)
