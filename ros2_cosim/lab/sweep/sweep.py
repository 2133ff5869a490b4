# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Sweeps from their files to their table and their report."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

from ros2_cosim.core.documents.extras import need_extra
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.record.results import REPORT_FILE
from ros2_cosim.core.run.output_directory import OutputDirectory
from ros2_cosim.core.run.process_limits import check_space
from ros2_cosim.core.scenario.check import check_scenario
from ros2_cosim.lab.sweep.baseline import Baseline, BaselineResult, Worse
from ros2_cosim.lab.sweep.design import in_scenario, plan_of
from ros2_cosim.lab.sweep.progress import SweepProgress
from ros2_cosim.lab.sweep.rates import FailureRate, rates_of
from ros2_cosim.lab.sweep.report import render_sweep
from ros2_cosim.lab.sweep.search import Finding, Point
from ros2_cosim.lab.sweep.settings import Sweep
from ros2_cosim.lab.sweep.store import SWEEP_FILE, TABLE_FILE, Store, SweepRun
from ros2_cosim.lab.sweep.task import RUNS, RunOutcome, SweepJob, scenario_of
from ros2_cosim.lab.sweep.varied import MAX_RUNS
from ros2_cosim.lab.sweep.workers import Workers, start_fork_server, workers_for

#: Address space of a worker of this machine with all that Dask imports [bytes]; most of it is never
#: touched.
SPACE_OF_A_WORKER = 1 << 30


@dataclass
class SweepResult:
    """What sweeps have found; ``runs`` are in the order of their numbers.

    ``finding`` is that of the one search, and ``comparison`` the one with a baseline.
    """

    output: Path
    runs: list[SweepRun] = field(default_factory=list)
    rates: list[FailureRate] = field(default_factory=list)
    finding: Finding = None
    comparison: BaselineResult | None = None

    @property
    def failed(self) -> list[SweepRun]:
        """The runs that did not come to their end."""
        return [run for run in self.runs if not run.done]

    @property
    def not_met(self) -> list[SweepRun]:
        """The runs with a verdict that is not met."""
        return [run for run in self.runs if run.passed() is False]

    @property
    def worse(self) -> list[Worse]:
        """What is worse than in the baseline."""
        return [] if self.comparison is None else self.comparison.worse

    def data(self) -> dict[str, Any]:
        """As plain data."""
        return {
            "out": str(self.output),
            "runs": len(self.runs),
            "failed": [{"run_id": run.run_id, "error": run.error} for run in self.failed],
            "not_met": [run.run_id for run in self.not_met],
            "worse": [each._asdict() for each in self.worse],
            "rates": [rate._asdict() for rate in self.rates],
            "search": self.finding,
        }


def run_sweep(
    sweeps: Sequence[Sweep],
    output: Path,
    *,
    workers: int | None = None,
    cluster: str | None = None,
    resume: bool = False,
    baseline: Baseline | None = None,
    tell: Callable[[str], None] = lambda line: None,
) -> SweepResult:
    """Do all runs of sweeps that are not done yet; a run that fails does not stop the rest.

    :param output: directory for the results
    :param workers: number of processes on this machine, 0: this process itself; None: one for each
        of its processors
    :param cluster: address of a scheduler of Dask instead
    :param resume: go on with what is in the directory
    :param baseline: what the runs are compared with
    :param tell: takes lines about the progress
    :raises ConfigurationError: a sweep, its scenario or the directory is wrong, a limit of this
        process is too low, or the baseline has none of the runs
    :raises ConnectionFailedError: the scheduler is lost; what was done is kept
    """
    if cluster is None and workers != 0:
        check_space("a worker of a sweep", SPACE_OF_A_WORKER)
    need_extra("sweep", ("distributed", "optuna", "pyarrow", "scipy"), "cosim sweep")
    directory = OutputDirectory(
        output,
        "a sweep",
        kind="sweep",
        marker=SWEEP_FILE,
        results=(RUNS, TABLE_FILE, REPORT_FILE, SWEEP_FILE, ".*.part"),
    )
    with directory:
        store = Store(directory, _digest(sweeps))
        if resume:
            store.resume()
        else:
            store.begin()
        result = SweepResult(output)
        if cluster is None and workers != 0:
            # It loads what workers need, and beside it this process what the end needs.
            start_fork_server()
        for module in ("pyarrow.parquet", "scipy.special"):
            import_module(module)
        courses = [_Course(sweep) for sweep in sweeps]
        for course in courses:
            course.check_first()
        retries = max(sweep.settings.retries for sweep in sweeps)
        with workers_for(workers, cluster, retries, tell) as pool:
            _do_all(store, pool, SweepProgress(tell), courses, result)
        # The points that a search chooses are not a sample: shares of them mean nothing.
        if all(sweep.settings.search is None for sweep in sweeps):
            result.rates = rates_of(result.runs)
        if baseline is not None:
            result.comparison = baseline.compare(result.runs)
        store.write_table(result.runs)
        found = result.data()
        store.note({key: found[key] for key in ("runs", "failed", "rates", "search")})
        settings = [sweep.settings for sweep in sweeps]
        render_sweep(output, settings, result.runs, result.rates, result.finding)
    return result


def _digest(sweeps: Sequence[Sweep]) -> str:
    if len(sweeps) == 1:
        return sweeps[0].digest
    return hashlib.sha256(" ".join(sweep.digest for sweep in sweeps).encode()).hexdigest()


class _Course:
    """A sweep on its way: the points that its plan wants next, and what it has found.

    :raises ConfigurationError: the design has too many points
    """

    def __init__(self, sweep: Sweep) -> None:
        self.sweep = sweep
        self._plan = plan_of(sweep.settings)
        self.points: list[Point] | None = next(self._plan)
        self.finding: Finding = None

    def check_first(self) -> None:
        """Check whether the first run can be done at all: what is wrong with it is wrong with all.

        A scenario that was given as it is says so as its run. Of rows one may be wrong by itself: a
        file's own constraints may exclude it.
        """
        rows = self.sweep.settings.design.kind == "rows"
        if self.points and not rows and not self.sweep.given:
            first = self.job("", self.points[0], self.sweep.seeds[0])
            check_scenario(scenario_of(first), "inproc")

    def job(self, run_id: str, point: Point, seed: int) -> SweepJob:
        """The run of a point."""
        sweep, settings = self.sweep, self.sweep.settings.parameters
        values = tuple(
            (place, in_scenario(settings[name], value))
            for name, value in point.items()
            for place in settings[name].places or (name,)
        )
        return SweepJob(
            run_id, sweep.scenario, sweep.changes, sweep.origin, values, seed, sweep.settings.bag
        )

    def take(self, runs: list[SweepRun]) -> None:
        """Hand the runs of all points to the plan."""
        count = len(self.sweep.seeds)
        try:
            self.points = self._plan.send([runs[n : n + count] for n in range(0, len(runs), count)])
        except StopIteration as end:
            self.points, self.finding = None, end.value


def _do_all(
    store: Store,
    pool: Workers,
    progress: SweepProgress,
    courses: Sequence[_Course],
    result: SweepResult,
) -> None:
    """Do batch after batch, those of all sweeps together, and hand each to its plan."""
    while going := [course for course in courses if course.points is not None]:
        wanted = [
            (course, point, seed)
            for course in going
            for point in course.points or ()
            for seed in course.sweep.seeds
        ]
        runs = _do(store, pool, progress, wanted, len(result.runs))
        result.runs += runs
        for course in going:
            course.take([run for run, (of, *_) in zip(runs, wanted, strict=True) if of is course])
            result.finding = result.finding or course.finding


def _do(
    store: Store,
    pool: Workers,
    progress: SweepProgress,
    wanted: Sequence[tuple[_Course, Point, int]],
    before: int,
) -> list[SweepRun]:
    """All runs of a batch, in the order of their numbers."""
    if before + len(wanted) > MAX_RUNS:
        raise ConfigurationError(
            f"found {before + len(wanted)} runs, points times seeds; allowed are {MAX_RUNS}"
        )
    runs: dict[str, SweepRun] = {}
    jobs: list[SweepJob] = []
    of: dict[str, tuple[_Course, Point, int]] = {}
    refused = 0
    for number, (course, point, seed) in enumerate(wanted, start=before + 1):
        run_id = f"{number:06d}"
        of[run_id] = course, point, seed
        former = store.former(run_id, point, seed)
        if former is not None:
            runs[run_id] = former
        elif course.sweep.refused:
            runs[run_id] = store.keep(run_id, point, seed, RunOutcome({}, course.sweep.refused))
            refused += 1
        else:
            jobs.append(course.job(run_id, point, seed))
    progress.expect(len(jobs) + refused, len(runs) - refused)
    for _ in range(refused):
        progress.done(failed=True)
    for job, outcome in pool.outcomes(jobs) if jobs else ():
        run = store.keep(job.run_id, of[job.run_id][1], job.seed, outcome)
        runs[job.run_id] = run
        progress.done(failed=not run.done)
    return [runs[run_id]._replace(scenario=of[run_id][0].sweep.name) for run_id in sorted(runs)]
