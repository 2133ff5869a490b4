# SPDX-License-Identifier: Apache-2.0
"""Runs of a sweep that end in code of the user: each is named, and the others are done."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ros2_cosim.record.summary import read_summary
from ros2_cosim.sweep.settings import load_sweep
from ros2_cosim.sweep.sweep import run_sweep

ROOT = Path(__file__).parents[2]
LAWS = """\
import ctypes
import time


class Counting:
    calls = 0

    def acceleration(self, measurement):
        self.calls += 1
        if self.calls > 5:
            self.end()
        return 0.0


class Failing(Counting):
    def end(self):
        {}["kp"]


class Endless(Counting):
    def end(self):
        time.sleep(1e6)


class Crashing(Counting):
    def end(self):
        ctypes.string_at(0)
"""


@pytest.mark.usefixtures("nothing_left")
def test_a_run_that_fails_hangs_or_crashes_is_named_and_kept(tmp_path: Path) -> None:
    file = tmp_path / "laws.py"
    file.write_text(LAWS, encoding="utf-8")
    law = "participants.cacc1.parameters.law"
    changes = {"duration": "1s", "watchdog_s": 0.3, f"{law}_parameters": {}}
    names = ("Failing", "Endless", "Crashing")
    sweep = tmp_path / "sweep.json"
    content = {
        "version": 1,
        "scenario": str(ROOT / "config" / "platoon.yaml"),
        "set": changes,
        "parameters": {law: [*(f"{file}:{name}" for name in names), "ploeg_cacc"]},
    }
    sweep.write_text(json.dumps(content), encoding="utf-8")
    output = tmp_path / "out"
    result = run_sweep(load_sweep(sweep), output, workers=0)
    assert {run.run_id: run.error for run in result.failed} == {
        "000001": "participant 'cacc1' failed in its activation 6 at 200ms: KeyError: 'kp' "
        f"({file}, line 17); traceback in runs/000001/traceback.txt",
        "000002": "participant 'cacc1' has not returned from its activation 6 at 200ms for 0.3 s "
        f"of wall time ({file}, line 22)",
        "000003": f"participant 'cacc1' ({file}) crashed by SIGSEGV in its activation at 200ms",
    }
    assert "line 17" in (output / "runs" / "000001" / "traceback.txt").read_text(encoding="utf-8")
    for run in result.failed:
        summary = read_summary(output / "runs" / run.run_id, complete=False)
        assert not summary.complete and not summary.passed
        assert run.error is not None and run.error.startswith(summary.end_reason.split(";")[0])
