# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Sensors of the simulator in a run of processes: the trace and the bag are those in process."""

from __future__ import annotations

from pathlib import Path

from runs.cosim_process import cosim, left_processes, user_environment
from support.sensor_scenario import SENSORS, sensor_file

from ros2_cosim.core.record.bag_reader import topic_types
from ros2_cosim.core.record.summary import read_summary


def test_one_trace_over_the_client_dcp_and_ros(tmp_path: Path) -> None:
    """The server renders, its client receives, the slave sends on, the master makes messages."""
    scenario = sensor_file(tmp_path / "sensors.yaml")
    traces = {}
    with user_environment(tmp_path / "logs") as environment:
        for shape in ("inproc", "ros"):
            out = tmp_path / shape
            result = cosim(environment, scenario, "--shape", shape, "--out", out)
            assert result.code == 0, result
            traces[shape] = read_summary(out).trace_sha256
        assert left_processes(environment) == []
    assert traces["inproc"] == traces["ros"]
    topics = topic_types(tmp_path / "ros" / "bag")
    types = {topic: found.type_name for topic, found in topics.items()}
    for name in SENSORS:
        assert any(topic.endswith(f"/{name}") for topic in types), name
    assert types["/points/lidar"] == "sensor_msgs/msg/PointCloud2"
    assert types["/camera_info/front"] == "sensor_msgs/msg/CameraInfo"
