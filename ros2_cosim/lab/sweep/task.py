# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""One run of a sweep, in this process or on a worker anywhere: its files are what it returns."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from ros2_cosim.core.documents.files import in_words
from ros2_cosim.core.documents.one_line import one_line
from ros2_cosim.core.documents.plain_data import plain_copy
from ros2_cosim.core.kernel.errors import CosimError, RunError, StorageError
from ros2_cosim.core.record.results import ACTIVATIONS_FILE
from ros2_cosim.core.run.apart import done_apart
from ros2_cosim.core.run.inproc import run_inproc
from ros2_cosim.core.run.output_directory import LOCK_FILE, shown
from ros2_cosim.core.scenario.composition import ValueChange, resolved
from ros2_cosim.core.scenario.schema import Scenario, make_scenario

#: Directory of the runs in the output of a sweep.
RUNS = "runs"
#: Before what a machine failed at.
_MACHINE = "machine: "


class SweepJob(NamedTuple):
    """A run that is wanted.

    ``changes`` and then ``values`` by key are applied to the ``scenario``, a whole file whose
    platoon and parameters are not resolved yet.
    """

    run_id: str
    scenario: Mapping[str, Any]
    changes: tuple[ValueChange, ...]
    origin: str
    values: tuple[tuple[str, Any], ...]
    seed: int
    bag: bool = False


class RunOutcome(NamedTuple):
    """What came of a run: its files by their relative path, and why it failed, if it did."""

    files: Mapping[str, bytes]
    error: str | None = None


def scenario_of(job: SweepJob) -> Scenario:
    """The scenario of a run.

    :raises ConfigurationError: a value is not allowed
    """
    data = plain_copy(job.scenario, f"scenario {job.origin}")
    values = [ValueChange(key, value, f"parameters: {key}") for key, value in job.values]
    data = resolved(data, [*job.changes, *values], f"scenario {job.origin}")
    data["seed"] = job.seed
    return make_scenario(data, job.origin, by_hand=True)


def perform(job: SweepJob, place: str | None = None) -> RunOutcome:
    """Do a run, in a process apart; an error of the run, a crash of it too, is its outcome.

    :param place: an existing directory for what is removed after the run; None: that of the system
    :raises OSError, StorageError: the machine failed, not the run; another one may do better
    """
    with TemporaryDirectory(prefix="cosim-sweep-", dir=place) as directory:
        output = Path(directory)

        def work() -> str:
            try:
                run_inproc(scenario_of(job), output, record=job.bag)
            except (OSError, StorageError) as error:
                return _MACHINE + in_words(error)
            except CosimError as error:
                return one_line(error)
            return ""

        try:
            error = done_apart(work)
        except RunError as killed:  # as a system does that has no memory left
            raise StorageError(str(killed)) from None
        if error.startswith(_MACHINE):
            raise StorageError(error.removeprefix(_MACHINE))
        # Where the files will be.
        error = error.replace(f"{shown(output)}{os.sep}", f"{RUNS}/{job.run_id}/")
        # Without a bag nothing reads the activations, which are most of what a run leaves.
        unwanted = {LOCK_FILE} if job.bag else {LOCK_FILE, ACTIVATIONS_FILE}
        return RunOutcome(
            {
                str(path.relative_to(output)): path.read_bytes()
                for path in sorted(output.rglob("*"))
                if path.is_file() and path.name not in unwanted
            },
            error or None,
        )
