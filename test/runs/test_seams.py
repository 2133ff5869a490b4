# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Seams are the same in every run shape: ROS topics carry the messages of one process."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from runs.cosim_process import HIGHWAY, cosim, user_environment

from ros2_cosim.core.record.bag_reader import read_bag
from ros2_cosim.core.record.summary import read_summary

SCENARIO = """
version: 1
name: seams
duration: 1s
scene:
  map: MAP
  vehicles:
    plain:   {lane: -2, s: 900.0, speed: 20.0}
    twisted: {lane: -2, s: 800.0, speed: 20.0}
participants:
  plain:
    model: support.seam_models:Demand
    period: 40ms
    parameters: {fields: {linear: {x: -1.0}}}
    outputs: {demand: {type: geometry_msgs/msg/Accel, topic: /plain/demand}}
  twisted:
    model: support.seam_models:Demand
    period: 40ms
    parameters: {fields: {twist: {linear: {x: 18.0}}}}
    outputs: {demand: {type: geometry_msgs/msg/TwistStamped, topic: /twisted/demand}}
  world:
    model: carla_world
    period: 20ms
    parameters: {dcp: {transport: tcp, port: 0}}
    inputs:
      control/plain:   {from: plain.demand, delayed: true, as: acceleration}
      control/twisted: {from: twisted.demand, delayed: true, as: {twist: {gain: 2.0}}}
    outputs:
      static_objects:       {type: ros2_cosim/msg/StaticObjects,
        topic: /static_objects, schedule: once}
      collision:            {type: ros2_cosim/msg/CollisionEvent,
        topic: /collisions, schedule: sparse}
      odometry/plain:       {type: nav_msgs/msg/Odometry, topic: /plain/odometry}
      odometry/twisted:     {type: nav_msgs/msg/Odometry, topic: /twisted/odometry}
      acceleration/plain:   {type: geometry_msgs/msg/AccelStamped, topic: /plain/acceleration}
      acceleration/twisted: {type: geometry_msgs/msg/AccelStamped, topic: /twisted/acceleration}
      imu: {type: sensor_msgs/msg/Imu,
        topic: /plain/imu, as: imu, of: [odometry/plain, acceleration/plain]}
      fix: {type: sensor_msgs/msg/NavSatFix,
        topic: /plain/fix, as: {nav_sat: {latitude: 50.0}}, of: [odometry/plain]}
      covariant: {type: nav_msgs/msg/Odometry,
        topic: /plain/covariant, as: odometry, of: [odometry/plain]}
      joints/plain: {type: sensor_msgs/msg/JointState,
        topic: /plain/joints, as: joint_states, of: [odometry/plain]}
"""
#: With the number of their messages in 1 s.
SEAMS = {
    "/plain/imu": 50,
    "/plain/fix": 50,
    "/plain/covariant": 50,
    "/plain/joints": 50,
    "/plain/demand": 25,
    "/twisted/demand": 25,
}


@pytest.fixture
def environment(tmp_path: Path) -> Iterator[dict[str, str]]:
    with user_environment(tmp_path / "logs") as found:
        yield found


def test_one_trace_and_one_bag_in_every_shape(environment: dict[str, str], tmp_path: Path) -> None:
    scenario = tmp_path / "seams.yaml"
    scenario.write_text(SCENARIO.replace("MAP", str(HIGHWAY)))
    traces, bags = {}, {}
    for kind in ("inproc", "composed", "ros", "ros --transport dds"):
        out = tmp_path / kind
        result = cosim(environment, scenario, "--shape", *kind.split(), "--out", out)
        assert result.code == 0, result
        traces[kind] = read_summary(out).trace_sha256
        bags[kind] = (out / "bag" / "bag_0.mcap").read_bytes()
    assert len(set(traces.values())) == 1, traces
    assert len(set(bags.values())) == 1
    counts = dict.fromkeys(SEAMS, 0)
    for message in read_bag(tmp_path / "ros" / "bag"):
        if message.topic in counts:
            counts[message.topic] += 1
    assert counts == SEAMS
