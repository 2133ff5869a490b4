# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A vehicle simulator behind VDS1 as the plant of a run: the numbers of one in the process."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from runs.cosim_process import ROOT, Running, left_processes, user_environment
from support.patience import HANG_S
from support.ports import free_port
from support.vds_models import loop

from ros2_cosim.core.run.inproc import run_inproc
from ros2_cosim.core.scenario.schema import make_scenario

pytest.importorskip("rclpy", reason="needs rclpy, which make setup installs")

OWN = {"speed": 12.0, "sensor_delay": "20ms", "actuator_delay": "15ms"}


@pytest.mark.parametrize("shape", ["ros", "composed"])
def test_a_simulator_in_lock_step_gives_the_trace_of_our_own_vehicle(
    shape: str, tmp_path: Path
) -> None:
    (tmp_path / "own").mkdir()
    own = run_inproc(make_scenario(loop({"own": OWN}), "own"), tmp_path / "own", record=False)
    fleet = tmp_path / "fleet.yaml"
    fleet.write_text(json.dumps({"dt": "10ms", "vehicles": {"v": OWN}}), encoding="utf-8")
    state_port = free_port()
    with user_environment(tmp_path / "log") as environment:
        environment["PYTHONPATH"] += f"{os.pathsep}{ROOT / 'test'}"  # the driver is there
        command = [sys.executable, "-m", "ros2_cosim.cli.main", "vds", "serve", "--lockstep"]
        command += [str(fleet), "--port", "0", "--to", f"127.0.0.1:{state_port}"]
        simulator = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
        try:
            assert simulator.stdout is not None
            port = int(simulator.stdout.readline().rsplit(":", 1)[1])
            reach = {
                "host": "127.0.0.1",
                "port": port,
                "state_port": state_port,
                "timeout_s": HANG_S,
            }
            scenario = tmp_path / "loop.json"
            scenario.write_text(json.dumps(loop(reach)), encoding="utf-8")
            output = tmp_path / "out"
            arguments = (scenario, "--shape", shape, "--out", output, "--no-bag")
            with Running(environment, *arguments) as running:
                result = running.result()
            assert result.code == 0, result
        finally:
            simulator.terminate()
            said, _ = simulator.communicate(timeout=HANG_S)
        assert left_processes(environment) == []
    summary = json.loads((output / "summary.json").read_text(encoding="utf-8"))
    assert summary["trace_sha256"] == own.trace_sha256
    # The first activation reports the start, each other one is a step.
    assert re.search(r"^1\.99 s in 199 steps; 199 commands;", said, re.MULTILINE), said
