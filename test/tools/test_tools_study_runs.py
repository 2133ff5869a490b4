# SPDX-License-Identifier: Apache-2.0
"""The study for real: processes over DDS, with and without synchronisation.

Nothing is said about wall time, nor that runs without synchronisation have violations.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from ros2_cosim.scenario.schema import load_scenario
from ros2_cosim.scenario.share import share_file
from ros2_cosim.tools.run_inproc import run_inproc
from ros2_cosim.tools.study import SCENARIO
from ros2_cosim.tools.summary import read_summary

ROOT = Path(__file__).resolve().parents[2]
HANG_S = 250.0


@pytest.fixture
def environment(
    ros_domain: int, nothing_left: None, monkeypatch: pytest.MonkeyPatch
) -> dict[str, str]:
    """The environment of a user with a ROS domain of his own."""
    pytest.importorskip("rclpy")
    monkeypatch.delenv("ROS_AUTOMATIC_DISCOVERY_RANGE")
    path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    return {**os.environ, "PYTHONPATH": path}


def command(*arguments: object) -> list[str]:
    return [sys.executable, "-m", "ros2_cosim.scenario.cli", *map(str, arguments)]


def runs_of(output: Path) -> list[dict[str, Any]]:
    runs: list[dict[str, Any]] = json.loads((output / "study.json").read_text())["runs"]
    return runs


def check_counts(run: dict[str, Any]) -> None:
    """What must hold whatever the machine did."""
    assert run["timing"] == run["late"] + run["early"]
    assert 0 <= run["timing"] + run["order"] <= run["messages"]
    for kind in ("messages", "timing", "order", "loss"):
        if run["mode"] == "PRT":
            assert run[kind] == sum(reader[kind] for reader in run["readers"].values())
    assert run["rtf"] > 0.0
    assert len(run["trace_sha256"]) == 64


def test_quick_study(environment: dict[str, str], tmp_path: Path) -> None:
    output = tmp_path / "study"
    done = subprocess.run(
        command("study", "causality", "--quick", "--duration", "1s", "--out", output),
        env=environment,
        capture_output=True,
        text=True,
        timeout=HANG_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    content = json.loads((output / "study.json").read_text())
    assert content["complete"] is True
    runs = runs_of(output)
    for run in runs:
        check_counts(run)
    hde = [run for run in runs if run["mode"] == "HDE"]
    free = [run for run in runs if run["mode"] == "PRT"]
    assert [(run["timing"], run["order"], run["loss"]) for run in hde] == [(0, 0, 0)]
    assert hde[0]["trace_sha256"] == content["reference_trace_sha256"]
    assert hde[0]["factor"] is None
    assert [run["factor"] for run in free][:4] == [1.0, 1.0, 1.0, 2.0]
    # 100 messages of each of five connections from the traffic, 25 of each sensor, all fed back;
    # without synchronisation, too, unless activations had to be given up.
    assert hde[0]["messages"] == 600
    for run in free:
        assert run["messages"] == 600 or not run["kept_up"]
        if run["timing"] + run["order"] + run["loss"] == 0:
            assert run["trace_sha256"] == hde[0]["trace_sha256"]
    tracks = json.loads((output / "tracks.json").read_text())
    assert len(tracks) == len(runs)
    assert tracks[0]["times"] == [n / 10 for n in range(10)]
    assert "Study of causality" in (output / "report.html").read_text()
    for run in runs:
        assert run["trace_sha256"][:12] in done.stdout


def test_interrupted_study_keeps_what_is_finished(
    environment: dict[str, str], tmp_path: Path
) -> None:
    output = tmp_path / "study"
    arguments = ("--quick", "--duration", "1s", "--factors", "0.01", "--repetitions", 0)
    with subprocess.Popen(
        command("study", "causality", *arguments, "--out", output),
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        deadline = time.monotonic() + HANG_S
        while not (output / "prt" / "scenario.json").exists():
            assert process.poll() is None, process.communicate()
            assert time.monotonic() < deadline, "no run without synchronisation was started"
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        _, stderr = process.communicate(timeout=HANG_S)
    assert process.returncode == 130
    assert stderr == "cosim: ended by SIGINT\n"
    assert [run["mode"] for run in runs_of(output)] == ["HDE"]
    assert json.loads((output / "study.json").read_text())["complete"] is False
    assert "not complete" in (output / "report.html").read_text()


@pytest.mark.parametrize("shape", ["composed", "ros"])
def test_scenario_gives_the_same_trace_in_each_shape(
    environment: dict[str, str], tmp_path: Path, shape: str
) -> None:
    (tmp_path / "inproc").mkdir()
    scenario = load_scenario(share_file(SCENARIO), ["duration=2s"])
    expected = run_inproc(scenario, tmp_path / "inproc", record=False)
    done = subprocess.run(
        command(
            "run", share_file(SCENARIO), "--set", "duration=2s", "--shape", shape, "--out",
            tmp_path / shape,
        ),
        env=environment,
        capture_output=True,
        text=True,
        timeout=HANG_S,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    summary = read_summary(tmp_path / shape)
    assert summary.trace_sha256 == expected.trace_sha256
    assert summary.violations == 0
    assert summary.collisions == 0
