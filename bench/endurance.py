# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Endurance: one run of hours, watched from outside; or one scenario a thousand times.

After each stretch of simulated time a line says, of all processes of the run together, how much
memory they have, how many open files and threads, how large their output is, and what a simulated
second has cost. At the end it says whether memory and files have grown since the first ten
simulated minutes by more than is allowed; exit code 1 then.

    python bench/endurance.py --hours 24 --no-bag                # memory flat within 2 %
    python bench/endurance.py --hours 2                          # growth below 2 MB an hour
    python bench/endurance.py --hours 2 --shape ros
    python bench/endurance.py --repeat 1000                      # the platoon: every hash equal
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import uuid
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
ENDURANCE = ROOT / "config" / "endurance.yaml"
PLATOON = ROOT / "config" / "platoon.yaml"
MARK = "ROS2_COSIM_ENDURANCE_MARK"
#: Caches fill and the allocator settles in the first ten simulated minutes.
SETTLED_S = 600.0
#: Without a bag nothing is kept: memory is flat within this part.
FLAT = 0.02
#: With a bag, eight bytes a chunk and what the allocator makes of it [MB per simulated hour].
GROWTH_MB = 2.0
_MB = 1e6
_PAGE = os.sysconf("SC_PAGE_SIZE")
_TICK = os.sysconf("SC_CLK_TCK")


class Sample(NamedTuple):
    """All processes of a run at one moment; ``cpu_s`` is their CPU time so far."""

    simulated_s: float
    wall_s: float
    cpu_s: float
    rss_mb: float
    files: int
    threads: int
    output_mb: float


def processes(mark: str) -> Iterator[Path]:
    """The directories in ``/proc`` of the processes that have inherited a mark."""
    needle = f"{MARK}={mark}".encode()
    for directory in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if needle in (directory / "environ").read_bytes().split(b"\0"):
                yield directory


def sample(mark: str, simulated_s: float, began: float, output: Path) -> Sample:
    """Look at the processes of a run."""
    rss = files = threads = ticks = 0
    for directory in processes(mark):
        with suppress(OSError):
            fields = (directory / "stat").read_text().rpartition(")")[2].split()
            ticks += int(fields[11]) + int(fields[12])
            threads += int(fields[17])
            rss += int(fields[21]) * _PAGE
            files += len(os.listdir(directory / "fd"))
    size = sum(path.stat().st_size for path in output.rglob("*") if path.is_file())
    wall = time.monotonic() - began
    return Sample(simulated_s, wall, ticks / _TICK, rss / _MB, files, threads, size / _MB)


def watched(command: list[str], output: Path, every_s: float) -> tuple[list[Sample], str]:
    """Run a command that prints its simulated time; samples, and an error if it failed.

    A run that begins anew adds to the time of those before it. Of lines that have come together
    only the last one shows the present. A sample counts when simulated time has gone on after it:
    else it may be from the end, when files are closed already.
    """
    mark = uuid.uuid4().hex
    clock = _Clock()
    began = time.monotonic()
    samples: list[Sample] = []
    seen: Sample | None = None
    with tempfile.TemporaryFile("w+") as errors:
        run = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=errors,
            env=os.environ | {MARK: mark},
        )
        try:
            assert run.stdout is not None
            while said := run.stdout.read1(1 << 16):
                if not clock.take(said.decode()):
                    continue
                if seen is not None:
                    samples.append(seen)
                    print(row(samples), flush=True)
                    seen = None
                due = samples[-1].simulated_s + every_s if samples else 0.0
                if clock.simulated_s >= due:
                    seen = sample(mark, clock.simulated_s, began, output)
            run.wait()
        finally:
            if run.poll() is None:
                run.terminate()
                run.wait()
        errors.seek(0)
        return samples, errors.read().strip() if run.returncode else ""


class _Clock:
    """Simulated time [s] of runs one after the other, as their lines print it."""

    def __init__(self) -> None:
        self._before = self._newest = 0.0
        self._rest = ""

    def take(self, said: str) -> bool:
        """Take what was said; whether time has gone on."""
        *lines, self._rest = (self._rest + said).split("\n")
        found = [float(m[1]) for line in lines if (m := re.search(r": (\d+) s$", line.rstrip()))]
        for told in found:
            if told <= self._newest:
                self._before += self._newest
            self._newest = told
        return bool(found)

    @property
    def simulated_s(self) -> float:
        """The time of all runs together."""
        return self._before + self._newest


HEAD = (
    "| simulated h | wall s | CPU ms per simulated s | RSS MB | files | threads | output MB |\n"
    "|---:|---:|---:|---:|---:|---:|---:|"
)


def row(samples: list[Sample]) -> str:
    """The last sample as a line of the table; its cost is that since the one before."""
    last = samples[-1]
    before = samples[-2] if len(samples) > 1 else Sample(0.0, 0.0, 0.0, 0.0, 0, 0, 0.0)
    stretch = last.simulated_s - before.simulated_s
    cost = 1000.0 * (last.cpu_s - before.cpu_s) / stretch if stretch else 0.0
    return (
        f"| {last.simulated_s / 3600:.3f} | {last.wall_s:.0f} | {cost:.2f} | {last.rss_mb:.1f} | "
        f"{last.files} | {last.threads} | {last.output_mb:.1f} |"
    )


def judge(samples: list[Sample], *, bag: bool, settled_s: float = SETTLED_S) -> list[str]:
    """What has grown that must not; empty: nothing."""
    settled = [each for each in samples if each.simulated_s >= settled_s]
    if len(settled) < 2:
        return [f"too short: there are not two samples after {settled_s:g} simulated seconds"]
    first, last = settled[0], settled[-1]
    hours = (last.simulated_s - first.simulated_s) / 3600
    grown = last.rss_mb - first.rss_mb
    complaints = []
    # A run of minutes may gain a page or two: that is not growth by the hour.
    allowed = max(GROWTH_MB * hours, 1.0) if bag else FLAT * first.rss_mb
    if grown > allowed:
        complaints.append(f"memory grew by {grown:.1f} MB in {hours:.2f} h ({allowed:.1f} allowed)")
    for what, values in (
        ("open files", {each.files for each in settled}),
        ("threads", {each.threads for each in settled}),
    ):
        if len(values) > 1:
            complaints.append(f"{what}: {sorted(values)}")
    return complaints


def endure(options: argparse.Namespace, output: Path) -> list[str]:
    """One long run."""
    seconds = round(3600 * options.hours)
    command = [sys.executable, "-m", "ros2_cosim.cli.main", "run", str(ENDURANCE)]
    command += ["--shape", options.shape, "--set", f"duration={seconds}s", "--out", str(output)]
    command += [] if options.bag else ["--no-bag"]
    print(HEAD)
    samples, error = watched(command, output, options.every)
    if error:
        return [error]
    return judge(samples, bag=options.bag, settled_s=options.settled)


def repeat(options: argparse.Namespace, output: Path) -> list[str]:
    """The platoon many times in the same processes: memory, files and threads, and the traces."""
    command = [sys.executable, "-m", "ros2_cosim.cli.main", "run", str(PLATOON)]
    command += ["--shape", options.shape, "--repeat", str(options.repeat), "--out", str(output)]
    command += [] if options.bag else ["--no-bag"]
    print(HEAD)
    samples, error = watched(command, output, options.every)
    if error:
        return [error]
    found = Counter(
        json.loads(path.read_text())["trace_sha256"] for path in output.rglob("summary.json")
    )
    for trace, count in found.most_common():
        print(f"{count} runs with the trace {trace}")
    complaints = judge(samples, bag=options.bag, settled_s=options.settled)
    if len(found) != 1 or found.total() != options.repeat:
        complaints.append(
            f"{found.total()} runs of {options.repeat}, {len(found)} traces; one is allowed"
        )
    return complaints


def main(arguments: list[str] | None = None) -> int:
    """Run, print and judge; exit code 1 if something has grown, or a trace differs."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--hours", type=float, default=2.0, help="simulated")
    parser.add_argument("--shape", choices=("inproc", "composed", "ros"), default="inproc")
    parser.add_argument("--bag", action=argparse.BooleanOptionalAction, default=True)
    parser.add_argument("--every", type=float, default=600.0, help="simulated seconds per line")
    parser.add_argument("--settled", type=float, default=SETTLED_S, help="from then on [s]")
    parser.add_argument(
        "--repeat", type=int, default=0, help="run the platoon N times instead, in any shape"
    )
    parser.add_argument("--out", type=Path, help="output directory; else a temporary one")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as scratch:
        output = options.out or Path(scratch) / "out"
        complaints = repeat(options, output) if options.repeat else endure(options, output)
    for complaint in complaints:
        print(f"not good: {complaint}")
    if not complaints:
        print("good")
    return int(bool(complaints))


if __name__ == "__main__":
    sys.exit(main())
