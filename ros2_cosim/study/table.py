# SPDX-License-Identifier: Apache-2.0
"""The table of a study: as text for the terminal, and in Markdown for a page about it."""

from __future__ import annotations

from pathlib import Path

from ros2_cosim.documents.files import write_atomically
from ros2_cosim.study.record import Study, StudyRun

#: The table in Markdown, beside the report.
TABLE_FILE = "table.md"
_HEAD = (
    "mode", "factor", "rtf", "messages", "timing", "order", "loss", "share", "lag", "beside",
    "trace",
)  # fmt: skip
_FORMAT = "{:4} {:>7} {:>8} {:>9} {:>8} {:>7} {:>6} {:>8} {:>9} {:>6}  {}"
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


def table_head() -> str:
    """The line above :func:`row_of`."""
    return _FORMAT.format(*_HEAD)


def row_of(run: StudyRun) -> str:
    """One run as a line of the table."""
    return _FORMAT.format(
        run.mode,
        "max" if run.factor is None else f"{run.factor:g}",
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
    write_atomically(path, "\n".join(markdown_table(study)) + "\n")
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
