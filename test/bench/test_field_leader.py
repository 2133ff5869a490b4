# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The bench of recorded leaders: its measures by known answers, and one short run."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from bench.field_leader import STEP, Measured, best_lag, measured, read_field, run, table, time_gap

LAG = 1.4


def speed(t: float) -> float:
    return 15.0 + 1.5 * math.sin(0.7 * t) + 0.8 * math.sin(1.3 * t)


def field(path: Path, seconds: float) -> Path:
    """A table as OpenACC's: the follower does the same as the leader, LAG later, 1.2 s behind."""
    lines = ["Date,8,10,2019", "Vehicle_order,A,B,", "ACC,1", "Time,Speed1,E1,Speed2,IVS1"]
    for k in range(int(seconds / STEP) + 1):
        t = k * STEP
        own = speed(t - LAG)
        cell = "" if k in (30, 31) else repr(own)
        lines.append(f"{100.0 + t:.1f},{speed(t)!r},0.0,{cell},{2.0 + 1.2 * own!r}")
    path.write_text("\n".join(lines) + "\n")
    return path


def test_lags_are_found(tmp_path: Path) -> None:
    found = read_field(field(tmp_path / "f.csv", 40.0), 0.0, 1e9)
    assert [len(found.speeds), len(found.gaps)] == [2, 1]
    assert time_gap(found) == pytest.approx(1.2)
    assert measured(*found.speeds).lag == pytest.approx(LAG)
    # A vehicle whose acceleration is the speed difference 0.6 s before.
    t = np.arange(0.0, 60.0, STEP)
    difference = np.sin(0.7 * t) + np.sin(1.9 * t)
    assert best_lag(difference, np.roll(difference, 6)) == pytest.approx(0.6)
    part = read_field(tmp_path / "f.csv", 110.0, 120.0)
    assert len(part.speeds[0]) == 101


def test_laws_follow_a_recorded_leader(tmp_path: Path) -> None:
    results = run(field(tmp_path / "f.csv", 12.0), ["path_acc"], 0.0, 1e9)
    assert results["recorded"][0].lag == pytest.approx(LAG, abs=STEP)
    (found,) = results["path_acc"]
    assert isinstance(found, Measured) and found.speed_rmse is not None
    assert 0.0 < found.speed_rmse < 2.0 and 0.0 < found.lag < 4.0
    assert len(table(results)) == 4
