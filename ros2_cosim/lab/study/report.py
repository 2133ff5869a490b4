# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""``report.html`` of a study: violations over the factor, tracks against the synchronised run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from ros2_cosim.core.documents.files import write_atomically
from ros2_cosim.core.kernel.time import format_ns
from ros2_cosim.core.record.results import REPORT_FILE
from ros2_cosim.lab.report.page import Tile, page_template
from ros2_cosim.lab.report.svg_plot import COLOURS, Bar, Chart, Line, line_chart, stacked_bars
from ros2_cosim.lab.study.record import Study, StudyRun
from ros2_cosim.lab.study.table import (
    compared,
    deviation,
    largest_deviation,
    run_table,
    write_table,
)

_SHARE = "share of messages [%]"
_DEVIATION = "deviation from HDE [m]"
KINDS = ("timing: late", "timing: early", "order", "loss")
#: Colour of the synchronised run.
_HDE_COLOUR = 7


def render_study(output: Path, study: Study) -> Path:
    """Write ``report.html`` of the runs that there are, and ``table.md``.

    :returns: the path of the page
    """
    page = page_template("study.html", "ros2_cosim.lab.study").render(
        study=study,
        runs=run_table(study),
        tiles=study_tiles(study),
        violations=violation_charts(study),
        ways=way_charts(study),
        tracks=track_charts(study),
        company=company_text(study),
        factor=f"{study.repetitions[0].factor:g}" if study.repetitions else "",
    )
    path = output / REPORT_FILE
    write_atomically(path, page)
    write_table(output, study)
    return path


def study_tiles(study: Study) -> list[Tile]:
    """The numbers at the top of the page."""
    tiles = _hde_tiles(study)
    free = [run for run in study.runs if run.mode == "PRT"]
    if free:
        worst = max(run.share(run.violations) for run in free)
        tiles.append(Tile("most violations, PRT", f"{100.0 * worst:.3g} %", worst == 0.0))
    for mode, words in (("PRT", "PRT breaks at"), ("HDE", "HDE is too slow at")):
        runs, broke = study.sweep(mode), study.broke_at(mode)
        if runs:
            text = f"factor {broke:g}" if broke else f"above {runs[-1].factor:g}"
            tiles.append(Tile(words, text))
    if study.stepped:
        right = [r.step_ns for r in study.stepped if r.trace_sha256 == study.reference_sha256]
        text = format_ns(max(filter(None, right))) if right else "none"
        tiles.append(Tile("widest time step with the reference trace", text))
    deviations = [largest_deviation(run, study) or 0.0 for run in study.repetitions]
    if deviations and study.hde:
        tiles.append(Tile("largest deviation of the track, PRT", f"{max(deviations):.3f} m"))
    return tiles


def _hde_tiles(study: Study) -> list[Tile]:
    if not (hde := study.hde):
        return []
    count = sum(run.violations for run in hde)
    same = all(run.trace_sha256 == study.reference_sha256 for run in hde)
    return [
        Tile(f"violations in {len(hde)} HDE runs", str(count), count == 0),
        Tile("all HDE runs have the reference trace", "yes" if same else "no", same),
        Tile("real-time factor, HDE", f"{max(run.rtf for run in hde):.3g}"),
    ]


def violation_charts(study: Study) -> list[Chart]:
    """Shares of violations over the wanted real-time factor, and how far both modes go."""
    charts: list[Chart] = []
    free, hde = study.sweep("PRT"), study.sweep("HDE")
    asked = [run for run in free if run.purpose == "sweep"]
    lines = [
        Line(f"PRT {kind}", *_over_factor(asked, partial(_share, kind=kind)), colour)
        for colour, kind in ((0, "timing"), (2, "order"), (3, "loss"))
    ]
    asked = [run for run in hde if run.purpose == "sweep"]
    shares = _over_factor(asked, partial(_share, kind="violations"))
    lines.append(Line("HDE, all kinds", *shares, _HDE_COLOUR, dots=True))
    if max(len(line.times) for line in lines) > 1:
        title = "Violations of causality over the real-time factor"
        svg = line_chart(lines, y_label=_SHARE, x_label="real-time factor")
        charts.append(Chart(title, "Share of all messages received, by kind.", svg))
    if max(len(free), len(hde)) > 1:
        reached = [
            Line(mode, *_over_factor(runs, lambda run: run.rtf), number, dots=mode == "HDE")
            for number, mode, runs in ((0, "PRT", free), (_HDE_COLOUR, "HDE", hde))
        ]
        note = "Factor reached over the factor wanted."
        if study.broke_at("HDE") is not None and study.hde_is_clean:
            note += " HDE falls behind, without a violation."
        labels = ("real-time factor reached", "real-time factor wanted")
        svg = line_chart(reached, y_label=labels[0], x_label=labels[1])
        charts.append(Chart("How far it goes", note, svg))
    bars = [_bar(f"PRT {run.factor:g}", run) for run in free]
    if study.hde:
        # All of them in one: the worst.
        worst = max(study.hde, key=lambda run: run.share(run.violations))
        bars.append(_bar(f"HDE, {len(study.hde)} runs", worst))
    if free:
        note = "All factors, and the kinds of violations on top of each other."
        charts.append(
            Chart("Until it breaks", note, stacked_bars(bars, parts=KINDS, x_label=_SHARE))
        )
    return charts


def way_charts(study: Study) -> list[Chart]:
    """The three ways side by side: violations, what becomes of them, the tracks of all widths."""
    if not study.stepped:
        return []
    named = [(f"{run.mode} {run.key.setting}", run) for run in compared(study)]
    kinds = [_bar(name, run) for name, run in named]
    wrong = [Bar(name, [100.0 * run.wrong_share]) for name, run in named]
    charts = [
        Chart(
            "Violations: HDE, time-stepped synchronisation (TSS), PRT",
            "Share of all messages received, by kind.",
            stacked_bars(kinds, parts=KINDS, x_label=_SHARE),
        ),
        Chart(
            "What becomes of them",
            "Activations that read other messages than in the synchronised run.",
            stacked_bars(wrong, parts=["wrong"], x_label="share of activations [%]"),
        ),
    ]
    if study.hde:
        lines = [
            Line(run.key.setting, *deviation(run, study), n % COLOURS, n >= COLOURS)
            for n, run in enumerate(study.stepped)
        ]
        note = "The same in each run: the result is repeatable, and wrong where it is not zero."
        svg = line_chart(lines, y_label=_DEVIATION)
        charts.append(Chart("Time steps: deviation of the covered track", note, svg))
    return charts


def company_text(study: Study) -> str:
    """What ran side by side, in a sentence or two; empty if nothing did."""
    beside = [run for run in study.runs if run.beside > 0.0]
    if not beside:
        return ""
    most = max(beside, key=lambda run: run.beside)
    return (
        f"{len(beside)} of {len(study.runs)} runs had others of the study beside them, with "
        f"factors of at most {most.beside:.3g} together ({most.key.label}; see the column Beside, "
        "with the number of runs that came up meanwhile). Runs without synchronisation feel what "
        "runs beside them."
    )


def track_charts(study: Study) -> list[Chart]:
    """The covered way of the ego vehicle: repetitions without synchronisation against HDE."""
    runs = study.repetitions
    if not runs or not study.hde:
        return []
    base = study.hde[0].track
    absolute = [Line("HDE", base["times"], base["way"], _HDE_COLOUR, True)]
    shifted = [Line("HDE", base["times"], [0.0] * len(base["times"]), _HDE_COLOUR, True)]
    for n, run in enumerate(runs):
        # Seven colours are left; what follows is dashed.
        look = n % _HDE_COLOUR, n >= _HDE_COLOUR
        absolute.insert(n, Line(f"PRT {n + 1}", run.track["times"], run.track["way"], *look))
        shifted.insert(n, Line(f"PRT {n + 1}", *deviation(run, study), *look))
    return [
        Chart(
            "Covered track of the ego vehicle: absolute",
            "At this scale all runs look alike.",
            line_chart(absolute, y_label="covered track [m]"),
        ),
        Chart(
            "Covered track of the ego vehicle: deviation",
            "The same runs less the HDE run.",
            line_chart(shifted, y_label=_DEVIATION),
        ),
    ]


def _over_factor(
    runs: Sequence[StudyRun], value: Callable[[StudyRun], float]
) -> tuple[list[float], list[float]]:
    paced = [(run.factor, value(run)) for run in runs if run.factor is not None]
    return [factor for factor, _ in paced], [found for _, found in paced]


def _share(run: StudyRun, kind: str) -> float:
    """A count of a run in per cent of its messages."""
    return 100.0 * run.share(getattr(run, kind))


def _bar(label: str, run: StudyRun) -> Bar:
    return Bar(label, [_share(run, kind) for kind in ("late", "early", "order", "loss")])
