# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The table of a study: for the terminal, for its page, and in Markdown for a page about it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from ros2_cosim.core.documents.files import write_atomically
from ros2_cosim.lab.study.record import Study, StudyRun

#: The table in Markdown, beside the report.
TABLE_FILE = "table.md"


def _percent(share: float) -> str:
    return f"{100.0 * share:.2f} %"


def _wrong(run: StudyRun) -> str:
    return f"{run.wrong} ({_percent(run.wrong_share)})" if run.activations else ""


def _deviation(run: StudyRun, study: Study) -> str:
    largest = largest_deviation(run, study)
    return "" if largest is None else f"{largest:.3f} m"


#: Heading, what stands below it, and whether a terminal is wide enough for it.
_COLUMNS: Final[tuple[tuple[str, Callable[[StudyRun, Study], str], bool], ...]] = (
    ("Mode", lambda run, study: run.mode, True),
    ("Part", lambda run, study: f"{run.purpose} {run.repetition or ''}".strip(), False),
    ("Setting", lambda run, study: run.key.setting, True),
    ("Reached", lambda run, study: f"{run.rtf:.2f}{'' if run.kept_up else ', broke'}", True),
    ("Messages", lambda run, study: str(run.messages), True),
    ("Late", lambda run, study: str(run.late), False),
    ("Early", lambda run, study: str(run.early), False),
    ("Timing", lambda run, study: str(run.timing), True),
    ("Order", lambda run, study: str(run.order), True),
    ("Loss", lambda run, study: str(run.loss), True),
    ("All kinds", lambda run, study: _percent(run.share(run.violations)), True),
    ("Wrong activations", lambda run, study: _wrong(run), False),
    ("Largest lag", lambda run, study: "" if run.max_lag_s is None
     else f"{1e3 * run.max_lag_s:.1f} ms", True),
    ("Largest deviation", _deviation, False),
    ("Beside", lambda run, study: f"{run.beside:.3g}"
     + (f" ({run.starts})" if run.starts else ""), True),
    ("Trace", lambda run, study: run.trace_sha256[:12], True),
)  # fmt: skip


def run_table(study: Study, *, narrow: bool = False) -> list[list[str]]:
    """The headings, then all runs that there are."""
    columns = [column for column in _COLUMNS if column[2] or not narrow]
    rows = [[cell(run, study) for _, cell, _ in columns] for run in study.runs]
    return [[head for head, _, _ in columns], *rows]


def text_table(study: Study) -> list[str]:
    """The same as lines for a terminal."""
    rows = run_table(study, narrow=True)
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(map(str.rjust, row, widths)) for row in rows]


def write_table(output: Path, study: Study) -> Path:
    """Write the table in Markdown.

    :returns: the path of the file
    """
    head, *rows = run_table(study)
    path = output / TABLE_FILE
    lines = [_line(row) for row in (head, ["---"] * len(head), *rows)]
    write_atomically(path, "\n".join(lines) + "\n")
    return path


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


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
