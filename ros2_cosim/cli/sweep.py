# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""``cosim sweep``: many runs of scenarios with other values."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ros2_cosim.cli.completion import scenario_files
from ros2_cosim.cli.console import EXIT_ERROR, EXIT_VERDICT, running
from ros2_cosim.cli.parameters import AsJson

if TYPE_CHECKING:
    from ros2_cosim.lab.sweep.search import Search
    from ros2_cosim.lab.sweep.sweep import SweepResult

#: So many runs that failed, or are not as they should be, are shown; ``runs.parquet`` has all.
_SHOWN = 5


def sweep(
    files: Annotated[
        list[Path],
        typer.Argument(
            help="Sweep files and scenarios (YAML, JSON, OpenSCENARIO), directories of them, or "
            "names of the library.",
            metavar="FILE...",
            autocompletion=scenario_files,
        ),
    ],
    workers: Annotated[
        int | None,
        typer.Option(
            min=0,
            help="Worker processes on this machine; 0: none, all runs in this process. Default: "
            "one for each processor.",
        ),
    ] = None,
    cluster: Annotated[
        str | None,
        typer.Option(help="Address of a Dask scheduler, whose workers do the runs instead."),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Continue the sweep in the output directory.")
    ] = False,
    junit: Annotated[
        Path | None,
        typer.Option(help="Write JUnit XML to this file: a test case for each verdict."),
    ] = None,
    baseline: Annotated[
        Path | None,
        typer.Option(
            help="Compare the runs with this earlier sweep: its directory or runs.parquet.",
            metavar="RUNS",
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Output directory (out/ and the name of the first file).")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Run scenarios many times with other values; results as a table.

    Exit 1 if a run failed, else 3 if a verdict is not met or something is worse than the baseline.
    """
    from ros2_cosim.lab.sweep.baseline import Baseline
    from ros2_cosim.lab.sweep.junit import write_junit
    from ros2_cosim.lab.sweep.settings import load_sweeps
    from ros2_cosim.lab.sweep.sweep import run_sweep

    if workers is not None and cluster is not None:
        raise typer.BadParameter("allowed is one of --workers and --cluster")
    with running():
        sweeps = load_sweeps(files)
        result = run_sweep(
            sweeps,
            (out or Path("out") / files[0].stem).absolute(),
            workers=workers,
            cluster=cluster,
            resume=resume,
            baseline=None if baseline is None else Baseline(baseline),
            tell=lambda line: print(line, file=sys.stderr if as_json else sys.stdout, flush=True),
        )
        if junit is not None:
            write_junit(junit, result.runs, result.worse)
        if as_json:
            print(json.dumps(result.data(), indent=1, allow_nan=False))
        else:
            _print(result, [sweep.settings.search for sweep in sweeps])
    code = _tell_faults(result)
    if code:
        raise typer.Exit(code)


def _tell_faults(result: SweepResult) -> int:
    """Print what is not as it should be, and return the exit code."""
    lines = [f"run {run.run_id}: {run.error}" for run in result.failed[:_SHOWN]]
    if result.failed:
        lines.append(f"{len(result.failed)} of {len(result.runs)} runs failed")
    if result.not_met:
        lines.append(f"{len(result.not_met)} of {len(result.runs)} runs do not meet a verdict")
    lines += [
        f"run {each.run_id} of {each.scenario}: {each.name} is worse: {each.change}"
        for each in result.worse[:_SHOWN]
    ]
    if result.worse:
        lines.append(f"worse than the baseline: {len(result.worse)} verdicts or figures")
    for line in lines:
        print(f"cosim: {line}", file=sys.stderr)
    if result.failed:
        return EXIT_ERROR
    return EXIT_VERDICT if result.not_met or result.worse else 0


def _print(result: SweepResult, searches: list[Search | None]) -> None:
    from ros2_cosim.core.run.output_directory import shown
    from ros2_cosim.lab.sweep.rates import CONFIDENCE

    for rate in result.rates:
        print(
            f"{rate.verdict}: not met in {rate.not_met} of {rate.runs} runs; rate {rate.rate:.4g}, "
            f"{100 * CONFIDENCE:g} % interval {rate.low:.4g} to {rate.high:.4g}"
        )
    for search in searches:
        if search is not None and result.finding is not None:
            print(*search.told(result.finding), sep="\n")
    if result.comparison is not None:
        gone = result.comparison.gone
        missing = f"; {gone} of the baseline are not among these runs" if gone else ""
        print(f"{result.comparison.compared} runs are compared with the baseline{missing}")
    print(f"results in {shown(result.output)}")
