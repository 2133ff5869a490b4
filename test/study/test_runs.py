# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The study for real: processes over DDS, with and without synchronisation.

Nothing is said about wall time, nor that runs without synchronisation have violations.
"""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from support.isolation import drop_dds_settings
from support.patience import until
from support.warm import Warm, cosim

from ros2_cosim.core.documents.installed import share_file
from ros2_cosim.core.messages.namespaces import node_name_of
from ros2_cosim.core.record.summary import read_summary
from ros2_cosim.core.run.inproc import run_inproc
from ros2_cosim.core.scenario.schema import load_scenario
from ros2_cosim.lab.study.causality import SCENARIO
from ros2_cosim.lab.study.plan import planned_runs, runs_beyond, study_options
from ros2_cosim.lab.study.record import RunKey, Study, StudyRun

ROOT = Path(__file__).resolve().parents[2]
HANG_S = 320.0
#: A quick study has 8 runs of up to 7 processes: not fast on a machine with other work.
pytestmark = pytest.mark.timeout(340)
MODES = ("prt", "hde")


@pytest.fixture
def environment(
    ros_domains: int, nothing_left: None, monkeypatch: pytest.MonkeyPatch
) -> dict[str, str]:
    """The environment of a user, with ROS domains of its own."""
    pytest.importorskip("rclpy")
    drop_dds_settings(monkeypatch)
    paths = [str(ROOT), str(ROOT / "test"), *filter(None, [os.environ.get("PYTHONPATH")])]
    path = os.pathsep.join(paths)
    return {**os.environ, "PYTHONPATH": path}


def runs_of(output: Path) -> list[dict[str, Any]]:
    runs: list[dict[str, Any]] = json.loads((output / "study.json").read_text())["runs"]
    return runs


def check_counts(run: dict[str, Any]) -> None:
    """What must hold whatever the machine did."""
    assert run["timing"] == run["late"] + run["early"]
    assert 0 <= run["timing"] + run["order"] <= run["messages"]
    assert 0 <= run["wrong"] <= run["activations"]
    for kind in ("messages", "timing", "order", "loss", "wrong", "activations"):
        if run["mode"] != "HDE":
            assert run[kind] == sum(reader[kind] for reader in run["readers"].values())
    assert run["rtf"] > 0.0
    assert len(run["trace_sha256"]) == 64


def study(environment: dict[str, str], *arguments: object) -> str:
    """Run the command to its end; returns what it printed."""
    done = cosim(environment, "study", "causality", *arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_quick_study(environment: dict[str, str], tmp_path: Path) -> None:
    output = tmp_path / "study"
    stdout = study(environment, "--quick", "--factors", 2, "--duration", "1s", "--out", output)
    content = json.loads((output / "study.json").read_text())
    assert content["complete"] is True
    runs = runs_of(output)
    for run in runs:
        check_counts(run)
        assert run["beside"] <= content["together"] == 2.0
    reference = content["reference_trace_sha256"]
    hde = [run for run in runs if run["mode"] == "HDE"]
    free = [run for run in runs if run["mode"] == "PRT"]
    # As fast as possible, at the factor, and beyond.
    assert [run["factor"] for run in hde][:2] == [None, 2.0]
    for run in hde:
        assert (run["timing"], run["order"], run["loss"]) == (0, 0, 0)
        assert run["trace_sha256"] == reference
        # 100 messages of each of five connections from the traffic, 25 of each sensor, all fed
        # back; without synchronisation, too, unless activations had to be given up.
        assert run["messages"] == 600
    assert [run["factor"] for run in free][:2] == [1.0, 2.0]
    for run in free:
        assert run["messages"] == 600 or not run["kept_up"]
        if run["timing"] + run["order"] + run["loss"] == 0:
            assert run["trace_sha256"] == reference
    for mode, broke in (("PRT", content["broke_at"]), ("HDE", content["hde_broke_at"])):
        beyond = [r["factor"] for r in runs if (r["mode"], r["purpose"]) == (mode, "beyond")]
        # A mode that keeps up with the factors asked for goes beyond them.
        assert beyond == ([4.0] if broke in (None, 4.0) else [])
    stepped = [run for run in runs if run["mode"] == "TSS"]
    assert [run["step_ns"] for run in stepped] == [2_500_000, 10_000_000]
    assert [run["trace_sha256"] == reference for run in stepped] == [True, False]
    assert [run["timing"] for run in stepped] == [0, 150]
    tracks = json.loads((output / "tracks.json").read_text())
    assert len(tracks) == len(runs)
    assert tracks[0]["times"] == [n / 10 for n in range(10)]
    assert [track["way"] for track, run in zip(tracks, runs, strict=True) if run in hde] == [
        tracks[0]["way"]
    ] * len(hde)
    assert "Study of causality" in (output / "report.html").read_text()
    for run in runs:
        assert run["trace_sha256"][:12] in stdout


def test_resumed_study_does_what_is_missing(environment: dict[str, str], tmp_path: Path) -> None:
    """All is there but one run; that one is real."""
    output, reference = tmp_path / "study", tmp_path / "reference"
    for directory in (output, reference):
        directory.mkdir()
    scenario = load_scenario(share_file(SCENARIO), ["duration=1s"])
    expected = run_inproc(scenario, reference, record=False).trace_sha256
    record = Study(scenario.name, scenario.seed, 1.0, reference_sha256=expected)
    missing = RunKey("HDE", "sweep", 2.0, 0)
    options = study_options(output, quick=True, repetitions=0, factors="1,2")
    beyond = [key for mode in ("PRT", "HDE") for key in runs_beyond(options, mode)]
    for key in (*planned_runs(options), *beyond):
        if key != missing:
            counts = {"timing": 0, "order": 0, "loss": 0, "messages": 600}
            record.add(
                StudyRun(
                    **key._asdict(), **counts, rtf=key.factor or 9.0, wall_time_s=1.0,
                    trace_sha256=expected, track={"times": [0.0], "way": [0.0]},
                )
            )  # fmt: skip
    record.save(output)
    kept = runs_of(output)
    arguments = ("--duration", "1s", "--factors", "1,2", "--repeat", 0)
    stdout = study(environment, "--quick", *arguments, "--out", output, "--resume")
    again = runs_of(output)
    assert [run for run in again if run in kept] == kept
    (done,) = [run for run in again if run not in kept]
    assert stdout.count(" begins (") == 1
    assert (done["mode"], done["factor"], done["trace_sha256"]) == ("HDE", 2.0, expected)
    assert json.loads((output / "study.json").read_text())["complete"] is True


@contextmanager
def study_of_two(environment: dict[str, str], output: Path) -> Iterator[Warm]:
    """A study whose first two runs are under way at a time."""
    words = "study causality --quick --duration 1s --factors 0.01,0.02 --repeat 0 --out"
    process = Warm([*words.split(), str(output)], environment)
    try:
        yield process
    finally:
        process.kill()


def goes_on(process: Warm) -> None:
    """Wait a moment for a program that has not ended."""
    assert process.poll() is None, process.communicate()
    time.sleep(0.05)


def test_interrupted_study_keeps_what_is_finished(
    environment: dict[str, str], tmp_path: Path
) -> None:
    output = tmp_path / "study"
    with study_of_two(environment, output) as process:
        # Two runs are under way, each in a ROS domain of its own.
        until(
            lambda: all((output / "runs" / f"{m}-0.01/scenario.json").exists() for m in MODES),
            partial(goes_on, process),
        )
        process.send_signal(signal.SIGINT)
        stdout, stderr = process.communicate(timeout=HANG_S)
    assert process.returncode == 130
    assert stderr.splitlines()[-1] == "cosim: ended by SIGINT"
    assert [run["mode"] for run in runs_of(output)] == ["HDE", "TSS", "TSS"]
    assert runs_of(output)[0]["trace_sha256"][:12] in stdout
    assert json.loads((output / "study.json").read_text())["complete"] is False
    assert "not complete" in (output / "report.html").read_text()


def test_failing_run_ends_the_study_and_is_named(
    environment: dict[str, str], tmp_path: Path
) -> None:
    """A participant of one of two runs under way is killed."""
    output = tmp_path / "study"
    with study_of_two(environment, output) as process:
        victim = until(
            lambda: process_of(output / "runs" / "hde-0.01", "driving"), partial(goes_on, process)
        )
        os.kill(victim, signal.SIGKILL)
        _, stderr = process.communicate(timeout=HANG_S)
    assert process.returncode == 1
    assert "cosim: HDE 0.01: process 'driving' was killed by SIGKILL" in stderr
    assert [run["purpose"] for run in runs_of(output)] == ["synchronised", "stepped", "stepped"]


def process_of(output: Path, name: str) -> int:
    """The process of a node of the run in this directory; 0: there is none yet."""
    for directory in Path("/proc").glob("[0-9]*"):
        try:
            words = (directory / "cmdline").read_text().replace("\0", " ").split()
        except OSError:
            continue  # ended meanwhile, or another user's
        if f"__node:={node_name_of(name)}" in words and any(
            str(output / "scenario.json") in w for w in words
        ):
            return int(directory.name)
    return 0


@pytest.mark.parametrize("shape", ["composed", "ros"])
def test_scenario_gives_the_same_trace_in_each_shape(
    environment: dict[str, str], tmp_path: Path, shape: str
) -> None:
    (tmp_path / "inproc").mkdir()
    scenario = load_scenario(share_file(SCENARIO), ["duration=2s"])
    expected = run_inproc(scenario, tmp_path / "inproc", record=False)
    options = ("--set", "duration=2s", "--shape", shape, "--no-bag", "--out", tmp_path / shape)
    done = cosim(environment, "run", share_file(SCENARIO), *options)
    assert done.returncode == 0, done.stderr
    summary = read_summary(tmp_path / shape)
    assert summary.trace_sha256 == expected.trace_sha256
    assert summary.violations == 0
    assert summary.collisions == 0
