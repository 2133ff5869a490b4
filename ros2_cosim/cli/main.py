# SPDX-License-Identifier: Apache-2.0
"""The command line ``cosim``."""

from __future__ import annotations

import signal
import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from ros2_cosim.carla_headless.__main__ import carla_headless
from ros2_cosim.cli.console import EXIT_VERDICT, clear_errors, ending_in_order, progress_of
from ros2_cosim.cli.control import add_control_commands
from ros2_cosim.cli.dashboard import add_dashboard_command
from ros2_cosim.cli.dcp import make_app as make_dcp_app
from ros2_cosim.cli.vds import app as vds_app
from ros2_cosim.dcp.description.model import SlaveDescription
from ros2_cosim.kernel import lookahead
from ros2_cosim.kernel.errors import ConfigurationError
from ros2_cosim.realtime.arrivals import read_arrivals
from ros2_cosim.record.summary import Summary, print_repetitions, print_summary
from ros2_cosim.run.output_directory import prepare_output, repetitions
from ros2_cosim.scenario.adjust import adjusted
from ros2_cosim.scenario.check import check_scenario, try_models
from ros2_cosim.scenario.declaration import declare_all
from ros2_cosim.scenario.plan import RunOptions, make_plan, resolve_ports
from ros2_cosim.scenario.schema import Scenario, load_scenario
from ros2_cosim.scenario.without import without as leave_out

app = typer.Typer(
    name="cosim",
    help="Deterministic ROS 2 co-simulation for automated driving.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
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
    with clear_errors(), ending_in_order(signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
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
        check_scenario(loaded, shape)
        if shape != "inproc":  # which makes all models before it begins, anyway
            try_models(loaded, shape)
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
            from ros2_cosim.run.processes import commands_by_hand

            for name, command in commands_by_hand(loaded, options):
                print(f"start {name} with: {command}", flush=True)
        if arrivals is not None:
            read_arrivals(arrivals)
        prepare_output(output)
        summary = _run(loaded, options)
    print_summary(summary)
    print(f"  results in {output}")
    with clear_errors():
        print_repetitions(summary, repetitions(output))
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
    from ros2_cosim.run.replay import compare, prepare_replay

    with clear_errors(), ending_in_order(signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        loaded, arrivals, former = prepare_replay(run_directory)
        output = out or run_directory.with_name(f"{run_directory.absolute().name}-replay")
        options = RunOptions(output, shape=shape, arrivals=arrivals, record=bag)
        prepare_output(output)
        summary = _run(loaded, options)
        print_summary(summary)
        compare(former, summary)
    print("  the same trace as before")
    print(f"  results in {output}")


def _run(scenario: Scenario, options: RunOptions) -> Summary:
    """Run a scenario in the shape of the options, with progress."""
    with progress_of(scenario.name, scenario.duration) as progress:
        if options.shape == "inproc":
            from ros2_cosim.realtime.run_settings import realtime_run
            from ros2_cosim.run.inproc import run_inproc

            realtime = realtime_run(options.rate, hard=options.hard, arrivals=options.arrivals)
            return run_inproc(
                scenario,
                options.output,
                record=options.record,
                progress=progress,
                realtime=realtime,
            )
        from ros2_cosim.run.ros import run_ros

        return run_ros(scenario, options, progress=progress, on_line=_print_line)


def _exit_by_verdicts(summary: Summary) -> None:
    failed = [verdict.name for verdict in summary.verdicts if not verdict.passed]
    if failed:
        print(f"cosim: verdict not met: {', '.join(failed)}", file=sys.stderr)
        raise typer.Exit(EXIT_VERDICT)


@app.command()
def check(scenario: ScenarioFile, settings: Settings = None) -> None:
    """Check a scenario: file, wiring, models and their parameters; nothing is run."""
    with clear_errors():
        loaded = load_scenario(scenario, settings or ())
        graph = check_scenario(loaded, "inproc")
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
    scenario: ScenarioFile,
    simulator: Simulator = None,
    out: Annotated[Path, typer.Option(help="Output directory.")] = Path("out/plan"),
    settings: Settings = None,
) -> None:
    """Print the processes that shape ros would start, one command line each."""
    import shlex

    from ros2_cosim.run.processes import command_of

    with clear_errors():
        loaded = adjusted(load_scenario(scenario, settings or ()), simulator=simulator)
        check_scenario(loaded, "ros")
        for process in make_plan(resolve_ports(loaded), RunOptions(out)):
            print(f"{process.name}: {shlex.join(command_of(process))}")


@app.command()
def report(
    run_directory: Annotated[Path, typer.Argument(help="Output of a run, or of a study.")],
) -> None:
    """Make report.html again from summary and bag of a run, or from the record of a study."""
    from ros2_cosim.record.report import render_report
    from ros2_cosim.study.record import STUDY_FILE, read_study
    from ros2_cosim.study.report import render_study

    with clear_errors():
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
    together: Annotated[
        float | None,
        typer.Option(
            help="Largest sum of the factors of runs side by side; 0: one after the other. "
            "Default: the highest of the factors."
        ),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with the study in the output directory.")
    ] = False,
) -> None:
    """Compare runs without synchronisation, at growing speed, with the synchronised run."""
    from ros2_cosim.study.causality import run_study
    from ros2_cosim.study.plan import study_options

    with clear_errors(), ending_in_order(signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        options = study_options(
            out,
            quick=quick,
            duration=duration,
            factors=factors,
            repetitions=repetitions,
            together=together,
            resume=resume,
        )
        found = run_study(options, tell=_tell_now, on_line=_print_line)
    for mode, words in (("PRT", "without synchronisation"), ("HDE", "with synchronisation")):
        broke = found.broke_at(mode)
        if broke is not None:
            print(f"{words} the run does not keep up with factor {broke:g}")
    print(f"results in {out}")


app.command("carla-headless")(carla_headless)


def _describe_world(scenario: Path) -> SlaveDescription:
    """The DCP description of the first participant whose plant is a DCP slave."""
    from ros2_cosim.carla_bridge.describe import describe_world

    loaded = load_scenario(scenario)
    for declaration in declare_all(loaded).values():
        if any(companion.node == "carla_slave" for companion in declaration.needs.companions):
            return describe_world(declaration.context)
    raise ConfigurationError(f"scenario {scenario}: no participant has a DCP slave")


app.add_typer(make_dcp_app(_describe_world))
add_control_commands(app, clear_errors)
add_dashboard_command(app, clear_errors)
app.add_typer(vds_app)


def main() -> None:
    """Entry point of the command ``cosim``."""
    app()


def _rate(text: str) -> float | None:
    from ros2_cosim.realtime.pacing import parse_rate

    return parse_rate(text)


def _tell_now(line: str) -> None:
    print(line, flush=True)


def _print_line(name: str, line: str) -> None:
    print(f"[{name}] {line}", file=sys.stderr)


if __name__ == "__main__":
    main()
