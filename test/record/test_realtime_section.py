# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What a run against the wall clock leaves: its part of the summary, records, and charts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ros2_cosim.core.realtime.arrivals import read_arrivals
from ros2_cosim.core.record.realtime_results import late_results, realtime_summary, write_records
from ros2_cosim.core.record.realtime_summary import (
    CouplingSummary,
    DeadlineSummary,
    HistogramSummary,
    RealtimeSummary,
)
from ros2_cosim.lab.report.realtime_report import ErrorRow, error_rows, realtime_charts

NONE = HistogramSummary()


def coupling(**more: Any) -> CouplingSummary:
    keys = ("exchanges", "estimates", "late", "never_delivered")
    return CouplingSummary(
        **{**dict.fromkeys(keys, 0), "mean_lateness_s": 0.0, "longest_lateness_s": 0.0, **more}
    )


def deadline(jitter: HistogramSummary = NONE, lateness: HistogramSummary = NONE) -> DeadlineSummary:
    return DeadlineSummary(
        policy="slip", deadline_s=0.01, overruns=0, jitter=jitter, lateness=lateness
    )


def test_a_run_has_charts_of_what_was_late() -> None:
    cases = ((0.5, 0.02, 1.5, "out.x"), (1.0, None, 2.5, "out.x"), (1.5, 0.03, None, ""))
    jitter = HistogramSummary(classes=((None, 1), (0.002, 0), (0.001, 4)))
    found = RealtimeSummary(
        jitter=jitter,
        deadlines={"plant": deadline(jitter=HistogramSummary(classes=((0.004, 3),)))},
        couplings={"quick": coupling(), "slow": coupling(cases=cases)},
    )
    charts = {chart.title: str(chart.svg) for chart in realtime_charts(found)}
    # No deadline was missed.
    assert list(charts) == ["Jitter", "Late results", "Errors of estimates"]
    bars = charts["Jitter"]
    titles = ("up to 1 ms, pacing: 4", "up to 4 ms, plant: 3", "longer, pacing: 1")
    places = [bars.index(f"<title>{title}</title>") for title in titles]
    assert places == sorted(places) and bars.count("<rect") == 3
    # The second part is late by 20 and 30 ms, and wrong by 1.5 and 2.5; each is a dot.
    curve = 'class="dots" data-label="slow" stroke="var(--c1)"'
    late, wrong = charts["Late results"], charts["Errors of estimates"]
    assert curve in late and 'data-x="0.5 1.5" data-y="20.0 30.0"' in late
    assert curve in wrong and 'data-x="0.5 1.0" data-y="1.4 2.6"' in wrong
    assert "quick" not in late and "quick" not in wrong


def test_without_data_there_are_no_charts() -> None:
    assert realtime_charts(None) == [] == realtime_charts(RealtimeSummary())
    lateness = HistogramSummary(classes=((0.01, 2),))
    missed = RealtimeSummary(deadlines={"plant": deadline(lateness=lateness)})
    assert [chart.title for chart in realtime_charts(missed)] == ["Overruns"]
    assert "<title>up to 10 ms, plant: 2</title>" in realtime_charts(missed)[0].svg


def test_the_table_of_errors_has_ten_rows() -> None:
    errors = tuple(("out", f"x{n}", 0.1, 1.0 + n) for n in range(12))
    found = error_rows(coupling(errors=errors, learned=(("out", "x1", 0.2, 0.3),)))
    assert len(found) == 10
    assert found[:2] == [ErrorRow("out.x0", 0.1, 1.0, 0.0), ErrorRow("out.x1", 0.1, 2.0, 0.3)]


def told(late: int = 0, since: float | None = None, wall: bool = True) -> dict[str, Any]:
    return {
        "coupling": {**coupling(late=late).model_dump(), "since_s": since},
        "depends_on_wall_clock": wall,
        "arrivals": [[10, 1]],
        "values": {},
    }


def test_only_lateness_on_the_wall_clock_cannot_be_repeated() -> None:
    parts = {
        "b": told(3, 0.5),
        "a": told(1, 0.25),
        "drawn": told(2, 0.1, wall=False),
        "punctual": told(),
        "plant": {"deadline": {}},
    }
    found = late_results(parts)
    assert [cause.since_s for cause in found] == [0.25, 0.5]
    assert found[1].why.startswith("3 results of 'b' were late on the wall clock and estimated; ")


def test_the_parts_of_the_summary_are_those_that_participants_have() -> None:
    assert realtime_summary({}, None) is None
    assert realtime_summary({}, {"rate": 2.0}) == RealtimeSummary(rate=2.0)
    parts = {"b": told(1, 0.5), "a": {"deadline": deadline().model_dump()}}
    found = realtime_summary(parts, None)
    assert found is not None and found.rate is None
    assert found.deadlines == {"a": deadline()}
    assert found.couplings == {"b": coupling(late=1, since_s=0.5)}
    assert found.inputs == {}


def test_records_are_those_of_slow_parts(tmp_path: Path) -> None:
    write_records(tmp_path, {"plant": {"deadline": {}}})
    assert list(tmp_path.iterdir()) == []
    write_records(tmp_path, {"plant": {"deadline": {}}, "slow": told()})
    (path,) = tmp_path.iterdir()
    assert read_arrivals(path) == {"slow": {10: 1}}
    write_records(tmp_path, {"slow": {**told(), "values": {"out.x": [[0], [1.5]]}}, "b": told()})
    (values,) = set(tmp_path.iterdir()) - {path}
    assert json.loads(values.read_text())["participants"] == {"slow": {"out.x": [[0], [1.5]]}}
