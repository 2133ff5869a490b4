# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""How much faster a sweep is on several cores, and whether its results are the same.

``python -m bench.sweep [--runs 1000] [--cores 2] [--duration 20s] [--rounds 3]`` runs the car
following scenario with as many seeds, in each round on one core of this machine, then on several;
one worker for each. Scheduler and command share the cores with the workers. It prints the processor
time of all processes, too: on a machine that also does other work, that says more than wall time.
The median of the rounds says more than one of them. Each sweep has its own process, which loads
Dask anew, as ``cosim sweep`` does.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import psutil

from ros2_cosim.lab.sweep.settings import load_sweep
from ros2_cosim.lab.sweep.sweep import run_sweep

CONFIG = Path(__file__).resolve().parents[1] / "config" / "car_following.yaml"
SWEEP = """\
scenario: {scenario}
set: {{duration: {duration}}}
seeds: {runs}
"""


class Figure(NamedTuple):
    """One sweep: wall time and processor time [s], and its table."""

    wall_s: float
    cpu_s: float
    table: bytes


def processor_s() -> float:
    """Processor time [s] of this process, its children, and their children that have ended."""
    this = psutil.Process()
    return sum(sum(each.cpu_times()[:4]) for each in (this, *this.children()))


def measure(place: Path, runs: int, duration: str, cores: set[int]) -> Figure:
    """Run the sweep once on these cores.

    :raises AssertionError: a run failed
    """
    os.sched_setaffinity(0, cores)
    os.chdir(place)  # the table has the path as it is given
    file = Path("sweep.yaml")
    file.write_text(SWEEP.format(scenario=CONFIG, duration=duration, runs=runs))
    before, begun = processor_s(), time.perf_counter()
    result = run_sweep([load_sweep(file)], place / "out")
    wall, cpu = time.perf_counter() - begun, processor_s() - before
    assert not result.failed, result.failed
    return Figure(wall, cpu, (result.output / "runs.parquet").read_bytes())


def alone(place: Path, runs: int, duration: str, cores: set[int]) -> Figure:
    """Measure in a new process."""
    with ProcessPoolExecutor(1, get_context("spawn")) as process:
        return process.submit(measure, place, runs, duration, cores).result()


def main() -> int:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--duration", default="20s")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    known = sorted(os.sched_getaffinity(0))
    if not 2 <= options.cores <= len(known):
        parser.error(f"--cores: found {options.cores}; allowed are 2 to {len(known)}")
    if options.rounds < 1:
        parser.error(f"--rounds: found {options.rounds}; allowed are 1 and more")
    ratios, tables = [], set()
    print(f"{'cores':>6} {'wall [s]':>9} {'processor [s]':>14}")
    for _ in range(options.rounds):
        walls = []
        for cores in (1, options.cores):
            with TemporaryDirectory() as place:
                figure = alone(Path(place), options.runs, options.duration, set(known[:cores]))
            print(f"{cores:>6} {figure.wall_s:>9.1f} {figure.cpu_s:>14.1f}", flush=True)
            walls.append(figure.wall_s)
            tables.add(figure.table)
        ratios.append(walls[0] / walls[1])
    each = ", ".join(f"{ratio:.2f}" for ratio in ratios)
    print(f"{statistics.median(ratios):.2f} times as fast (median of {each})")
    print(f"tables {'equal' if len(tables) == 1 else 'DIFFER'}")
    return 0 if len(tables) == 1 else 1


if __name__ == "__main__":
    sys.exit(main())
