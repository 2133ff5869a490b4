# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Both workloads in this project's run shapes."""

from __future__ import annotations

import os
import time
from pathlib import Path

import speed_systems
from speed_result import STEP_S, Result, cpu_seconds, loop_messages

from ros2_cosim.core.record.summary import Summary
from ros2_cosim.core.run.inproc import run_inproc
from ros2_cosim.core.run.request import RunRequest
from ros2_cosim.core.run.start import run_request
from ros2_cosim.core.scenario.grouping import AUTO
from ros2_cosim.core.scenario.schema import Scenario


class CpuMeter:
    """Processor time of the processes of a run between two reports of progress.

    The first reports come while everything is still warming up; so the first one counts from
    which on the run has been going on for a tenth of its time.
    """

    def __init__(self, sim_s: float) -> None:
        self._names: dict[int, str] = {}
        self._from = 0.1 * sim_s
        self._first: tuple[float, dict[int, float]] | None = None
        self._last: tuple[float, dict[int, float]] | None = None

    def started(self, pids: dict[str, int]) -> None:
        """Take the process ids by name."""
        self._names = {pid: name for name, pid in pids.items()}

    def progress(self, time_ns: int) -> None:
        """Read the processor times at a simulated time."""
        reading = time_ns / 1e9, cpu_seconds(self._names)
        if self._first is None and reading[0] >= self._from:
            self._first = reading
        if len(reading[1]) == len(self._names):
            self._last = reading

    def per_process(self) -> tuple[float, dict[str, float]]:
        """(simulated seconds, processor seconds by process name)."""
        if self._first is None or self._last is None:
            return 0.0, {}
        (t0, before), (t1, after) = self._first, self._last
        return t1 - t0, {self._names[pid]: after[pid] - before.get(pid, 0.0) for pid in after}


def _participants(summary: Summary) -> dict[str, dict[str, float]]:
    found = {}
    for entry in summary.participants:
        count = max(entry.activations, 1)
        found[entry.name] = {
            "compute_us": 1e6 * entry.compute_s / count,
            "transport_us": 1e6 * entry.transport_s / count,
            "wait_us": 1e6 * entry.wait_s / count,
        }
    return found


def run_shape(workload: str, subject: str, size: int, sim_s: float, bag: bool, out: Path) -> Result:
    """Run a workload in one of the shapes inproc, composed and ros.

    :param subject: the shape; with a second word, as ``ros own``, how participants share processes
    """
    shape, _, processes = subject.partition(" ")
    loop = workload == "loop"
    scenario = (
        speed_systems.loop_scenario(sim_s) if loop else speed_systems.lockstep_scenario(size, sim_s)
    )
    messages = loop_messages(round(sim_s / STEP_S)) if loop else 0
    out.mkdir(parents=True, exist_ok=True)
    if shape == "inproc":
        return _run_inproc(workload, scenario, size, sim_s, messages, bag, out)
    # The nodes import the models from here.
    here = str(Path(__file__).resolve().parent)
    os.environ["PYTHONPATH"] = os.pathsep.join(
        dict.fromkeys([here, str(Path(here).parent), *os.environ.get("PYTHONPATH", "").split(":")])
    ).rstrip(":")
    meter = CpuMeter(sim_s)
    summary = run_request(
        RunRequest(scenario, out=out, shape=shape, record=bag, processes=processes or AUTO),
        progress=meter.progress,
        on_started=meter.started,
    )
    cpu_sim_s, per_process = meter.per_process()
    return Result(
        workload,
        subject,
        size,
        summary.sim_time_s,
        summary.wall_time_s,
        sum(per_process.values()),
        cpu_sim_s,
        messages,
        processes={k: 1e6 * v / cpu_sim_s for k, v in per_process.items()} if cpu_sim_s else {},
        participants=_participants(summary),
    )


def _run_inproc(
    workload: str, scenario: Scenario, size: int, sim_s: float, messages: int, bag: bool, out: Path
) -> Result:
    readings = []
    summary = run_inproc(
        scenario,
        out,
        record=bag,
        progress=lambda time_ns: readings.append((time_ns / 1e9, time.process_time())),
    )
    (t0, cpu0), (t1, cpu1) = readings[0], readings[-1]
    return Result(
        workload,
        "inproc",
        size,
        summary.sim_time_s,
        summary.wall_time_s,
        cpu1 - cpu0,
        t1 - t0,
        messages,
        participants=_participants(summary),
    )
