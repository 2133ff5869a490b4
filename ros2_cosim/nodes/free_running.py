# SPDX-License-Identifier: Apache-2.0
"""Any participant whose model the scenario names, without synchronisation."""

import sys
import time

from ros2_cosim.kernel.errors import ConfigurationError
from ros2_cosim.nodes._start import Started, run_node
from ros2_cosim.realtime.pacing import parse_rate
from ros2_cosim.scenario.system import build_model
from ros2_cosim.study.free_running_node import FreeRunningNode


def main() -> int:
    """Run the node."""
    return run_node("free_running", _run)


def _run(started: Started) -> None:
    session, scenario, graph = started
    name = session.parameter("participant", "")
    if name not in scenario.participants:
        raise ConfigurationError(
            f"parameter participant: found '{name}'; the scenario has "
            f"{', '.join(scenario.participants)}"
        )
    factor = parse_rate(session.parameter("factor", "1.0"))
    if factor is None:
        raise ConfigurationError("parameter factor: found 'max'; allowed is a number above 0")
    FreeRunningNode(
        session,
        started.wiring(),
        name,
        build_model(scenario, name, "ros"),
        factor=factor,
        end_ns=scenario.duration,
        watched=session.parameter("watched", ""),
        timer=time.monotonic_ns,
    ).run()


if __name__ == "__main__":
    sys.exit(main())
