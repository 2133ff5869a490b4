# SPDX-License-Identifier: Apache-2.0
"""The clock: owner of /clock, of the horizon and of the system state."""

import sys
import time

from ros2_cosim.kernel.coordinator import Coordinator
from ros2_cosim.kernel.rate import parse_rate
from ros2_cosim.kernel.run_control import RunControl
from ros2_cosim.nodes._start import Started, run_node
from ros2_cosim.ros.clock_node import ClockNode
from ros2_cosim.ros.recorder_node import NAME as RECORDER


def main() -> int:
    """Run the node."""
    return run_node("clock", _coordinate)


def _coordinate(started: Started) -> None:
    session, scenario, graph = started
    names = [*graph.order, RECORDER]
    coordinator = Coordinator(
        names,
        duration_ns=scenario.duration,
        run_ahead_ns=scenario.run_ahead,
        stop_latency_ns=scenario.stop_latency,
    )
    control = RunControl(
        step_ns=scenario.clock_step,
        rate=parse_rate(session.parameter("rate", "max")),
        paused=session.parameter("paused", "false") == "true",
    )
    ClockNode(
        session,
        names,
        coordinator,
        graph=graph,
        control=control,
        run_id=f"{scenario.name}-{scenario.seed}",
        watchdog_s=scenario.watchdog_s,
        warn_s=scenario.watchdog_warn_s,
        startup_s=scenario.startup_s,
        observers=[RECORDER],
        timer=time.perf_counter_ns,
    ).run()


if __name__ == "__main__":
    sys.exit(main())
