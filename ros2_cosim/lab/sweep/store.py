# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What a sweep leaves behind: a directory for each run, and a table of all of them.

A run is kept as soon as it is complete; the file that says so is written last. So nothing that is
finished is lost, whatever ends: a worker, the scheduler, or the sweep itself.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import ros2_cosim
from ros2_cosim.core.documents.files import cause_of, write_atomically
from ros2_cosim.core.documents.plain_data import read_record
from ros2_cosim.core.kernel.errors import ConfigurationError, RunError
from ros2_cosim.core.record.results import REPORT_FILE
from ros2_cosim.core.record.summary import Summary, Verdict, read_summary
from ros2_cosim.core.run.output_directory import OutputDirectory
from ros2_cosim.lab.report.page import shared_files, with_shared_files
from ros2_cosim.lab.sweep.task import RUNS, RunOutcome

SWEEP_FILE = "sweep.json"
TABLE_FILE = "runs.parquet"
#: Says that a run is done, how, and which it was.
RECORD_FILE = "run.json"

DONE = "done"
FAILED = "failed"


class SweepRun(NamedTuple):
    """A run of a sweep: a row of the table.

    :ivar scenario: the name of its sweep
    :ivar parameters: name -> value, as in the sweep file
    :ivar status: ``done``, or ``failed``: it did not come to its end, and ``error`` says why
    :ivar verdicts: name -> whether it was met
    :ivar figures: name -> number
    :ivar judged: the verdicts with value and limit, which the table does not have
    """

    run_id: str
    seed: int
    parameters: Mapping[str, Any]
    status: str
    error: str | None = None
    trace_sha256: str | None = None
    version: str = ""
    verdicts: Mapping[str, bool] = {}
    figures: Mapping[str, float | int] = {}
    scenario: str = ""
    judged: tuple[Verdict, ...] = ()

    @property
    def done(self) -> bool:
        """Whether it came to its end."""
        return self.status == DONE

    def passed(self, verdict: str | None = None) -> bool | None:
        """Whether a verdict, or all, are met; None: the run failed, or has no such verdict."""
        if not self.done:
            return None
        return all(self.verdicts.values()) if verdict is None else self.verdicts.get(verdict)


class Store:
    """The output directory of a sweep.

    :param directory: the directory, held
    :param digest: of the sweep; results of another one are not mixed with it
    """

    def __init__(self, directory: OutputDirectory, digest: str) -> None:
        self.output = directory.path
        self._directory = directory
        self._digest = digest

    def begin(self) -> None:
        """Begin anew; what an earlier sweep has left is removed."""
        self._directory.clear()
        self.note({})

    def resume(self) -> None:
        """Go on with what is there, if there is anything.

        :raises ConfigurationError: it is another sweep
        """
        path = self.output / SWEEP_FILE
        if not path.exists():
            self.begin()
            return
        try:
            found = read_record(path)
        except (OSError, ValueError) as error:
            raise ConfigurationError(f"{path} cannot be read: {cause_of(error)}") from None
        if not isinstance(found, dict) or found.get("digest") != self._digest:
            raise ConfigurationError(
                f"--resume: {self.output} holds another sweep: sweep file, scenario or version "
                "have changed; leave --resume out, or name another directory"
            )

    def note(self, found: Mapping[str, Any]) -> None:
        """Write what is known of the sweep as a whole."""
        text = json.dumps({"digest": self._digest, **found}, indent=1, allow_nan=False)
        write_atomically(self.output / SWEEP_FILE, text + "\n")

    def former(self, run_id: str, parameters: Mapping[str, Any], seed: int) -> SweepRun | None:
        """A run that is complete already; None: it has to be done."""
        path = self.output / RUNS / run_id
        try:
            record = read_record(path / RECORD_FILE)
        except (OSError, ValueError):
            return None
        wanted = {"parameters": dict(parameters), "seed": seed, "status": DONE}
        if not isinstance(record, dict) or any(record.get(k) != v for k, v in wanted.items()):
            return None
        return _row(run_id, parameters, seed, read_summary(path))

    def keep(
        self, run_id: str, parameters: Mapping[str, Any], seed: int, outcome: RunOutcome
    ) -> SweepRun:
        """Write the files of a run.

        :raises OSError: the disk is full
        """
        path = self.output / RUNS / run_id
        shutil.rmtree(path, ignore_errors=True)
        path.mkdir(parents=True)
        for name, content in outcome.files.items():
            file = path / name
            file.parent.mkdir(parents=True, exist_ok=True)
            if name == REPORT_FILE:
                content = self._lean(content)
            write_atomically(file, content)
        status = DONE if outcome.error is None else FAILED
        record = {
            "run_id": run_id,
            "parameters": dict(parameters),
            "seed": seed,
            "status": status,
            "error": outcome.error,
        }
        write_atomically(path / RECORD_FILE, json.dumps(record, indent=1) + "\n")
        if outcome.error is not None:
            version = ros2_cosim.__version__
            return SweepRun(run_id, seed, parameters, FAILED, outcome.error, version=version)
        return _row(run_id, parameters, seed, read_summary(path))

    def _lean(self, page: bytes) -> bytes:
        """The report of a run; it refers to the scripts and the style that all reports share."""
        for name, content in shared_files().items():
            if not (self.output / RUNS / name).is_file():
                write_atomically(self.output / RUNS / name, content)
        return with_shared_files(page, "../")

    def write_table(self, runs: Sequence[SweepRun]) -> Path:
        """Write ``runs.parquet``: a row per run, by their numbers, whichever was done first."""
        import pyarrow
        import pyarrow.parquet

        columns: dict[str, list[Any]] = {
            "run_id": [run.run_id for run in runs],
            "scenario": [run.scenario for run in runs],
            "seed": [run.seed for run in runs],
            "status": [run.status for run in runs],
            "trace_sha256": [run.trace_sha256 for run in runs],
            "version": [run.version for run in runs],
            "error": [run.error for run in runs],
        }
        for name in _names(run.parameters for run in runs):
            columns[f"param.{name}"] = _alike([run.parameters.get(name) for run in runs])
        for name in _names(run.verdicts for run in runs):
            columns[f"verdict.{name}"] = [run.verdicts.get(name) for run in runs]
        for name in _names(run.figures for run in runs):
            columns[f"figure.{name}"] = _alike([run.figures.get(name) for run in runs])
        texts = {"run_id", "scenario", "status", "trace_sha256", "version", "error"}
        arrays = [
            pyarrow.array(values, pyarrow.string() if name in texts else None)
            for name, values in columns.items()
        ]
        path = self.output / TABLE_FILE
        part = path.with_name(f".{path.name}.part")
        pyarrow.parquet.write_table(pyarrow.table(arrays, names=list(columns)), part)
        part.replace(path)
        return path


def _names(mappings: Iterable[Mapping[str, Any]]) -> list[str]:
    return list(dict.fromkeys(name for mapping in mappings for name in mapping))


def _alike(values: list[Any]) -> list[Any]:
    """The values of a column, which has one type: numbers, truths or texts; others as JSON."""
    kinds = {type(value) for value in values if value is not None}
    if kinds <= {int} or kinds <= {bool} or kinds <= {str}:
        return values
    if kinds <= {int, float}:
        return [None if value is None else float(value) for value in values]
    return [
        value if value is None or isinstance(value, str) else json.dumps(value, sort_keys=True)
        for value in values
    ]


def _row(run_id: str, parameters: Mapping[str, Any], seed: int, summary: Summary) -> SweepRun:
    """The row of a run that is complete.

    :raises RunError: its summary is not that of the run
    """
    if summary.seed != seed:
        raise RunError(f"{run_id}: found seed {summary.seed} in its summary; it was {seed}")
    figures: dict[str, float | int] = {
        "sim_time_s": summary.sim_time_s,
        "steps": summary.steps,
        "activations": sum(each.activations for each in summary.participants),
    }
    _add(figures, "collisions", summary.collisions)
    _add(figures, "min_gap_m", summary.min_gap_m)
    _add(figures, "min_pet_s", summary.min_pet_s)
    _add(figures, "final_gap_to_obstacle_m", summary.final_gap_to_obstacle_m)
    for verdict in summary.verdicts:
        _add(figures, verdict.name, verdict.value)
    for participant, found in (summary.figures or {}).items():
        for name, value in found.items():
            _add(figures, f"{participant}.{name}", value)
    return SweepRun(
        run_id,
        seed,
        parameters,
        DONE,
        None,
        summary.trace_sha256,
        summary.versions.get("ros2_cosim", ""),
        {verdict.name: verdict.passed for verdict in summary.verdicts},
        figures,
        judged=summary.verdicts,
    )


def _add(figures: dict[str, float | int], name: str, value: Any) -> None:
    """Add what is a number."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        figures.setdefault(name, value)
