# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""``report.html`` of a sweep: rates, figures over parameters, what a search has found."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ros2_cosim.core.documents.files import write_atomically
from ros2_cosim.core.record.results import REPORT_FILE
from ros2_cosim.lab.report.page import Tile, page_template
from ros2_cosim.lab.report.svg_plot import Chart, Line, line_chart
from ros2_cosim.lab.sweep.rates import CONFIDENCE, FailureRate
from ros2_cosim.lab.sweep.search import Finding
from ros2_cosim.lab.sweep.settings import SweepSettings
from ros2_cosim.lab.sweep.store import SweepRun
from ros2_cosim.lab.sweep.task import RUNS

#: The page stays readable: the table of all runs is ``runs.parquet``.
MAX_ROWS = 2000
MAX_CHARTS = 24
#: Figures that say how long a run took, not how it went.
_COUNTS = ("steps", "activations")


def render_sweep(
    output: Path,
    sweeps: Sequence[SweepSettings],
    runs: Sequence[SweepRun],
    rates: Sequence[FailureRate],
    finding: Finding,
) -> Path:
    """Write ``report.html``.

    :param sweeps: what was run; at most one has a search
    :returns: the path of the page
    """
    parameters = list(dict.fromkeys(name for each in sweeps for name in each.parameters))
    charts, found = _figure_charts(parameters, runs), None
    search = next((each.search for each in sweeps if each.search is not None), None)
    if search is not None and finding is not None:
        charts = [*search.charts(finding), *charts]
        found = search.table(finding)
    shown = sorted(runs, key=lambda run: (run.done, run.passed() is not False, run.run_id))
    page = page_template("sweep.html", "ros2_cosim.lab.sweep").render(
        scenario=Path(sweeps[0].scenario).name if len(sweeps) == 1 else f"{len(sweeps)} scenarios",
        several=len(sweeps) > 1,
        parameters=parameters,
        tiles=_tiles(runs, rates),
        rates=rates,
        confidence=f"{100 * CONFIDENCE:g} %",
        found=found,
        charts=charts[:MAX_CHARTS],
        more_charts=max(0, len(charts) - MAX_CHARTS),
        runs=shown[:MAX_ROWS],
        more_runs=max(0, len(runs) - MAX_ROWS),
        figures=_figures(runs),
        pages=_pages(output, runs),
    )
    path = output / REPORT_FILE
    write_atomically(path, page)
    return path


def _pages(output: Path, runs: Sequence[SweepRun]) -> dict[str, str]:
    """Run -> its report as seen from the page; of runs without bag there is none."""
    places = {run.run_id: f"{RUNS}/{run.run_id}/{REPORT_FILE}" for run in runs}
    return {run_id: place for run_id, place in places.items() if (output / place).is_file()}


def _tiles(runs: Sequence[SweepRun], rates: Sequence[FailureRate]) -> list[Tile]:
    failed = sum(not run.done for run in runs)
    tiles = [
        Tile("runs", str(len(runs))),
        Tile("runs that failed", str(failed), failed == 0),
    ]
    tiles += [
        Tile(f"not met: {rate.verdict}", f"{rate.not_met} of {rate.runs}", rate.not_met == 0)
        for rate in rates[:1]
    ]
    return tiles


def _figures(runs: Sequence[SweepRun]) -> list[str]:
    """The figures that differ between runs; of those that are always equal, the first."""
    names = dict.fromkeys(name for run in runs for name in run.figures if name not in _COUNTS)
    shown: dict[tuple[float | int | None, ...], str] = {}
    for name in names:
        values = tuple(run.figures.get(name) for run in runs if run.done)
        if len(set(values)) > 1:
            shown.setdefault(values, name)
    return list(shown.values())


def _figure_charts(parameters: Sequence[str], runs: Sequence[SweepRun]) -> list[Chart]:
    """Each figure that differs over each parameter that is a number: a dot for each run."""
    charts = []
    for figure in _figures(runs):
        for name in parameters:
            lines = []
            for label, colour, passed in (("passed", 2, True), ("not passed", 3, False)):
                dots = sorted(
                    (float(run.parameters[name]), float(run.figures[figure]))
                    for run in runs
                    if run.passed() is passed
                    and figure in run.figures
                    and _is_number(run.parameters.get(name))
                )
                if dots:
                    xs, ys = zip(*dots, strict=True)
                    lines.append(Line(label, xs, ys, colour, dots=True))
            if lines:
                svg = line_chart(lines, y_label=figure, x_label=_short(name))
                charts.append(Chart(f"{figure} over {_short(name)}", name, svg))
    return charts


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _short(name: str, parts: int = 2) -> str:
    """The last parts of a dotted key."""
    return ".".join(name.split(".")[-parts:])
