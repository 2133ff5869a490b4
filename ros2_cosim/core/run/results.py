# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What the starter of a run does with its files once its processes have ended.

The recorder tells the clock as soon as bag and summary are on the disk. The report, which takes
longer the longer the run was, is made afterwards: no process of the run waits for it.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from ros2_cosim.core.documents.files import cause_of, in_words
from ros2_cosim.core.documents.offered import functions_of
from ros2_cosim.core.documents.run_files import RESOLVED_SCENARIO
from ros2_cosim.core.kernel.errors import Cancelled, ConfigurationError, CosimError, StorageError
from ros2_cosim.core.process.processes import signal_of
from ros2_cosim.core.record.bag_metadata import BAG, mcap_path
from ros2_cosim.core.record.bag_reader import is_complete, recorded_until
from ros2_cosim.core.record.profile import has_spans, write_profile
from ros2_cosim.core.record.recovery import recover
from ros2_cosim.core.record.results import write_incomplete
from ros2_cosim.core.record.summary import SUMMARY_FILE
from ros2_cosim.core.run.output_directory import OutputDirectory, repetitions
from ros2_cosim.core.scenario.exports import write_exports
from ros2_cosim.core.scenario.schema import Scenario, load_scenario

#: Entry points of reports: functions of the directory of a run, which write files there.
REPORT_GROUP = "ros2_cosim.reports"


def complete_results(output: Path) -> None:
    """Complete a bag whose writer was killed, and make the reports of the runs that have ended.

    :param output: directory of the run; those of its repetitions are below it
    :raises StorageError: there is no room for that; the other files are readable
    """
    for directory in (output, *repetitions(output)):
        problem = close_bag(directory / BAG)
        if problem:
            raise StorageError(problem)
        if not (directory / SUMMARY_FILE).is_file():
            continue
        if has_spans(directory):
            note_profile(directory)
        if (directory / BAG).is_dir():
            write_reports(directory)


def complete_killed(output: Path) -> bool:
    """Complete the bag of a run whose starter was killed, too; whether there was one.

    :raises ConfigurationError: the run goes on
    :raises StorageError: it cannot be completed
    """
    bag = output / BAG
    if not mcap_path(bag).is_file() or is_complete(bag):
        return False
    with OutputDirectory(output, "cosim report", marker=None):
        problem = leave_incomplete(output, "the run was killed", "unknown")
    if problem:
        raise StorageError(problem)
    return True


def note_profile(directory: Path) -> None:
    """Write the account of a run that was profiled.

    Of a run that has ended before its first activation there is nothing to tell.
    """
    with suppress(ConfigurationError):
        write_profile(directory)


def write_reports(directory: Path, scenario: Scenario | None = None) -> None:
    """Have all installed reports of a run made from its summary and its bag, and all exports.

    :param scenario: that of the run; None: it is read from its file
    :raises StorageError: one cannot be written
    """
    if (directory / RESOLVED_SCENARIO).is_file():
        export_again(directory, scenario=scenario)
    for write in functions_of(REPORT_GROUP).values():
        write(directory)


def export_again(
    directory: Path, names: Iterable[str] = (), scenario: Scenario | None = None
) -> None:
    """Write the exports that the scenario of a run wants of its bag, and these, too.

    :param scenario: that of the run with these; None: it is read from its file
    :raises ConfigurationError: an export does not fit the run
    :raises CosimError: one cannot be written
    """
    wanted = [f"bag.exports.{name}={{}}" for name in names]
    scenario = scenario or load_scenario(directory / RESOLVED_SCENARIO, wanted)
    if scenario.bag.exports:
        write_exports(scenario, directory / BAG)


def why(error: BaseException) -> str:
    """What has ended a run, in words."""
    if isinstance(error, CosimError | OSError | MemoryError):
        return in_words(error)
    if isinstance(error, KeyboardInterrupt | Cancelled):
        return f"ended by {signal_of(error).name}"
    return f"{type(error).__name__}: {error}"


def leave_incomplete(output: Path, reason: str, shape: str) -> str:
    """Leave a run that has not reached its end readable: complete its bag, and say in its summary.

    A summary that is there stays.

    :param reason: why it ended
    :returns: the reason if the bag cannot be completed, else empty
    """
    bag = output / BAG
    problem = close_bag(bag)
    if not (output / SUMMARY_FILE).is_file() and (output / RESOLVED_SCENARIO).is_file():
        with suppress(OSError, CosimError):  # what has ended the run counts
            until = recorded_until(bag) if is_complete(bag) else 0
            scenario = load_scenario(output / RESOLVED_SCENARIO)
            write_incomplete(output, scenario, shape, reason, until)
            if is_complete(bag):
                write_exports(scenario, bag)
    return problem


def close_bag(bag: Path) -> str:
    """Complete a bag whose writer was killed; the reason if that cannot be, else empty."""
    if not bag.is_dir() or is_complete(bag):
        return ""
    try:
        recover(bag)
    except OSError as error:
        return f"bag {bag}: cannot be completed: {cause_of(error)}"
    except CosimError as error:
        return f"bag {bag}: cannot be completed: {error}"
    return ""
