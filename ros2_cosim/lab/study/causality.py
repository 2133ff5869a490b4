# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""``cosim study causality``: what runs without synchronisation lose, at growing speed.

The car-following scenario in paced real time, without synchronisation (PRT) and with it (HDE:
hybrid discrete event, shape ``ros``), at one factor after the other; beyond the last one at twice
the factor each time until a run does not keep up any more; and with it as fast as possible. Runs
that are slow go side by side. After section VI of Baron et al., "Synchronization of Hybrid Models
in the Automated Driving Simulation".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

from ros2_cosim.core.documents.installed import share_file
from ros2_cosim.core.kernel.errors import ConfigurationError, RunError
from ros2_cosim.core.kernel.time import format_ns
from ros2_cosim.core.record.results import REPORT_FILE
from ros2_cosim.core.run.output_directory import OutputDirectory
from ros2_cosim.core.run.request import RunRequest
from ros2_cosim.core.run.start import run_request
from ros2_cosim.core.scenario.schema import Scenario, load_scenario
from ros2_cosim.core.scenario.system import build_graph
from ros2_cosim.lab.study.plan import (
    StudyOptions,
    directory_of,
    job_of,
    planned_runs,
    runs_beyond,
)
from ros2_cosim.lab.study.record import (
    STUDY_FILE,
    TRACKS_FILE,
    RunKey,
    Study,
    StudyRun,
    read_study,
)
from ros2_cosim.lab.study.report import render_study
from ros2_cosim.lab.study.runs import perform
from ros2_cosim.lab.study.schedule import Control, Job, Neighbours, run_jobs
from ros2_cosim.lab.study.table import TABLE_FILE, text_table
from ros2_cosim.lab.sweep.progress import SweepProgress
from ros2_cosim.ros.bringup.domain_lock import own_domain

SCENARIO = "config/car_following.yaml"
#: At most so many runs at once, each of 6 or 7 processes with about 75 MB of memory.
MOST_TOGETHER = 8


def run_study(
    options: StudyOptions,
    *,
    tell: Callable[[str], None] = print,
    on_line: Callable[[str, str], None] = lambda name, line: None,
) -> Study:
    """Run the study; after each run ``study.json`` is up to date.

    :param tell: takes the lines about what is under way, and the table in the end
    :param on_line: called with (run and process, line) of what the processes print
    :raises ConfigurationError: ROS is not installed, ``ROS_DOMAIN_ID`` is not a domain, the output
        directory is not ours, or the study in it is another than the one to be resumed
    :raises RunError: a process failed, or a synchronised run has a violation
    """
    if find_spec("rclpy") is None:
        raise ConfigurationError("the study needs rclpy, which is not installed")
    scenario = study_scenario(options.duration_ns)
    build_graph(scenario)
    own_domain()
    with study_directory(options.output) as directory:
        return _run_study(scenario, options, directory, tell, on_line)


def study_scenario(duration_ns: int, changes: Sequence[str] = ()) -> Scenario:
    """The scenario of the study, with a duration [ns] and changes."""
    return load_scenario(share_file(SCENARIO), [f"duration={format_ns(duration_ns)}", *changes])


def _run_study(
    scenario: Scenario,
    options: StudyOptions,
    directory: OutputDirectory,
    tell: Callable[[str], None],
    on_line: Callable[[str, str], None],
) -> Study:
    if options.resume:
        study = _resumed(scenario, options)
    else:
        study = _begun(scenario, options, directory)
    tell(
        f"{scenario.name}: {format_ns(options.duration_ns)} simulated, "
        f"{len(options.factors)} factors, {options.repetitions} repetitions"
    )
    try:
        reference = _reference(scenario, options.output / "reference")
        if study.reference_sha256 not in ("", reference):
            raise ConfigurationError(
                f"--resume: the study in {options.output} has another sequential reference "
                f"({study.reference_sha256[:12]}) than what is installed: begin it anew"
            )
        study.reference_sha256 = reference
        changed = study_scenario(options.duration_ns, options.changes)
        _run_all(study, changed, options, SweepProgress(tell), on_line)
        study.complete = True
    finally:
        # Also of an interrupted study: what is finished is shown.
        study.save(options.output)
        if study.runs:
            for line in text_table(study):
                tell(line)
            render_study(options.output, study)
    if not study.hde_is_clean:
        raise RunError(
            "a synchronised run has violations of causality, or another trace than the sequential "
            f"reference {study.reference_sha256[:12]}: see {options.output / REPORT_FILE}"
        )
    return study


def _begun(scenario: Scenario, options: StudyOptions, directory: OutputDirectory) -> Study:
    """A study from the beginning; an earlier one in the directory is replaced."""
    directory.clear()
    study = Study(
        scenario.name, scenario.seed, options.duration_ns / 1e9, together=options.together
    )
    study.save(options.output)
    return study


def _resumed(scenario: Scenario, options: StudyOptions) -> Study:
    """The study in the output directory, to be continued.

    :raises ConfigurationError: there is none, or it is of something else
    """
    study = read_study(options.output)
    place = f"--resume: the study in {options.output}"
    asked = (scenario.name, scenario.seed, options.duration_ns / 1e9)
    if (study.scenario, study.seed, study.duration_s) != asked:
        raise ConfigurationError(
            f"{place} is of {study.scenario}, seed {study.seed}, {study.duration_s:g} s; asked "
            f"for is {asked[0]}, seed {asked[1]}, {asked[2]:g} s"
        )
    beyond = [key for mode in options.modes for key in runs_beyond(options, mode)]
    wanted = {*planned_runs(options), *beyond}
    for run in study.runs:
        if run.key not in wanted:
            raise ConfigurationError(
                f"{place} has the run '{run.key.label}' ({run.purpose}), which was not requested: "
                f"give the same --factors, --repeat and --quick as before"
            )
    study.complete = False
    # The larger one holds for the whole of it.
    study.together = max(study.together, options.together)
    return study


def _run_all(
    study: Study,
    scenario: Scenario,
    options: StudyOptions,
    progress: SweepProgress,
    on_line: Callable[[str, str], None],
) -> None:
    def job(key: RunKey) -> Job[StudyRun]:
        def run(control: Control) -> StudyRun:
            directory = options.output / directory_of(key)
            return perform(key, scenario, directory, control, on_line=on_line)

        return job_of(key, options.duration_ns, run)

    def done(job: Job[StudyRun], run: StudyRun, neighbours: Neighbours) -> None:
        study.add(replace(run, beside=neighbours.weight, starts=neighbours.starts))
        study.save(options.output)
        found = f"timing {run.timing}, order {run.order}, loss {run.loss}, reached {run.rtf:.3g}"
        progress.done(work=job.work(options.together), what=f"{job.name}: {found}")

    def run_some(wanted: Sequence[RunKey]) -> None:
        present = {run.key for run in study.runs}
        jobs = [job(key) for key in wanted if key not in present]
        work = sum(job.work(options.together) for job in jobs)
        progress.expect(len(jobs), len(wanted) - len(jobs), work)
        run_jobs(
            jobs,
            options.together,
            MOST_TOGETHER,
            on_start=lambda job: progress.tell(f"{job.name} begins"),
            on_done=done,
        )

    run_some(planned_runs(options))
    for mode in options.modes:
        for key in runs_beyond(options, mode):
            if study.broke_at(mode) is not None:
                break
            run_some([key])


def _reference(scenario: Scenario, output: Path) -> str:
    """The trace of the sequential reference, which every synchronised run must have."""
    request = RunRequest(scenario, shape="inproc", out=output, record=False)
    return run_request(request).trace_sha256


def study_directory(output: Path) -> OutputDirectory:
    """The output directory of a study, to be held while it goes on."""
    return OutputDirectory(
        output,
        "study 'causality'",
        kind="study",
        marker=STUDY_FILE,
        results=("hde-*", "runs", "reference", REPORT_FILE, TRACKS_FILE, TABLE_FILE),
    )
