# Copyright 2026 ros2_cosim contributors
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
from ros2_cosim.cli.console import (
    EXIT_VERDICT,
    go_on_apart,
    print_line,
    progress_of,
    running,
    show_error,
)
from ros2_cosim.cli.options import RunWords, with_options
from ros2_cosim.cli.parameters import Dashboard, page_address
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.run.request import RunRequest, read_options
from ros2_cosim.core.sockets.peers import ADMISSION

if TYPE_CHECKING:
    from ros2_cosim.core.kernel.address import Address
    from ros2_cosim.core.record.summary import Summary
    from ros2_cosim.core.run.shape import PreparedRun


@with_options
def run(
    context: typer.Context,
    *,
    scenario: Annotated[
        Path | None,
        typer.Argument(
            help="Scenario file (YAML or JSON), or the name of one of the library. Not needed with "
            "--branch: the checkpoint has one.",
            autocompletion=completion.scenario_files,
        ),
    ] = None,
    wanted: RunWords,
    dashboard: Dashboard = "",
    traceback: Annotated[
        bool,
        typer.Option("--traceback", help="Print the traceback if your code fails."),
    ] = False,
    pdb: Annotated[
        bool,
        typer.Option("--pdb", help="Stop in the debugger where your code fails (shape inproc)."),
    ] = False,
    open_to_all: Annotated[
        bool, typer.Option("--open", help="Serve other users of this machine, too.")
    ] = False,
    as_json: Annotated[
        bool,
        typer.Option("--json", help="Print the summary as one JSON document; the rest to stderr."),
    ] = False,
) -> None:
    """Run a scenario to its end; bag, summary and report go to the output directory."""
    context.with_resource(ADMISSION.widened(open_to_all))
    with running(), redirect_stdout(sys.stderr) if as_json else nullcontext():
        request = _request(scenario, wanted, dashboard)
        page = page_address(dashboard, request.shape, request.repeat)
        if pdb and request.shape != "inproc":
            raise ConfigurationError(
                f"--pdb: found with shape {request.shape}; allowed is shape inproc"
            )
        if request.shape == "inproc" and not pdb:
            go_on_apart()
        # Imported late: a process apart copies what is there before it.
        from ros2_cosim.core.record.summary import print_repetitions, print_summary
        from ros2_cosim.core.run.bringup import bring_up
        from ros2_cosim.core.run.output_directory import repetitions, shown
        from ros2_cosim.core.run.tracebacks import debugging, showing

        with (
            bring_up(request) as prepared,
            debugging(wanted=pdb),
            showing(prepared.output, wanted=traceback),
        ):
            for note in prepared.notes():
                print(f"cosim: note: {note}", file=sys.stderr)
            for name, command in prepared.commands_by_hand():
                print(f"start {name} with: {command}", flush=True)
            summary = _start(prepared) if page is None else _show(prepared, page, wanted["paused"])
            print_summary(summary)
            print(f"  results in {shown(prepared.output)}")
            _print_checkpoints(prepared, summary)
            repeated = repetitions(prepared.output)
            difference = print_repetitions(summary, repeated, asked=request.repeat > 1)
    if as_json:
        print(json.dumps(_as_data(prepared.output, repeated), indent=1))
    if difference:
        print(f"cosim: {difference}", file=sys.stderr)
        raise typer.Exit(EXIT_VERDICT)
    _exit_by_verdicts(summary)


def _request(scenario: Path | None, wanted: RunWords, dashboard: str) -> RunRequest:
    """The run that is requested."""
    options = read_options(wanted, flags=True)
    if "branch" in options:
        options["branch"] = options["branch"].absolute()
    described = scenario or options.get("branch")
    if described is None:
        raise typer.BadParameter(
            "missing; allowed is to leave it out with --branch", param_hint="SCENARIO"
        )
    if dashboard:
        options = {"shape": "inproc", **options, "paused": False}
    return RunRequest(described, **options)


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
    for time_ns in prepared.options.checkpoints:
        from ros2_cosim.core.record.checkpoint import checkpoint_name
        from ros2_cosim.core.run.output_directory import shown

        name = checkpoint_name(time_ns)
        if name in (summary.checkpoints or ()):
            print(f"  checkpoint {shown(prepared.output / name)}")
        else:
            print(f"cosim: note: no {name}: the run had ended before", file=sys.stderr)


def _exit_by_verdicts(summary: Summary) -> None:
    failed = [verdict.name for verdict in summary.verdicts if not verdict.passed]
    if failed:
        show_error(f"verdict not met: {', '.join(failed)}")
        raise typer.Exit(EXIT_VERDICT)
