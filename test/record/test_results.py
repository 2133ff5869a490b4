# SPDX-License-Identifier: Apache-2.0
"""What models tell of themselves reaches the summary."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from ros2_cosim.record.realtime_summary import (
    CouplingSummary,
    HistogramSummary,
    InputSummary,
    RealtimeSummary,
)
from ros2_cosim.record.results import NoBag, open_sink
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
        return {"packets": 3, "collisions": 0, "dcp_data": {self.name: {"missing": "hold"}}}

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
    assert summary.dcp_data is not None
    assert {slave: found.missing for slave, found in summary.dcp_data.items()} == {
        "inside": "hold",
        "outside": "hold",
    }
    assert not summary.repeatable
    assert summary.not_repeatable_since_s == 0.02
    assert summary.not_repeatable_reason == "'outside': it asks the weather"


def test_counts_may_be_nought_and_are_never_below() -> None:
    found = RealtimeSummary(ticks=0, late_ticks=0, slipped_s=0.0)
    assert found == RealtimeSummary() and found.overruns == 0 and found.lines() == []
    assert HistogramSummary(number=0, mean_s=0.0, largest_s=0.0) == HistogramSummary()
    assert InputSummary(estimates=0, largest_error=0.0).estimates == 0
    nothing = {key: 0 for key in COUPLING}
    assert CouplingSummary(**nothing, load=0.0).load == 0.0
    for kind, key in (
        *((RealtimeSummary, key) for key in ("ticks", "late_ticks", "slipped_s", "rate")),
        *((HistogramSummary, key) for key in ("number", "mean_s", "largest_s")),
    ):
        with pytest.raises(ValueError, match=key):
            kind(**{key: -1})
    for key in (*COUPLING, "load"):
        with pytest.raises(ValueError, match=key):
            CouplingSummary(**{**nothing, key: -1})
    with pytest.raises(ValueError, match="rate"):
        RealtimeSummary(rate=0.0)


COUPLING = (
    "exchanges", "estimates", "late", "never_delivered", "mean_lateness_s", "longest_lateness_s"
)  # fmt: skip


def test_without_a_bag_messages_are_dropped(tmp_path: Path) -> None:
    sink = open_sink(tmp_path, None, None, False)  # type: ignore[arg-type]
    sink.write("/x", 0, 0, b"")
    sink.advance(1)
    sink.close()
    assert isinstance(sink, NoBag) and list(tmp_path.iterdir()) == []
