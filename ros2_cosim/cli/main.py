# SPDX-License-Identifier: Apache-2.0
"""The command line ``cosim``.

A command imports what it runs when it runs: ``cosim check`` must not wait for the rooms of others.
"""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext, redirect_stdout
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from ros2_cosim import __version__, compiled
from ros2_cosim.carla_headless.__main__ import make_command as make_headless_command
from ros2_cosim.cli import completion
from ros2_cosim.cli.console import (
    EXIT_ERROR,
    EXIT_VERDICT,
    becomes_program,
    clear_errors,
    go_on_apart,
    go_on_without_output,
    print_line,
    progress_of,
    refuse_beside,
    running,
    safe_output,
    show_notes,
    small_spaces,
)
from ros2_cosim.cli.control import add_control_commands
from ros2_cosim.cli.dashboard import add_dashboard_command
from ros2_cosim.cli.dcp import make_app as make_dcp_app
from ros2_cosim.cli.diff import diff
from ros2_cosim.cli.fmu import app as fmu_app
from ros2_cosim.cli.join import join
from ros2_cosim.cli.messages import app as messages_app
from ros2_cosim.cli.models import models
from ros2_cosim.cli.new import new
from ros2_cosim.cli.profile import profile
from ros2_cosim.cli.replay import replay
from ros2_cosim.cli.study import app as study_app
from ros2_cosim.cli.sweep import sweep
from ros2_cosim.cli.vds import app as vds_app
from ros2_cosim.interfaces.namespaces import ROOT, parse_namespace
from ros2_cosim.kernel.errors import ConfigurationError
from ros2_cosim.run.options import OPTIONS, words
from ros2_cosim.sockets.peers import ADMISSION

if TYPE_CHECKING:
    from ros2_cosim.carla_headless.sensor_topics import SensorTopics
    from ros2_cosim.carla_headless.server import Server
    from ros2_cosim.dcp.description.slave_description import SlaveDescription
    from ros2_cosim.live.address import Address
    from ros2_cosim.record.summary import Summary
    from ros2_cosim.run.bringup import PreparedRun
    from ros2_cosim.run.listening import ListeningPort
    from ros2_cosim.scenario.plan import Process

app = typer.Typer(
    # The units in help texts, as [s], are no marks of another language.
    rich_markup_mode="markdown",
    name="cosim",
    help="Deterministic ROS 2 co-simulation for automated driving.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
#: As all programs of ROS take it: what follows is for ROS.
ROS_ARGS = OPTIONS["ros_args"].flag
ScenarioFile = Annotated[
    Path,
    typer.Argument(help="Scenario file (YAML or JSON).", autocompletion=completion.scenario_files),
]
Settings = Annotated[list[str] | None, typer.Option("--set", help=OPTIONS["set"].help)]
Simulator = Annotated[
    str | None,
    typer.Option(help=OPTIONS["simulator"].help, autocompletion=completion.simulators),
]
ShapeName = Literal["ros", "composed", "inproc"]
Shape = Annotated[ShapeName, typer.Option(help=OPTIONS["shape"].help)]
Processes = Annotated[str, typer.Option(help=OPTIONS["processes"].help)]
Transport = Annotated[Literal["auto", "dds"], typer.Option(help=OPTIONS["transport"].help)]
Foxglove = Annotated[str, typer.Option(metavar="[HOST:]PORT", help=OPTIONS["foxglove"].help)]
Dashboard = Annotated[
    str,
    typer.Option(
        metavar="[HOST:]PORT",
        help="Show and control the run in the browser (shape inproc; for others: cosim dashboard).",
    ),
]
Open = Annotated[bool, typer.Option("--open", help="Serve other users of this machine, too.")]
Bag = Annotated[bool, typer.Option(help=OPTIONS["record"].help)]


def _print_version(wanted: bool) -> None:
    if wanted:
        from ros2_cosim.interfaces.packages import changed_since_build

        print(f"cosim {__version__}, compiled: {compiled.describe()}")
        if changed := changed_since_build():
            print(f"{changed} changed since the messages were compiled; `make setup` does it again")
        raise typer.Exit


@app.callback()
def cosim(
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            callback=_print_version,
            is_eager=True,
            help="Print the version, and whether hot modules and messages are compiled.",
        ),
    ] = False,
) -> None:
    """Options of all commands."""


@app.command()
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
    from ros2_cosim.realtime.pacing import parse_rate
    from ros2_cosim.record.summary import print_repetitions, print_summary
    from ros2_cosim.run.bringup import RunRequest, bring_up
    from ros2_cosim.run.options import read_time
    from ros2_cosim.run.output_directory import repetitions, shown
    from ros2_cosim.run.tracebacks import debugging, showing

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
        page = _page(dashboard, request.shape, repeat)
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
    from ros2_cosim.record.summary import SUMMARY_FILE

    def content(directory: Path) -> dict[str, object]:
        text = (directory / SUMMARY_FILE).read_text(encoding="utf-8")
        return {"output": str(directory), **json.loads(text)}

    return {**content(output), "repetitions": [content(directory) for directory in repeated]}


def _start(prepared: PreparedRun) -> Summary:
    """Run what is prepared, with progress."""
    from ros2_cosim.run.start import start

    with progress_of(prepared.scenario.name, prepared.scenario.duration) as progress:
        return start(prepared, progress=progress, on_line=print_line)


def _page(address: str, shape: str, repeat: int) -> Address | None:
    """Where the page of a run is to be, if it is to have one."""
    if not address:
        return None
    from ros2_cosim.live.address import Address
    from ros2_cosim.web.driven_run import check_shown

    check_shown(shape, repeat)
    return Address.of(address, "--dashboard")


def _show(prepared: PreparedRun, page: Address, paused: bool) -> Summary:
    """Run what is prepared, with progress, shown in the browser."""
    from ros2_cosim.web.driven_run import run_shown

    def tell(line: str) -> None:
        print_line("inproc", line)

    name, duration = prepared.scenario.name, prepared.scenario.duration
    with progress_of(name, duration) as progress:
        return run_shown(prepared, page, paused=paused, progress=progress, tell=tell)


def _print_checkpoints(prepared: PreparedRun, summary: Summary) -> None:
    """The checkpoints that were written, and those that were not."""
    from ros2_cosim.record.checkpoint import checkpoint_name
    from ros2_cosim.run.output_directory import shown

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


@app.command()
def check(
    scenario: ScenarioFile,
    settings: Settings = None,
    shape: Shape = "ros",
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
    untrusted: Annotated[
        bool,
        typer.Option(
            "--untrusted",
            help="Load nothing but data; code that the scenario names is a fault.",
        ),
    ] = False,
) -> None:
    """Check a scenario: file, wiring, models and their parameters; nothing is made or run.

    Modules of the models that it names are imported, unless it is --untrusted.
    """
    from ros2_cosim.kernel import lookahead
    from ros2_cosim.kernel.loading import data_only
    from ros2_cosim.run.law_loop import doubts
    from ros2_cosim.scenario.check import check_scenario
    from ros2_cosim.scenario.scenario_error import ScenarioError
    from ros2_cosim.scenario.schema import load_scenario

    with clear_errors():
        try:
            with data_only() if untrusted else nullcontext():
                loaded = load_scenario(scenario, settings or ())
                graph = check_scenario(loaded, shape)
        except ConfigurationError as error:
            faults = error.faults if isinstance(error, ScenarioError) else [str(error)]
            if as_json:
                print(json.dumps({"scenario": str(scenario), "good": False, "faults": faults}))
            else:
                for fault in faults:
                    print(f"cosim: {fault}", file=sys.stderr)
            raise typer.Exit(EXIT_ERROR) from None
    if as_json:
        data = {"scenario": str(scenario), "good": True, "faults": [], "notes": doubts(loaded)}
        print(json.dumps(data))
        return
    for note in doubts(loaded):
        print(f"cosim: note: {note}", file=sys.stderr)
    print(
        f"{scenario}: {len(graph.participants)} participants, {len(graph.connections)} connections"
    )
    for name in graph.order:
        promised = [
            port.name
            for port in graph.participants[name].outputs
            if lookahead.needs_promises(graph, name, port.name)
        ]
        notes = graph.participants[name].describe_membership()
        notes += [f"promises explicitly on {', '.join(promised)}"] if promised else []
        print("; ".join([f"  rank {graph.ranks[name]}  {name}", *notes]))


@app.command()
def plan(
    context: typer.Context,
    scenario: ScenarioFile,
    shape: Shape = "ros",
    simulator: Simulator = None,
    host: Annotated[str | None, typer.Option(help=OPTIONS["host"].help)] = None,
    port: Annotated[int | None, typer.Option(help=OPTIONS["port"].help)] = None,
    out: Annotated[Path, typer.Option(help="Output directory.")] = Path("out/plan"),
    settings: Settings = None,
    without: Annotated[list[str] | None, typer.Option(help=OPTIONS["without"].help)] = None,
    transport: Transport = "auto",
    processes: Processes = "auto",
    namespace: Annotated[str, typer.Option(help=OPTIONS["namespace"].help)] = ROOT,
    visualise: Annotated[bool, typer.Option(help=OPTIONS["visualise"].help)] = False,
    foxglove: Foxglove = "",
    dashboard: Dashboard = "",
    open_to_all: Open = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Print the processes that a run would start, their command lines, and all that listens."""
    from ros2_cosim.run.bringup import RunRequest, adjusted_scenario, check_shape
    from ros2_cosim.run.listening import STARTER, listening_ports
    from ros2_cosim.run.processes import command_of
    from ros2_cosim.scenario.check import check_scenario
    from ros2_cosim.scenario.grouping import cores_for, grouped
    from ros2_cosim.scenario.held_ports import resolve_ports
    from ros2_cosim.scenario.plan import RunOptions, make_plan

    with clear_errors():
        request = RunRequest(
            scenario,
            set=tuple(settings or ()),
            shape=shape,
            simulator=simulator,
            host=host,
            port=port,
            without=tuple(without or ()),
            transport=transport,
            processes=processes,
            namespace=parse_namespace(namespace, "--namespace"),
            visualise=visualise,
        )
        if shape == "inproc":
            refuse_beside(context, "shape inproc", "out")
        _page(dashboard, shape, 1)
        loaded = adjusted_scenario(request)
        check_shape(request, loaded)
        check_scenario(loaded, shape)
        options = RunOptions(
            out,
            shape=shape,
            visualise=visualise,
            foxglove=foxglove,
            transport=transport,
            namespace=request.namespace,
        )
        if shape == "ros":
            loaded = grouped(loaded, cores_for(processes))
        found = []
        if shape != "inproc":
            loaded = resolve_ports(loaded, shape)
            found = make_plan(loaded, options)
        ports = listening_ports(loaded, options, found, dashboard=dashboard, is_open=open_to_all)
    if as_json:
        described = [_described(process, ports) for process in found]
        own = [asdict(port) for port in ports if port.process == STARTER]
        print(json.dumps([*described, {"name": STARTER, "ports": own}], indent=1))
        return
    for process in found:
        print(f"{process.name}{process.note}: {shlex.join(command_of(process))}")
        for there in process.there:
            print(f"  {there.name}{there.note}: {shlex.join(command_of(there))}")
    for listening in ports:
        print(listening)


def _described(process: Process, ports: Sequence[ListeningPort]) -> dict[str, object]:
    """A process of a plan as JSON data."""
    from ros2_cosim.run.processes import command_of

    return {
        "name": process.name,
        "participants": process.participants,
        "required": process.required,
        "ros_node": process.is_ros,
        "command": command_of(process),
        "ports": [asdict(port) for port in ports if port.process == process.name],
        **({"there": [_described(each, ports) for each in process.there]} if process.there else {}),
    }


@app.command()
def report(
    context: typer.Context,
    directories: Annotated[
        list[Path],
        typer.Argument(
            help="Output of a run, or of a study. Of several runs: one page, side by side.",
            metavar="RUN...",
        ),
    ],
    out: Annotated[Path, typer.Option(help="File for the page of several runs.")] = Path(
        "side_by_side.html"
    ),
) -> None:
    """Make report.html again from a run or a study, or one page of two or more runs."""
    from ros2_cosim.record.comparison_report import check_page
    from ros2_cosim.record.report import render_report
    from ros2_cosim.record.side_by_side import write_side_by_side
    from ros2_cosim.run.results import complete_killed
    from ros2_cosim.study.record import STUDY_FILE, read_study
    from ros2_cosim.study.report import render_study

    with clear_errors():
        if len(directories) == 1:
            refuse_beside(context, "one RUN", "out")
        if len(directories) > 1:
            check_page(out)
        elif (directories[0] / STUDY_FILE).exists():
            print(render_study(directories[0], read_study(directories[0])))
            return
        for directory in directories:
            if complete_killed(directory):
                print(f"{directory}: the run was killed; its bag is complete now")
        if len(directories) > 1:
            write_side_by_side(directories, out)
            print(out)
        else:
            print(render_report(directories[0]))


def _world_page(server: Server, port: int) -> AbstractContextManager[str]:
    """The page of a headless server's world."""
    from ros2_cosim.web.world_view import world_page

    return world_page(server, port)


def _sensor_topics() -> SensorTopics:
    """What publishes the sensors of a headless server to ROS 2."""
    from ros2_cosim.ros.native_sensors import NativeSensors

    return NativeSensors()


def _tell_ready(line: str) -> None:
    go_on_without_output()
    print(line, flush=True)


app.command("carla-headless")(
    make_headless_command(
        on_ready=_tell_ready, page=_world_page, topics=_sensor_topics, look_ahead=True
    )
)


def _describe_world(scenario: Path) -> SlaveDescription:
    """The DCP description of the first participant whose plant is a DCP slave."""
    from ros2_cosim.run.dcp_world import describe_scenario_world

    return describe_scenario_world(scenario)


app.command()(models)
app.command()(new)
app.command()(diff)
app.command()(profile)
app.command()(replay)
app.command()(sweep)
app.command()(join)
app.add_typer(make_dcp_app(_describe_world))
add_control_commands(app)
add_dashboard_command(app)
app.add_typer(study_app)
app.add_typer(vds_app)
app.add_typer(fmu_app)
app.add_typer(messages_app)


def main(words: list[str] | None = None, program: str | None = None) -> None:
    """Entry point of the command ``cosim``; ends the process with its exit code.

    :param words: what stands behind the command (None: as the process was started)
    :param program: what the command is called (None: the same)
    """
    show_notes()
    becomes_program()
    with safe_output(), small_spaces():
        app(_with_ros_arguments(sys.argv[1:] if words is None else words), prog_name=program)


def _with_ros_arguments(arguments: list[str]) -> list[str]:
    """Make one value of what stands behind ``--ros-args``, up to ``--`` or to the end."""
    if ROS_ARGS not in arguments:
        return arguments
    start = arguments.index(ROS_ARGS) + 1
    end = arguments.index("--", start) if "--" in arguments[start:] else len(arguments)
    given = arguments[start:end]
    # A single value may be quoted already, as that of the launch argument is.
    value = given[0] if len(given) == 1 else shlex.join(given)
    return [*arguments[: start - 1], f"{ROS_ARGS}={value}", *arguments[end + 1 :]]


if __name__ == "__main__":
    main()
