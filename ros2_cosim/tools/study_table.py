# SPDX-License-Identifier: Apache-2.0
"""The table of a study as text."""

from __future__ import annotations

from ros2_cosim.tools.study_record import StudyRun

_HEAD = ("mode", "factor", "rtf", "messages", "timing", "order", "loss", "share", "lag", "trace")
_FORMAT = "{:4} {:>7} {:>8} {:>9} {:>8} {:>7} {:>6} {:>8} {:>9}  {}"


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
        run.trace_sha256[:12] + ("" if run.kept_up else "  did not keep up"),
    )
