# SPDX-License-Identifier: Apache-2.0
"""A sweep from its file to its table and its report."""

from __future__ import annotations

from collections.abc import Callable, Iterable
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
from ros2_cosim.lab.sweep.design import in_scenario, plan_of
from ros2_cosim.lab.sweep.progress import SweepProgress
from ros2_cosim.lab.sweep.rates import FailureRate, rates_of
from ros2_cosim.lab.sweep.report import render_sweep
from ros2_cosim.lab.sweep.search import Finding, Plan, Point
from ros2_cosim.lab.sweep.settings import Sweep
from ros2_cosim.lab.sweep.store import SWEEP_FILE, TABLE_FILE, Store, SweepRun
from ros2_cosim.lab.sweep.task import RUNS, SweepJob, scenario_of
from ros2_cosim.lab.sweep.varied import MAX_RUNS
from ros2_cosim.lab.sweep.workers import Workers, start_fork_server, workers_for

#: Address space of a worker of this machine with all that Dask imports [bytes]; most of it is never
#: touched.
SPACE_OF_A_WORKER = 1 << 30


@dataclass
class SweepResult:
    """What a sweep has found; ``runs`` are in the order of their numbers."""

    output: Path
    runs: list[SweepRun] = field(default_factory=list)
    rates: list[FailureRate] = field(default_factory=list)
    finding: Finding = None

    @property
    def failed(self) -> list[SweepRun]:
        """The runs that did not come to their end."""
        return [run for run in self.runs if not run.done]

    def data(self) -> dict[str, Any]:
        """As plain data."""
        return {
            "out": str(self.output),
            "runs": len(self.runs),
            "failed": [{"run_id": run.run_id, "error": run.error} for run in self.failed],
            "rates": [rate._asdict() for rate in self.rates],
            "search": self.finding,
        }


def run_sweep(
    sweep: Sweep,
    output: Path,
    *,
    workers: int | None = None,
    cluster: str | None = None,
    resume: bool = False,
    tell: Callable[[str], None] = lambda line: None,
) -> SweepResult:
    """Do all runs of a sweep that are not done yet; a run that fails does not stop the rest.

    :param output: directory for the results
    :param workers: number of processes on this machine, 0: this process itself; None: one for each
        of its processors
    :param cluster: address of a scheduler of Dask instead
    :param resume: go on with what is in the directory
    :param tell: takes lines about the progress
    :raises ConfigurationError: the sweep, its scenario or the directory is wrong, or a limit of
        this process is too low
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
        store = Store(directory, sweep.digest)
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
        plan = plan_of(sweep.settings)
        points = next(plan)
        _check_first(sweep, points)
        with workers_for(workers, cluster, sweep.settings.retries, tell) as pool:
            _follow_plan(sweep, store, pool, SweepProgress(tell), plan, points, result)
        # The points that a search chooses are not a sample: shares of them mean nothing.
        result.rates = rates_of(result.runs) if sweep.settings.search is None else []
        store.write_table(result.runs)
        found = result.data()
        store.note({key: found[key] for key in ("runs", "failed", "rates", "search")})
        render_sweep(output, sweep.settings, result.runs, result.rates, result.finding)
    return result


def _follow_plan(
    sweep: Sweep,
    store: Store,
    pool: Workers,
    progress: SweepProgress,
    plan: Plan,
    points: list[Point],
    result: SweepResult,
) -> None:
    """Do batch after batch, from the first points on, and hand each to the plan."""
    while True:
        runs = _do(sweep, store, pool, progress, points, len(result.runs))
        result.runs += runs
        count = len(sweep.seeds)
        try:
            points = plan.send([runs[n : n + count] for n in range(0, len(runs), count)])
        except StopIteration as end:
            result.finding = end.value
            return


def _do(
    sweep: Sweep,
    store: Store,
    pool: Workers,
    progress: SweepProgress,
    points: list[Point],
    before: int,
) -> list[SweepRun]:
    """All runs of a batch, with each seed, in the order of their numbers."""
    wanted = [(point, seed) for point in points for seed in sweep.seeds]
    if before + len(wanted) > MAX_RUNS:
        raise ConfigurationError(
            f"found {before + len(wanted)} runs, points times seeds; allowed are {MAX_RUNS}"
        )
    runs: dict[str, SweepRun] = {}
    jobs: list[SweepJob] = []
    parameters: dict[str, Point] = {}
    for number, (point, seed) in enumerate(wanted, start=before + 1):
        run_id = f"{number:06d}"
        former = store.former(run_id, point, seed)
        if former is not None:
            runs[run_id] = former
            continue
        parameters[run_id] = point
        jobs.append(_job(sweep, run_id, point, seed))
    progress.expect(len(jobs), len(runs))
    for job, outcome in pool.outcomes(jobs) if jobs else ():
        run = store.keep(job.run_id, parameters[job.run_id], job.seed, outcome)
        runs[job.run_id] = run
        progress.done(failed=not run.done)
    return [runs[run_id] for run_id in sorted(runs)]


def _job(sweep: Sweep, run_id: str, point: Point, seed: int) -> SweepJob:
    settings = sweep.settings.parameters
    values = tuple(
        (place, in_scenario(settings[name], value))
        for name, value in point.items()
        for place in settings[name].places or (name,)
    )
    return SweepJob(
        run_id, sweep.scenario, sweep.changes, sweep.origin, values, seed, sweep.settings.bag
    )


def _check_first(sweep: Sweep, points: Iterable[Point]) -> None:
    """Check whether the first run can be done at all: what is wrong with it is wrong with all.

    Of rows one may be wrong by itself: a file's own constraints may exclude it.
    """
    for point in points if sweep.settings.design.kind != "rows" else ():
        check_scenario(scenario_of(_job(sweep, "", point, sweep.seeds[0])), "inproc")
        return
