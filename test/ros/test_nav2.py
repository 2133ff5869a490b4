# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A vehicle behind the interfaces of Nav2's controller server and of ros2_control."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from runs.cosim_process import ROOT, cosim, user_environment
from support.busy_machine import busy_machine
from support.message_build import build_messages, set_variables

from ros2_cosim.core.messages.catalogue import DEFAULT as CATALOGUE
from ros2_cosim.core.record.bag_reader import read_bag
from ros2_cosim.core.record.summary import read_summary

pytest.importorskip("rclpy")
pytest.importorskip("ros2_cosim.msg", reason="generated messages are not built")
pytest.importorskip("tf2_msgs", reason="the definitions of tf2 are not built")

EXAMPLE = ROOT / "test" / "support" / "nav2"


@pytest.fixture
def environment(tmp_path: Path) -> Iterator[dict[str, str]]:
    """That of a user who has built the action of Nav2."""
    built = build_messages(EXAMPLE / "nav2_msgs", tmp_path / "prefix")
    with user_environment(tmp_path / "logs") as found:
        set_variables(found, built["variables"])
        yield found


@pytest.mark.slow  # it compiles an action, and drives in two shapes
def test_paths_are_followed_by_joints_alike_in_every_run(
    environment: dict[str, str], tmp_path: Path
) -> None:
    def trace(shape: str) -> str:
        out = tmp_path / shape
        result = cosim(environment, EXAMPLE / "nav2.yaml", "--shape", shape, "--out", out)
        assert result.code == 0, result
        summary = read_summary(out)
        assert summary.repeatable, summary.not_repeatable_reason
        return summary.trace_sha256

    first = trace("composed")
    with busy_machine():
        assert trace("ros") == first
    sent = recorded(tmp_path / "composed", "/told", "/odom", "/ego/odometry")
    told = [message.data for _, message in sent["/told"]]
    # The last one is of the activation in which the client ended.
    assert [text.partition(": ")[2] for text in told] == [
        "accepted", "succeeded", "accepted", "cancelled",
    ]  # fmt: skip
    arrived = int(told[1].partition(" ")[0]) * 1_000_000
    _, there = next(entry for entry in sent["/odom"] if entry[0] >= arrived)
    assert math.dist((there.x, there.y), (10.0, 0.5)) < 0.6
    # What the controller finds of the joints is what the vehicle has done.
    (_, began), (_, ended) = sent["/ego/odometry"][0], sent["/ego/odometry"][-1]
    _, found = sent["/odom"][-1]
    driven = math.dist((began.x, began.y), (ended.x, ended.y))
    assert math.hypot(found.x, found.y) == pytest.approx(driven, abs=0.3)


def recorded(out: Path, *topics: str) -> dict[str, list[tuple[int, Any]]]:
    """Topic -> stamp and record of its messages."""
    found: dict[str, list[tuple[int, Any]]] = {topic: [] for topic in topics}
    types = {"/told": "std_msgs/msg/String"}
    for message in read_bag(out / "bag"):
        if message.topic in found:
            codec = CATALOGUE.codec(types.get(message.topic, "nav_msgs/msg/Odometry"))
            stamp, _, record = codec.decode(message.data)
            found[message.topic].append((stamp, record))
    return found
