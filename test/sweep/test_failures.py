# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Runs of a sweep that end in code of the user: each is named, and the others are done."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.failing_laws import FILE, PATIENCE_S, WORDS

from ros2_cosim.core.record.summary import read_summary
from ros2_cosim.lab.sweep.settings import load_sweep
from ros2_cosim.lab.sweep.sweep import run_sweep

ROOT = Path(__file__).parents[2]


@pytest.mark.usefixtures("nothing_left")
def test_a_run_that_fails_hangs_or_crashes_is_named_and_kept(tmp_path: Path) -> None:
    law = "participants.cacc1.parameters.law"
    changes = {"duration": "1s", "watchdog_s": PATIENCE_S, f"{law}_parameters": {}}
    sweep = tmp_path / "sweep.json"
    content = {
        "version": 1,
        "scenario": str(ROOT / "config" / "platoon.yaml"),
        "set": changes,
        "parameters": {law: [*(f"{FILE}:{name}" for name in WORDS), "ploeg_cacc"]},
    }
    sweep.write_text(json.dumps(content), encoding="utf-8")
    output = tmp_path / "out"
    result = run_sweep([load_sweep(sweep)], output, workers=0)
    assert {run.run_id: run.error for run in result.failed} == {
        "000001": f"{WORDS['Failing']}; traceback in runs/000001/traceback.txt",
        "000002": WORDS["Endless"],
        "000003": WORDS["Crashing"],
    }
    assert "line 30" in (output / "runs" / "000001" / "traceback.txt").read_text(encoding="utf-8")
    for run in result.failed:
        summary = read_summary(output / "runs" / run.run_id, complete=False)
        assert not summary.complete and not summary.passed
        assert run.error is not None and run.error.startswith(summary.end_reason.split(";")[0])
