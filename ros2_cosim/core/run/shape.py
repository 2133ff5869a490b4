# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""How a scenario is run: in this process, in another one, or in several.

Each run shape is a class :class:`Shape` that an entry point of the group ``ros2_cosim.shapes``
offers. The bring-up asks it what it needs, and it runs what has been brought up.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

from ros2_cosim.core.documents.offered import find_kind
from ros2_cosim.core.documents.run_files import RESOLVED_SCENARIO
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.record.summary import Summary
from ros2_cosim.core.run.output_directory import OutputDirectory, repetition_directory
from ros2_cosim.core.run.request import SHAPE_GROUP, RunOptions, RunRequest
from ros2_cosim.core.scenario.doubts import doubts_of
from ros2_cosim.core.scenario.drawing import undrawable
from ros2_cosim.core.scenario.grouping import AUTO
from ros2_cosim.core.scenario.schema import Scenario, save_scenario


@dataclass(frozen=True)
class RunCallbacks:
    """Callbacks during a run.

    :ivar progress: called with the simulated time [ns] about once per simulated second
    :ivar on_line: called with (process name, line) of everything that its processes print
    :ivar on_started: called with the process ids by name
    :ivar on_poll: called repeatedly; its exceptions end the run
    """

    progress: Callable[[int], None] = lambda time_ns: None
    on_line: Callable[[str, str], None] = lambda name, line: None
    on_started: Callable[[dict[str, int]], None] = lambda pids: None
    on_poll: Callable[[], None] = lambda: None


@dataclass(frozen=True)
class PreparedRun:
    """A run that is ready to start.

    :ivar directory: its output directory, held
    """

    scenario: Scenario
    options: RunOptions
    directory: OutputDirectory

    @property
    def output(self) -> Path:
        """The output directory."""
        return self.options.output

    def with_files(self) -> PreparedRun:
        """Write what its processes read; the directory is clear, and has the scenario."""
        return self

    def again(self, repetition: int) -> PreparedRun:
        """The n-th time that the run begins anew, with its own directory below this one."""
        output = self.output / repetition_directory(repetition)
        output.mkdir()
        save_scenario(self.scenario, output / RESOLVED_SCENARIO)
        return replace(self, options=replace(self.options, out=output))

    def notes(self) -> list[str]:
        """What was requested that this run does not do, or is hardly meant, in lines."""
        reason = undrawable(self.scenario)
        wanted = {
            "visualise": self.options.visualise,
            "bag.scene": has_scene(self.scenario, self.options),
        }
        undrawn = [f"{key}: {reason}" for key, is_wanted in wanted.items() if is_wanted and reason]
        return [*doubts_of(self.scenario), *undrawn]

    def commands_by_hand(self) -> list[tuple[str, str]]:
        """(name, command line) of the processes that the user starts."""
        return []


class Shape(ABC):
    """A way to run a scenario.

    :cvar name: what models know it by: inproc, composed or ros. A shape of others that is derived
        from one of these keeps its name; the user calls it by its entry point
    """

    name: ClassVar[str]

    @abstractmethod
    def check(self, request: RunRequest, scenario: Scenario) -> None:
        """Check whether this shape supports the request.

        :raises ConfigurationError: it does not
        """

    def arranged(self, request: RunRequest, scenario: Scenario, options: RunOptions) -> Scenario:
        """The scenario as this shape runs it; changes nothing on the machine.

        :raises ConfigurationError: this shape cannot run it
        """
        return scenario

    @abstractmethod
    def held(
        self, request: RunRequest, prepared: PreparedRun, *, domains: Sequence[int] | None
    ) -> AbstractContextManager[PreparedRun]:
        """Hold what the run needs besides its output directory, until the statement ends.

        :param domains: ROS domains of which the first that is free is taken; None: that of this
            process
        :raises ConfigurationError: another run has it
        """

    @abstractmethod
    def run(self, prepared: PreparedRun, watch: RunCallbacks) -> Summary:
        """Run what is prepared to its end.

        :raises CosimError: a participant or a process failed; it is named. Bag and summary are
            readable.
        """


def find_shape(name: str) -> Shape:
    """The run shape of a name.

    :raises ConfigurationError: there is none
    """
    shape: Shape = find_kind(SHAPE_GROUP, name, "shape", "run shape", Shape)()
    return shape


def has_scene(scenario: Scenario, options: RunOptions) -> bool:
    """Whether the bag of a run shows the scene when it is played."""
    return options.record and scenario.bag.scene is not None


def refuse_sharing(request: RunRequest) -> None:
    """Refuse settings of processes where all participants share one.

    :raises ConfigurationError: the request says it
    """
    for option, is_given in (
        ("processes", request.processes != AUTO),
        ("transport", request.transport != "auto"),
    ):
        if is_given:
            raise ConfigurationError(
                f"--{option}: found with shape {request.shape}, whose participants share one "
                "process; allowed is shape ros"
            )
    for name in request.by_hand:
        raise ConfigurationError(
            f"--by-hand {name}: in shape {request.shape} participants have no processes of their "
            "own; allowed is --shape ros"
        )
