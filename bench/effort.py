# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What it takes to couple one vehicle in six ways, one of them over two transports.

The files are in ``bench/six_ways``; ``ways.yaml`` says which belong to a way, and by which commands
a run comes of them. This program runs these commands in a copy of the folder, the last one, the run
itself, in shape composed; counts commands, and net lines of the files; and takes from the summary
of the run what a step costs: wall time inside the participant and for its messages, of a long run
less a short one, so that starts are not in it. The ways take turns. Exit code 1 if the traces of
the runs are not all the same.

    python -m bench.effort [--rounds 5] [--seconds 12] [--json FILE] [--page]
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

import yaml

from bench.figures import Figure, counted, median_of, show
from buildtools.net_lines import of_text
from ros2_cosim.core.record.summary import Summary
from ros2_cosim.core.run.request import RunRequest
from ros2_cosim.core.run.start import run_request
from ros2_cosim.core.scenario.server_ports import server_ports

ROOT = Path(__file__).resolve().parents[1]
FILES = ROOT / "bench" / "six_ways"
PAGE = ROOT / "docs" / "claims.md"
FIRST, LAST = "<!-- generated: effort -->\n", "<!-- end of generated -->"
#: Ports in the files. Free ports replace them.
PORTS = ("6601", "6602")


class Way(NamedTuple):
    """One way of coupling, as ``ways.yaml`` has it."""

    equations: str
    files: Sequence[str]
    steps: Sequence[str]
    gives: str
    lacks: str

    @property
    def lines(self) -> tuple[int, int]:
        """Net lines: of code, and of descriptions and settings."""
        code = settings = 0
        for name in self.files:
            count = of_text(name, (FILES / name).read_text(encoding="utf-8"))
            if name.endswith((".yaml", ".xml")):
                settings += count
            else:
                code += count
        return code, settings

    @property
    def scenario(self) -> str:
        """The file of its run, which is its last step."""
        return self.steps[-1].removeprefix("cosim run ")


def read_ways() -> dict[str, Way]:
    """All ways by name."""
    text = (FILES / "ways.yaml").read_text(encoding="utf-8")
    return {name: Way(**settings) for name, settings in yaml.safe_load(text).items()}


@contextmanager
def prepared(way: Way) -> Iterator[Path]:
    """A copy of the folder in which all steps are done but the last; what they started, ends."""
    free = dict(zip(PORTS, map(str, server_ports()), strict=False))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(shutil.copytree(FILES, Path(name, "ways")))
        file = folder / way.scenario
        file.write_text(_with_ports(file.read_text(encoding="utf-8"), free), encoding="utf-8")
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        started: list[subprocess.Popen[bytes]] = []
        try:
            for step in way.steps[:-1]:
                words = ["bash", "-c", _with_ports(step.removesuffix("&"), free)]
                process = subprocess.Popen(
                    words, cwd=folder, env={**os.environ, "PATH": path}, start_new_session=True
                )
                started.append(process)
                if not step.endswith("&") and process.wait():
                    raise SystemExit(f"{step}: exit code {process.returncode}")
            yield folder
        finally:
            for process in started:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()


def _with_ports(text: str, free: Mapping[str, str]) -> str:
    return re.sub("|".join(PORTS), lambda found: free[found[0]], text)


def run(way: Way, seconds: float) -> Summary:
    """One run of a way."""
    with prepared(way) as folder:
        return run_request(
            RunRequest(
                folder / way.scenario,
                set=(f"duration={seconds:g}s",),
                shape="composed",
                out=folder / "out",
                record=False,
            )
        )


def cost(short: Summary, long: Summary) -> float:
    """Time of a step of the vehicle [us]."""
    (few, before), (many, after) = (
        (found.activations, found.compute_s + found.transport_s)
        for summary in (short, long)
        for found in summary.participants
        if found.name == "vehicle"
    )
    return 1e6 * (after - before) / (many - few)


def measure(rounds: int, seconds: float) -> tuple[dict[str, list[float]], set[str]]:
    """What a step of each way takes [us], and the traces of all long runs."""
    ways = read_ways()
    took: dict[str, list[float]] = {name: [] for name in ways}
    traces = set()
    for _ in range(rounds):
        for name, way in ways.items():
            short, long = run(way, 0.1 * seconds), run(way, seconds)
            took[name].append(cost(short, long))
            traces.add(long.trace_sha256)
    return took, traces


def table(took: Mapping[str, Sequence[float]]) -> list[str]:
    """The lines of the table."""
    lines = [
        "| Way | Code | Settings | Commands | Step | Gives | Lacks |",
        "|---|---:|---:|---:|---:|---|---|",
    ]
    for name, way in read_ways().items():
        code, settings = way.lines
        lines.append(
            f"| {name} | {code} | {settings} | {len(way.steps)} "
            f"| {statistics.median(took[name]):.0f} us | {way.gives} | {way.lacks} |"
        )
    return lines


def figures_of(took: Mapping[str, Sequence[float]], traces: set[str]) -> list[Figure]:
    """All figures."""
    figures = [counted("different traces", len(traces))]
    for name, way in read_ways().items():
        code, settings = way.lines
        figures += [
            counted(f"{name}: lines of code", code, "lines"),
            counted(f"{name}: lines of settings", settings, "lines"),
            counted(f"{name}: commands", len(way.steps)),
            median_of(f"{name}: step", took[name], "us"),
        ]
    return figures


def write_page(page: Path, lines: Sequence[str]) -> None:
    """Put the table between the two marks of the page."""
    head, first, rest = page.read_text(encoding="utf-8").partition(FIRST)
    _, last, tail = rest.partition(LAST)
    if not last:
        raise SystemExit(f"{page}: the lines {FIRST.strip()!r} and {LAST!r} are missing")
    page.write_text(head + first + "\n" + "\n".join(lines) + "\n\n" + last + tail, encoding="utf-8")


def main() -> int:
    """Measure, and say whether all traces are the same."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=12.0, help="of simulated time")
    parser.add_argument("--json", type=Path, metavar="FILE")
    parser.add_argument("--page", action="store_true", help=f"write the table of {PAGE.name}")
    chosen = parser.parse_args()
    # Every process of a run finds the driver and the models beside the scenarios.
    os.environ["PYTHONPATH"] = os.pathsep.join([str(FILES), str(ROOT)])
    sys.path.insert(0, str(FILES))
    took, traces = measure(chosen.rounds, chosen.seconds)
    show(figures_of(took, traces), chosen.json)
    if chosen.page:
        write_page(PAGE, table(took))
    return int(len(traces) > 1)


if __name__ == "__main__":
    sys.exit(main())
