# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What would have happened: a run again, with another model for a participant from a time on."""

from __future__ import annotations

from pathlib import Path

from ros2_cosim.core.documents.run_files import RESOLVED_SCENARIO
from ros2_cosim.core.kernel.errors import ConfigurationError, RunError
from ros2_cosim.core.kernel.time import format_ns
from ros2_cosim.core.record.bag_metadata import BAG
from ros2_cosim.core.record.run_comparison import RunComparison, compare_recordings
from ros2_cosim.core.run.replay import prepare_replay
from ros2_cosim.core.run.request import RunRequest
from ros2_cosim.core.scenario.substitution import with_substitute


def run_of(recording: Path) -> Path:
    """The directory of the run of a recording, which may be its bag.

    :raises ConfigurationError: the recording is not that of a run
    """
    if recording.name == BAG and (recording.parent / RESOLVED_SCENARIO).is_file():
        return recording.parent
    if not (recording / RESOLVED_SCENARIO).is_file():
        raise ConfigurationError(
            f"{recording}: it holds no run; the loop can be closed again only with the scenario "
            "that was run"
        )
    return recording


def prepare_what_if(run: Path, substitute: str, from_ns: int, output: Path) -> RunRequest:
    """The run that is requested; it has the lateness that was recorded.

    :param run: directory of the run
    :param substitute: ``participant=model``
    :param from_ns: when the model takes over [ns]
    :raises ConfigurationError: it is not the output of a complete run, or nothing fits
    """
    name, equals, target = substitute.partition("=")
    if not equals or not target:
        raise ConfigurationError(f"--substitute {substitute}: allowed is PARTICIPANT=MODEL")
    scenario, arrivals, former = prepare_replay(run)
    end = round(former.sim_time_s * 1e9)
    if from_ns >= end:
        raise ConfigurationError(
            f"--from {format_ns(from_ns)}: the run ended at {format_ns(end)}; allowed is an "
            "earlier time"
        )
    changed = with_substitute(scenario, name, target, from_ns)
    return RunRequest(changed, shape="inproc", arrivals=arrivals, out=output)


def compare_what_if(run: Path, output: Path, from_ns: int) -> RunComparison:
    """Compare what would have happened with what did.

    :raises RunError: they differ before the model has taken over
    """
    found = compare_recordings(run, output)
    first = found.messages.first
    if first is not None and first.time_ns < from_ns:
        raise RunError(
            f"{output}: it differs from the recording at {format_ns(first.time_ns)} on "
            f"{first.topic}, before {format_ns(from_ns)}: the run was not repeated"
        )
    return found
