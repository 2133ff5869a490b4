# SPDX-License-Identifier: Apache-2.0
"""``summary.json``: its fields, round trip, refusal of wrong content."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ros2_cosim.kernel.errors import ConfigurationError
from ros2_cosim.record.summary import (
    OrderViolations,
    ParticipantSummary,
    Summary,
    Verdict,
    read_summary,
    write_summary,
)

REQUIRED_OF_EVERY_RUN = {
    "scenario",
    "shape",
    "seed",
    "steps",
    "sim_time_s",
    "wall_time_s",
    "rtf",
    "trace_sha256",
    "repeatable",
    "causality",
    "participants",
    "verdicts",
}


def example(**changes: Any) -> Summary:
    content: dict[str, Any] = {
        "scenario": "platoon",
        "shape": "inproc",
        "seed": 7,
        "steps": 2500,
        "sim_time_s": 25.0,
        "wall_time_s": 0.4,
        "rtf": 62.5,
        "trace_sha256": "0" * 64,
        "repeatable": True,
        "causality": OrderViolations(),
        "participants": (ParticipantSummary(name="world", activations=2500, compute_s=0.1),),
        "verdicts": (
            Verdict(name="no collision", value=0, limit=0, passed=True),
            Verdict(name="stands", value=None, limit="before the end", passed=False),
        ),
        "collisions": 0,
        "min_gap_m": 6.5,
    }
    return Summary(**(content | changes))


def test_written_summaries_come_back(tmp_path: Path) -> None:
    summary = example()
    path = write_summary(tmp_path, summary)
    assert read_summary(tmp_path) == summary
    assert [entry.name for entry in tmp_path.iterdir()] == ["summary.json"]
    content = json.loads(path.read_text())
    assert content.keys() >= REQUIRED_OF_EVERY_RUN
    assert content["causality"] == {"timing": 0, "order": 0, "loss": 0}
    assert content["verdicts"][1] == {
        "name": "stands",
        "value": None,
        "limit": "before the end",
        "passed": False,
    }
    assert "final_gap_to_obstacle_m" not in content
    assert list(content) == sorted(content)


def test_a_run_that_is_not_repeatable_says_since_when_and_why(tmp_path: Path) -> None:
    summary = example(
        repeatable=False, not_repeatable_since_s=3.5, not_repeatable_reason="watchdog of cacc1"
    )
    write_summary(tmp_path, summary)
    assert read_summary(tmp_path).not_repeatable_since_s == 3.5
    with pytest.raises(ValueError, match="not_repeatable_reason"):
        example(repeatable=False)
    with pytest.raises(ValueError, match="not_repeatable_reason"):
        example(not_repeatable_reason="why")


def test_pass_and_violations_are_derived() -> None:
    assert not example().passed
    assert example(verdicts=()).passed
    assert example(causality=OrderViolations(timing=1, order=2, loss=3)).violations == 6


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("{", "not a run summary"),
        ("[]", "not a run summary"),
        ('{"scenario": "platoon"}', "shape: missing; seed: missing; .* and 6 more"),
        (None, "cannot be read"),
    ],
)
def test_wrong_files_are_refused(tmp_path: Path, text: str | None, complaint: str) -> None:
    if text is not None:
        (tmp_path / "summary.json").write_text(text)
    with pytest.raises(ConfigurationError, match=complaint):
        read_summary(tmp_path)


@pytest.mark.parametrize(
    "changes", [{"steps": -1}, {"rtf": float("nan")}, {"trace_sha256": "x"}, {"extra": 1}]
)
def test_wrong_values_are_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        example(**changes)
