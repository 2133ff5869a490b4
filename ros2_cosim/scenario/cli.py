# SPDX-License-Identifier: Apache-2.0
"""The command line ``cosim``."""

from __future__ import annotations

import contextlib
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Annotated, Literal

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from ros2_cosim.dcp.cli import make_app as make_dcp_app
from ros2_cosim.dcp.description import SlaveDescription
from ros2_cosim.kernel.errors import ConfigurationError, CosimError, RunError
from ros2_cosim.kernel.presence import describe_presence
from ros2_cosim.realtime.arrivals import read_arrivals
from ros2_cosim.realtime.vds_cli import app as vds_app
from ros2_cosim.scenario.adjust import adjusted
from ros2_cosim.scenario.output_directory import prepare_output, repetitions
from ros2_cosim.scenario.plan import RunOptions, dcp_participants, make_plan, resolve_ports
from ros2_cosim.scenario.schema import Scenario, load_scenario
from ros2_cosim.scenario.system import build_graph, check_models, model_context
from ros2_cosim.scenario.without import without as leave_out
from ros2_cosim.tools.control_cli import add_control_commands
from ros2_cosim.tools.dashboard_cli import add_dashboard_command
from ros2_cosim.tools.summary import Summary, read_summary

app = typer.Typer(
    name="cosim",
    help="Deterministic ROS 2 co-simulation for automated driving.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
#: Exit codes: the run or the scenario failed; the run is complete but a verdict is not met.
EXIT_ERROR = 1
EXIT_VERDICT = 3
#: Ended by a signal: this plus the number of the signal, as shells have it.
EXIT_SIGNAL = 128


@contextlib.contextmanager
def _clear_errors() -> Iterator[None]:
    """Turn every expected failure into one line and an exit code."""
    try:
        yield
    except CosimError as error:
        print(f"cosim: {error}", file=sys.stderr)
        raise typer.Exit(EXIT_ERROR) from None
    except KeyboardInterrupt as interrupt:
        number = interrupt.args[0] if interrupt.args else signal.SIGINT
        print(f"cosim: ended by {number.name}", file=sys.stderr)
        raise typer.Exit(EXIT_SIGNAL + number) from None


ScenarioFile = Annotated[Path, typer.Argument(help="Scenario file (YAML or JSON).")]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", help="Change one value: dotted.key=value (may be repeated)."),
]
Seed = Annotated[int | None, typer.Option(help="Seed of the run.")]
Controllers = Annotated[
    str | None,
    typer.Option(
        help="Control law of all controllers: a name, module:Class or file.py:Class. Or a "
        "controller node of your own: script.py or package/executable."
    ),
]
Without = Annotated[
    list[str] | None,
    typer.Option(help="Leave out a participant that is not required (may be repeated)."),
]
ByHand = Annotated[
    list[str] | None,
    typer.Option(help="You start this participant's process yourself (may be repeated)."),
]
Simulator = Annotated[Literal["headless", "carla"] | None, typer.Option(help="Which simulator.")]


@app.command()
def run(
    scenario: ScenarioFile,
    shape: Annotated[Literal["ros", "composed", "inproc"], typer.Option(help="Run shape.")] = "ros",
    simulator: Simulator = None,
    host: Annotated[str | None, typer.Option(help="Host of the CARLA server.")] = None,
    port: Annotated[int | None, typer.Option(help="Port of the CARLA server.")] = None,
    rate: Annotated[str, typer.Option(help="Real-time factor, or max.")] = "max",
    hard: Annotated[bool, typer.Option(help="Hard real time where the system permits.")] = False,
    arrivals: Annotated[
        Path | None, typer.Option(help="Repeat a run: its arrivals.json, or what is meant as one.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Output directory (out/NAME).")] = None,
    settings: Settings = None,
    seed: Seed = None,
    controllers: Controllers = None,
    without: Without = None,
    by_hand: ByHand = None,
    bag: Annotated[bool, typer.Option(help="Record a bag (and the report from it).")] = True,
    visualise: Annotated[bool, typer.Option(help="Publish markers for RViz.")] = False,
    rviz: Annotated[bool, typer.Option(help="Start RViz, too.")] = False,
    paused: Annotated[bool, typer.Option("--paused", help="Begin paused: cosim control.")] = False,
    repeat: Annotated[int, typer.Option(min=1, help="Run it so often, in the same processes.")] = 1,
) -> None:
    """Run a scenario to its end; bag, summary and report go to the output directory."""
    with _clear_errors(), _ending_in_order(signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        loaded = adjusted(
            leave_out(load_scenario(scenario, settings or ()), without or ()),
            seed=seed,
            simulator=simulator,
            host=host,
            port=port,
            controllers=controllers,
        )
        factor = _rate(rate)
        if shape == "inproc" and (
            loaded.simulator.kind == "carla" or visualise or rviz or paused or repeat > 1
        ):
            raise ConfigurationError(
                "shape inproc runs the headless world, without ROS; simulator carla, --visualise, "
                "--rviz, --paused and --repeat need --shape ros or composed"
            )
        if hard and factor is None:
            raise ConfigurationError(
                "--hard: a run as fast as possible has no deadlines; add --rate"
            )
        # Whatever is wrong with the scenario shows before anything is started or deleted.
        build_graph(loaded)
        check_models(loaded, shape)
        output = out or Path("out") / loaded.name
        options = RunOptions(
            output,
            shape=shape,
            rate=factor,
            hard=hard,
            arrivals=None if arrivals is None else arrivals.absolute(),
            record=bag,
            visualise=visualise or rviz,
            rviz=rviz,
            paused=paused,
            repeat=repeat,
            by_hand=tuple(by_hand or ()),
        )
        if shape != "inproc" or by_hand:
            make_plan(loaded, options)
        if by_hand:
            from ros2_cosim.tools.processes import commands_by_hand

            for name, command in commands_by_hand(loaded, options):
                print(f"start {name} with: {command}", flush=True)
        if arrivals is not None:
            read_arrivals(arrivals)
        prepare_output(output)
        summary = _run(loaded, options)
    _tell_summary(summary)
    print(f"  results in {output}")
    with _clear_errors():
        _tell_repetitions(summary, output)
    _exit_by_verdicts(summary)


@app.command()
def replay(
    run_directory: Annotated[Path, typer.Argument(help="Output of the run to repeat.")],
    shape: Annotated[
        Literal["ros", "composed", "inproc"], typer.Option(help="Run shape.")
    ] = "inproc",
    out: Annotated[
        Path | None, typer.Option(help="Output directory (RUN_DIRECTORY-replay).")
    ] = None,
    bag: Annotated[bool, typer.Option(help="Record a bag (and the report from it).")] = True,
) -> None:
    """Repeat a run from its scenario and its arrival record; compare the traces."""
    from ros2_cosim.tools.replay import compare, prepare_replay

    with _clear_errors(), _ending_in_order(signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        loaded, arrivals, former = prepare_replay(run_directory)
        output = out or run_directory.with_name(f"{run_directory.absolute().name}-replay")
        options = RunOptions(output, shape=shape, arrivals=arrivals, record=bag)
        prepare_output(output)
        summary = _run(loaded, options)
        _tell_summary(summary)
        compare(former, summary)
    print("  the same trace as before")
    print(f"  results in {output}")


def _run(scenario: Scenario, options: RunOptions) -> Summary:
    """Run a scenario in the shape of the options, with progress."""
    with _progress(scenario) as progress:
        if options.shape == "inproc":
            from ros2_cosim.realtime.run_settings import realtime_run
            from ros2_cosim.tools.run_inproc import run_inproc

            realtime = realtime_run(options.rate, hard=options.hard, arrivals=options.arrivals)
            return run_inproc(
                scenario,
                options.output,
                record=options.record,
                progress=progress,
                realtime=realtime,
            )
        from ros2_cosim.tools.run_ros import run_ros

        return run_ros(scenario, options, progress=progress, on_line=_print_line)


def _tell_summary(summary: Summary) -> None:
    print(
        f"{summary.scenario}: {summary.sim_time_s:.2f} s simulated in {summary.wall_time_s:.2f} s "
        f"(real-time factor {summary.rtf:.2f}, start-up {summary.startup_time_s:.2f} s): "
        f"{summary.end_reason}"
    )
    for verdict in summary.verdicts:
        mark = "passed" if verdict.passed else "FAILED"
        print(f"  {verdict.name}: {verdict.value} (limit {verdict.limit}) {mark}")
    print(f"  trace {summary.trace_sha256}")
    if summary.realtime is not None:
        for line in summary.realtime.lines():
            print(f"  {line}")
    if not summary.repeatable:
        since = summary.not_repeatable_since_s
        begin = "" if since is None else f" from {since:g} s on"
        print(f"  not repeatable{begin}: {summary.not_repeatable_reason}")


def _tell_repetitions(first: Summary, output: Path) -> None:
    """One line for each time that the run began anew.

    :raises RunError: one that was as long has another trace
    """
    for path in repetitions(output):
        summary = read_summary(path)
        print(
            f"{path.name}: {summary.sim_time_s:.2f} s simulated in {summary.wall_time_s:.2f} s "
            f"(real-time factor {summary.rtf:.2f}): {summary.end_reason}"
        )
        print(f"  trace {summary.trace_sha256}")
        same_end = (summary.sim_time_s, summary.end_reason) == (first.sim_time_s, first.end_reason)
        if same_end and summary.repeatable and summary.trace_sha256 != first.trace_sha256:
            raise RunError(f"{path}: the trace is not that of the first run; does a model forget?")


def _exit_by_verdicts(summary: Summary) -> None:
    failed = [verdict.name for verdict in summary.verdicts if not verdict.passed]
    if failed:
        print(f"cosim: verdict not met: {', '.join(failed)}", file=sys.stderr)
        raise typer.Exit(EXIT_VERDICT)


@app.command()
def check(scenario: ScenarioFile, settings: Settings = None) -> None:
    """Check a scenario: file, wiring, models and their parameters; nothing is run."""
    with _clear_errors():
        loaded = load_scenario(scenario, settings or ())
        graph = build_graph(loaded)
        check_models(loaded, "inproc")
    print(
        f"{scenario}: {len(graph.participants)} participants, {len(graph.connections)} connections"
    )
    for name in graph.order:
        promised = [
            port.name
            for port in graph.participants[name].outputs
            if graph.needs_promises(name, port.name)
        ]
        notes = describe_presence(graph.participants[name])
        notes += [f"promises explicitly on {', '.join(promised)}"] if promised else []
        print("; ".join([f"  rank {graph.ranks[name]}  {name}", *notes]))


@app.command()
def plan(
    scenario: ScenarioFile,
    simulator: Simulator = None,
    out: Annotated[Path, typer.Option(help="Output directory.")] = Path("out/plan"),
    settings: Settings = None,
) -> None:
    """Print the processes that shape ros would start, one command line each."""
    import shlex

    from ros2_cosim.tools.processes import command_of

    with _clear_errors():
        loaded = adjusted(load_scenario(scenario, settings or ()), simulator=simulator)
        build_graph(loaded)
        for process in make_plan(resolve_ports(loaded), RunOptions(out)):
            print(f"{process.name}: {shlex.join(command_of(process))}")


@app.command()
def report(
    run_directory: Annotated[Path, typer.Argument(help="Output of a run, or of a study.")],
) -> None:
    """Make report.html again from summary and bag of a run, or from the record of a study."""
    from ros2_cosim.tools.report import render_report
    from ros2_cosim.tools.study_record import STUDY_FILE, read_study
    from ros2_cosim.tools.study_report import render_study

    with _clear_errors():
        if (run_directory / STUDY_FILE).exists():
            print(render_study(run_directory, read_study(run_directory)))
        else:
            print(render_report(run_directory))


@app.command()
def study(
    kind: Annotated[Literal["causality"], typer.Argument(help="What is studied.")],
    quick: Annotated[bool, typer.Option("--quick", help="Few and short runs.")] = False,
    out: Annotated[Path, typer.Option(help="Output directory.")] = Path("out/causality"),
    factors: Annotated[
        str | None, typer.Option(help="Real-time factors: first:last:step, or a list 0.5,1,2.")
    ] = None,
    duration: Annotated[
        str | None, typer.Option(help="Simulated time of each run, as 100s.")
    ] = None,
    repetitions: Annotated[
        int | None, typer.Option(help="Runs that are compared with the synchronised one.")
    ] = None,
) -> None:
    """Compare runs without synchronisation, at growing speed, with the synchronised run."""
    from ros2_cosim.tools.study import run_study, study_options

    with _clear_errors(), _ending_in_order(signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        options = study_options(
            out, quick=quick, duration=duration, factors=factors, repetitions=repetitions
        )
        found = run_study(options, tell=_tell_now, on_line=_print_line)
    if found.broke_at is not None:
        print(f"without synchronisation the run breaks at factor {found.broke_at:g}")
    print(f"results in {out}")


@app.command(
    "carla-headless",
    context_settings={"allow_extra_args": True, "ignore_unknown_options": True},
    add_help_option=False,
)
def carla_headless(context: typer.Context) -> None:
    """Start the headless CARLA-compatible server (--help shows its options)."""
    from ros2_cosim.carla_headless.__main__ import main as serve

    raise typer.Exit(serve(context.args))


def _describe_world(scenario: Path) -> SlaveDescription:
    """The DCP description of the first participant whose plant is a DCP slave."""
    from ros2_cosim.carla_bridge.describe import describe_world

    loaded = load_scenario(scenario)
    names = dcp_participants(loaded)
    if not names:
        raise ConfigurationError(f"scenario {scenario}: no participant has a DCP slave")
    return describe_world(model_context(loaded, names[0], "ros"))


app.add_typer(make_dcp_app(_describe_world))
add_control_commands(app, _clear_errors)
add_dashboard_command(app, _clear_errors)
app.add_typer(vds_app)


def main() -> None:
    """Entry point of the command ``cosim``."""
    app()


@contextlib.contextmanager
def _ending_in_order(*numbers: signal.Signals) -> Iterator[None]:
    """Treat these signals like Ctrl-C: what has been started is ended before this process."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        # Once is enough; a second one must not cut the tidying up short.
        for each in numbers:
            signal.signal(each, signal.SIG_IGN)
        raise KeyboardInterrupt(signal.Signals(number))

    former = {number: signal.signal(number, interrupt) for number in numbers}
    try:
        yield
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)


def _rate(text: str) -> float | None:
    from ros2_cosim.kernel.rate import parse_rate

    return parse_rate(text)


def _tell_now(line: str) -> None:
    print(line, flush=True)


def _print_line(name: str, line: str) -> None:
    print(f"[{name}] {line}", file=sys.stderr)


@contextlib.contextmanager
def _progress(scenario: Scenario) -> Iterator[Callable[[int], None]]:
    """A bar on a terminal, a line every five simulated seconds otherwise."""
    if not sys.stdout.isatty():
        told = 0

        def tell(time_ns: int) -> None:
            nonlocal told
            if time_ns // 5_000_000_000 > told:
                told = time_ns // 5_000_000_000
                print(f"{scenario.name}: {time_ns / 1e9:.0f} s", flush=True)

        yield tell
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed:.0f} s of at most {task.total:.0f} s"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(), transient=True) as bar:
        task = bar.add_task(scenario.name, total=scenario.duration / 1e9)
        yield lambda time_ns: bar.update(task, completed=time_ns / 1e9)


if __name__ == "__main__":
    main()
