# SPDX-License-Identifier: Apache-2.0
"""``cosim run``: a scenario to its end."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from contextlib import nullcontext, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ros2_cosim.cli import completion
from ros2_cosim.cli.console import EXIT_VERDICT, go_on_apart, print_line, progress_of, running
from ros2_cosim.cli.parameters import (
    Bag,
    Dashboard,
    Foxglove,
    Open,
    Processes,
    Settings,
    ShapeName,
    Simulator,
    Transport,
    page_address,
)
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.messages.namespaces import ROOT, parse_namespace
from ros2_cosim.core.run.options import OPTIONS, words
from ros2_cosim.core.sockets.peers import ADMISSION

if TYPE_CHECKING:
    from ros2_cosim.core.live.address import Address
    from ros2_cosim.core.record.summary import Summary
    from ros2_cosim.core.run.shape import PreparedRun


def run(
    context: typer.Context,
    scenario: Annotated[
        Path | None,
        typer.Argument(
            help="Scenario file (YAML or JSON); with --branch: default is that of the checkpoint.",
            autocompletion=completion.scenario_files,
        ),
    ] = None,
    shape: Annotated[ShapeName | None, typer.Option(help=OPTIONS["shape"].help)] = None,
    simulator: Simulator = None,
    host: Annotated[str | None, typer.Option(help=OPTIONS["host"].help)] = None,
    port: Annotated[int | None, typer.Option(help=OPTIONS["port"].help)] = None,
    rate: Annotated[str, typer.Option(help=OPTIONS["rate"].help)] = "max",
    hard: Annotated[bool, typer.Option(help=OPTIONS["hard"].help)] = False,
    arrivals: Annotated[Path | None, typer.Option(help=OPTIONS["arrivals"].help)] = None,
    out: Annotated[Path | None, typer.Option(help=OPTIONS["out"].help)] = None,
    settings: Settings = None,
    seed: Annotated[int | None, typer.Option(help=OPTIONS["seed"].help)] = None,
    duration: Annotated[str, typer.Option(help=OPTIONS["duration"].help)] = "",
    controllers: Annotated[
        str | None,
        typer.Option(help=OPTIONS["controllers"].help, autocompletion=completion.laws),
    ] = None,
    without: Annotated[list[str] | None, typer.Option(help=OPTIONS["without"].help)] = None,
    by_hand: Annotated[list[str] | None, typer.Option(help=OPTIONS["by_hand"].help)] = None,
    transport: Transport = "auto",
    processes: Processes = "auto",
    profile: Annotated[bool, typer.Option("--profile", help=OPTIONS["profile"].help)] = False,
    namespace: Annotated[str, typer.Option(help=OPTIONS["namespace"].help)] = ROOT,
    ros_args: Annotated[str, typer.Option(help=OPTIONS["ros_args"].help)] = "",
    checkpoint: Annotated[list[str] | None, typer.Option(help=OPTIONS["checkpoints"].help)] = None,
    branch: Annotated[Path | None, typer.Option(help=OPTIONS["branch"].help)] = None,
    bag: Bag = True,
    visualise: Annotated[bool, typer.Option(help=OPTIONS["visualise"].help)] = False,
    rviz: Annotated[bool, typer.Option(help=OPTIONS["rviz"].help)] = False,
    foxglove: Foxglove = "",
    dashboard: Dashboard = "",
    paused: Annotated[bool, typer.Option("--paused", help=OPTIONS["paused"].help)] = False,
    no_control: Annotated[
        bool, typer.Option("--no-control", help=OPTIONS["no_control"].help)
    ] = False,
    repeat: Annotated[int, typer.Option(min=1, help=OPTIONS["repeat"].help)] = 1,
    traceback: Annotated[
        bool,
        typer.Option("--traceback", help="Print the traceback of code of yours that fails."),
    ] = False,
    pdb: Annotated[
        bool,
        typer.Option(
            "--pdb", help="Stop in the debugger where code of yours fails (shape inproc)."
        ),
    ] = False,
    open_to_all: Open = False,
    as_json: Annotated[
        bool,
        typer.Option("--json", help="Print the summary as one JSON document; all else to stderr."),
    ] = False,
) -> None:
    """Run a scenario to its end; bag, summary and report go to the output directory."""
    from ros2_cosim.core.realtime.pacing import parse_rate
    from ros2_cosim.core.record.summary import print_repetitions, print_summary
    from ros2_cosim.core.run.bringup import bring_up
    from ros2_cosim.core.run.options import read_time
    from ros2_cosim.core.run.output_directory import repetitions, shown
    from ros2_cosim.core.run.request import RunRequest
    from ros2_cosim.core.run.tracebacks import debugging, showing

    context.with_resource(ADMISSION.widened(open_to_all))
    if branch is not None:
        branch = branch.absolute()
    described = scenario or branch
    if described is None:
        raise typer.BadParameter(
            "missing; allowed is to leave it out with --branch", param_hint="SCENARIO"
        )
    with running(), redirect_stdout(sys.stderr) if as_json else nullcontext():
        request = RunRequest(
            described,
            set=tuple(settings or ()),
            shape=shape or ("inproc" if dashboard else ""),
            simulator=simulator,
            host=host,
            port=port,
            rate=parse_rate(rate),
            hard=hard,
            arrivals=arrivals,
            out=out,
            seed=seed,
            duration=read_time("--duration", duration) if duration else None,
            controllers=controllers,
            without=tuple(without or ()),
            transport=transport,
            by_hand=tuple(by_hand or ()),
            processes=processes,
            namespace=parse_namespace(namespace, "--namespace"),
            ros_args=words("--ros-args", ros_args),
            profile=profile,
            checkpoints=tuple(read_time("--checkpoint", text) for text in checkpoint or ()),
            branch=branch,
            record=bag,
            visualise=visualise,
            rviz=rviz,
            foxglove=foxglove,
            paused=paused and not dashboard,
            no_control=no_control,
            repeat=repeat,
        )
        page = page_address(dashboard, request.shape, repeat)
        if pdb and request.shape != "inproc":
            raise ConfigurationError(
                f"--pdb: found with shape {request.shape}; allowed is shape inproc"
            )
        if request.shape == "inproc" and not pdb:
            go_on_apart()
        with (
            bring_up(request) as prepared,
            debugging(wanted=pdb),
            showing(prepared.output, wanted=traceback),
        ):
            for note in prepared.notes():
                print(f"cosim: note: {note}", file=sys.stderr)
            for name, command in prepared.commands_by_hand():
                print(f"start {name} with: {command}", flush=True)
            summary = _start(prepared) if page is None else _show(prepared, page, paused)
            print_summary(summary)
            print(f"  results in {shown(prepared.output)}")
            _print_checkpoints(prepared, summary)
            difference = print_repetitions(summary, repetitions(prepared.output), asked=repeat > 1)
    if as_json:
        print(json.dumps(_as_data(prepared.output, repetitions(prepared.output)), indent=1))
    if difference:
        print(f"cosim: {difference}", file=sys.stderr)
        raise typer.Exit(EXIT_VERDICT)
    _exit_by_verdicts(summary)


def _as_data(output: Path, repeated: Iterable[Path]) -> dict[str, object]:
    """The summary of a run, with its output directory, and those of its repetitions."""
    from ros2_cosim.core.record.summary import SUMMARY_FILE

    def content(directory: Path) -> dict[str, object]:
        text = (directory / SUMMARY_FILE).read_text(encoding="utf-8")
        return {"output": str(directory), **json.loads(text)}

    return {**content(output), "repetitions": [content(directory) for directory in repeated]}


def _start(prepared: PreparedRun) -> Summary:
    """Run what is prepared, with progress."""
    from ros2_cosim.core.run.start import start

    with progress_of(prepared.scenario.name, prepared.scenario.duration) as progress:
        return start(prepared, progress=progress, on_line=print_line)


def _show(prepared: PreparedRun, page: Address, paused: bool) -> Summary:
    """Run what is prepared, with progress, shown in the browser."""
    from ros2_cosim.lab.web.driven_run import run_shown

    def tell(line: str) -> None:
        print_line("inproc", line)

    name, duration = prepared.scenario.name, prepared.scenario.duration
    with progress_of(name, duration) as progress:
        return run_shown(prepared, page, paused=paused, progress=progress, tell=tell)


def _print_checkpoints(prepared: PreparedRun, summary: Summary) -> None:
    """The checkpoints that were written, and those that were not."""
    from ros2_cosim.core.record.checkpoint import checkpoint_name
    from ros2_cosim.core.run.output_directory import shown

    for time_ns in prepared.options.checkpoints:
        name = checkpoint_name(time_ns)
        if name in (summary.checkpoints or ()):
            print(f"  checkpoint {shown(prepared.output / name)}")
        else:
            print(f"cosim: note: no {name}: the run had ended before", file=sys.stderr)


def _exit_by_verdicts(summary: Summary) -> None:
    failed = [verdict.name for verdict in summary.verdicts if not verdict.passed]
    if failed:
        print(f"cosim: verdict not met: {', '.join(failed)}", file=sys.stderr)
        raise typer.Exit(EXIT_VERDICT)
