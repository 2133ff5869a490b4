# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A few of the disturbed runs, and that the bench draws the same ones for the same seed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.isolation import without_dds_settings

pytest.importorskip("rclpy", reason="needs rclpy, which make setup installs")

BENCH = Path(__file__).resolve().parents[2] / "bench"
#: Guards against hanging only.
HANG_S = 280


def bench(name: str, *options: object) -> subprocess.CompletedProcess[str]:
    environment = without_dds_settings(os.environ)
    return subprocess.run(
        [sys.executable, str(BENCH / name), *map(str, options)],
        capture_output=True,
        text=True,
        timeout=HANG_S,
        env=environment,
    )


def test_disturbed_runs_end_as_the_rules_say(tmp_path: Path) -> None:
    out = tmp_path / "chaos.json"
    options = ("--runs", 2, "--seed", 34, "--jobs", 2, "--limit", HANG_S, "--out", out)
    done = bench("chaos.py", *options, "--only", "kill", "message twice", "answer twice")
    assert done.returncode == 0, done.stdout + done.stderr
    outcomes = json.loads(out.read_text())
    # By this seed one of each, among as few participants as there can be.
    assert [outcome["kind"] for outcome in outcomes] == ["kill", "message twice"]
    assert [outcome["wrong"] for outcome in outcomes] == ["", ""]
    assert "| all | 2 | 2 |" in done.stdout


@pytest.mark.usefixtures("ros_domain")
def test_many_participants_are_measured(tmp_path: Path) -> None:
    out = tmp_path / "many.json"
    options = ("--sizes", 4, "--steps", 20, "--shapes", "inproc", "composed", "--out", out)
    done = bench("many_participants.py", *options)
    assert done.returncode == 0, done.stdout + done.stderr
    results = json.loads(out.read_text())
    assert [r["arrangement"] for r in results] == ["inproc", "composed"]
    assert [r["participants"] for r in results] == [4, 4]
    assert len({r["trace_sha256"] for r in results}) == 1
    assert min(r[part] for r in results for part in ("around_s", "step_ms")) > 0.0
