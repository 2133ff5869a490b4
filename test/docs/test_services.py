# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The page about handlers, services and calls: its example runs."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGE = (DOCS / "services.md").read_text(encoding="utf-8")
HOW_TO = (DOCS / "how-to" / "call-a-service.md").read_text(encoding="utf-8")
EXAMPLE = re.compile(r"<!-- example: (\S+) -->\n```\w+\n(.*?)```", re.DOTALL)


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    for name, text in EXAMPLE.findall(HOW_TO):
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def cosim(directory: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """In a process: the example ties a record to a standard message type."""
    return subprocess.run(
        [sys.executable, "-m", "ros2_cosim.cli.main", *arguments],
        cwd=directory,
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join((str(directory), *filter(None, sys.path))),
        },
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_example_runs_and_requests_are_answered_at_the_times_of_the_page(
    directory: Path,
) -> None:
    done = cosim(directory, "run", "services.yaml", "--shape", "inproc", "--out", "out")
    assert done.returncode == 0, done.stderr
    times = json.loads((directory / "out" / "activations.json").read_text(encoding="utf-8"))
    assert [t // 1_000_000 for t in times["map"][:2]] == [5, 105]
    assert [t // 1_000_000 for t in times["car"][:4]] == [0, 25, 100, 125]


def test_a_call_without_latency_is_refused_by_the_line_of_the_page(directory: Path) -> None:
    changes = (
        "--set=participants.car.calls.limit.latency=0",
        "--set=participants.map.services.limit.latency=0",
    )
    done = cosim(directory, "check", "services.yaml", *changes)
    shown = re.search(r"^zero-delay loop: .*?Two ways out:", PAGE, re.MULTILINE)
    assert shown
    assert done.returncode == 1
    assert shown[0] in done.stderr
    assert len(done.stderr.splitlines()) == 1
