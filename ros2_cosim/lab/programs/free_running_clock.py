# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The clock of a run without synchronisation; leaves ``free_running.json`` behind."""

import time
from pathlib import Path

from ros2_cosim.core.messages.catalogue import DEFAULT as CATALOGUE
from ros2_cosim.core.process.processes import run_main
from ros2_cosim.lab.study.free_running_clock import FreeRunningClock
from ros2_cosim.lab.study.free_running_node import wanted_factor
from ros2_cosim.lab.study.prt import EgoTrack, write_free_run
from ros2_cosim.ros.programs._start import Started, run_node


def main() -> int:
    """Run the node."""
    return run_node("clock", _coordinate)


def _coordinate(started: Started) -> None:
    session, scenario, graph, starter, *_ = started
    factor = wanted_factor(session)
    watched = session.parameter("watched", "")
    clock = FreeRunningClock(
        session,
        graph.order,
        run_id=started.run_id(),
        factor=factor,
        end_ns=scenario.duration,
        startup_s=scenario.startup_s,
        watchdog_s=scenario.watchdog_s,
        timer=time.monotonic_ns,
        on_progress=starter.progress,
    )
    track = EgoTrack()
    types = {
        output.topic: output.type
        for participant in scenario.participants.values()
        for output in participant.outputs.values()
    }
    if watched in types:
        codec = CATALOGUE.codec(types[watched], start_ns=session.start_ns)
        clock.watch(watched, codec, track.add)
    clock.run()
    write_free_run(
        Path(session.parameter("output", ".")),
        graph,
        clock.reports,
        track,
        factor=factor,
        end_ns=scenario.duration,
        start_ns=clock.start_ns,
        complete=clock.complete,
    )
    clock.finish()


if __name__ == "__main__":
    run_main(main)
