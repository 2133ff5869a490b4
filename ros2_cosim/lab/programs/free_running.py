# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Any participant whose model the scenario names, without synchronisation."""

import time

from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.process.processes import run_main
from ros2_cosim.core.scenario.system import build_model
from ros2_cosim.lab.study.free_running_node import FreeRunningNode, wanted_factor
from ros2_cosim.ros.programs._start import Started, run_node


def main() -> int:
    """Run the node."""
    return run_node("free_running", _run)


def _run(started: Started) -> None:
    session, scenario, *_ = started
    name = session.parameter("participant", "")
    if name not in scenario.participants:
        raise ConfigurationError(
            f"parameter participant: found '{name}'; the scenario has "
            f"{', '.join(scenario.participants)}"
        )
    FreeRunningNode(
        session,
        started.wiring(),
        name,
        build_model(scenario, name, "ros"),
        factor=wanted_factor(session),
        end_ns=scenario.duration,
        watched=session.parameter("watched", ""),
        timer=time.monotonic_ns,
    ).run()


if __name__ == "__main__":
    run_main(main)
