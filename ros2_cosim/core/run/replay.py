# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Repeating a run from what it left behind: its scenario and its arrival record."""

from __future__ import annotations

from pathlib import Path

from ros2_cosim.core.documents.run_files import RESOLVED_SCENARIO
from ros2_cosim.core.kernel.errors import ConfigurationError, RunError
from ros2_cosim.core.kernel.time import SECOND
from ros2_cosim.core.realtime.arrivals import ARRIVALS_FILE, read_arrivals
from ros2_cosim.core.realtime.run_control import ENDED_BY_REQUEST
from ros2_cosim.core.record.summary import Summary, read_summary
from ros2_cosim.core.scenario.changes_by_hand import with_recorded_changes
from ros2_cosim.core.scenario.schema import Scenario, load_scenario


def prepare_replay(run_directory: Path) -> tuple[Scenario, Path | None, Summary]:
    """Read what is needed to repeat a run, which repeats up to where it was stopped or reset.

    :returns: scenario, arrival record (None: nothing could be late in it), and the run's summary
    :raises ConfigurationError: it is not the output of a complete run
    """
    summary = read_summary(run_directory)
    scenario = load_scenario(run_directory / RESOLVED_SCENARIO)
    scenario = with_recorded_changes(scenario, run_directory)
    if summary.end_reason.startswith(ENDED_BY_REQUEST):
        # Nothing in the scenario would end it there.
        end = round(summary.sim_time_s * SECOND)
        scenario = scenario.model_copy(update={"duration": end})
    arrivals = run_directory / ARRIVALS_FILE
    if not arrivals.exists():
        if not summary.repeatable:
            raise ConfigurationError(
                f"{arrivals} is missing; without it the run cannot be repeated: "
                f"{summary.not_repeatable_reason}"
            )
        return scenario, None, summary
    read_arrivals(arrivals)
    return scenario, arrivals.absolute(), summary


class DifferentError(RunError):
    """A repeated run is not the same as the run before."""


def compare(former: Summary, summary: Summary) -> None:
    """Make sure that a repeated run is the same.

    :raises DifferentError: it is not
    """
    if former.trace_sha256 != summary.trace_sha256:
        raise DifferentError(
            f"the repeated run differs: its trace is {summary.trace_sha256}, that of the run "
            f"before {former.trace_sha256}"
        )
