# SPDX-License-Identifier: Apache-2.0
"""What models tell of themselves reaches the summary."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from ros2_cosim.record.summary import read_summary
from ros2_cosim.run.inproc import run_inproc
from ros2_cosim.scenario.schema import make_scenario

MODEL = """
class Told:
    def __init__(self, context):
        self.name = context.name

    def activate(self, step):
        return {}

    def figures(self):
        return {"packets": 3, "collisions": 0}

    def not_repeatable(self):
        return (20_000_000, "it asks the weather") if self.name == "outside" else None
"""


def test_figures_and_causes_of_models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "told_model.py").write_text(MODEL)
    monkeypatch.syspath_prepend(str(tmp_path))
    participant = {"model": "told_model:Told", "period": "10ms"}
    scenario = make_scenario(
        {
            "name": "told",
            "duration": "50ms",
            "participants": {"inside": participant, "outside": participant},
        },
        "test",
    )
    try:
        run_inproc(scenario, tmp_path, record=False)
    finally:
        sys.modules.pop("told_model", None)
    summary = read_summary(tmp_path)
    assert summary.figures == {"inside": {"packets": 3}, "outside": {"packets": 3}}
    assert summary.collisions == 0
    assert not summary.repeatable
    assert summary.not_repeatable_since_s == 0.02
    assert summary.not_repeatable_reason == "'outside': it asks the weather"
