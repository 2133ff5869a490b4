# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A run-ahead window of zero: no step begins before all others have finished the step before."""

from __future__ import annotations

import json
from pathlib import Path

from runs.cosim_process import PLATOON, cosim, user_environment

SHORT = ("--set", "duration=2s", "--no-bag")
VERDICT_NOT_MET = 3


def trace(directory: Path, *options: object) -> str:
    """The trace hash of two seconds of the platoon (too short to stand still)."""
    with user_environment(directory / "ros-log") as environment:
        result = cosim(environment, PLATOON, "--out", directory / "out", *SHORT, *options)
    assert result.code == VERDICT_NOT_MET, result
    summary = json.loads((directory / "out" / "summary.json").read_text())
    assert summary["sim_time_s"] == 2.0
    assert summary["causality"] == {"timing": 0, "order": 0, "loss": 0}
    return str(summary["trace_sha256"])


def test_lockstep_gives_the_same_trace(tmp_path: Path) -> None:
    lockstep = trace(tmp_path / "lockstep", "--shape", "ros", "--set", "run_ahead=0")
    assert lockstep == trace(tmp_path / "reference", "--shape", "inproc")
