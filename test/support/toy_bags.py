# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The messages of a small run, for tests of bags."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from ros2_cosim.core.messages import catalogue
from ros2_cosim.core.messages.records import ControlCommand, Odometry, StaticObject, StaticObjects
from ros2_cosim.core.record.bag_metadata import BagTopic, Qos

MS = 1_000_000
TOPICS = (
    BagTopic("/leader/odometry", "nav_msgs/msg/Odometry"),
    BagTopic("/follower1/control", "ros2_cosim/msg/ControlCommand"),
    BagTopic("/static_objects", "ros2_cosim/msg/StaticObjects", Qos(transient_local=True)),
    BagTopic("/collisions", "ros2_cosim/msg/CollisionEvent"),
)
TYPES = {topic.name: topic.type_name for topic in TOPICS}
ODOMETRY = catalogue.codec(
    "nav_msgs/msg/Odometry", frame_id="map", child_frame_id="leader/base_link"
)
CONTROL = catalogue.codec("ros2_cosim/msg/ControlCommand", frame_id="follower1/base_link")
STATIC = catalogue.codec("ros2_cosim/msg/StaticObjects", frame_id="map")


class Given(NamedTuple):
    topic: str
    stamp: int
    seq: int
    data: bytes


def run_messages(seconds: int = 3) -> list[Given]:
    """Messages of a small run, in the order of the bag."""
    box = StaticObject(1, 3, 300.0, 0.0, 1.0, 0.0, 2.0, 10.0, 2.0)
    messages = [Given("/static_objects", 0, 0, STATIC.encode(0, 0, StaticObjects((box,))))]
    for k in range(100 * seconds):
        stamp = k * 10 * MS
        odometry = Odometry(0.1 * k, *[0.0] * 5, 1.0, 10.0, *[0.0] * 5)
        messages.append(Given("/leader/odometry", stamp, k, ODOMETRY.encode(stamp, k, odometry)))
        if k % 4 == 0:
            command = ControlCommand(0.01 * k, 0.5, 0.0, 0.0)
            n = k // 4
            messages.append(
                Given("/follower1/control", stamp, n, CONTROL.encode(stamp, n, command))
            )
    return sorted(messages, key=lambda m: (m.stamp, m.topic, m.seq))


def content(bag: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(bag.iterdir())}


@contextmanager
def file_size_limit(size: int) -> Iterator[None]:
    """No file of this process may grow beyond ``size`` bytes, as on a disk that is full."""
    former = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, former[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, former)
