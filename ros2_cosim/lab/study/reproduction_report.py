# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""``report.html`` of the reproduction: every row, and violations over factor and idle share."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from ros2_cosim.core.documents.files import write_atomically
from ros2_cosim.core.record.results import REPORT_FILE
from ros2_cosim.lab.report.page import Tile, page_template
from ros2_cosim.lab.report.svg_plot import Chart, Line, line_chart
from ros2_cosim.lab.study.load_experiments import LoadExperiments, LoadRecord, computed_shares
from ros2_cosim.lab.study.published import ComparedRow, number, published
from ros2_cosim.lab.study.record import Study

_Y = "share of messages [%]"
_KINDS = (("late", 0), ("early", 1), ("order", 2), ("loss", 3))
#: Factors of the curve that the declared times alone give.
_COMPUTED = tuple(n / 20 for n in range(2, 41))


def render_reproduction(
    output: Path, form: str, rows: Mapping[str, list[ComparedRow]], experiments: LoadExperiments
) -> Path:
    """Write the page of what has been found.

    :param form: ``full`` or ``quick``
    :returns: the path of the page
    """
    load, study = experiments.load, experiments.study()
    page = page_template("reproduction.html", "ros2_cosim.lab.study").render(
        form=form,
        tiles=_tiles(rows),
        sections=[(published()[name].title, compared) for name, compared in rows.items()],
        number=number,
        load=load,
        charts=_charts(load, study),
        verdict=[*verdict(rows), *_circumstances(study)],
    )
    path = output / REPORT_FILE
    write_atomically(path, page)
    return path


_JUDGED = {
    "equal": "equal",
    "within": "within the range stated",
    "near": "within a factor of two",
    "misses": "further away",
    "found": "without a published number",
    "missing": "not found here, with cause",
}
_FIG_5 = ("timing at 0.1", "order at 0.1", "untied at 0.1", "timing at 1", "timing at 2")


def _tiles(rows: Mapping[str, list[ComparedRow]]) -> list[Tile]:
    judged = [one.judgement for compared in rows.values() for one in compared]
    counted = [Tile(words, str(judged.count(kind))) for kind, words in _JUDGED.items()]
    return [Tile("rows", str(len(judged))), *counted]


def verdict(rows: Mapping[str, list[ComparedRow]]) -> list[str]:
    """What becomes of Fig. 5 at 0.1, 1.0 and 2.0: a sentence for each row, with its cause."""
    wanted = {f"{name}: {figure}" for name in ("sweep", "computed") for figure in _FIG_5}
    return [
        f"{one} ({_JUDGED[one.judgement]}). {one.cause if one.judgement != 'equal' else ''}".strip()
        for one in rows["causality"]
        if one.row.here in wanted and one.here is not None
    ]


def _circumstances(study: Study | None) -> list[str]:
    """What else the machine did, in a sentence: it makes messages later than computed."""
    loads = [run.load for run in study.runs if run.load is not None] if study is not None else []
    if not loads:
        return []
    return [
        f"{os.cpu_count()} processors; {min(loads):g} to {max(loads):g} processes were active when "
        "the runs began. Other load, and the transport, make messages later than computed."
    ]


def _charts(load: LoadRecord, study: Study | None) -> list[Chart]:
    if load.busy is None:
        return []
    busy = load.busy
    sweep = [run for run in study.sweep("PRT") if run.kept_up] if study is not None else []
    factors = [run.factor or 0.0 for run in sweep]
    expected = [computed_shares(factor, busy) for factor in _COMPUTED]
    lines = [
        Line(kind, factors, [100.0 * run.share(getattr(run, kind)) for run in sweep], colour)
        for kind, colour in _KINDS
    ]
    lines += [
        Line(f"{kind}, computed", _COMPUTED, [e[kind] for e in expected], colour, dashed=True)
        for kind, colour in _KINDS[:2]
    ]
    idle = sorted(load.idle)
    over_factor = _line(
        "factor varied", [(1.0 - busy * (r.factor or 0.0), r.share(r.timing)) for r in sweep], 0
    )
    over_times = _line("times varied, factor 1", [(i[0], (i[1] + i[2]) / i[4]) for i in idle], 4)
    order = _line("order, times varied", [(i[0], i[3] / i[4]) for i in idle], 2)
    computed = _line(
        "computed",
        [
            (1.0 - busy * f, sum(e.values()) / 100.0)
            for f, e in zip(_COMPUTED, expected, strict=True)
        ],
        7,
        dashed=True,
    )
    return [
        Chart(
            "Fig. 5: violations without synchronisation over the real-time factor",
            "By kind. Computed: what the declared times alone give, without transport.",
            line_chart(lines, y_label=_Y, x_label="real-time factor"),
        ),
        Chart(
            "The cause that the publication names: the idle share of a step",
            "Violations of timing, where the factor grows, and where the declared times do.",
            line_chart(
                [over_factor, over_times, computed, order],
                y_label=_Y,
                x_label="idle share of a step",
            ),
        ),
    ]


def _line(
    label: str, points: Sequence[tuple[float, float]], colour: int, *, dashed: bool = False
) -> Line:
    ordered = sorted(points)
    return Line(label, [x for x, _ in ordered], [100.0 * y for _, y in ordered], colour, dashed)
