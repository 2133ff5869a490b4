# SPDX-License-Identifier: Apache-2.0
"""From launch arguments to what ``ros2 launch`` has to start.

Everything about the launch file that needs no ``launch`` package is here: the arguments, their
meaning, and the preparation of a run. What remains in the launch file is the translation of a
plan into launch actions.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from ros2_cosim.documents.installed import share_file
from ros2_cosim.kernel.errors import ConfigurationError
from ros2_cosim.realtime.pacing import parse_rate
from ros2_cosim.record.results import BAG
from ros2_cosim.record.summary import Summary, read_summary
from ros2_cosim.run.dds import dds_environment, dds_settings, loopback_environment
from ros2_cosim.run.domain_lock import domain_lock
from ros2_cosim.run.output_directory import prepare_output
from ros2_cosim.run.ros import close_bag
from ros2_cosim.scenario.adjust import adjusted
from ros2_cosim.scenario.plan import (
    RESOLVED_SCENARIO,
    Process,
    RunOptions,
    make_plan,
    resolve_ports,
)
from ros2_cosim.scenario.schema import load_scenario, save_scenario
from ros2_cosim.scenario.system import build_graph

PARAMETER_FILE = "parameters.yaml"


class LaunchArgument(NamedTuple):
    """One argument of the launch file; an empty value leaves the thing as the scenario has it."""

    name: str
    default: str
    description: str


def launch_arguments() -> list[LaunchArgument]:
    """The arguments of ``platoon.launch.py``."""
    scenario = str(share_file("config/platoon.yaml"))
    return [
        LaunchArgument("scenario", scenario, "Scenario file (YAML or JSON)."),
        LaunchArgument("simulator", "", "Which simulator: headless or carla."),
        LaunchArgument("host", "", "Host of the CARLA server."),
        LaunchArgument("port", "", "Port of the CARLA server; 0: any free one (headless)."),
        LaunchArgument("rate", "max", "Real-time factor, or max."),
        LaunchArgument(
            "controllers",
            "",
            "Control law of all controllers: a name, module:Class or file.py:Class. Or a "
            "controller node of your own: script.py or package/executable.",
        ),
        LaunchArgument("seed", "", "Seed of the run."),
        LaunchArgument("rviz", "false", "Start RViz with the view of this package: true or false."),
        LaunchArgument(
            "visualise", "false", "Publish markers for RViz: true or false; rviz:=true does, too."
        ),
        LaunchArgument("record", "true", "Record a bag and make a report: true or false."),
        LaunchArgument("out", "", "Output directory (out/NAME of the scenario)."),
    ]


def check_names(given: Mapping[str, Any]) -> None:
    """Refuse launch arguments that do not exist; ``launch`` itself would ignore them.

    :raises ConfigurationError: one is unknown
    """
    known = [argument.name for argument in launch_arguments()]
    for name in given:
        if name not in known:
            close = get_close_matches(name, known, 1)
            hint = f"did you mean '{close[0]}'?" if close else f"there are {', '.join(known)}"
            raise ConfigurationError(f"launch argument '{name}' is unknown; {hint}")


class LaunchRequest(NamedTuple):
    """A run that is ready to be started.

    ``environment`` is what differs from the present one; ``release`` gives the ROS domain back
    and completes the bag, once all processes have ended.
    """

    plan: list[Process]
    environment: dict[str, str]
    output: Path
    parameter_file: Path
    release: Callable[[], None]

    def summary(self) -> Summary:
        """What the complete run says of itself."""
        return read_summary(self.output)


def prepare_launch(values: Mapping[str, str]) -> LaunchRequest:
    """Check the arguments, reserve the ROS domain, and write what the processes will read.

    :param values: all launch arguments
    :raises ConfigurationError: one is wrong
    """
    simulator = values["simulator"] or None
    if simulator not in (None, "headless", "carla"):
        raise ConfigurationError(f"simulator: found '{simulator}'; allowed are headless and carla")
    scenario = adjusted(
        load_scenario(Path(values["scenario"])),
        seed=_integer("seed", values["seed"]),
        simulator=simulator,
        host=values["host"] or None,
        port=_integer("port", values["port"]),
        controllers=values["controllers"] or None,
    )
    rviz = _truth("rviz", values["rviz"])
    options = RunOptions(
        output=Path(values["out"] or Path("out") / scenario.name).absolute(),
        rate=parse_rate(values["rate"]),
        record=_truth("record", values["record"]),
        visualise=_truth("visualise", values["visualise"]) or rviz,
        rviz=rviz,
    )
    build_graph(scenario)
    make_plan(scenario, options)
    with ExitStack() as stack:
        dds = dds_settings(dds_environment(os.environ, options.output))
        stack.enter_context(domain_lock(scenario.name, options.output, dds))
        prepare_output(options.output)
        scenario = resolve_ports(scenario)
        save_scenario(scenario, options.output / RESOLVED_SCENARIO)
        plan = make_plan(scenario, options)
        parameter_file = options.output / PARAMETER_FILE
        parameter_file.write_text(yaml.safe_dump(_parameters(plan)), encoding="utf-8")
        environment = loopback_environment(os.environ, options.output)
        changed = {k: v for k, v in environment.items() if os.environ.get(k) != v}
        stack.callback(close_bag, options.output / BAG)
        return LaunchRequest(plan, changed, options.output, parameter_file, stack.pop_all().close)
    raise AssertionError("unreachable")


def _parameters(plan: list[Process]) -> dict[str, Any]:
    """The content of a ROS parameter file for all nodes of a plan."""
    return {
        f"/{process.name}": {"ros__parameters": dict(process.parameters)}
        for process in plan
        if process.is_ros
    }


def _integer(name: str, text: str) -> int | None:
    if not text:
        return None
    try:
        return int(text)
    except ValueError:
        raise ConfigurationError(f"{name}: found '{text}'; allowed is a whole number") from None


def _truth(name: str, text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise ConfigurationError(f"{name}: found '{text}'; allowed are true and false")
    return text.lower() == "true"
