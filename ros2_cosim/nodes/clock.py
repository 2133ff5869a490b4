# SPDX-License-Identifier: Apache-2.0
"""The clock: owner of /clock, of the horizon and of the system state."""

import sys
import time

from ros2_cosim.kernel.coordinator import Coordinator
from ros2_cosim.nodes._start import Started, realtime_of, run_node
from ros2_cosim.ros.clock_node import ClockNode
from ros2_cosim.ros.recorder_node import NAME as RECORDER


def main() -> int:
    """Run the node."""
    return run_node("clock", _coordinate)


def _coordinate(started: Started) -> None:
    session, scenario, graph = started
    realtime = realtime_of(session)
    names = [*graph.order, RECORDER]
    coordinator = Coordinator(
        names,
        duration_ns=scenario.duration,
        run_ahead_ns=scenario.run_ahead,
        stop_latency_ns=scenario.stop_latency,
    )
    ClockNode(
        session,
        names,
        coordinator,
        run_id=f"{scenario.name}-{scenario.seed}",
        rate=realtime.pacer.rate if realtime.pacer else None,
        watchdog_s=scenario.watchdog_s,
        startup_s=scenario.startup_s,
        observers=[RECORDER],
        timer=time.perf_counter_ns,
        hard=realtime.hard,
    ).run()


if __name__ == "__main__":
    sys.exit(main())
