# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Runs in paced real time without synchronisation (PRT): real processes over DDS."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ros2_cosim.core.documents.files import write_atomically
from ros2_cosim.core.documents.plain_data import read_record
from ros2_cosim.core.documents.run_files import RESOLVED_SCENARIO
from ros2_cosim.core.kernel.errors import RunError
from ros2_cosim.core.kernel.graph import Graph
from ros2_cosim.core.kernel.trace import run_digest
from ros2_cosim.core.messages.protocol import ParticipantReport
from ros2_cosim.core.run.bringup import bring_up
from ros2_cosim.core.run.request import RunOptions, RunRequest
from ros2_cosim.core.run.shape import RunCallbacks
from ros2_cosim.core.scenario.schema import OWN_PROCESS, Scenario
from ros2_cosim.ros.bringup.plan import Process
from ros2_cosim.ros.bringup.prepared import PreparedProcesses
from ros2_cosim.ros.bringup.running import run_processes
from ros2_cosim.ros.bringup.shapes import RosShape

#: Where the executables of this wing are.
PROGRAMS = "ros2_cosim.lab.programs"
RESULT_FILE = "free_running.json"
#: A run that reaches less than this share of the wanted factor has not kept up.
KEEPS_UP = 0.9
#: Distance of two points of a track [ns].
TRACK_STEP_NS = 100_000_000


@dataclass
class EgoTrack:
    """Covered way of a vehicle: times [s], and x since the start [m]."""

    times: list[float] = field(default_factory=list)
    way: list[float] = field(default_factory=list)
    _origin: float | None = None

    def add(self, stamp_ns: int, odometry: Any) -> None:
        """Take an odometry record; every tenth of a second is kept."""
        if self._origin is None:
            self._origin = odometry.x
        if stamp_ns % TRACK_STEP_NS == 0:
            self.times.append(stamp_ns / 1e9)
            self.way.append(odometry.x - self._origin)

    def data(self) -> dict[str, list[float]]:
        """As plain data."""
        return {"times": self.times, "way": self.way}


#: What is counted for each reader.
COUNTS = (
    "timing", "order", "loss", "messages", "late", "early", "wrong", "tied", "activations",
)  # fmt: skip

#: Those of them that the details of a report have.
_OWN_COUNTS = ("messages", "late", "early", "wrong", "tied")


def counted(readers: Mapping[str, Mapping[str, int]]) -> dict[str, Any]:
    """The counts of all readers together, and of each: fields of a run."""
    total = {kind: sum(reader[kind] for reader in readers.values()) for kind in COUNTS}
    return {**total, "readers": readers}


def write_free_run(
    output: Path,
    graph: Graph,
    reports: Mapping[str, ParticipantReport],
    track: EgoTrack,
    *,
    factor: float,
    end_ns: int,
    start_ns: int,
    complete: bool,
) -> Path:
    """Sum up the reports of a run and write them to ``free_running.json``.

    A message that was sent and never arrived counts as lost, also where no later message shows it.

    :param start_ns: time 0 on the monotonic clock
    :param complete: whether every activation ran
    """
    details = {
        name: json.loads(report.details_json)["free_running"] for name, report in reports.items()
    }
    readers = {}
    for name in graph.order:
        report, mine = reports[name], details[name]
        unseen = sum(
            max(0, details[c.source]["sent"][c.source_port] - mine["received"][str(c)])
            for c in graph.incoming(name)
        )
        readers[name] = {
            "timing": report.timing,
            "order": report.order,
            "loss": report.loss + unseen,
            **{kind: mine[kind] for kind in _OWN_COUNTS},
            "activations": report.activations,
        }
    wall_s = max(1, max(d["finished_ns"] for d in details.values()) - start_ns) / 1e9
    rtf = end_ns / 1e9 / wall_s
    run = {
        **counted(readers),
        "rtf": rtf,
        "wall_time_s": wall_s,
        "max_lag_s": max(d["max_lag_ns"] for d in details.values()) / 1e9,
        "kept_up": complete and rtf >= KEEPS_UP * factor,
        "trace_sha256": run_digest({name: r.trace_sha256 for name, r in reports.items()}),
        "track": track.data(),
    }
    path = output / RESULT_FILE
    write_atomically(path, json.dumps(run, allow_nan=False) + "\n")
    return path


def make_free_plan(scenario: Scenario, output: Path, factor: float, watched: str) -> list[Process]:
    """List the processes of a run without synchronisation, the clock last."""
    common = {
        "scenario_file": str(output / RESOLVED_SCENARIO),
        "factor": factor,
        "watched": watched,
    }

    def process(name: str, program: str, **parameters: str) -> Process:
        return Process(name, program, parameters=common | parameters, programs=PROGRAMS)

    plan = [process(name, "free_running", participant=name) for name in scenario.participants]
    return [*plan, process("clock", "free_running_clock", output=str(output))]


class FreeShape(RosShape):
    """As shape ``ros``, without synchronisation.

    :param factor: wanted real-time factor
    :param watched: topic of the odometry whose track is kept
    """

    def __init__(self, factor: float, watched: str) -> None:
        self._factor = factor
        self._watched = watched

    def plan(self, scenario: Scenario, options: RunOptions) -> list[Process]:
        """The processes, which keep time by themselves."""
        return make_free_plan(scenario, options.output, self._factor, self._watched)


def run_free(
    scenario: Scenario,
    output: Path,
    factor: float,
    *,
    watched: str,
    callbacks: RunCallbacks,
    domains: Sequence[int],
) -> dict[str, Any]:
    """Run a scenario in paced real time without synchronisation.

    :param output: directory for the files that the processes share
    :param factor: wanted real-time factor
    :param watched: topic of the odometry whose track is kept
    :param domains: ROS domains of which the first that is free is taken
    :returns: what :func:`write_free_run` has written
    :raises RunError: a process failed or ended before its time
    """
    request = RunRequest(
        scenario, out=output, rate=factor, record=False, transport="dds", processes=OWN_PROCESS
    )
    with bring_up(request, domains=domains, shape=FreeShape(factor, watched)) as prepared:
        assert isinstance(prepared, PreparedProcesses)
        result = prepared.output / RESULT_FILE
        result.unlink(missing_ok=True)
        run_processes(prepared, callbacks)
        if not result.is_file():
            raise RunError("the clock ended without a result")
        return dict(read_record(result))
