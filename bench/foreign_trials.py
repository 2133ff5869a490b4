# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Nodes of others, unmodified: whether a scenario written by looking runs, and always alike.

    python bench/foreign_trials.py TABLE [--runs 3] [--shape composed] [--set KEY=VALUE]

A line of TABLE is the name of a trial and the commands of its nodes, with ``|`` in between; a line
with ``#`` in front is none. For each trial ``cosim new --from-node`` writes the scenario, ``cosim
check`` checks it, and it runs on a quiet machine and on a busy one. It prints a table: traces
that differ are either told as not repeatable, or a fault of this project.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

_LONGEST_S = 300.0
_BURN = "import os\nparent = os.getppid()\nwhile os.getppid() == parent: pass"
#: Processes that do nothing but compute, for each processor.
_BUSY = 2


class Trial(NamedTuple):
    """What became of the nodes of one line.

    ``traces`` are those of the runs, ``named`` says why a run is not repeatable or did not end
    well.
    """

    name: str
    is_written: bool
    traces: tuple[str, ...]
    named: str

    @property
    def verdict(self) -> str:
        """What it shows."""
        if not self.is_written:
            return "not written"
        if "" in self.traces:
            return "ends early, named"
        if self.named:
            return "named"
        return "one trace" if len(set(self.traces)) == 1 else "DIFFERS"


def read_table(text: str) -> list[tuple[str, list[str]]]:
    """The trials of a table: name and commands."""
    lines = (line.strip() for line in text.splitlines())
    rows = [line.split("|") for line in lines if line and not line.startswith("#")]
    return [(name.strip(), [command.strip() for command in rest]) for name, *rest in rows]


@contextmanager
def busy_processors() -> Iterator[None]:
    """Keep all processors busy for a while."""
    count = _BUSY * (os.cpu_count() or 1)
    burning = [subprocess.Popen([sys.executable, "-c", _BURN]) for _ in range(count)]
    try:
        yield
    finally:
        for process in burning:
            process.kill()
            process.wait()


def cosim(words: Sequence[str], directory: Path) -> tuple[int, str]:
    """Exit code of a command, and the last line that it printed."""
    command = [sys.executable, "-m", "ros2_cosim.cli.main", *words]
    try:
        done = subprocess.run(
            command, cwd=directory, capture_output=True, text=True, timeout=_LONGEST_S
        )
    except subprocess.TimeoutExpired:
        return 1, f"takes longer than {_LONGEST_S:g} s"
    said = (done.stderr.strip() or done.stdout.strip()).splitlines()
    return done.returncode, said[-1] if said else ""


def tried(name: str, commands: Sequence[str], runs: int, options: Sequence[str]) -> Trial:
    """Write the scenario of nodes, and run it several times, quiet and busy."""
    with tempfile.TemporaryDirectory() as place:
        directory = Path(place)
        given = [word for command in commands for word in ("--from-node", command)]
        file = f"{name}.yaml"
        for words in (("new", name, *given), ("check", file)):
            code, said = cosim(words, directory)
            if code:
                return Trial(name, False, (), said)
        traces, named = [], ""
        for busy in (False, True):
            for number in range(runs):
                out = f"{'busy' if busy else 'quiet'}{number}"
                words = ("run", file, "--out", out, *options)
                if busy:
                    with busy_processors():
                        code, said = cosim(words, directory)
                else:
                    code, said = cosim(words, directory)
                summary = directory / out / "summary.json"
                found = json.loads(summary.read_text()) if summary.is_file() and not code else {}
                traces.append(found.get("trace_sha256", ""))
                named = named or found.get("not_repeatable_reason") or (said if code else "")
        return Trial(name, True, tuple(traces), named)


def main() -> None:
    """Print a row for each trial."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("table", type=Path)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--shape", default="composed")
    parser.add_argument("--set", action="append", default=[])
    given = parser.parse_args()
    options = ["--shape", given.shape, *(word for each in given.set for word in ("--set", each))]
    print("| Trial | Verdict | Traces | Said |\n|---|---|---|---|")
    for name, commands in read_table(given.table.read_text(encoding="utf-8")):
        trial = tried(name, commands, given.runs, options)
        traces = ", ".join(sorted({trace[:8] or "none" for trace in trial.traces}))
        print(f"| {name} | {trial.verdict} | {traces} | {trial.named[:200]} |", flush=True)


if __name__ == "__main__":
    main()
