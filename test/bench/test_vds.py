# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

BENCH = Path(__file__).resolve().parents[2] / "bench" / "vds_realtime.py"


@pytest.mark.usefixtures("nothing_left")
def test_pacing_exchange_and_lock_step_are_measured(tmp_path: Path) -> None:
    out = tmp_path / "vds.json"
    command = [sys.executable, str(BENCH), "--quick", "--out", str(out)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    results = {found["workload"]: found for found in json.loads(out.read_text())["results"]}
    assert list(results) == ["pacing", "exchange", "lockstep"]
    for name, result in results.items():
        assert result["states"] > 0 and f"{name}: " in done.stdout
        # Each state was answered by a command; the last ones may come after the end.
        accepted = result["server"]["commands"]["v0"]["accepted"]
        assert 0 < accepted <= result["states"] + 1
        assert result["server"]["commands"]["v0"]["malformed"] == 0
    steps = {name: result["server"]["steps"] for name, result in results.items()}
    assert steps == {"pacing": 200, "exchange": 1000, "lockstep": 1000}
    assert results["lockstep"]["states_lost"] == 0
