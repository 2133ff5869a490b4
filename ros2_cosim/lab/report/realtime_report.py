# SPDX-License-Identifier: Apache-2.0
"""What the report shows of a run against the wall clock: jitter, overruns, late parts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from markupsafe import Markup

from ros2_cosim.core.record.realtime_summary import (
    CouplingSummary,
    HistogramSummary,
    RealtimeSummary,
)
from ros2_cosim.lab.report.svg_plot import Bar, Chart, Line, line_chart, stacked_bars

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
    late = [
        Line(name, [c[0] for c in found], [1e3 * c[1] for c in found], number, dots=True)
        for number, (name, coupling) in enumerate(realtime.couplings.items())
        if (found := [(c[0], c[1]) for c in coupling.cases if c[1] is not None])
    ]
    if late:
        note = "Each result that was not there in time: how much later it came."
        svg = Markup(line_chart(late, y_label="lateness [ms simulated]"))
        charts.append(Chart("Late results", note, svg))
    wrong = [
        Line(name, [c[0] for c in found], [c[1] for c in found], number, dots=True)
        for number, (name, coupling) in enumerate(realtime.couplings.items())
        if (found := [(c[0], c[2]) for c in coupling.cases if c[2] is not None])
    ]
    if wrong:
        note = "Of the worst number of each estimate, in its own unit; the table names it."
        svg = Markup(line_chart(wrong, y_label="largest error"))
        charts.append(Chart("Errors of estimates", note, svg))
    return charts


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
    return Markup(stacked_bars(bars, parts=list(table), x_label=x_label))


def _label(bound: float | None) -> str:
    if bound is None:
        return "longer"
    return f"up to {bound * 1e3:g} ms"
