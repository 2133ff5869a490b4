# SPDX-License-Identifier: Apache-2.0
"""The end of a run in a few lines of text."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from ros2_cosim.kernel.errors import RunError
from ros2_cosim.record.summary import Summary, read_summary


def tell_summary(summary: Summary) -> None:
    """Print times, verdicts, trace and what else there is to know."""
    print(
        f"{summary.scenario}: {summary.sim_time_s:.2f} s simulated in {summary.wall_time_s:.2f} s "
        f"(real-time factor {summary.rtf:.2f}, start-up {summary.startup_time_s:.2f} s): "
        f"{summary.end_reason}"
    )
    for verdict in summary.verdicts:
        mark = "passed" if verdict.passed else "FAILED"
        print(f"  {verdict.name}: {verdict.value} (limit {verdict.limit}) {mark}")
    print(f"  trace {summary.trace_sha256}")
    if summary.realtime is not None:
        for line in summary.realtime.lines():
            print(f"  {line}")
    if not summary.repeatable:
        since = summary.not_repeatable_since_s
        begin = "" if since is None else f" from {since:g} s on"
        print(f"  not repeatable{begin}: {summary.not_repeatable_reason}")


def tell_repetitions(first: Summary, directories: Iterable[Path]) -> None:
    """One line for each time that the run began anew.

    :param first: the first run
    :param directories: what the others left behind
    :raises RunError: one that was as long has another trace
    """
    for path in directories:
        summary = read_summary(path)
        print(
            f"{path.name}: {summary.sim_time_s:.2f} s simulated in {summary.wall_time_s:.2f} s "
            f"(real-time factor {summary.rtf:.2f}): {summary.end_reason}"
        )
        print(f"  trace {summary.trace_sha256}")
        same_end = (summary.sim_time_s, summary.end_reason) == (first.sim_time_s, first.end_reason)
        if same_end and summary.repeatable and summary.trace_sha256 != first.trace_sha256:
            raise RunError(f"{path}: the trace is not that of the first run; does a model forget?")
