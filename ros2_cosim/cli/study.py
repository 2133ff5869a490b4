# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""``cosim study``: many runs, one result."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from ros2_cosim.cli.completion import laws
from ros2_cosim.cli.console import go_on_apart, print_line, running
from ros2_cosim.cli.parameters import AsJson, Duration, ScenarioChanges, ScenarioFile
from ros2_cosim.cli.verbs import make_group
from ros2_cosim.core.kernel.errors import ConfigurationError

app = make_group("study", "Many runs, one result.")

Quick = Annotated[bool, typer.Option("--quick", help="Few and short runs.")]
Resume = Annotated[
    bool, typer.Option("--resume", help="Continue the study in the output directory.")
]


@app.command()
def causality(
    quick: Quick = False,
    out: Annotated[Path, typer.Option(help="Output directory.")] = Path("out/causality"),
    factors: Annotated[
        str | None, typer.Option(help="Real-time factors: first:last:step, or a list 0.5,1,2.")
    ] = None,
    steps: Annotated[
        str | None,
        typer.Option(help="Step widths of time-stepped synchronisation, as 1ms,2.5ms,10ms."),
    ] = None,
    duration: Duration = "",
    repeat: Annotated[
        int | None,
        typer.Option(help="Number of repetitions to compare with the synchronised run."),
    ] = None,
    resume: Resume = False,
    as_json: AsJson = False,
) -> None:
    """Compare runs without synchronisation, at growing speed, with the synchronised run."""
    from ros2_cosim.lab.study.causality import run_study
    from ros2_cosim.lab.study.plan import study_options
    from ros2_cosim.lab.study.record import STUDY_FILE

    with running():
        options = study_options(
            out,
            quick=quick,
            duration=duration or None,
            factors=factors,
            steps=steps,
            repetitions=repeat,
            resume=resume,
        )
        found = run_study(options, tell=_quiet if as_json else _tell, on_line=print_line)
    if as_json:
        print((out / STUDY_FILE).read_text(encoding="utf-8"), end="")
        return
    for mode, words in (("PRT", "without synchronisation"), ("HDE", "with synchronisation")):
        broke = found.broke_at(mode)
        if broke is not None:
            print(f"{words} the run does not keep up with factor {broke:g}")
    print(f"results in {out}")


@app.command()
def reproduce(
    quick: Quick = False,
    out: Annotated[Path, typer.Option(help="Output directory.")] = Path("out/reproduction"),
    resume: Resume = False,
    as_json: AsJson = False,
) -> None:
    """Show each figure, table and number of the publications beside what is found here."""
    from ros2_cosim.lab.study.reproduction import RECORD_FILE, run_reproduction

    with running():
        found = run_reproduction(
            out, quick=quick, resume=resume, tell=_quiet if as_json else _tell, on_line=print_line
        )
    if as_json:
        print((out / RECORD_FILE).read_text(encoding="utf-8"), end="")
        return
    for publication, rows in found.rows().items():
        for one in rows:
            if one.here is not None:
                print(f"{publication}, {one}")
    print(f"results in {out}")


@app.command("string-stability")
def string_stability(
    scenario: ScenarioFile,
    law: Annotated[
        list[str] | None,
        typer.Option(
            help="Control law of the followers; may be repeated (the scenario's).",
            autocompletion=laws,
        ),
    ] = None,
    vehicles: Annotated[
        int | None, typer.Option(help="Number of vehicles of the platoon, with the leader.")
    ] = None,
    time_gap: Annotated[
        list[float] | None, typer.Option(help="Time gap [s]; may be repeated (the scenario's).")
    ] = None,
    loss: Annotated[
        list[float] | None,
        typer.Option(help="Share of lost beacons; may be repeated (the scenario's)."),
    ] = None,
    seeds: Annotated[
        int, typer.Option(help="Runs of each setting, for the confidence interval.")
    ] = 3,
    settings: ScenarioChanges = None,
    bisect: Annotated[bool, typer.Option(help="Find the smallest string-stable time gap.")] = True,
    out: Annotated[Path, typer.Option(help="Output directory.")] = Path("out/string_stability"),
    as_json: AsJson = False,
) -> None:
    """Measure how a disturbance passes down a platoon, beside what theory says."""
    from ros2_cosim.core.run.tracebacks import noting
    from ros2_cosim.lab.study.stability_report import render_stability
    from ros2_cosim.lab.study.string_stability import StabilityOptions, run_string_stability

    with running():
        options = StabilityOptions(
            scenario,
            out,
            laws=tuple(law or ()),
            vehicles=vehicles,
            time_gaps=tuple(time_gap or ()),
            losses=tuple(loss or ()),
            seeds=seeds,
            changes=tuple(settings or ()),
            bisect=bisect,
        )
        go_on_apart()
        with noting(out):
            found = run_string_stability(options, tell=_quiet if as_json else _tell)
        render_stability(out, found)
    if as_json:
        print(json.dumps(found, indent=1))
        return
    for result in found["settings"]:
        print(stability_line(result, looked=bisect))
    print(f"results in {out}")


@app.command()
def pedals(
    scenario: ScenarioFile,
    vehicle: Annotated[str, typer.Argument(help="Name of the vehicle in the scene.")],
    top_speed: Annotated[float, typer.Option(help="Highest speed to measure [m/s].")] = 25.0,
    settings: ScenarioChanges = None,
    out: Annotated[Path, typer.Option(help="File of the pedal map.")] = Path("pedal_map.yaml"),
    as_json: AsJson = False,
) -> None:
    """Measure what the pedals of a vehicle do, for its lower controller."""
    from ros2_cosim.core.run.tracebacks import noting
    from ros2_cosim.lab.study.pedal_identification import identify_pedals, write_pedals

    with running():
        if not 5.0 <= top_speed <= 100.0:
            raise ConfigurationError(f"--top-speed: found {top_speed:g}; allowed is 5 to 100 m/s")
        go_on_apart()
        with noting(out.parent):
            table = identify_pedals(scenario, vehicle, top_speed, tuple(settings or ()))
        write_pedals(table, out)
    if as_json:
        print(table.model_dump_json(indent=1))
        return
    hardest, strongest = table.accelerations[-1][0], table.accelerations[0][-1]
    print(
        f"{vehicle}: {hardest:.2f} to {strongest:.2f} m/s^2, lag of the throttle "
        f"{table.throttle_lag:.3f} s, of the brake {table.brake_lag:.3f} s"
    )
    print(f"written: {out}; a cacc_controller takes it as vehicle")


def stability_line(result: Mapping[str, Any], *, looked: bool) -> str:
    """The line that reports one setting.

    :param looked: whether the smallest time gap was looked for
    """
    from ros2_cosim.lab.study.stability_report import largest_gain

    stable = {True: "string stable", False: "not string stable", None: "string stability not "
              "determined"}[result["string_stable"]]  # fmt: skip
    line = (
        f"{result['law']}, time gap {result['time_gap_s']:g} s: largest gain "
        f"{largest_gain(result)}, {stable}"
    )
    if result["contacts"]:
        line = f"{line}; contacts in the runs: {result['contacts']}"
    if not looked:
        return line
    smallest = result["min_time_gap_s"]
    return f"{line}; smallest time gap {'not found' if smallest is None else f'{smallest:g} s'}"


def _quiet(line: str) -> None:
    """The answer is one document."""


def _tell(line: str) -> None:
    # One write: several threads report at the same time.
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()
