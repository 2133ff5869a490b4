# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""``cosim replay``: a run again, or a recording into participants."""

from __future__ import annotations

import json
import sys
from contextlib import nullcontext, redirect_stdout
from pathlib import Path
from typing import Annotated

import typer

from ros2_cosim.cli.completion import laws, scenario_files, shapes
from ros2_cosim.cli.console import EXIT_VERDICT, go_on_apart, print_line, progress_of, running
from ros2_cosim.core.kernel.errors import ConfigurationError


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
        str | None,
        typer.Option(
            help="With --into: another control law, as for cosim run.", autocompletion=laws
        ),
    ] = None,
    scenario: Annotated[
        Path | None,
        typer.Option(
            help="With --into: scenario of a bag that was recorded elsewhere.",
            autocompletion=scenario_files,
        ),
    ] = None,
    to_topics: Annotated[
        bool,
        typer.Option(
            "--to-topics",
            help="With --into: publish the inputs as ROS topics in real time, and compare the "
            "answers of a node that already runs.",
        ),
    ] = False,
    substitute: Annotated[
        str | None,
        typer.Option(
            help="PARTICIPANT=MODEL: run again, with another model (or control law) for a "
            "participant from a time on, and compare."
        ),
    ] = None,
    from_: Annotated[
        str | None,
        typer.Option("--from", help="With --substitute: when the model takes over, as 12s."),
    ] = None,
    shape: Annotated[
        str,
        typer.Option(help="Run shape in which a run is repeated.", autocompletion=shapes),
    ] = "inproc",
    out: Annotated[
        Path | None,
        typer.Option(help="Output directory (RUN_DIRECTORY-replay; with --into none is kept)."),
    ] = None,
    as_json: Annotated[
        bool,
        typer.Option(
            "--json",
            help="Print one JSON document: with --into and --substitute as cosim diff, else equal "
            "and both traces.",
        ),
    ] = False,
) -> None:
    """Repeat a run and compare the traces; or feed its recorded inputs to participants."""
    if into and substitute:
        raise typer.BadParameter("allowed is one of --into and --substitute")
    if (substitute is None) != (from_ is None):
        raise typer.BadParameter("--substitute and --from belong together")
    if (into or substitute) and shape != "inproc":
        raise typer.BadParameter("--shape belongs to the repetition of a whole run")
    if not into and (controllers is not None or scenario is not None or to_topics):
        raise typer.BadParameter("--controllers, --scenario and --to-topics need --into")
    if to_topics and controllers is not None:
        raise typer.BadParameter("--controllers: with --to-topics the node has its own")
    if into:
        _replay_into(run_directory, into, controllers, scenario, out, as_json, to_topics)
    elif substitute is not None and from_ is not None:
        _what_if(run_directory, substitute, from_, out, as_json)
    else:
        _repeat(run_directory, shape, out, as_json)


def _repeat(
    run_directory: Path,
    shape: str,
    out: Path | None,
    as_json: bool,
) -> None:
    """Repeat a run from its scenario and its arrival record; compare the traces."""
    from ros2_cosim.core.record.summary import print_summary
    from ros2_cosim.core.run.bringup import bring_up
    from ros2_cosim.core.run.replay import DifferentError, compare, prepare_replay
    from ros2_cosim.core.run.request import RunRequest
    from ros2_cosim.core.run.start import start

    with running(), redirect_stdout(sys.stderr) if as_json else nullcontext():
        scenario, arrivals, former = prepare_replay(run_directory)
        output = out or run_directory.with_name(f"{run_directory.absolute().name}-replay")
        if output.resolve() == run_directory.resolve():
            raise ConfigurationError(f"--out {output}: it holds the run that is repeated")
        request = RunRequest(scenario, shape=shape, arrivals=arrivals, out=output)
        if shape == "inproc":
            go_on_apart()
        with (
            bring_up(request) as prepared,
            progress_of(scenario.name, scenario.duration) as progress,
        ):
            summary = start(prepared, progress=progress, on_line=print_line)
        print_summary(summary)
        different = None
        try:
            compare(former, summary)
        except DifferentError as error:
            different = str(error)
    if as_json:
        found = {
            "equal": different is None,
            "trace_sha256": [former.trace_sha256, summary.trace_sha256],
            "out": str(output),
        }
        print(json.dumps(found, indent=1))
    if different is not None:
        print(f"cosim: {different}", file=sys.stderr)
        raise typer.Exit(EXIT_VERDICT)
    if not as_json:
        print("  the same trace as before")
        print(f"  results in {output}")


def _replay_into(
    bag: Path,
    into: list[str],
    controllers: str | None,
    scenario: Path | None,
    out: Path | None,
    as_json: bool,
    to_topics: bool,
) -> None:
    """Feed recorded inputs to participants; compare their outputs."""
    from ros2_cosim.cli.diff_text import print_comparison
    from ros2_cosim.core.run.output_directory import shown
    from ros2_cosim.core.run.replay_into import replay_into
    from ros2_cosim.core.run.tracebacks import noting

    nodes = None
    with running():
        if to_topics:  # only this needs ROS
            from ros2_cosim.ros.bringup.dds import check_ros

            check_ros("--to-topics")
            from ros2_cosim.ros.bringup.replay_to_topics import TopicReplay

            nodes = TopicReplay
        if out is not None and out.resolve() == bag.resolve():
            raise ConfigurationError(f"--out {out}: it holds the recording that is replayed")
        go_on_apart()
        with nullcontext() if out is None else noting(out.absolute()):
            found = replay_into(
                bag,
                into,
                None if out is None else out.absolute(),
                controllers=controllers,
                scenario=scenario,
                nodes=nodes,
            )
        if as_json:
            print(json.dumps(found.data(), indent=1, allow_nan=False))
        else:
            print_comparison(found)
            if out is not None:
                print(f"results in {shown(out.absolute())}")
    if not found.equal:
        raise typer.Exit(EXIT_VERDICT)


def _what_if(recording: Path, substitute: str, from_: str, out: Path | None, as_json: bool) -> None:
    """Run again with another model from a time on; compare."""
    from ros2_cosim.cli.diff_text import print_comparison
    from ros2_cosim.core.record.summary import print_summary
    from ros2_cosim.core.run.output_directory import shown
    from ros2_cosim.core.run.request import read_time
    from ros2_cosim.core.run.start import run_request
    from ros2_cosim.core.run.what_if import compare_what_if, prepare_what_if, run_of

    with running():
        run = run_of(recording)
        output = (out or run.with_name(f"{run.absolute().name}-replay")).absolute()
        if output.resolve() == run.resolve():
            raise ConfigurationError(f"--out {out}: it holds the run that is repeated")
        from_ns = read_time("--from", from_)
        go_on_apart()
        summary = run_request(prepare_what_if(run, substitute, from_ns, output))
        found = compare_what_if(run, output, from_ns)
        if as_json:
            print(json.dumps(found.data(), indent=1, allow_nan=False))
            return
        print_summary(summary)
        print_comparison(found)
        print(f"results in {shown(output)}")
