# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""``summary.json``: its fields, round trip, refusal of wrong content."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.model import Repeatability
from ros2_cosim.core.record.realtime_summary import (
    DeadlineSummary,
    HistogramSummary,
    RealtimeSummary,
)
from ros2_cosim.core.record.summary import (
    BranchOrigin,
    Breakdown,
    DataCounts,
    DcpData,
    MadeChange,
    OrderViolations,
    ParticipantSummary,
    RepeatabilityCause,
    Summary,
    Verdict,
    figure_text,
    print_repetitions,
    print_summary,
    read_summary,
    repeatability,
    summary_lines,
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


COUNTS = ("received", "lost", "duplicated", "reordered", "refused", "held", "extrapolated")
NOTHING = dict.fromkeys(COUNTS, 0)
#: What each part of a summary has beside the number in question.
NUMBERS: list[tuple[type[Any], str, dict[str, Any]]] = [
    *((OrderViolations, key, {}) for key in ("timing", "order", "loss")),
    (ParticipantSummary, "activations", {"name": "a"}),
    *(
        (ParticipantSummary, key, {"name": "a", "activations": 0})
        for key in ("compute_s", "wait_s", "transport_s", "entered_s", "left_s")
    ),
    *((Breakdown, key, {}) for key in ("compute_s", "wait_s", "transport_s")),
    *((DataCounts, key, NOTHING) for key in COUNTS),
    (BranchOrigin, "time_s", {"checkpoint": "x.ckpt"}),
    (MadeChange, "time_s", {"set": "rate", "by": "page"}),
    *(
        (Summary, key, example().model_dump())
        for key in ("steps", "sim_time_s", "wall_time_s", "startup_time_s", "rtf", "collisions")
    ),
]


@pytest.mark.parametrize(
    ("kind", "key", "more"), NUMBERS, ids=[f"{kind.__name__}.{key}" for kind, key, _ in NUMBERS]
)
def test_numbers_may_be_nought_and_are_never_below(
    kind: type[Any], key: str, more: dict[str, Any]
) -> None:
    assert getattr(kind(**{**more, key: 0}), key) == 0
    with pytest.raises(ValueError, match=key):
        kind(**{**more, key: -1})


def test_times_and_factors_have_a_largest_value() -> None:
    assert example(sim_time_s=1e10, rtf=1e12).sim_time_s == 1e10
    for key, value in (("sim_time_s", 1.001e10), ("rtf", 1.001e12)):
        with pytest.raises(ValueError, match=key):
            example(**{key: value})


def test_what_is_left_out_of_a_summary_is_nothing() -> None:
    required = {
        "scenario": "x", "shape": "ros", "seed": 1, "steps": 1, "sim_time_s": 1.0,
        "wall_time_s": 1.0, "rtf": 1.0, "trace_sha256": "0" * 64, "repeatable": True,
        "causality": {},
    }  # fmt: skip
    found = Summary(**required)
    assert found.complete and found.passed and found.startup_time_s == 0.0
    assert found.breakdown == Breakdown(compute_s=0.0, wait_s=0.0, transport_s=0.0)
    assert found.causality == OrderViolations(timing=0, order=0, loss=0)
    one = ParticipantSummary(name="a", activations=1)
    assert (one.compute_s, one.wait_s, one.transport_s) == (0.0, 0.0, 0.0)


def test_without_its_end_a_run_has_no_trace_and_does_not_pass() -> None:
    reason = {"repeatable": False, "not_repeatable_reason": "the run is not complete"}
    found = example(complete=False, trace_sha256="", verdicts=(), **reason)
    assert not found.passed
    for changes in ({"complete": False}, {"trace_sha256": ""}):
        with pytest.raises(ValueError, match="trace_sha256 must be given if, and only if"):
            example(**changes)


def test_a_run_without_its_end_is_read_where_that_suffices(tmp_path: Path) -> None:
    reason = {"repeatable": False, "not_repeatable_reason": "the run is not complete"}
    cut = example(complete=False, trace_sha256="", end_reason="killed", **reason)
    write_summary(tmp_path, cut)
    assert read_summary(tmp_path, complete=False) == cut
    with pytest.raises(ConfigurationError, match="the run is not complete: killed"):
        read_summary(tmp_path)


def test_harm_is_what_was_lost_or_made_up_in_both_directions() -> None:
    """Of each direction the larger one: a step without data may be that of a lost PDU."""
    outputs = DataCounts(**{**NOTHING, "received": 90, "lost": 2, "held": 3, "extrapolated": 1})
    inputs = DataCounts(**{**NOTHING, "lost": 5, "held": 1, "duplicated": 9, "refused": 9})
    assert DcpData(missing="hold").harmed == 0
    assert DcpData(missing="hold", outputs=outputs).harmed == 4
    assert DcpData(missing="hold", inputs=inputs).harmed == 5
    assert DcpData(missing="hold", outputs=outputs, inputs=inputs).harmed == 9


def test_the_earliest_cause_tells_since_when_a_run_cannot_be_repeated() -> None:
    assert repeatability([], Repeatability.SAME_MACHINE) == {
        "repeatable": True,
        "repeatable_scope": "same_machine",
    }
    causes = [
        RepeatabilityCause(None, "some time"),
        RepeatabilityCause(2.0, "late"),
        RepeatabilityCause(0.0, "first"),
        RepeatabilityCause(0.5, "early"),
    ]
    assert repeatability(causes, Repeatability.EVERYWHERE) == {
        "repeatable": False,
        "repeatable_scope": "no",
        "not_repeatable_since_s": 0.0,
        "not_repeatable_reason": "first; early; late; some time",
    }
    assert repeatability(causes[:1], Repeatability.NO)["not_repeatable_since_s"] is None


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "\N{EN DASH}"),
        (True, "yes"),
        (False, "no"),
        (2.345678, "2.346"),
        (123456, "123456"),
        ("before the end", "before the end"),
    ],
)
def test_figures_are_short_texts(value: Any, text: str) -> None:
    assert figure_text(value) == text


def test_a_run_in_a_few_lines(capsys: pytest.CaptureFixture[str]) -> None:
    pair = {"pair": ("a", "b")}
    summary = example(
        startup_time_s=1.5,
        end_reason="the duration",
        verdicts=(
            Verdict(name="gap", value=2.345678, limit=2.0, passed=True, time_s=3.0, **pair),
            Verdict(name="contact", value=1, limit=0, passed=False, **pair),
            Verdict(name="stands", value=None, limit="before the end", passed=False),
        ),
        realtime=RealtimeSummary(hard="granted: locked memory"),
        repeatable=False,
        not_repeatable_since_s=3.5,
        not_repeatable_reason="watchdog",
    )
    lines = [
        "platoon: 25.00 s simulated in 0.40 s (real-time factor 62.50, start-up 1.50 s): "
        "the duration",
        "  gap: 2.346, a to b at 3.00 s (limit 2.0) passed",
        "  contact: 1, a to b (limit 0) FAILED",
        "  stands: \N{EN DASH} (limit before the end) FAILED",
        f"  trace {'0' * 64}",
        "  granted: locked memory",
        "  not repeatable from 3.5 s on: watchdog",
    ]
    assert summary_lines(summary) == lines
    print_summary(summary)
    assert capsys.readouterr().out.splitlines() == lines
    at_some_time = example(repeatable=False, not_repeatable_reason="why")
    assert summary_lines(at_some_time)[-1] == "  not repeatable: why"
    assert summary_lines(example())[-1] == f"  trace {'0' * 64}"
    counts = {"cacc1": {"fault.slow": 12, "fault.jam": 0, "mode": 3}, "v2v": {"fault.one": 1}}
    assert summary_lines(example(figures=counts))[-2] == (
        "  faults: jam acted on no messages, slow acted on 12 messages, one acted on 1 message"
    )
    judged = Verdict(name="no_collision", value=2, limit=0, passed=False)
    for verdicts, found in (((), True), ((judged,), False)):
        text = summary_lines(example(collisions=2, verdicts=verdicts))
        assert ("  collisions: 2, which no verdict judges" in text) is found


def test_repetitions_are_compared_with_the_first_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = example(end_reason="done")
    other = {"trace_sha256": "1" * 64, "end_reason": "done"}
    kinds = {"same": {"end_reason": "done"}, "other": other, "short": {**other, "sim_time_s": 9.0}}
    for name, changes in kinds.items():
        (tmp_path / name).mkdir()
        write_summary(tmp_path / name, example(**changes))

    def differing(*names: str, asked: bool = True) -> str:
        return print_repetitions(first, [tmp_path / name for name in names], asked=asked)

    assert differing("same", "same") == ""
    line = "same: 25.00 s simulated in 0.40 s (real-time factor 62.50): done"
    assert capsys.readouterr().out.splitlines() == [
        *(line, f"  trace {'0' * 64}") * 2,
        f"3 repetitions, one trace {'0' * 64}",
    ]
    # The first one that differs is named, and no sum of repetitions is printed then.
    assert differing("same", "other", "short") == (
        f"traces differ: run 1 has {'0' * 64}, run 3 (other) has {'1' * 64}"
    )
    assert "repetitions" not in capsys.readouterr().out
    # A run that was reset by hand is compared with those of its length.
    assert differing("short", asked=False) == ""
    assert "repetitions" not in capsys.readouterr().out
    assert differing("short") != "" != differing("other", asked=False)


def test_the_figures_of_a_paced_run_in_lines() -> None:
    nothing = HistogramSummary()
    deadlines = {
        name: DeadlineSummary(
            policy="slip", deadline_s=0.01, overruns=overruns, jitter=nothing, lateness=nothing
        )
        for name, overruns in (("a", 2), ("b", 3))
    }
    found = RealtimeSummary(rate=0.5, deadlines=deadlines)
    assert found.overruns == 5
    assert found.lines() == ["paced at factor 0.5: 5 deadlines missed"]
