# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What is worse than last time: runs of a sweep beside those of an earlier one.

Two runs are compared that have the same scenario, parameters and seed. A verdict is worse that was
met and is not, or is not there any more. A figure is worse that has changed to its bad side by more
than a hundredth of its former value and by more than ``LEAST``. Which side that is tells the
verdict of its name: the side of the limit on which it is not met. A figure without verdict is worse
if it is smaller and its name begins with ``min_``, or larger and it begins with ``max_``; others
have no bad side.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from ros2_cosim.core.documents.files import cause_of
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.record.summary import Verdict, figure_text
from ros2_cosim.lab.sweep.store import DONE, TABLE_FILE, SweepRun

#: A share of the former value, and the least change that counts.
SHARE: Final = 0.01
LEAST: Final = 0.001

#: Scenario, parameters, and seed.
_Key = tuple[str, frozenset[tuple[str, str]], int]


class Worse(NamedTuple):
    """A verdict or figure that is worse, and what it was."""

    run_id: str
    scenario: str
    name: str
    before: bool | float
    now: bool | float | None

    @property
    def change(self) -> str:
        """Both values in words."""
        return f"{figure_text(self.before)} before, now {figure_text(self.now)}"


class BaselineResult(NamedTuple):
    """How many runs have one in the baseline, what is worse, and how many of it have no run now."""

    compared: int
    worse: list[Worse]
    gone: int = 0


class Baseline:
    """The rows of an earlier sweep.

    :param path: its directory, or its table
    :raises ConfigurationError: there is no table of a sweep
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._rows: dict[_Key, Mapping[str, Any]] = {}
        for row in _rows_of(path / TABLE_FILE if path.is_dir() else path):
            parameters = {n[6:]: value for n, value in row.items() if n.startswith("param.")}
            self._rows[_key(row["scenario"], parameters, row["seed"])] = row

    def compare(self, runs: Sequence[SweepRun]) -> BaselineResult:
        """Compare runs with those of the baseline.

        :raises ConfigurationError: it has none of them
        """
        worse: list[Worse] = []
        compared = 0
        keys = [_key(run.scenario, run.parameters, run.seed) for run in runs]
        for run, key in zip(runs, keys, strict=True):
            row = self._rows.get(key)
            if row is not None and row["status"] == DONE:
                compared += 1
                worse += _worse(run, row)
        if runs and not compared:
            raise ConfigurationError(
                f"--baseline: {self._path} has no run with scenario, parameters and seed of one of "
                f"these; {_of(runs[0])} is the first"
            )
        return BaselineResult(compared, worse, len(self._rows.keys() - set(keys)))


def _rows_of(path: Path) -> list[dict[str, Any]]:
    import pyarrow
    import pyarrow.parquet

    try:
        rows: list[dict[str, Any]] = pyarrow.parquet.read_table(path).to_pylist()
    except (OSError, pyarrow.ArrowException) as error:
        raise ConfigurationError(f"--baseline: {path} cannot be read: {cause_of(error)}") from None
    missing = {"scenario", "seed", "status"} - set(rows[0] if rows else ())
    if missing:
        raise ConfigurationError(
            f"--baseline: {path} has no column {', '.join(sorted(missing))}; allowed is "
            f"{TABLE_FILE} of a sweep of this version or a later one"
        )
    return rows


def _key(scenario: str, parameters: Mapping[str, Any], seed: int) -> _Key:
    given = {(name, _text(value)) for name, value in parameters.items() if value is not None}
    return scenario, frozenset(given), seed


def _text(value: Any) -> str:
    """A parameter's value, whether it is of a table, which has one type in a column, or not."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            return str(value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return repr(float(value))
    return json.dumps(value, sort_keys=True)


def _of(run: SweepRun) -> str:
    given = ", ".join(f"{name} {value}" for name, value in run.parameters.items())
    return f"{run.scenario}, {given + ', ' if given else ''}seed {run.seed}"


def _worse(run: SweepRun, row: Mapping[str, Any]) -> list[Worse]:
    found = [
        Worse(run.run_id, run.scenario, name, True, False)
        for name, met in run.verdicts.items()
        if not met and row.get(f"verdict.{name}")
    ]
    met_before = [name[8:] for name, met in row.items() if name.startswith("verdict.") and met]
    found += [
        Worse(run.run_id, run.scenario, name, True, None)
        for name in met_before
        if run.done and name not in run.verdicts
    ]
    judged = {verdict.name: verdict for verdict in run.judged}
    for name, now in run.figures.items():
        before = row.get(f"figure.{name}")
        if before is None:
            continue
        change = (now - before) * _bad_side(name, before, row, judged.get(name))
        if change > max(SHARE * abs(before), LEAST):
            found.append(Worse(run.run_id, run.scenario, name, before, now))
    return found


def _bad_side(name: str, before: float, row: Mapping[str, Any], verdict: Verdict | None) -> int:
    """1: a larger figure is worse; -1: a smaller one; 0: neither."""
    if verdict is not None:
        limit: Any = verdict.limit
        looks: list[tuple[Any, Any]] = [
            (verdict.value, verdict.passed),
            (before, row.get(f"verdict.{name}")),
        ]
        for value, met in looks:
            if _is_number(value) and _is_number(limit) and value != limit and met is not None:
                return -1 if (value > limit) == met else 1
    own = name.rpartition(".")[2]
    return -1 if own.startswith("min_") else 1 if own.startswith("max_") else 0


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
