# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Two or more runs on one self-contained page: figures, settings that differ, and curves.

Charts of the same quantity have the same axes in all runs, and stand beside each other. For the
vehicles of the platoon gap, speed and acceleration of all runs are drawn over each other.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat
from pathlib import Path
from typing import Any, Final, NamedTuple

from ros2_cosim.core.documents.files import write_atomically
from ros2_cosim.core.documents.run_files import RESOLVED_SCENARIO
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.messages.catalogue import DEFAULT, Catalogue
from ros2_cosim.core.record.causes import settings_that_differ
from ros2_cosim.core.record.summary import Summary, Verdict, figure_text, read_summary
from ros2_cosim.core.scenario.schema import Scenario, load_scenario
from ros2_cosim.driving.measures.recorded_encounters import RecordedEncounters
from ros2_cosim.lab.report.driving_plots import Plot, drawn, driving_plots
from ros2_cosim.lab.report.moves import Moves, played
from ros2_cosim.lab.report.page import page_template
from ros2_cosim.lab.report.report_data import load_run
from ros2_cosim.lab.report.svg_plot import COLOURS, Axes, Chart, Line, spread

#: As many curves as there are colours can be told apart.
MOST_RUNS: Final = COLOURS
#: Of longer platoons the first ones are drawn over each other: a page with more is not read.
MOST_VEHICLES: Final = 6
#: Titles of the plots whose curves are drawn over each other, and what the charts are called.
_OVERLAID: Final = (("Gaps", "Gap"), ("Speeds", "Speed"), ("Accelerations", "Acceleration"))
#: So many characters tell two traces apart.
_TRACE: Final = 12


class Cell(NamedTuple):
    """A figure of a run; ``good`` is None where it is neither good nor bad."""

    text: str
    good: bool | None = None


class FigureRow(NamedTuple):
    """A figure of all runs."""

    label: str
    cells: Sequence[Cell]


@dataclass(frozen=True)
class ReportedRun:
    """A run on the page.

    :ivar label: what it is called there
    :ivar scenario: None if its directory has none
    """

    label: str
    summary: Summary
    scenario: Scenario | None
    encounters: RecordedEncounters
    plots: Mapping[str, Plot]
    moves: Moves


def write_side_by_side(
    directories: Sequence[Path], page: Path, *, catalogue: Catalogue = DEFAULT
) -> None:
    """Write the page of several runs.

    :param directories: of the runs, 2 to ``MOST_RUNS``
    :raises ConfigurationError: too few or too many runs, one that is given twice, or summary or
        bag of a run is missing or wrong
    :raises ProtocolError: a bag is damaged
    :raises OSError: the page cannot be written
    """
    if not 2 <= len(directories) <= MOST_RUNS:
        raise ConfigurationError(
            f"runs side by side: found {len(directories)}; allowed are 2 to {MOST_RUNS}"
        )
    labels = labels_of(directories)
    runs = list(map(_read, labels, directories, repeat(catalogue)))
    scenarios = [run.scenario for run in runs if run.scenario is not None]
    settings = settings_that_differ(*scenarios) if len(scenarios) == len(runs) else {}
    write_atomically(
        page,
        page_template("side_by_side.html").render(
            labels=labels,
            colours=range(len(runs)),
            scenarios=list(dict.fromkeys(run.summary.scenario for run in runs)),
            figures=_figures(runs),
            verdicts=_verdicts(runs),
            settings=[(path, list(map(json.dumps, found))) for path, found in settings.items()],
            played=played({run.label: (run.moves, run.scenario) for run in runs}),
            overlaid=_overlaid(runs),
            rows=_beside(runs),
            most_vehicles=MOST_VEHICLES,
        ),
    )


def labels_of(directories: Sequence[Path]) -> list[str]:
    """The shortest ends of the paths that tell them apart.

    :raises ConfigurationError: a directory is given twice
    """
    paths = [path.resolve() for path in directories]
    for number, path in enumerate(paths):
        if path in paths[:number]:
            raise ConfigurationError(
                f"runs side by side: found {directories[number]} twice; allowed is each run once"
            )
    longest = max(len(path.parts) for path in paths)
    ends = (["/".join(path.parts[-count:]) for path in paths] for count in range(1, longest + 1))
    return next(labels for labels in ends if len(set(labels)) == len(labels))


def _read(label: str, directory: Path, catalogue: Catalogue) -> ReportedRun:
    summary = read_summary(directory, complete=False)
    scenario = directory / RESOLVED_SCENARIO
    data = load_run(directory, catalogue=catalogue)
    return ReportedRun(
        label,
        summary,
        load_scenario(scenario) if scenario.is_file() else None,
        data.encounters,
        {plot.title: plot for plot in driving_plots(data)},
        data.moves,
    )


def _figures(runs: Sequence[ReportedRun]) -> list[FigureRow]:
    """The figures that at least one of the runs has."""

    def row(label: str, text: Callable[[ReportedRun], str | None]) -> FigureRow:
        return FigureRow(label, [Cell(text(run) or "\N{EN DASH}") for run in runs])

    def number(label: str, value: Callable[[ReportedRun], float | None], unit: str) -> FigureRow:
        def text(run: ReportedRun) -> str | None:
            found = value(run)
            return None if found is None or not math.isfinite(found) else f"{found:.4g} {unit}"

        return row(label, text)

    first = runs[0].summary.trace_sha256
    rows = [
        row("Seed", lambda run: str(run.summary.seed)),
        row("Run shape", lambda run: run.summary.shape),
        row("Simulator", lambda run: run.summary.simulator),
        number("Simulated", lambda run: run.summary.sim_time_s, "s"),
        number("Real-time factor", lambda run: run.summary.rtf, ""),
        row("End", lambda run: run.summary.end_reason),
        number("Collisions", lambda run: run.summary.collisions, ""),
        number("Smallest gap", lambda run: run.summary.min_gap_m, "m"),
        number("Smallest time to collision", lambda run: run.encounters.least_ttc.value, "s"),
        number("Smallest post-encroachment time", lambda run: run.encounters.least_pet.value, "s"),
        number("Final gap to obstacle", lambda run: run.summary.final_gap_to_obstacle_m, "m"),
        *_model_figures(runs),
        row("Causality violations", lambda run: str(run.summary.violations)),
        row("Trace", lambda run: run.summary.trace_sha256[:_TRACE]),
        row("Trace of the first run", lambda r: _yes(r.summary.trace_sha256 == first != "")),
    ]
    return [row for row in rows if any(cell.text != "\N{EN DASH}" for cell in row.cells)]


def _model_figures(runs: Sequence[ReportedRun]) -> list[FigureRow]:
    """Figures of the models: numbers, lists of them, and shares by name."""
    tables = [dict(_flat("", run.summary.figures or {})) for run in runs]
    names = dict.fromkeys(name for table in tables for name in table)
    return [
        FigureRow(name, [Cell(figure_text(table.get(name))) for table in tables]) for name in names
    ]


def _flat(place: str, value: Any) -> list[tuple[str, float | int | bool | str]]:
    """The figures within a figure, by their place."""
    if isinstance(value, dict):
        inner = [(str(key), each) for key, each in value.items()]
    elif isinstance(value, list):
        inner = [(str(number), each) for number, each in enumerate(value)]
    else:
        return [] if value is None else [(place, value)]
    return [pair for key, each in inner for pair in _flat(f"{place}.{key}".lstrip("."), each)]


def _verdicts(runs: Sequence[ReportedRun]) -> list[FigureRow]:
    """All verdicts by their name: value, limit, and whether it is met."""
    tables = [{verdict.name: verdict for verdict in run.summary.verdicts} for run in runs]
    names = dict.fromkeys(name for table in tables for name in table)
    return [FigureRow(name, [_verdict(table.get(name)) for table in tables]) for name in names]


def _verdict(verdict: Verdict | None) -> Cell:
    if verdict is None:
        return Cell("\N{EN DASH}")
    text = f"{figure_text(verdict.value)} (limit {figure_text(verdict.limit)})"
    return Cell(text, verdict.passed)


def _overlaid(runs: Sequence[ReportedRun]) -> list[Chart]:
    """For each vehicle the curves of all runs in one chart."""
    charts = []
    for title, name in _OVERLAID:
        tables = [
            {line.label: line for line in run.plots[title].lines} if title in run.plots else {}
            for run in runs
        ]
        labels = list(dict.fromkeys(label for table in tables for label in table))
        for label in labels[:MOST_VEHICLES]:
            lines = [
                table[label]._replace(label=run.label, colour=number)
                for number, (run, table) in enumerate(zip(runs, tables, strict=True))
                if label in table
            ]
            y_label = next(run.plots[title].y_label for run in runs if title in run.plots)
            charts.append(drawn(Plot(f"{name}: {label}", "", lines, y_label)))
    return charts


def _beside(runs: Sequence[ReportedRun]) -> list[tuple[str, str, list[tuple[str, Chart | None]]]]:
    """(title, note, charts of the runs) of each quantity; None: a run has no such values."""
    rows = []
    titles = dict.fromkeys(title for run in runs for title in run.plots)
    for title in titles:
        plots = [run.plots.get(title) for run in runs]
        axes = _common([plot.lines for plot in plots if plot is not None])
        charts = [
            (run.label, None if plot is None else drawn(plot._replace(title=run.label), axes))
            for run, plot in zip(runs, plots, strict=True)
        ]
        note = next(plot.note for plot in plots if plot is not None)
        rows.append((title, note, charts))
    return rows


def _common(curves: Sequence[Sequence[Line]]) -> Axes | None:
    """Axes that hold the curves of all runs."""
    found = [axes for lines in curves if (axes := spread(lines)) is not None]
    if not found:
        return None
    x = min(axes.x[0] for axes in found), max(axes.x[1] for axes in found)
    return Axes(x, (min(axes.y[0] for axes in found), max(axes.y[1] for axes in found)))


def _yes(truth: bool) -> str:
    return "yes" if truth else "no"
