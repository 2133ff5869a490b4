# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Systems of other projects beside plain executors: do runs differ, and what do they cost?

    python -m bench.foreign_systems [--runs 20] [--seconds 4] [--only determinism] [--json FILE]

``determinism`` is RSLCPP's test of that name, ``reference_system`` that of Autoware by
ros-realtime: see ``bench/systems/``. Each has all nodes in one process of a plain executor, where
time is that of the wall clock; and runs from the scenario that ``cosim new`` writes by looking at
its processes. All take turns, on a quiet machine and on a busy one. A plain run has no trace: its
order is, of each node, which callbacks ran, and on which samples. Of runs that are equally long to
the callback, it is the same or not.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shlex
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import NamedTuple

from bench.figures import percentile
from bench.foreign_trials import busy_processors, cosim
from bench.systems.reference_graph import COMMANDS, FUSIONS, PLANNED, ROOTS, SENSORS, TRANSFORMS

_SYSTEMS = Path(__file__).resolve().parent / "systems"
_PLANNER = "Lanelet2GlobalPlanner"
#: Processes of each system; no two nodes of one talk to each other.
PROCESSES = {
    "determinism": (("NodeA",), ("NodeB",), ("NodeC",), ("NodeD",)),
    "reference_system": (
        tuple(SENSORS),
        (*TRANSFORMS, _PLANNER),
        (
            *(name for name in FUSIONS if name != _PLANNER),
            "EuclideanClusterDetector",
        ),
        ("BehaviorPlanner", *COMMANDS),
    ),
}
#: The end of the path whose latency is measured; it begins at ROOTS.
_SINK = PLANNED[0]
_WAYS = {"one thread": (), "several threads": ("--threads",)}
LED = "ros2_cosim"

Order = dict[str, list[str]]


class Run(NamedTuple):
    """One run: wall and processor time for each second, latencies [ms], and what went wrong."""

    order: Order
    trace: str
    wall_s: float
    processor_s: float
    latencies_ms: list[float]
    named: str = ""


def read_logs(directory: Path) -> tuple[Order, list[float]]:
    """Node -> what its callbacks were given; and how long [ms] samples took from roots to sink."""
    order: Order = defaultdict(list)
    began: dict[tuple[str, str], int] = {}
    ended: list[tuple[list[tuple[str, str]], int]] = []
    for file in sorted(directory.glob("*.log")):
        for line in file.read_text(encoding="utf-8").splitlines():
            node, given, at = line.split()
            if node in ROOTS:
                began[node, str(len(order[node]))] = int(at)
            elif node == _SINK:
                ended.append((list(zip(ROOTS, given.split(","), strict=True)), int(at)))
            order[node].append(given)
    latencies = [
        (at - min(began[root] for root in roots)) / 1e6
        for roots, at in ended
        if all(root in began for root in roots)
    ]
    return dict(order), latencies


def _processor_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def plain(system: str, options: Sequence[str], seconds: float, place: Path) -> Run:
    """All nodes of a system in one process, by the wall clock."""
    program = str(_SYSTEMS / f"{system}.py")
    before = _processor_s()
    subprocess.run(
        [sys.executable, program, "--seconds", str(seconds), *options],
        env={**os.environ, "CALLBACK_LOG": str(place)},
        check=True,
    )
    used = _processor_s() - before
    order, latencies = read_logs(place)
    return Run(order, "", 1.0, used / seconds, latencies)


def led(system: str, seconds: float, directory: Path, place: Path) -> Run:
    """The scenario of a system, in shape composed."""
    before = _processor_s()
    os.environ["CALLBACK_LOG"] = str(place)
    length, out = f"duration={round(1000 * seconds)}ms", place / "out"
    words = ("run", f"{system}.yaml", "--shape", "composed", "--out", str(out), "--set", length)
    code, said = cosim(words, directory)
    del os.environ["CALLBACK_LOG"]
    used = _processor_s() - before
    if code:
        return Run({}, "", 0.0, 0.0, [], said)
    summary = json.loads((out / "summary.json").read_text(encoding="utf-8"))
    order, latencies = read_logs(place)
    return Run(
        order,
        summary["trace_sha256"],
        summary["wall_time_s"] / seconds,
        used / seconds,
        latencies,
        summary.get("not_repeatable_reason") or "",
    )


def different(runs: Sequence[Run]) -> int:
    """How many different orders runs have, as far as all of them go."""
    nodes = sorted({node for run in runs for node in run.order})
    length = {node: min(len(run.order.get(node, ())) for run in runs) for node in nodes}
    return len({json.dumps([run.order.get(n, [])[: length[n]] for n in nodes]) for run in runs})


def row(system: str, load: str, way: str, runs: Sequence[Run]) -> dict[str, object]:
    """Figures of runs of one kind."""
    good = [run for run in runs if run.order]
    latencies = [each for run in good for each in run.latencies_ms]
    traces = {run.trace for run in runs}
    return {
        "system": system,
        "machine": load,
        "executor": way,
        "runs": len(runs),
        "orders": different(good) if good else 0,
        "traces": len(traces) if way == LED else None,
        "wall_s": statistics.median(run.wall_s for run in good) if good else None,
        "processor_s": statistics.median(run.processor_s for run in good) if good else None,
        "latency_ms": statistics.median(latencies) if latencies else None,
        "latency_p99_ms": percentile(latencies, 0.99) if latencies else None,
        "named": next((run.named for run in runs if run.named), ""),
    }


def write_scenario(system: str, directory: Path) -> str:
    """Write the scenario by looking; why it cannot be, or nothing."""
    program = shlex.join([sys.executable, str(_SYSTEMS / f"{system}.py")])
    commands = [f"{program} {' '.join(nodes)}" for nodes in PROCESSES[system]]
    given = [word for command in commands for word in ("--from-node", command)]
    code, said = cosim(("new", system, *given), directory)
    if code:
        return said
    # Callbacks note when they begin, and draw how long they sleep by the time: no message has it.
    file = directory / f"{system}.yaml"
    opens = "    parameters:\n      script:"
    allowed = opens.replace("script", "allow_reads: [wall_clock]\n      script")
    file.write_text(file.read_text(encoding="utf-8").replace(opens, allowed))
    return ""


def measured(
    system: str, runs: int, seconds: float, ways: Sequence[str]
) -> list[dict[str, object]]:
    """Rows of one system, quiet and busy; all ways take turns."""
    rows = []
    with tempfile.TemporaryDirectory() as base:
        directory = Path(base)
        if said := write_scenario(system, directory):
            raise SystemExit(f"{system}: {said}")
        for load, busy in (("quiet", nullcontext), ("busy", busy_processors)):
            found: dict[str, list[Run]] = {way: [] for way in ways}
            for number in range(runs):
                for way in ways:
                    place = directory / f"{load}-{way.replace(' ', '_')}-{number}"
                    place.mkdir()
                    with busy():
                        found[way].append(
                            led(system, seconds, directory, place)
                            if way == LED
                            else plain(system, _WAYS[way], seconds, place)
                        )
            rows += [row(system, load, way, those) for way, those in found.items()]
    return rows


def _text(value: object) -> str:
    if value is None:
        return ""
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def main() -> None:
    """Print a row for each system, load and executor."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=4.0)
    parser.add_argument("--only", choices=tuple(PROCESSES), action="append")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    began, rows = time.monotonic(), []
    for number, system in enumerate(given.only or PROCESSES):
        found = measured(system, given.runs, given.seconds, (*_WAYS, LED))
        if not number:
            print("| " + " | ".join(found[0]) + " |\n" + "|---" * len(found[0]) + "|")
        for each in found:
            print("| " + " | ".join(map(_text, each.values())) + " |", flush=True)
        rows += found
        if given.json:
            given.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    print(f"took {time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    main()
