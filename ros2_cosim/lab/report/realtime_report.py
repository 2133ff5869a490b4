# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What the report shows of a run against the wall clock: jitter, overruns, late parts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from markupsafe import Markup

from ros2_cosim.core.record.realtime_summary import (
    CouplingSummary,
    HistogramSummary,
    RealtimeSummary,
)
from ros2_cosim.lab.report.svg_plot import Bar, Chart, Line, line_chart, stacked_bars

#: Time, lateness, error and number of a late result.
_Case = tuple[float, float | None, float | None, str]
#: Rows of the table of errors, for each slow part.
_ROWS = 10


class ErrorRow(NamedTuple):
    """One estimated number; ``learned`` is the largest correction of its rate per second."""

    number: str
    mean: float
    largest: float
    learned: float


def realtime_charts(realtime: RealtimeSummary | None) -> list[Chart]:
    """The charts of the section; those without data are left out."""
    if realtime is None:
        return []
    charts = []
    jitter = {name: d.jitter for name, d in realtime.deadlines.items()}
    if realtime.jitter is not None:
        jitter = {"pacing": realtime.jitter, **jitter}
    lateness = {name: d.lateness for name, d in realtime.deadlines.items()}
    for title, note, table, x_label in (
        ("Jitter", "How late activations began on the wall clock.", jitter, "activations"),
        ("Overruns", "By how much deadlines were missed.", lateness, "missed deadlines"),
    ):
        svg = _histogram(table, x_label)
        if svg is not None:
            charts.append(Chart(title, note, svg))
    if late := _over_time(realtime, lambda case: case[1], 1e3):
        note = "Each result that was not there in time: how much later it came."
        svg = line_chart(late, y_label="lateness [ms simulated]")
        charts.append(Chart("Late results", note, svg))
    if wrong := _over_time(realtime, lambda case: case[2], 1.0):
        note = "Error of the worst number of each estimate, in its own unit; the table names it."
        svg = line_chart(wrong, y_label="largest error")
        charts.append(Chart("Errors of estimates", note, svg))
    return charts


def _over_time(
    realtime: RealtimeSummary, number: Callable[[_Case], float | None], scale: float
) -> list[Line]:
    """A number of the cases of each slow part, over the time of the case."""
    return [
        Line(name, [time for time, _ in found], [scale * v for _, v in found], colour, dots=True)
        for colour, (name, coupling) in enumerate(realtime.couplings.items())
        if (found := [(c[0], value) for c in coupling.cases if (value := number(c)) is not None])
    ]


def error_rows(coupling: CouplingSummary) -> list[ErrorRow]:
    """The numbers with the largest errors, and what was learned about each."""
    learned = {(port, field): largest for port, field, _, largest in coupling.learned}
    return [
        ErrorRow(f"{port}.{field}", mean, largest, learned.get((port, field), 0.0))
        for port, field, mean, largest in coupling.errors[:_ROWS]
    ]


def _histogram(table: Mapping[str, HistogramSummary], x_label: str) -> Markup | None:
    bounds = {bound for found in table.values() for bound, count in found.classes if count}
    if not bounds:
        return None
    counts = {name: dict(found.classes) for name, found in table.items()}
    ordered = sorted(bounds, key=lambda bound: float("inf") if bound is None else bound)
    bars = [Bar(_label(b), [float(counts[name].get(b, 0)) for name in table]) for b in ordered]
    return stacked_bars(bars, parts=list(table), x_label=x_label)


def _label(bound: float | None) -> str:
    if bound is None:
        return "longer"
    return f"up to {bound * 1e3:g} ms"
