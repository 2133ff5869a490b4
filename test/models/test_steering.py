# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Steering by command: lane keeping as a participant, and one of a user in its place."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.model import Model, Port
from ros2_cosim.core.kernel.participant import ModelContext, Sample, Step
from ros2_cosim.core.messages.message_types import CONTROL
from ros2_cosim.core.messages.records import ControlCommand
from ros2_cosim.core.run.bringup import bring_up
from ros2_cosim.core.run.inproc import InprocRun
from ros2_cosim.core.run.request import RunRequest
from ros2_cosim.core.scenario.check import check_scenario
from ros2_cosim.core.scenario.schema import Scenario, load_scenario

ROOT = Path(__file__).parents[2]


class Wheel(Model):
    """A user's steering: always a little to the left."""

    input_ports = (Port("command", CONTROL), Port("odometry", "nav_msgs/msg/Odometry"))
    output_ports = (Port("control", CONTROL),)

    def __init__(self, context: ModelContext, parameters: Any) -> None:
        pass

    def activate(self, step: Step) -> Mapping[str, Any]:
        command = step.latest["command"]
        given = ControlCommand(0.0, 0.0, 0.0, 0.0) if command is None else command.value
        return {"control": given._replace(steer=0.01)}


def scenario(directory: Path, model: str = "lane_keeping", **parameters: Any) -> Scenario:
    """A platoon of two before a curve; the follower is steered by a participant."""
    steering: dict[str, Any] = {
        "model": model,
        "activation": "command",
        "inputs": {"command": "cacc1.control", "odometry": "world.odometry/follower1"},
        "outputs": {"control": {"type": CONTROL, "topic": "/follower1/steered"}},
    }
    if model == "lane_keeping":
        steering["parameters"] = {"vehicle": "follower1", **parameters}
    data = {
        "name": "steered",
        "duration": "14s",
        "scene": {
            "map": str(ROOT / "config" / "highway.xodr"),
            "vehicles": {"follower1": {"steering": "command"}},
        },
        "platoon": {"vehicles": 2, "lane": -2, "s": 850.0, "speed": 25.0},
        "participants": {
            "steering": steering,
            "world": {
                "inputs": {"control/follower1": {"from": "steering.control", "delayed": True}}
            },
        },
    }
    path = directory / "steered.yaml"
    path.write_text(yaml.safe_dump(data))
    return load_scenario(path)


def lateral(given: Scenario, directory: Path) -> tuple[list[float], list[float]]:
    """Lateral way of leader and follower at the same places on the road, as (x, y) rounded."""
    ways: dict[str, list[tuple[float, float]]] = {"leader": [], "follower1": []}

    def keep(name: str) -> Any:
        def take(sample: Sample) -> None:
            ways[name].append((sample.value.x, sample.value.y))

        return take

    request = RunRequest(given, shape="inproc", out=directory / "out", record=False)
    with bring_up(request) as prepared:
        watch = {("world", f"odometry/{name}"): keep(name) for name in ways}
        with InprocRun(prepared, watch=watch) as run:
            run.finish()
    at = [900.0, 950.0, 1000.0, 1050.0]
    return tuple(
        [min(ways[name], key=lambda p, x=x: abs(p[0] - x))[1] for x in at] for name in ways
    )  # type: ignore[return-value]


def test_a_participant_keeps_the_lane_like_the_simulator(tmp_path: Path) -> None:
    leader, follower = lateral(scenario(tmp_path), tmp_path)
    assert follower == pytest.approx(leader, abs=0.1)
    assert leader[-1] > leader[0] + 1.0  # the curve


def test_a_users_model_takes_its_place(tmp_path: Path) -> None:
    name = f"{Wheel.__module__}:Wheel"
    leader, follower = lateral(scenario(tmp_path, name), tmp_path)
    assert follower[1] > leader[1] + 1.0


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"vehicle": "ghost"}, "parameters.vehicle: found vehicle 'ghost'; allowed are"),
        ({"lane": 0}, "parameters.lane: found 0; allowed are the ids of lanes"),
    ],
)
def test_wrong_parameters(tmp_path: Path, parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        check_scenario(scenario(tmp_path, **parameters), "inproc")
    assert message in str(caught.value)
