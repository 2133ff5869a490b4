# SPDX-License-Identifier: Apache-2.0
"""``cosim replay``: a run again, or a recording into participants."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from ros2_cosim.cli.console import EXIT_VERDICT, progress_of, running
from ros2_cosim.kernel.errors import ConfigurationError


def replay(
    run_directory: Annotated[
        Path, typer.Argument(help="Output of the run to repeat; with --into also a bag.")
    ],
    into: Annotated[
        list[str] | None,
        typer.Option(
            help="Feed the recorded inputs to this participant, and compare its outputs with the "
            "recorded ones (may be repeated)."
        ),
    ] = None,
    controllers: Annotated[
        str | None, typer.Option(help="With --into: another control law, as for cosim run.")
    ] = None,
    scenario: Annotated[
        Path | None,
        typer.Option(help="With --into: scenario of a bag that was recorded elsewhere."),
    ] = None,
    shape: Annotated[
        Literal["ros", "composed", "inproc"],
        typer.Option(help="Run shape in which a run is repeated."),
    ] = "inproc",
    out: Annotated[
        Path | None,
        typer.Option(help="Output directory (RUN_DIRECTORY-replay; with --into none is kept)."),
    ] = None,
    bag: Annotated[
        bool, typer.Option(help="Record a bag of the repeated run, and make a report from it.")
    ] = True,
    as_json: Annotated[
        bool, typer.Option("--json", help="With --into: print one JSON document, as cosim diff.")
    ] = False,
) -> None:
    """Repeat a run and compare the traces; or feed its recorded inputs to participants."""
    if into:
        if shape != "inproc" or not bag:
            raise typer.BadParameter("--shape and --no-bag belong to the repetition of a whole run")
        _replay_into(run_directory, into, controllers, scenario, out, as_json)
        return
    if controllers is not None or scenario is not None or as_json:
        raise typer.BadParameter("--controllers, --scenario and --json need --into")
    _repeat(run_directory, shape, out, bag)


def _repeat(
    run_directory: Path, shape: Literal["ros", "composed", "inproc"], out: Path | None, bag: bool
) -> None:
    """Repeat a run from its scenario and its arrival record; compare the traces."""
    from ros2_cosim.record.summary import print_summary
    from ros2_cosim.run.bringup import RunRequest, bring_up
    from ros2_cosim.run.replay import DifferentError, compare, prepare_replay
    from ros2_cosim.run.start import start

    with running():
        scenario, arrivals, former = prepare_replay(run_directory)
        output = out or run_directory.with_name(f"{run_directory.absolute().name}-replay")
        if output.resolve() == run_directory.resolve():
            raise ConfigurationError(f"--out {output}: it holds the run that is repeated")
        request = RunRequest(scenario, shape=shape, arrivals=arrivals, out=output, record=bag)
        with (
            bring_up(request) as prepared,
            progress_of(scenario.name, scenario.duration) as progress,
        ):
            summary = start(prepared, progress=progress, on_line=_print_line)
        print_summary(summary)
        try:
            compare(former, summary)
        except DifferentError as error:
            print(f"cosim: {error}", file=sys.stderr)
            raise typer.Exit(EXIT_VERDICT) from None
    print("  the same trace as before")
    print(f"  results in {output}")


def _replay_into(
    bag: Path,
    into: list[str],
    controllers: str | None,
    scenario: Path | None,
    out: Path | None,
    as_json: bool,
) -> None:
    """Feed recorded inputs to participants; compare their outputs."""
    from ros2_cosim.cli.diff_text import print_comparison
    from ros2_cosim.run.output_directory import shown
    from ros2_cosim.run.replay_into import replay_into

    with running():
        if out is not None and out.resolve() == bag.resolve():
            raise ConfigurationError(f"--out {out}: it holds the recording that is replayed")
        found = replay_into(
            bag,
            into,
            None if out is None else out.absolute(),
            controllers=controllers,
            scenario=scenario,
        )
        if as_json:
            print(json.dumps(found.data(), indent=1, allow_nan=False))
        else:
            print_comparison(found)
            if out is not None:
                print(f"results in {shown(out.absolute())}")
    if not found.equal:
        raise typer.Exit(EXIT_VERDICT)


def _print_line(name: str, line: str) -> None:
    print(f"[{name}] {line}", file=sys.stderr)
