# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The benchmark of the late plant runs, and its runs are repeatable; times are not judged."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

BENCH = Path(__file__).resolve().parents[2] / "bench" / "realtime_platoon.py"


def test_late_plants_are_measured_and_repeated(tmp_path: Path) -> None:
    out = tmp_path / "realtime.json"
    command = [sys.executable, str(BENCH), "--quick", "--rate", "4", "--out", str(out)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    results = json.loads(out.read_text(encoding="utf-8"))["results"]
    assert [(r["by"], r["share"]) for r in results] == [
        (by, share) for by in ("stream", "clock") for share in (0.01, 0.05, 0.2)
    ]
    for result in results:
        assert result["same again"] and result["collisions"] == 0
    drawn = [result["late"] for result in results[:3]]
    assert drawn[0] < drawn[1] < drawn[2] < 0.3
    assert all(result["repeatable"] for result in results[:3])
    # A sleep longer than the budget is late on any machine.
    assert results[5]["late"] > 0 and not results[5]["repeatable"]
