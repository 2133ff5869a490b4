# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Outputs of the world that a scenario need not have."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from ros2_cosim.core.run.request import RunRequest
from ros2_cosim.core.run.start import run_request
from ros2_cosim.core.scenario.schema import make_scenario

CONFIG = Path(__file__).resolve().parents[2] / "config"


@pytest.mark.parametrize("port", ["odometry/leader", "collision"])
def test_a_scenario_with_one_vehicle_has_the_outputs_that_it_wants(
    tmp_path: Path, port: str
) -> None:
    data = yaml.safe_load((CONFIG / "platoon.yaml").read_text(encoding="utf-8"))
    world, scene = data["participants"]["world"], data["scene"]
    del world["inputs"], world["parameters"]["dcp"]
    world["outputs"] = {port: world["outputs"][port]}
    # It drives into the roadblock: the contact has a port, or has none.
    driver = {"stop_gap": 0.5, "deceleration": 0.1}
    scene["vehicles"] = {"leader": {**scene["vehicles"]["leader"], "s": 960.0, "driver": driver}}
    scene["platoon"] = ["leader"]
    data |= {"name": "one", "duration": "3s", "base_directory": str(CONFIG)}
    data["participants"] = {"world": world}
    for key in ("faults", "changes"):
        data.pop(key, None)
    scenario = make_scenario(data, "one")
    summary = run_request(RunRequest(scenario, shape="inproc", out=tmp_path / "out"))
    assert summary.sim_time_s == 3.0
    (world_part,) = summary.participants
    assert world_part.activations == 300
