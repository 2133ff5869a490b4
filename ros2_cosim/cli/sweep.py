# SPDX-License-Identifier: Apache-2.0
"""``cosim sweep``: many runs of a scenario with other values."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ros2_cosim.cli.completion import scenario_files
from ros2_cosim.cli.console import EXIT_ERROR, running
from ros2_cosim.cli.parameters import AsJson

if TYPE_CHECKING:
    from ros2_cosim.lab.sweep.search import Search
    from ros2_cosim.lab.sweep.sweep import SweepResult

#: So many runs that failed are shown; ``runs.parquet`` has all.
_SHOWN = 5


def sweep(
    file: Annotated[
        Path,
        typer.Argument(
            help="Sweep file (YAML or JSON).", metavar="FILE", autocompletion=scenario_files
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
    out: Annotated[
        Path | None, typer.Option(help="Output directory (out/ and the name of the file).")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Run a scenario many times with other values; results as a table. Exit 1 if a run failed."""
    from ros2_cosim.lab.sweep.settings import load_sweep
    from ros2_cosim.lab.sweep.sweep import run_sweep

    if workers is not None and cluster is not None:
        raise typer.BadParameter("allowed is one of --workers and --cluster")
    with running():
        whole = load_sweep(file)
        result = run_sweep(
            whole,
            (out or Path("out") / file.stem).absolute(),
            workers=workers,
            cluster=cluster,
            resume=resume,
            tell=lambda line: print(line, file=sys.stderr if as_json else sys.stdout, flush=True),
        )
        if as_json:
            print(json.dumps(result.data(), indent=1, allow_nan=False))
        else:
            _print(result, whole.settings.search)
    if result.failed:
        for run in result.failed[:_SHOWN]:
            print(f"cosim: run {run.run_id}: {run.error}", file=sys.stderr)
        print(f"cosim: {len(result.failed)} of {len(result.runs)} runs failed", file=sys.stderr)
        raise typer.Exit(EXIT_ERROR)


def _print(result: SweepResult, search: Search | None) -> None:
    from ros2_cosim.core.run.output_directory import shown
    from ros2_cosim.lab.sweep.rates import CONFIDENCE

    for rate in result.rates:
        print(
            f"{rate.verdict}: not met in {rate.not_met} of {rate.runs} runs; rate {rate.rate:.4g}, "
            f"{100 * CONFIDENCE:g} % interval {rate.low:.4g} to {rate.high:.4g}"
        )
    if search is not None and result.finding is not None:
        print(*search.told(result.finding), sep="\n")
    print(f"results in {shown(result.output)}")
