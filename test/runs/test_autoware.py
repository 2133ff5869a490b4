# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A ROS node drives Autoware's vehicle over its topics and its service, in runs of processes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from runs.cosim_process import ROOT, cosim, left_processes, user_environment
from support.gate_scenarios import foreign
from support.message_build import build_messages, set_variables
from support.seam_models import DEFINITIONS

from ros2_cosim.core.messages.catalogue import DEFAULT
from ros2_cosim.core.record.bag_reader import read_bag
from ros2_cosim.core.record.summary import read_summary
from ros2_cosim.core.scenario.schema import load_scenario

pytest.importorskip("rclpy", reason="needs rclpy, which make setup installs")
pytestmark = pytest.mark.slow

#: The types that this run needs; to build one takes a second and a half.
BUILT = {
    "autoware_control_msgs": ("Lateral", "Longitudinal", "Control"),
    "autoware_vehicle_msgs": (
        "VelocityReport",
        "SteeringReport",
        "ControlModeReport",
        "GearReport",
        "GearCommand",
    ),
}
MODE = "builtin_interfaces/Time stamp\nuint8 mode\n---\nbool success\n"
MODE_SERVICE = {
    "service": "/control/control_mode_request",
    "type": "autoware_vehicle_msgs/srv/ControlModeCommand",
}
LEFT_OUT = {
    "autoware": ("detected_objects", "tracked_objects", "predicted_objects", "traffic_signals"),
    "autoware_control": ("turn_indicators_status", "hazard_lights_status"),
}


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Definitions of what is built."""
    directory = tmp_path_factory.mktemp("packages")
    for package, names in BUILT.items():
        (directory / package / "msg").mkdir(parents=True)
        for name in names:
            path = directory / package / "msg" / f"{name}.msg"
            path.write_text(DEFINITIONS[package][name] + "\n", encoding="utf-8")
    services = directory / "autoware_vehicle_msgs" / "srv"
    services.mkdir()
    (services / "ControlModeCommand.srv").write_text(MODE, encoding="utf-8")
    return directory


@pytest.fixture(scope="module")
def variables(packages: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The variables that make the built types known."""
    found: dict[str, str] = build_messages(packages, tmp_path_factory.mktemp("prefix"))["variables"]
    return found


def scenario(directory: Path, packages: Path) -> Path:
    driver = foreign(
        "autoware_driver_node.py",
        node_name="driver",
        use_sim_time=True,
        inputs={
            "velocity": "/vehicle/status/velocity_status",
            "mode_report": "/vehicle/status/control_mode",
        },
        outputs={
            "control": {"topic": "/control/command/control_cmd", "expect": "any"},
            "gear": {"topic": "/control/command/gear_cmd", "expect": "any"},
        },
        calls={"mode": MODE_SERVICE},
    )
    data: dict[str, Any] = {
        "name": "autoware",
        "duration": "5s",
        "base_directory": str(ROOT / "config"),
        "messages": [str(packages)],
        "autoware": "ego",
        "scene": {
            "map": "highway.xodr",
            "vehicles": {"ego": {"lane": -2, "s": 900.0, "speed": 0.0}},
        },
        "participants": {
            **{name: {"outputs": dict.fromkeys(ports)} for name, ports in LEFT_OUT.items()},
            "driver": {
                **driver,
                "period": "50ms",
                "offset": "100ms",
                "activation": {"any": ["mode"]},
                "inputs": {
                    "velocity": "autoware.velocity_status",
                    "mode_report": "autoware_control.control_mode",
                },
                "outputs": {
                    "control": {
                        "type": "autoware_control_msgs/msg/Control",
                        "topic": "/control/command/control_cmd",
                        "schedule": "sparse",
                    },
                    "gear": {
                        "type": "autoware_vehicle_msgs/msg/GearCommand",
                        "topic": "/control/command/gear_cmd",
                        "schedule": "sparse",
                    },
                },
            },
            "world": {
                "model": "carla_world",
                "period": "20ms",
                "parameters": {"dcp": {"transport": "tcp", "port": 0}},
            },
        },
    }
    path = directory / "autoware.json"
    path.write_text(json.dumps(data), encoding="utf-8")
    return path


def test_a_node_drives_and_changes_the_mode_with_one_trace(
    packages: Path, variables: dict[str, str], tmp_path: Path
) -> None:
    file = scenario(tmp_path, packages)
    traces = {}
    with user_environment(tmp_path / "logs") as environment:
        set_variables(environment, variables)
        for shape in ("composed", "ros"):
            out = tmp_path / shape
            result = cosim(environment, file, "--shape", shape, "--out", out)
            assert result.code == 0, result
            summary = read_summary(out)
            assert summary.repeatable
            traces[shape] = summary.trace_sha256
        assert left_processes(environment) == []
    assert len(set(traces.values())) == 1, traces
    load_scenario(file)  # its message definitions
    modes, speeds = {}, {}
    for message in read_bag(tmp_path / "ros" / "bag"):
        if message.topic in ("/vehicle/status/control_mode", "/vehicle/status/velocity_status"):
            value = DEFAULT.codec(message.type_name).decode(message.data)[2]
            found = modes if message.topic.endswith("mode") else speeds
            found[message.stamp // 1_000_000] = value
    assert [modes[ms].mode for ms in (1980, 2100, 2980, 3100)] == [1, 4, 4, 1]
    velocities = [speeds[ms].longitudinal_velocity for ms in (1980, 2980, 4980)]
    assert velocities[0] > 3.5 and velocities[1] < 0.5 and velocities[2] > 3.0
