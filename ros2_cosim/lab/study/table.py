# SPDX-License-Identifier: Apache-2.0
"""The table of a study: as text for the terminal, and in Markdown for a page about it."""

from __future__ import annotations

from pathlib import Path

from ros2_cosim.core.documents.files import write_atomically
from ros2_cosim.lab.study.record import Study, StudyRun

#: The table in Markdown, beside the report.
TABLE_FILE = "table.md"
_HEAD = (
    "mode", "setting", "rtf", "messages", "timing", "order", "loss", "share", "lag", "beside",
    "trace",
)  # fmt: skip
_FORMAT = "{:4} {:>11} {:>8} {:>9} {:>8} {:>7} {:>6} {:>8} {:>9} {:>6}  {}"
_COLUMNS = (
    "Factor",
    "Late",
    "Early",
    "Timing",
    "Order",
    "Loss",
    "All kinds",
    "Wrong",
    "Largest lag",
)
_SYNCHRONISED = ("HDE: all kinds", "HDE: trace")
_WAYS = (
    "Mode", "Setting", "Timing", "Order", "All kinds", "Wrong", "Wrong per violation",
    "Largest deviation", "Trace",
)  # fmt: skip


def table_head() -> str:
    """The line above :func:`row_of`."""
    return _FORMAT.format(*_HEAD)


def row_of(run: StudyRun) -> str:
    """One run as a line of the table."""
    return _FORMAT.format(
        run.mode,
        run.key.setting,
        f"{run.rtf:.2f}",
        run.messages,
        run.timing,
        run.order,
        run.loss,
        f"{100.0 * run.share(run.violations):.2f} %",
        "" if run.max_lag_s is None else f"{1e3 * run.max_lag_s:.1f} ms",
        f"{run.beside:.3g}",
        run.trace_sha256[:12] + ("" if run.kept_up else "  did not keep up"),
    )


def text_table(study: Study) -> list[str]:
    """All runs that there are, as lines."""
    return [table_head(), *map(row_of, study.runs)]


def write_table(output: Path, study: Study) -> Path:
    """Write the runs over the factor in Markdown, one line per factor.

    :returns: the path of the file
    """
    path = output / TABLE_FILE
    lines = [*markdown_table(study), "", *ways_table(study)]
    write_atomically(path, "\n".join(lines) + "\n")
    return path


def markdown_table(study: Study) -> list[str]:
    """One line per factor: PRT in detail, and HDE beside it; at the end HDE as fast as possible."""
    free = {run.factor: run for run in study.sweep("PRT") if run.factor is not None}
    synchronised = {run.factor: run for run in study.sweep("HDE") if run.factor is not None}
    lines = [_line((*_COLUMNS, *_SYNCHRONISED)), _line(["---"] * 11)]
    for factor in sorted({*free, *synchronised}):
        prt = _prt_cells(free[factor]) if factor in free else [""] * 8
        hde = [""] * 2
        if factor in synchronised:
            hde = _hde_cells(synchronised[factor], study.reference_sha256)
        lines.append(_line([f"{factor:g}", *prt, *hde]))
    for run in study.unpaced:
        hde = _hde_cells(run, study.reference_sha256)
        lines.append(_line([f"max (reached {run.rtf:.3g})", *[""] * 8, *hde]))
    return lines


def ways_table(study: Study) -> list[str]:
    """HDE, time-stepped synchronisation and PRT: violations, and what becomes of them."""
    lines = [_line(_WAYS), _line(["---"] * len(_WAYS))]
    for run in compared(study):
        largest = largest_deviation(run, study)
        trace = "reference" if run.trace_sha256 == study.reference_sha256 else run.trace_sha256[:12]
        lines.append(
            _line(
                [
                    run.mode,
                    run.key.setting,
                    f"{100.0 * run.share(run.timing):.2f} %",
                    f"{100.0 * run.share(run.order):.2f} %",
                    f"{100.0 * run.share(run.violations):.2f} %",
                    f"{run.wrong} ({100.0 * run.wrong_share:.2f} %)",
                    f"{run.wrong_per_violation:.2f}" if run.violations else "",
                    "" if largest is None else f"{largest:.3f} m",
                    trace,
                ]
            )
        )
    return lines


def compared(study: Study) -> list[StudyRun]:
    """One run of each setting: HDE as fast as possible, each step width, each factor of PRT."""
    return [*study.unpaced[:1], *study.stepped, *study.sweep("PRT")]


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


def largest_deviation(run: StudyRun, study: Study) -> float | None:
    """Largest amount of :func:`deviation` [m]; None without a synchronised run."""
    return max((abs(value) for value in deviation(run, study)[1]), default=None)


def _prt_cells(run: StudyRun) -> list[str]:
    lag = "" if run.max_lag_s is None else f"{1e3 * run.max_lag_s:.0f} ms"
    broke = "" if run.kept_up else f" (reached {run.rtf:.3g})"
    return [
        str(run.late),
        str(run.early),
        f"{100.0 * run.share(run.timing):.2f} %",
        str(run.order),
        str(run.loss),
        f"{100.0 * run.share(run.violations):.2f} %",
        f"{run.wrong} ({100.0 * run.wrong_share:.2f} %)",
        lag + broke,
    ]


def _hde_cells(run: StudyRun, reference: str) -> list[str]:
    trace = "reference" if run.trace_sha256 == reference else run.trace_sha256[:12]
    broke = "" if run.kept_up else f" (reached {run.rtf:.3g})"
    return [str(run.violations), trace + broke]


def _line(cells: list[str] | tuple[str, ...]) -> str:
    return f"| {' | '.join(cells)} |"
