# SPDX-License-Identifier: Apache-2.0
"""Run shape ``ros``: one process per node of the bring-up plan, DDS between them."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

from ros2_cosim.kernel.errors import ConfigurationError, RunError
from ros2_cosim.scenario.plan import (
    RESOLVED_SCENARIO,
    RunOptions,
    make_plan,
    resolve_ports,
)
from ros2_cosim.scenario.schema import Scenario, save_scenario
from ros2_cosim.scenario.system import build_graph
from ros2_cosim.tools.bag_reader import is_complete, recover
from ros2_cosim.tools.dds import loopback_environment
from ros2_cosim.tools.processes import ProcessGroup
from ros2_cosim.tools.results import BAG
from ros2_cosim.tools.summary import Summary, read_summary

_POLL_S = 0.05


def run_ros(
    scenario: Scenario,
    options: RunOptions,
    *,
    progress: Callable[[int], None] = lambda time_ns: None,
    on_line: Callable[[str, str], None] = lambda name, line: None,
    on_started: Callable[[dict[str, int]], None] = lambda pids: None,
) -> Summary:
    """Run a scenario to its end in processes of its own.

    :param progress: called now and then; the time is not known here and given as 0
    :param on_line: called with (process name, line) of everything the processes print
    :param on_started: called with the process ids by name
    :raises ConfigurationError: the scenario is wrong, or ROS is not installed
    :raises RunError: a process ended before its time; it is named. The bag is readable.
    """
    if find_spec("rclpy") is None:
        raise ConfigurationError(
            "shape ros needs rclpy, which is not installed; run 'make setup', or source a ROS "
            "installation, or use --shape inproc"
        )
    build_graph(scenario)
    scenario = resolve_ports(scenario)
    save_scenario(scenario, options.output / RESOLVED_SCENARIO)
    plan = make_plan(scenario, options)
    try:
        with ProcessGroup(plan, loopback_environment(os.environ, options.output), on_line) as group:
            on_started(group.pids())
            while not group.ended():
                failure = group.failure()
                if failure is not None:
                    raise RunError(failure)
                progress(0)
                time.sleep(_POLL_S)
            failure = group.failure()
            if failure is not None:
                raise RunError(failure)
    finally:
        close_bag(options.output / BAG)
    return read_summary(options.output)


def close_bag(bag: Path) -> None:
    """Complete a bag whose writer was killed, so that it can be opened."""
    if bag.is_dir() and not is_complete(bag):
        recover(bag)
