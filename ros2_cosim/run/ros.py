# SPDX-License-Identifier: Apache-2.0
"""Run shapes ``ros`` (one process per node) and ``composed`` (one for all participants)."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Sequence
from functools import partial
from importlib.util import find_spec
from math import inf
from pathlib import Path

from ros2_cosim.kernel.errors import ConfigurationError, RunError
from ros2_cosim.record.bag_reader import is_complete
from ros2_cosim.record.recovery import recover
from ros2_cosim.record.results import BAG
from ros2_cosim.record.summary import Summary, read_summary
from ros2_cosim.run.dds import dds_settings, loopback_environment
from ros2_cosim.run.domain_lock import domain_lock
from ros2_cosim.run.losses import read_required, tell_loss
from ros2_cosim.run.processes import ProcessGroup
from ros2_cosim.scenario.plan import (
    RESOLVED_SCENARIO,
    RunOptions,
    make_plan,
    resolve_ports,
)
from ros2_cosim.scenario.schema import Scenario, save_scenario
from ros2_cosim.scenario.system import build_graph

#: What the headless server says when it listens: nothing to tell the user of a run.
READY_LINE = "listening on "

_POLL_S = 0.05
#: The clock gives a sign of life every second and is itself the watchdog of all others. It is
#: given up when it is silent for twice the watchdog's time (before its first sign: for the
#: time of the start-up) and this long.
_CLOCK_LATE_S = 5.0
#: How the clock node tells its progress.
_TIME = re.compile(r"time ([0-9.]+) s( paused)?")


def run_ros(
    scenario: Scenario,
    options: RunOptions,
    *,
    progress: Callable[[int], None] = lambda time_ns: None,
    on_line: Callable[[str, str], None] = lambda name, line: None,
    on_started: Callable[[dict[str, int]], None] = lambda pids: None,
    on_poll: Callable[[], None] = lambda: None,
    domains: Sequence[int] | None = None,
) -> Summary:
    """Run a scenario to its end in processes of its own.

    :param progress: called with the simulated time [ns] about once per simulated second
    :param on_line: called with (process name, line) of everything the processes print
    :param on_started: called with the process ids by name
    :param on_poll: called again and again; what it raises ends the run
    :param domains: ROS domains of which the first that is free is taken; None: that of this
        process
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

    heard = time.monotonic()
    patience = scenario.startup_s + _CLOCK_LATE_S

    def listen(name: str, line: str) -> None:
        nonlocal heard, patience
        if name == plan[-1].name and (match := _TIME.fullmatch(line)):
            heard = time.monotonic()
            # Somebody may look at the clock itself with a debugger, during a pause.
            patience = inf if match[2] else 2.0 * scenario.watchdog_s + _CLOCK_LATE_S
            progress(round(float(match[1]) * 1e9))
        elif not line.startswith(READY_LINE):
            on_line(name, line)

    environment = loopback_environment(os.environ, options.output)
    try:
        with (
            domain_lock(
                scenario.name, options.output, dds_settings(environment), domains
            ) as domain,
            ProcessGroup(
                plan,
                environment | {"ROS_DOMAIN_ID": str(domain)},
                listen,
                partial(tell_loss, options.output),
                named=partial(read_required, options.output),
            ) as group,
        ):
            on_started(group.pids())
            while not group.ended():
                on_poll()
                _check(group)
                silence = time.monotonic() - heard
                if silence > patience:
                    raise RunError(
                        f"{plan[-1].name}: no sign of life for {silence:.0f} s"
                        + _who_stopped(group)
                    )
                time.sleep(_POLL_S)
            _check(group)
    finally:
        close_bag(options.output / BAG)
    return read_summary(options.output)


def _check(group: ProcessGroup) -> None:
    failure = group.failure()
    if failure is not None:
        raise RunError(failure + _who_stopped(group))


def _who_stopped(group: ProcessGroup) -> str:
    """A process that was stopped from outside explains why nothing went on."""
    names = group.stopped()
    return f" (stopped by a signal: {', '.join(names)})" if names else ""


def close_bag(bag: Path) -> None:
    """Complete a bag whose writer was killed, so that it can be opened."""
    if bag.is_dir() and not is_complete(bag):
        recover(bag)
