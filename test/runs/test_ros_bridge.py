# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The topics of CARLA's ROS bridge in a run of processes, driven over its command topic."""

from __future__ import annotations

import json
from pathlib import Path

from runs.cosim_process import ROOT, cosim, left_processes, user_environment

from ros2_cosim.core.messages.catalogue import DEFAULT
from ros2_cosim.core.record.bag_reader import read_bag
from ros2_cosim.core.record.summary import read_summary
from ros2_cosim.driving.ros_bridge.ros_bridge_ports import OUTPUTS

#: Packages whose types are not compiled where tests run.
NOT_BUILT = ("carla_msgs/", "derived_object_msgs/")


def scenario(directory: Path) -> Path:
    """``ego`` is to drive 12 m/s; what needs types that are not there is left out."""
    left_out = [output.port for output in OUTPUTS if output.type.startswith(NOT_BUILT)]
    data = {
        "name": "bridged",
        "duration": "2s",
        "base_directory": str(ROOT / "config"),
        "ros_bridge": "ego",
        "scene": {
            "map": "highway.xodr",
            "vehicles": {"ego": {"lane": -2, "s": 900.0, "speed": 10.0}},
            "sensors": {
                "gnss": {"vehicle": "ego", "blueprint": "sensor.other.gnss", "period": "500ms"}
            },
        },
        "participants": {
            "ros_bridge": {"outputs": {port.format(vehicle="ego"): None for port in left_out}},
            "planner": {
                "model": "support.seam_models:Demand",
                "period": "100ms",
                "parameters": {"fields": {"linear": {"x": 12.0}}},
                "outputs": {
                    "demand": {
                        "type": "geometry_msgs/msg/Twist",
                        "topic": "/carla/ego/control/set_target_velocity",
                    }
                },
            },
            "world": {
                "model": "carla_world",
                "period": "20ms",
                "parameters": {"dcp": {"transport": "tcp", "port": 0}},
            },
        },
    }
    path = directory / "bridged.json"
    path.write_text(json.dumps(data), encoding="utf-8")
    return path


def test_one_trace_in_every_shape_and_the_vehicle_obeys(tmp_path: Path) -> None:
    file = scenario(tmp_path)
    traces = {}
    with user_environment(tmp_path / "logs") as environment:
        for shape in ("inproc", "composed", "ros"):
            out = tmp_path / shape
            result = cosim(environment, file, "--shape", shape, "--out", out)
            assert result.code == 0, result
            traces[shape] = read_summary(out).trace_sha256
        assert left_processes(environment) == []
    assert len(set(traces.values())) == 1, traces
    last = {message.topic: message for message in read_bag(tmp_path / "ros" / "bag")}
    speed = last["/carla/ego/speedometer"]
    assert DEFAULT.codec(speed.type_name).decode(speed.data)[2].data > 11.5
    assert {"/carla/ego/gnss", "/carla/ego/odometry", "/carla/map", "/carla/markers"} <= last.keys()
