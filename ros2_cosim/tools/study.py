# SPDX-License-Identifier: Apache-2.0
"""``cosim study causality``: what runs without synchronisation lose, at growing speed.

The car-following scenario in paced real time without synchronisation (PRT) at one factor
after the other, beyond the last one at twice the factor each time until a run does not keep
up any more, and as it is in shape ``ros`` (HDE: hybrid discrete event, as fast as possible).
After section VI of Baron et al., "Synchronization of Hybrid Models in the Automated Driving
Simulation".
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from importlib.util import find_spec
from pathlib import Path

from ros2_cosim.interfaces.catalogue import DEFAULT as CATALOGUE
from ros2_cosim.kernel.errors import ConfigurationError, RunError
from ros2_cosim.kernel.time import format_ns, parse_duration
from ros2_cosim.scenario.output_directory import prepare_output
from ros2_cosim.scenario.plan import RunOptions
from ros2_cosim.scenario.schema import Scenario, load_scenario
from ros2_cosim.scenario.share import share_file
from ros2_cosim.scenario.system import build_graph
from ros2_cosim.tools.bag_reader import read_bag
from ros2_cosim.tools.report import REPORT_FILE
from ros2_cosim.tools.results import BAG
from ros2_cosim.tools.run_inproc import run_inproc
from ros2_cosim.tools.run_ros import run_ros
from ros2_cosim.tools.study_prt import Track, run_free
from ros2_cosim.tools.study_record import STUDY_FILE, TRACKS_FILE, Study, StudyRun
from ros2_cosim.tools.study_report import render_study
from ros2_cosim.tools.study_table import row_of, table_head

SCENARIO = "config/car_following.yaml"
#: The topic whose track is compared.
WATCHED = "/ego/odometry"
FULL_FACTORS = "0.1:2.0:0.1"
QUICK_FACTORS = "1.0:2.0:1.0"
FULL_DURATION = "100s"
QUICK_DURATION = "2s"
FULL_REPETITIONS = 8
QUICK_REPETITIONS = 2
#: At most so many runs beyond the last factor.
MOST_DOUBLINGS = 8
QUICK_DOUBLINGS = 1
_MOST_FACTORS = 200


@dataclass(frozen=True)
class StudyOptions:
    """What is run: ``factors`` one after the other, then up to ``doublings`` beyond them.

    ``repetitions`` runs at ``repetition_factor`` are compared with the synchronised run, of which
    there are ``synchronised``.
    """

    output: Path
    duration_ns: int
    factors: tuple[float, ...]
    repetitions: int
    doublings: int
    synchronised: int = 2
    repetition_factor: float = 1.0


def study_options(
    output: Path,
    *,
    quick: bool = False,
    duration: str | None = None,
    factors: str | None = None,
    repetitions: int | None = None,
) -> StudyOptions:
    """Fill in what was not asked for.

    :raises ConfigurationError: duration, factors or repetitions are not understood
    """
    text = duration or (QUICK_DURATION if quick else FULL_DURATION)
    count = repetitions if repetitions is not None else FULL_REPETITIONS
    if quick and repetitions is None:
        count = QUICK_REPETITIONS
    if not 0 <= count <= 100:
        raise ConfigurationError(f"--repetitions: found {count}; allowed is 0 to 100")
    return StudyOptions(
        output=output,
        duration_ns=parse_duration(text, "--duration", minimum=100_000_000),
        factors=parse_factors(factors or (QUICK_FACTORS if quick else FULL_FACTORS)),
        repetitions=count,
        doublings=QUICK_DOUBLINGS if quick else MOST_DOUBLINGS,
        synchronised=1 if quick else 2,
    )


def parse_factors(text: str) -> tuple[float, ...]:
    """Read ``first:last:step`` (both ends included) or a list ``0.5,1,2``; exactly, in decimals.

    :raises ConfigurationError: anything else, a factor that is not above 0, or too many
    """
    allowed = "--factors: found '{}'; allowed is first:last:step or a list, of numbers above 0"
    try:
        if ":" in text:
            first, last, step = (Fraction(part) for part in text.split(":"))
            if step <= 0 or last < first or (last - first) / step >= _MOST_FACTORS:
                raise ValueError(text)
            exact = [first + n * step for n in range(int((last - first) / step) + 1)]
        else:
            exact = sorted({Fraction(part) for part in text.split(",")})
        if not 0 < len(exact) <= _MOST_FACTORS or exact[0] <= 0 or exact[-1] > 1000:
            raise ValueError(text)
    except (ValueError, ZeroDivisionError):
        raise ConfigurationError(allowed.format(text)) from None
    return tuple(float(factor) for factor in exact)


def run_study(
    options: StudyOptions,
    *,
    tell: Callable[[str], None] = print,
    on_line: Callable[[str, str], None] = lambda name, line: None,
) -> Study:
    """Run the study; after each run ``study.json`` is up to date.

    :param tell: takes the lines of the table as they come up
    :param on_line: called with (process name, line) of what the processes print
    :raises ConfigurationError: ROS is not installed, or the output directory is not ours
    :raises RunError: a process failed, or the synchronised run has a violation
    """
    if find_spec("rclpy") is None:
        raise ConfigurationError("the study needs rclpy, which is not installed")
    scenario = load_scenario(share_file(SCENARIO), [f"duration={options.duration_ns}"])
    build_graph(scenario)
    prepare_study(options.output)
    study = Study(scenario.name, scenario.seed, options.duration_ns / 1e9)
    tell(
        f"{scenario.name}: {format_ns(options.duration_ns)} simulated, "
        f"{len(options.factors)} factors, {options.repetitions} repetitions"
    )
    tell(table_head())
    try:
        _run_all(study, scenario, options, tell, on_line)
        study.complete = True
    finally:
        # Also of an interrupted study: what is finished is shown.
        study.save(options.output)
        if study.runs:
            render_study(options.output, study)
    if not study.hde_is_clean:
        raise RunError(
            "a synchronised run has violations of causality, or another trace than the sequential "
            f"reference {study.reference_sha256[:12]}: see {options.output / REPORT_FILE}"
        )
    return study


def _run_all(
    study: Study,
    scenario: Scenario,
    options: StudyOptions,
    tell: Callable[[str], None],
    on_line: Callable[[str, str], None],
) -> None:
    def done(run: StudyRun) -> None:
        study.runs.append(run)
        study.save(options.output)
        tell(row_of(run))

    def free(factor: float, purpose: str, repetition: int = 0) -> bool:
        directory = options.output / "prt"
        directory.mkdir(exist_ok=True)
        load = _load()
        result = run_free(scenario, directory, factor, watched=WATCHED, on_line=_quiet(on_line))
        done(StudyRun("PRT", purpose, repetition, load=load, **result._asdict()))
        return result.kept_up

    study.reference_sha256 = _reference(scenario, options.output / "reference")
    for repetition in range(1, options.synchronised + 1):
        done(_hde_run(scenario, options.output / f"hde-{repetition}", repetition, on_line))
    for number in range(options.repetitions):
        free(options.repetition_factor, "repetition", number + 1)
    for factor in options.factors:
        if not free(factor, "sweep"):
            study.broke_at = study.broke_at or factor
    # Beyond, until it breaks.
    factor = options.factors[-1]
    for _ in range(options.doublings):
        if study.broke_at is not None:
            break
        factor *= 2.0
        if not free(factor, "beyond"):
            study.broke_at = factor


def _reference(scenario: Scenario, output: Path) -> str:
    """The trace of the sequential reference, which every synchronised run must have."""
    prepare_output(output)
    return run_inproc(scenario, output, record=False).trace_sha256


def _hde_run(
    scenario: Scenario, output: Path, repetition: int, on_line: Callable[[str, str], None]
) -> StudyRun:
    prepare_output(output)
    load = _load()
    summary = run_ros(scenario, RunOptions(output), on_line=on_line)
    sent: dict[str, int] = {}
    track = Track()
    decode = CATALOGUE.codec(_type_of(scenario, WATCHED)).decode
    for message in read_bag(output / BAG):
        sent[message.topic] = sent.get(message.topic, 0) + 1
        if message.topic == WATCHED:
            track.add(message.stamp, decode(message.data)[2])
    readers = {
        name: sum(
            sent.get(scenario.participants[c.source].outputs[c.source_port].topic, 0)
            for c in build_graph(scenario).incoming(name)
        )
        for name in scenario.participants
    }
    activations = {p.name: p.activations for p in summary.participants}
    counts = summary.causality
    return StudyRun(
        mode="HDE",
        purpose="synchronised",
        repetition=repetition,
        factor=None,
        timing=counts.timing,
        order=counts.order,
        loss=counts.loss,
        messages=sum(readers.values()),
        rtf=summary.rtf,
        wall_time_s=summary.wall_time_s,
        trace_sha256=summary.trace_sha256,
        load=load,
        readers={
            name: {"messages": count, "activations": activations[name]}
            for name, count in readers.items()
        },
        track={"times": track.times, "way": track.way},
    )


def _load() -> float | None:
    """How many processes want to run, mean of the last minute; None where nobody knows."""
    try:
        return round(os.getloadavg()[0], 2)
    except (OSError, AttributeError):
        return None


def _type_of(scenario: Scenario, topic: str) -> str:
    return next(
        output.type
        for participant in scenario.participants.values()
        for output in participant.outputs.values()
        if output.topic == topic
    )


def _quiet(on_line: Callable[[str, str], None]) -> Callable[[str, str], None]:
    """Leave out the clock's sign of life."""

    def listen(name: str, line: str) -> None:
        if not line.startswith("time "):
            on_line(name, line)

    return listen


def prepare_study(output: Path) -> None:
    """Make the output directory; an earlier study in it is replaced.

    :raises ConfigurationError: it holds something else, or cannot be written
    """
    try:
        output.mkdir(parents=True, exist_ok=True)
        if any(output.iterdir()) and not (output / STUDY_FILE).exists():
            raise ConfigurationError(
                f"output directory {output}: not empty, and not the output of an earlier study; "
                "name another directory"
            )
        for path in (*output.glob("hde-*"), output / "prt", output / "reference"):
            shutil.rmtree(path, ignore_errors=True)
        for name in (REPORT_FILE, TRACKS_FILE):
            (output / name).unlink(missing_ok=True)
    except OSError as error:
        raise ConfigurationError(f"output directory {output}: {error.strerror or error}") from None
