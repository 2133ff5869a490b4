# SPDX-License-Identifier: Apache-2.0
"""``report.html`` of a study: violations over the factor, tracks against the synchronised run."""

from __future__ import annotations

from pathlib import Path

from markupsafe import Markup

from ros2_cosim.core.documents.files import write_atomically
from ros2_cosim.core.kernel.time import format_ns
from ros2_cosim.core.record.results import REPORT_FILE
from ros2_cosim.lab.report.page import Tile, page_template
from ros2_cosim.lab.report.svg_plot import COLOURS, Bar, Chart, Line, line_chart, stacked_bars
from ros2_cosim.lab.study.record import Study, StudyRun
from ros2_cosim.lab.study.table import compared, deviation, largest_deviation, write_table

KINDS = ("timing: late", "timing: early", "order", "loss")
#: Colour of the synchronised run.
_HDE_COLOUR = 7


def render_study(output: Path, study: Study) -> Path:
    """Write ``report.html`` of the runs that there are, and ``table.md``.

    :returns: the path of the page
    """
    page = page_template("study.html", "ros2_cosim.lab.study").render(
        study=study,
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
    tiles = []
    hde = study.hde
    if hde:
        count = sum(run.violations for run in hde)
        tiles.append(Tile(f"violations in {len(hde)} HDE runs", str(count), count == 0))
        same = all(run.trace_sha256 == study.reference_sha256 for run in hde)
        tiles.append(Tile("all HDE runs have the reference trace", "yes" if same else "no", same))
        tiles.append(Tile("real-time factor, HDE", f"{max(run.rtf for run in hde):.3g}"))
    free = [run for run in study.runs if run.mode == "PRT"]
    if free:
        worst = max(run.share(run.violations) for run in free)
        tiles.append(Tile("most violations, PRT", _percent(worst), worst == 0.0))
    for mode, words in (("PRT", "PRT breaks at"), ("HDE", "HDE is too slow at")):
        runs = study.sweep(mode)
        if runs:
            broke = study.broke_at(mode)
            text = f"factor {broke:g}" if broke else f"above {runs[-1].factor:g}"
            tiles.append(Tile(words, text))
    right = [run for run in study.stepped if run.trace_sha256 == study.reference_sha256]
    if study.stepped:
        widest = max((run.step_ns or 0 for run in right), default=0)
        text = format_ns(widest) if widest else "none"
        tiles.append(Tile("widest time step with the reference trace", text))
    deviations = [largest_deviation(run, study) or 0.0 for run in study.repetitions]
    if deviations and study.hde:
        tiles.append(Tile("largest deviation of the track, PRT", f"{max(deviations):.3f} m"))
    return tiles


def violation_charts(study: Study) -> list[Chart]:
    """Shares of violations over the wanted real-time factor, and how far both modes go."""
    charts: list[Chart] = []
    free, hde = study.sweep("PRT"), study.sweep("HDE")
    lines = []
    for number, label, kind in (
        (0, "timing", "timing"),
        (2, "order", "order"),
        (3, "loss", "loss"),
    ):
        runs = [run for run in free if run.purpose == "sweep"]
        shares = [100.0 * run.share(getattr(run, kind)) for run in runs]
        lines.append(Line(f"PRT {label}", _factors(runs), shares, number))
    runs = [run for run in hde if run.purpose == "sweep"]
    shares = [100.0 * run.share(run.violations) for run in runs]
    lines.append(Line("HDE, all kinds", _factors(runs), shares, _HDE_COLOUR, dots=True))
    if max(len(line.times) for line in lines) > 1:
        charts.append(
            Chart(
                "Violations of causality over the real-time factor",
                "Share of all messages received, by kind.",
                Markup(
                    line_chart(lines, y_label="share of messages [%]", x_label="real-time factor")
                ),
            )
        )
    if max(len(free), len(hde)) > 1:
        reached = [
            Line(mode, _factors(runs), [run.rtf for run in runs], number, dots=mode == "HDE")
            for number, mode, runs in ((0, "PRT", free), (_HDE_COLOUR, "HDE", hde))
        ]
        note = "Factor reached over the factor wanted."
        if study.broke_at("HDE") is not None and study.hde_is_clean:
            note += " HDE falls behind, without a violation."
        charts.append(
            Chart(
                "How far it goes",
                note,
                Markup(
                    line_chart(
                        reached,
                        y_label="real-time factor reached",
                        x_label="real-time factor wanted",
                    )
                ),
            )
        )
    bars = [_bar(f"PRT {run.factor:g}", run) for run in free]
    if study.hde:
        # All of them in one: the worst.
        worst = max(study.hde, key=lambda run: run.share(run.violations))
        bars.append(_bar(f"HDE, {len(study.hde)} runs", worst))
    if free:
        charts.append(
            Chart(
                "Until it breaks",
                "All factors, and the kinds of violations on top of each other.",
                Markup(stacked_bars(bars, parts=KINDS, x_label="share of messages [%]")),
            )
        )
    return charts


def way_charts(study: Study) -> list[Chart]:
    """The three ways side by side: violations, what becomes of them, the tracks of all widths."""
    if not study.stepped:
        return []
    runs = compared(study)
    names = [f"{run.mode} {run.key.setting}" for run in runs]
    charts = [
        Chart(
            "Violations: HDE, time-stepped synchronisation (TSS), PRT",
            "Share of all messages received, by kind.",
            Markup(
                stacked_bars(
                    [_bar(name, run) for name, run in zip(names, runs, strict=True)],
                    parts=KINDS,
                    x_label="share of messages [%]",
                )
            ),
        ),
        Chart(
            "What becomes of them",
            "Activations that read other messages than in the synchronised run.",
            Markup(
                stacked_bars(
                    [Bar(n, [100.0 * r.wrong_share]) for n, r in zip(names, runs, strict=True)],
                    parts=["wrong"],
                    x_label="share of activations [%]",
                )
            ),
        ),
    ]
    if study.hde:
        lines = [
            Line(run.key.setting, *deviation(run, study), n % COLOURS, n >= COLOURS)
            for n, run in enumerate(study.stepped)
        ]
        chart = line_chart(lines, y_label="deviation from HDE [m]")
        note = "The same in each run: the result is repeatable, and wrong where it is not zero."
        charts.append(Chart("Time steps: deviation of the covered track", note, Markup(chart)))
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
    lines = [
        # Seven colours are left; what follows is dashed.
        Line(f"PRT {n + 1}", r.track["times"], r.track["way"], n % _HDE_COLOUR, n >= _HDE_COLOUR)
        for n, r in enumerate(runs)
    ]
    baseline = Line("HDE", base["times"], base["way"], _HDE_COLOUR, True)
    shifted = []
    for number, run in enumerate(runs):
        times, values = deviation(run, study)
        dashed = number >= _HDE_COLOUR
        shifted.append(Line(f"PRT {number + 1}", times, values, number % _HDE_COLOUR, dashed))
    zero = Line("HDE", base["times"], [0.0] * len(base["times"]), _HDE_COLOUR, True)
    return [
        Chart(
            "Covered track of the ego vehicle: absolute",
            "At this scale all runs look alike.",
            Markup(line_chart([*lines, baseline], y_label="covered track [m]")),
        ),
        Chart(
            "Covered track of the ego vehicle: deviation",
            "The same runs less the HDE run.",
            Markup(line_chart([*shifted, zero], y_label="deviation from HDE [m]")),
        ),
    ]


def _factors(runs: list[StudyRun]) -> list[float]:
    return [run.factor for run in runs if run.factor is not None]


def _bar(label: str, run: StudyRun) -> Bar:
    parts = (run.late, run.early, run.order, run.loss)
    return Bar(label, [100.0 * run.share(part) for part in parts])


def _percent(share: float) -> str:
    return f"{100.0 * share:.3g} %"
