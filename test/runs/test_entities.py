# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Runs in processes whose entities are read and changed: by commands and by ROS services."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from runs.cosim_process import Running, left_processes, user_environment
from support.controlled_run import Controlled
from support.patience import HANG_S

from ros2_cosim.core.run.inproc import run_inproc
from ros2_cosim.core.run.replay import prepare_replay
from ros2_cosim.core.scenario.schema import load_scenario

pytest.importorskip("rclpy", reason="needs rclpy, which make setup installs")
pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
PATH = "participants.world.parameters.entities"
SPAWN = {"do": "spawn", "name": "box", "blueprint": "vehicle.tesla.model3"}


def scenario_in(directory: Path) -> Path:
    """A platoon whose sensors look at traffic."""
    path = directory / "open.yaml"
    path.write_text(
        f"name: open\nduration: 4s\nscene: {{map: {ROOT / 'config' / 'highway.xodr'}}}\n"
        "platoon: {vehicles: 2, lane: -2, s: 700.0, speed: 20.0, traffic: 0}\n"
    )
    return path


def trace_of(output: Path) -> str:
    return str(json.loads((output / "summary.json").read_text())["trace_sha256"])


def test_orders_by_hand_are_repeated_in_every_shape(tmp_path: Path) -> None:
    output = tmp_path / "out"
    with user_environment(tmp_path / "log") as environment:
        arguments = (scenario_in(tmp_path), "--shape", "composed", "--out", output, "--paused")
        with Running(environment, *arguments, "--no-bag") as running:
            run = Controlled(environment, running)
            run.wait_for_run()
            commands = [
                {**SPAWN, "pose": [760, -5.25, 0, 0, 0, 0, 1]},
                {"do": "set", "name": "box", "velocity": [5, 0, 0]},
            ]
            for number, (time, given) in enumerate(
                (("500ms", commands), ("3s", [{"do": "delete", "name": "box"}])), start=1
            ):
                orders = json.dumps({"number": number, "commands": given})
                run.control("change", f"{PATH}={orders}", "--at", time)
            run.end("resume")
            running.result()
        plain = run_inproc(load_scenario(tmp_path / "open.yaml"), tmp_path / "plain", record=False)
        assert trace_of(output) != plain.trace_sha256
        for shape in ("ros", "inproc"):
            again = Controlled(environment).command("replay", str(output), "--shape", shape)
            assert again.code == 0, again
        assert left_processes(environment) == []


@pytest.mark.parametrize(
    ("shape", "what"), [("ros", "read"), ("ros", "change"), ("composed", "change")]
)
def test_readers_change_nothing_and_what_is_changed_is_repeated(
    shape: str, what: str, tmp_path: Path
) -> None:
    pytest.importorskip("simulation_interfaces", reason="needs the package simulation_interfaces")
    output = tmp_path / "out"
    with user_environment(tmp_path / "log") as environment:
        arguments = (scenario_in(tmp_path), "--shape", shape, "--out", output, "--paused")
        with Running(environment, *arguments, "--no-bag", "--rate", "2") as running:
            client = subprocess.run(
                [sys.executable, str(ROOT / "test" / "support" / "entity_client.py"), what],
                env=environment,
                capture_output=True,
                text=True,
                timeout=HANG_S,
                check=False,
            )
            running.result()
        assert client.returncode == 0, client
        assert left_processes(environment) == []
    *changes, reads = client.stdout.split("\n")[:-1]
    assert changes == ([] if what == "read" else ["spawn 1", "set 1", "delete 1"])
    assert int(reads.removeprefix("reads ")) > 20
    scenario, _, former = prepare_replay(output)
    assert len(scenario.changes) == len(changes)
    again = run_inproc(scenario, tmp_path / "again", record=False)
    assert again.trace_sha256 == former.trace_sha256
    plain = run_inproc(load_scenario(tmp_path / "open.yaml"), tmp_path / "plain", record=False)
    assert (plain.trace_sha256 == former.trace_sha256) == (what == "read")
