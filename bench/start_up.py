# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""How long commands take from the start of the process to its end.

``python bench/start_up.py [--rounds 20] [--only run help ...]`` starts each command in turn, as a
prompt does: the interpreter with nothing loaded, its files in the memory of the system. It prints
median and quartiles of wall time, and of the processor time of all processes. On a machine that
also does other work, processor time says more.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parents[1]
PLATOON = f"{ROOT}/config/platoon.yaml"
COMMANDS = {
    "run": f"run {PLATOON} --shape inproc --set duration=1s",
    "help": "--help",
    "check": f"check {PLATOON}",
    "plan": f"plan {PLATOON}",
    "ros": f"run {PLATOON} --shape ros --set duration=1s",
}
#: Exit codes of commands that have done their work: the platoon does not stand after a second.
DONE = (0, 3)


def measure(command: str, place: Path) -> tuple[float, float]:
    """Wall time and processor time [s] of one command.

    :raises SystemExit: it failed
    """
    # The environment of a prompt: what prepares that of ROS wheels is part of the start.
    kept = {k: v for k, v in os.environ.items() if k != "_ROS_WHEELS_BOOTSTRAP_COMPLETE"}
    kept.pop("PYTHONDONTWRITEBYTECODE", None)
    words = [sys.executable, "-m", "ros2_cosim.cli.main", *COMMANDS[command].split()]
    before, began = _processor_s(), time.perf_counter()
    done = subprocess.run(words, cwd=place, env=kept, capture_output=True, text=True, check=False)
    wall = time.perf_counter() - began
    if done.returncode not in DONE:
        raise SystemExit(f"cosim {COMMANDS[command]}: exit code {done.returncode}\n{done.stderr}")
    return wall, _processor_s() - before


def _processor_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def in_words(times: list[float]) -> str:
    """The median, and the quartiles."""
    low, middle, high = statistics.quantiles(times, n=4, method="inclusive")
    return f"{middle:.3f} ({low:.3f} to {high:.3f})"


def main() -> None:
    """Measure, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--only", nargs="+", choices=COMMANDS, default=list(COMMANDS))
    options = parser.parse_args()
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in options.only}
    with TemporaryDirectory() as place:
        for name in options.only:
            measure(name, Path(place))  # modules are compiled, files are in memory
        for _ in range(options.rounds):
            for name, times in taken.items():
                times.append(measure(name, Path(place)))
    print("command  wall [s]                 processor [s]")
    for name, times in taken.items():
        wall, used = zip(*times, strict=True)
        print(f"{name:8} {in_words(list(wall)):24} {in_words(list(used))}")


if __name__ == "__main__":
    main()
