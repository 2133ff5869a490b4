# SPDX-License-Identifier: Apache-2.0
"""``report.html`` of a study: violations over the factor, tracks against the synchronised run."""

from __future__ import annotations

from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from ros2_cosim.tools.report import REPORT_FILE, Chart, Tile
from ros2_cosim.tools.study_record import Study, StudyRun
from ros2_cosim.tools.svg_plot import Bar, Line, line_chart, stacked_bars

KINDS = ("timing: late", "timing: early", "order", "loss")
#: Colour of the synchronised run.
_HDE_COLOUR = 7


def render_study(output: Path, study: Study) -> Path:
    """Write ``report.html`` of the runs that there are.

    :returns: the path of the page
    """
    environment = Environment(
        loader=PackageLoader("ros2_cosim.tools"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    page = environment.get_template("study.html").render(
        study=study,
        tiles=study_tiles(study),
        violations=violation_charts(study),
        tracks=track_charts(study),
        factor=f"{study.repetitions[0].factor:g}" if study.repetitions else "",
    )
    path = output / REPORT_FILE
    part = path.with_name(f".{REPORT_FILE}.part")
    part.write_text(page, "utf-8")
    part.replace(path)
    return path


def study_tiles(study: Study) -> list[Tile]:
    """The numbers at the top of the page."""
    tiles = []
    hde = study.hde
    if hde:
        count = sum(run.violations for run in hde)
        tiles.append(Tile("violations, HDE", str(count), count == 0))
        same = all(run.trace_sha256 == study.reference_sha256 for run in hde)
        tiles.append(Tile("HDE has the reference trace", "yes" if same else "no", same))
        tiles.append(Tile("real-time factor, HDE", f"{max(run.rtf for run in hde):.3g}"))
    free = [run for run in study.runs if run.mode == "PRT"]
    if free:
        worst = max(run.share(run.violations) for run in free)
        tiles.append(Tile("most violations, PRT", _percent(worst), worst == 0.0))
    if study.sweep:
        broke = study.broke_at
        text = f"factor {broke:g}" if broke else f"above {study.sweep[-1].factor:g}"
        tiles.append(Tile("PRT breaks at", text))
    deviations = [abs(d) for run in study.repetitions for d in deviation(run, study)[1]]
    if deviations:
        tiles.append(Tile("largest deviation of the track", f"{max(deviations):.3f} m"))
    return tiles


def violation_charts(study: Study) -> list[Chart]:
    """Shares of violations over the wanted real-time factor."""
    charts: list[Chart] = []
    runs = [run for run in study.sweep if run.purpose == "sweep" and run.factor is not None]
    factors = [float(run.factor or 0.0) for run in runs]
    if len(runs) > 1:
        lines = [
            Line("PRT timing", factors, [100.0 * r.share(r.timing) for r in runs], 0),
            Line("PRT order", factors, [100.0 * r.share(r.order) for r in runs], 2),
            Line("PRT loss", factors, [100.0 * r.share(r.loss) for r in runs], 3),
        ]
        if study.hde:
            share = 100.0 * max(r.share(r.violations) for r in study.hde)
            ends = [factors[0], factors[-1]]
            lines.append(Line("HDE, all kinds", ends, [share] * 2, _HDE_COLOUR, True))
        charts.append(
            Chart(
                "Violations of causality over the real-time factor",
                "Share of all messages received, by kind.",
                Markup(
                    line_chart(lines, y_label="share of messages [%]", x_label="real-time factor")
                ),
            )
        )
    bars = [_bar(f"PRT {run.factor:g}", run) for run in study.sweep]
    if study.hde:
        bars.append(_bar("HDE", study.hde[0]))
    if study.sweep:
        charts.append(
            Chart(
                "Until it breaks",
                "All factors, and the kinds of violations on top of each other.",
                Markup(stacked_bars(bars, parts=KINDS, x_label="share of messages [%]")),
            )
        )
    return charts


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


def deviation(run: StudyRun, study: Study) -> tuple[list[float], list[float]]:
    """Times [s], and covered way less that of the first synchronised run [m]."""
    if not study.hde:
        return [], []
    base = study.hde[0].track
    expected = dict(zip(base["times"], base["way"], strict=True))
    pairs = [
        (time, way - expected[time])
        for time, way in zip(run.track["times"], run.track["way"], strict=True)
        if time in expected
    ]
    return [time for time, _ in pairs], [value for _, value in pairs]


def _bar(label: str, run: StudyRun) -> Bar:
    parts = (run.late, run.early, run.order, run.loss)
    return Bar(label, [100.0 * run.share(part) for part in parts])


def _percent(share: float) -> str:
    return f"{100.0 * share:.3g} %"
