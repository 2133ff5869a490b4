# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Models that cannot begin anew are found at once; others begin anew with all their wrappers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from runs.cosim_process import PLATOON, Running, left_processes, user_environment
from support.controlled_run import Controlled
from support.reset_models import scenario

from ros2_cosim.core.record.summary import read_summary
from ros2_cosim.core.run.inproc import run_inproc
from ros2_cosim.core.scenario.schema import load_scenario, make_scenario

pytest.importorskip("rclpy", reason="needs rclpy, which make setup installs")

SHAPES = ("ros", "composed")
OBSTACLE = (
    "this run cannot begin anew: participant 'slow': its model holds something open (it has a "
    "method close) and has no method reset"
)
LATE = {"probability": 0.3, "delay": {"uniform": ["5ms", "25ms"]}}


def written(tmp_path: Path, **settings: Any) -> tuple[Path, Path]:
    """The file of the scenario, and the directory of the logs."""
    log = tmp_path / "models"
    log.mkdir()
    file = tmp_path / "reset.json"
    file.write_text(json.dumps(scenario(log, **settings)), encoding="utf-8")
    return file, log


def lines(log: Path) -> list[str]:
    """What the model of the slow part has done, without the check before the run."""
    found = (log / "slow").read_text(encoding="utf-8").splitlines()
    return found[found.index("close") + 1 :]


@pytest.mark.parametrize("shape", SHAPES)
def test_a_participant_that_cannot_repeat_is_named_before_the_first_run(
    shape: str, tmp_path: Path
) -> None:
    file, log = written(tmp_path, resettable=False)
    output = tmp_path / "out"
    with user_environment(tmp_path / "log") as environment:
        arguments = (file, "--shape", shape, "--out", output, "--no-bag", "--repeat", "2")
        with Running(environment, *arguments) as running:
            error = running.result().error()
        assert left_processes(environment) == []
    name = "clock" if shape == "ros" else shape
    assert error == f"cosim: {name}: --repeat: {OBSTACLE}"
    assert lines(log) == ["open", "close"]
    assert not read_summary(output, complete=False).complete


@pytest.mark.parametrize("shape", SHAPES)
def test_the_world_behind_its_slave_begins_anew(shape: str, tmp_path: Path) -> None:
    """The slave reports each time; its report of a run is not taken for that of the next."""
    output = tmp_path / "out"
    changes = ["duration=500ms"]
    with user_environment(tmp_path / "log") as environment:
        arguments = (PLATOON, "--shape", shape, "--out", output, "--no-bag", "--repeat", "3")
        with Running(environment, *arguments, "--set", *changes) as running:
            result = running.result()
        assert left_processes(environment) == []
    # The vehicles cannot stand by then: verdicts are not met.
    assert result.code == 3, result
    apart = tmp_path / "inproc"
    apart.mkdir()
    alone = run_inproc(load_scenario(PLATOON, changes), apart, record=False)
    again = [read_summary(path) for path in (output, output / "again-1", output / "again-2")]
    assert [summary.trace_sha256 for summary in again] == [alone.trace_sha256] * 3
    if shape == "ros":
        slaves = [
            part for summary in again for part in summary.participants if "slave" in part.name
        ]
        assert [slave.activations for slave in slaves] == [49] * 3
        assert len({slave.compute_s for slave in slaves}) == 3, "each run has its own report"


def test_a_participant_that_leaves_cannot_be_repeated(tmp_path: Path) -> None:
    file, _ = written(tmp_path, resettable=True, leave="200ms")
    with user_environment(tmp_path / "log") as environment:
        with Running(environment, file, "--out", tmp_path / "out", "--repeat", "2") as running:
            error = running.result().error()
        assert left_processes(environment) == []
    assert "cannot begin anew: participant 'slow' enters or leaves while it goes on" in error


@pytest.mark.parametrize("shape", SHAPES)
def test_a_reset_is_refused_where_a_participant_cannot(shape: str, tmp_path: Path) -> None:
    file, log = written(tmp_path, resettable=False)
    output = tmp_path / "out"
    with user_environment(tmp_path / "log") as environment:
        arguments = (file, "--shape", shape, "--out", output, "--no-bag", "--paused")
        with Running(environment, *arguments) as running:
            run = Controlled(environment, running)
            run.wait_for_run()
            run.control("step")
            refused = run.command("control", "reset").error()
            assert refused == f"cosim: control reset: {OBSTACLE}"
            # The run is not harmed.
            assert run.control("status") == "paused at 50ms"
            run.end("resume")
            result = running.result()
        assert left_processes(environment) == []
    assert result.code == 0, result
    assert read_summary(output).sim_time_s == 0.3
    assert lines(log) == ["open", "step", "close"]


@pytest.mark.parametrize(("shape", "rate"), [("ros", "max"), ("composed", "4")])
def test_a_part_that_may_be_late_begins_anew_with_its_estimator(
    shape: str, rate: str, tmp_path: Path
) -> None:
    coupling = {"lateness": LATE, "estimate": [{"order": 2, "adapt": 0.2}]}
    file, log = written(tmp_path, resettable=True, coupling=coupling, overrun={"deadline": "10ms"})
    output = tmp_path / "out"
    with user_environment(tmp_path / "log") as environment:
        arguments = (file, "--shape", shape, "--out", output, "--no-bag", "--rate", rate)
        with Running(environment, *arguments, "--repeat", "3") as running:
            result = running.result()
        assert left_processes(environment) == []
    assert result.code == 0, result
    assert lines(log) == ["open", "step", "reset", "step", "reset", "step", "close"]
    apart = tmp_path / "inproc"
    apart.mkdir()
    alone = run_inproc(make_scenario(json.loads(file.read_text()), "reset"), apart, record=False)
    assert alone.realtime is not None
    assert alone.realtime.couplings["slow"].late > 3
    again = [read_summary(path) for path in (output, output / "again-1", output / "again-2")]
    assert {summary.trace_sha256 for summary in again} == {alone.trace_sha256}
    late = alone.realtime.couplings["slow"].late
    assert [s.realtime.couplings["slow"].late for s in again if s.realtime] == [late] * 3
