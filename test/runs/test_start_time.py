# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A start time in every shape: the same trace and bag, and ROS's own clocks show it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from runs.cosim_process import PLATOON, ROOT, cosim, left_processes, user_environment

pytest.importorskip("rclpy")

from ros2_cosim.core.messages.catalogue import DEFAULT as CATALOGUE
from ros2_cosim.core.record.bag_reader import read_bag

START = "start_time=2023-11-14T22:13:20.120Z"
START_NS = 1_700_000_000_120_000_000


def run(directory: Path, scenario: Path, shape: str, *changes: str) -> dict[str, Any]:
    """The summary of a run, with the bytes of its bag."""
    output = directory / f"{shape}{len(list(directory.iterdir()))}"
    words = [word for change in changes for word in ("--set", change)]
    with user_environment(directory.parent / "log") as environment:
        result = cosim(environment, scenario, "--shape", shape, "--out", output, *words)
        assert result.code in (0, 3), result
        assert left_processes(environment) == []
    found: dict[str, Any] = json.loads((output / "summary.json").read_text())
    return {**found, "bag": {p.name: p.read_bytes() for p in (output / "bag").iterdir()}}


def test_the_same_trace_and_bag_in_every_shape(tmp_path: Path) -> None:
    length = "duration=1s"
    found = [
        run(tmp_path, PLATOON, shape, START, length) for shape in ("inproc", "composed", "ros")
    ]
    assert len({each["trace_sha256"] for each in found}) == 1
    assert found[0]["bag"] == found[1]["bag"] == found[2]["bag"]
    assert all(each["repeatable"] for each in found)
    assert f"{START_NS}".encode() in found[0]["bag"]["metadata.yaml"]


TIMED = """
name: timed
duration: 200ms
participants:
  a:
    model: support.gate_models:Source
    period: 20ms
    outputs: {number: {type: std_msgs/msg/Float64, topic: /a}}
  timer:
    model: foreign_node
    parameters:
      script: {SCRIPT}
      use_sim_time: true
      inputs: {number: number}
      outputs: {point: {topic: "~/point", expect: any, stamp: header}}
    period: 20ms
    offset: 40ms
    inputs: {number: a.number}
    outputs: {point: {type: geometry_msgs/msg/PointStamped, topic: /point, schedule: sparse}}
"""


def test_a_foreign_node_lives_in_that_time(tmp_path: Path) -> None:
    """The stamps of its messages are those of its clock: another time would be refused."""
    script = ROOT / "test" / "support" / "ros_nodes" / "timer_node.py"
    scenario = tmp_path / "timed.yaml"
    scenario.write_text(TIMED.replace("{SCRIPT}", str(script)))
    runs = tmp_path / "runs"
    runs.mkdir()
    found = [run(runs, scenario, shape, START) for shape in ("ros", "composed")]
    plain = run(runs, scenario, "composed")
    assert found[0]["trace_sha256"] == found[1]["trace_sha256"] != plain["trace_sha256"]
    assert found[0]["steps"] == plain["steps"]


STAMPED = """
name: stamped
duration: 40ms
participants:
  a:
    model: support.gate_models:Stamps
    period: 20ms
    outputs: {path: {type: nav_msgs/msg/Path, topic: /path}}
  b:
    model: support.gate_models:StampReader
    inputs: {path: a.path}
    activation: {any: [path]}
    outputs: {number: {type: std_msgs/msg/Float64, topic: /b}}
"""


def test_a_stamp_that_is_not_set_stays_zero(tmp_path: Path) -> None:
    """On the wire, and in what a reader gets of it, in each shape."""
    scenario = tmp_path / "stamped.yaml"
    scenario.write_text(STAMPED)
    runs = tmp_path / "runs"
    runs.mkdir()
    found = [run(runs, scenario, shape, START) for shape in ("inproc", "composed", "ros")]
    assert len({each["trace_sha256"] for each in found}) == 1
    shown, read = [], []
    for message in read_bag(runs / "inproc0" / "bag"):
        value: Any = CATALOGUE.codec(message.type_name).decode(message.data)[2]
        if message.topic == "/path":
            shown.append([tuple(pose.header.stamp) for pose in value.poses])
        elif message.topic == "/b":
            read.append(value.data)
    now = [divmod(START_NS + n * 20_000_000, 10**9) for n in range(2)]
    # A time in a message of the start is that of the start.
    assert shown == [[now[0], now[0]], [(0, 0), now[1]]]
    assert read == [0.0, 0.0]
