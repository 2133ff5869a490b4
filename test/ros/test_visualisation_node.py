# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The visualisation as a process of its own: real topics in, markers and transforms out."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from support.patience import HANG_S, until

from ros2_cosim.core.messages import catalogue
from ros2_cosim.core.messages.records import (
    CLASS_OBSTACLE,
    DetectedObject,
    ObjectList,
    Odometry,
    PlatoonStatus,
    StaticObject,
    StaticObjects,
)

rclpy = pytest.importorskip("rclpy")
pytest.importorskip("ros2_cosim.msg", reason="generated messages are not built")

from rclpy.context import Context  # noqa: E402
from rclpy.executors import SingleThreadedExecutor  # noqa: E402
from rclpy.node import Node  # noqa: E402
from rclpy.qos import DurabilityPolicy, QoSProfile  # noqa: E402

ROOT = Path(__file__).parents[2]
LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)


@pytest.fixture
def environment(ros_domain: int) -> dict[str, str]:
    """The environment of a child: a ROS domain of its own, and the modules that we see."""
    return os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, sys.path)])}


def start(environment: dict[str, str], *parameters: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "ros2_cosim.ros.programs.visualisation", "--ros-args"]
    for parameter in parameters:
        command += ["-p", parameter]
    return subprocess.Popen(
        command, env=environment, stderr=subprocess.PIPE, text=True, start_new_session=True
    )


class Probe:
    """A node of the test that publishes records as bytes and collects what is drawn."""

    def __init__(self) -> None:
        self.context = Context()
        rclpy.init(context=self.context)
        self.node = Node("probe", context=self.context)
        self.executor = SingleThreadedExecutor(context=self.context)
        self.executor.add_node(self.node)
        self.received: dict[str, list[Any]] = {}

    def listen(self, kind: Any, topic: str, qos: Any = 10) -> None:
        self.node.create_subscription(kind, topic, self.received.setdefault(topic, []).append, qos)

    def publisher(self, record: type, topic: str, qos: Any = 10) -> Callable[[int, Any], None]:
        from ros2_cosim.ros.node.writers import message_class

        name = catalogue.type_name(record)
        codec = catalogue.codec(name, frame_id="map")
        publisher = self.node.create_publisher(message_class(name), topic, qos)
        return lambda stamp, value: publisher.publish(codec.encode(stamp, 0, value))

    def until(self, condition: Callable[[], Any], act: Callable[[], None] = lambda: None) -> None:
        def meanwhile() -> None:
            act()
            self.executor.spin_once(timeout_sec=0.05)

        until(condition, meanwhile, lambda: self.received)

    def close(self) -> None:
        self.executor.shutdown()
        self.node.destroy_node()
        rclpy.shutdown(context=self.context)


@pytest.fixture
def probe(ros_domain: int) -> Iterator[Probe]:
    probe = Probe()
    yield probe
    probe.close()


def stop(process: subprocess.Popen[str], number: signal.Signals = signal.SIGINT) -> str:
    process.send_signal(number)
    try:
        _, errors = process.communicate(timeout=HANG_S)
    finally:
        process.kill()
    return errors


def test_topics_become_markers_and_transforms(environment: dict[str, str], probe: Probe) -> None:
    from tf2_msgs.msg import TFMessage
    from visualization_msgs.msg import Marker, MarkerArray

    probe.listen(MarkerArray, "/visualization/road", LATCHED)
    probe.listen(MarkerArray, "/visualization/obstacles", LATCHED)
    probe.listen(MarkerArray, "/visualization/scene")
    probe.listen(TFMessage, "/tf")
    leader = probe.publisher(Odometry, "/leader/odometry")
    follower = probe.publisher(Odometry, "/tail/odometry")
    objects = probe.publisher(ObjectList, "/tail/objects")
    status = probe.publisher(PlatoonStatus, "/platoon_status")
    static = probe.publisher(StaticObjects, "/static_objects", LATCHED)
    static(0, StaticObjects((StaticObject(1, CLASS_OBSTACLE, 50.0, 0, 1, 0, 1.0, 6.0, 2.0),)))

    process = start(
        environment,
        "vehicles:=[leader, tail]",
        "lengths:=[4.0, 5.0]",
        "widths:=2",
        "rate:=30",
        f"road_file:={ROOT / 'config' / 'highway.xodr'}",
    )
    seen = DetectedObject(1, 1, 15.5, 0.0, 0.0, 4.0, 2.0, 1.0)
    stamp = 2_000_000_007

    def publish() -> None:
        leader(stamp, Odometry(20.0, 0, 0, 0, 0, 0, 1.0, 10.0, *[0.0] * 5))
        follower(stamp, Odometry(0.0, 0, 0, 0, 0, 0, 1.0, 10.0, *[0.0] * 5))
        objects(stamp, ObjectList((seen,)))
        status(stamp, PlatoonStatus(27.0, 0, False, (15.5,), (10.0, 10.0)))

    def texts() -> set[str]:
        arrays = probe.received["/visualization/scene"]
        return {m.text for m in arrays[-1].markers if m.text} if arrays else set()

    try:
        wanted = {"leader\n36 km/h", "tail\n36 km/h", "15.5 m", "obstacle 27 m"}
        probe.until(lambda: texts() == wanted, publish)
        probe.until(lambda: probe.received["/visualization/road"])
        probe.until(lambda: probe.received["/visualization/obstacles"])
        probe.until(
            lambda: probe.received["/tf"] and len(probe.received["/tf"][-1].transforms) == 2
        )

        scene = probe.received["/visualization/scene"][-1].markers
        body = next(m for m in scene if m.ns == "vehicles" and m.id == 1)
        assert (body.scale.x, body.header.frame_id) == (5.0, "map")
        assert (body.header.stamp.sec, body.header.stamp.nanosec) == (2, 7)
        assert {m.ns for m in scene} >= {"sensor cones", "detections", "platoon gaps"}
        transforms = {t.child_frame_id: t for t in probe.received["/tf"][-1].transforms}
        assert transforms["leader/base_link"].transform.translation.x == 20.0
        assert transforms["tail/base_link"].header.frame_id == "map"
        assert any(m.ns == "road surface" for m in probe.received["/visualization/road"][0].markers)
        # What an earlier run has left in a viewer goes first.
        first, obstacle, *_ = probe.received["/visualization/obstacles"][0].markers
        assert first.action == Marker.DELETEALL and obstacle.pose.position.x == 50.0
        assert probe.received["/visualization/road"][0].markers[0].action == Marker.DELETEALL

        # Nothing is published any more, as in a pause: what comes late is shown all the same.
        late: list[Any] = []
        probe.node.create_subscription(MarkerArray, "/visualization/scene", late.append, 10)
        probe.until(lambda: late)
        assert {"leader\n36 km/h", "tail\n36 km/h"} <= {m.text for m in late[-1].markers}

        def deleted() -> bool:
            arrays = probe.received["/visualization/scene"]
            return any(m.action == Marker.DELETE for a in arrays for m in a.markers)

        probe.until(deleted, lambda: objects(stamp, ObjectList(())))
    finally:
        errors = stop(process)
    assert process.returncode == 0
    assert errors == ""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_a_busy_visualisation_without_a_word(
    environment: dict[str, str], probe: Probe, number: signal.Signals
) -> None:
    from visualization_msgs.msg import MarkerArray

    probe.listen(MarkerArray, "/visualization/scene")
    leader = probe.publisher(Odometry, "/leader/odometry")
    process = start(environment, "rate:=2000.0")

    def publish() -> None:
        leader(0, Odometry(20.0, 0, 0, 0, 0, 0, 1.0, 10.0, *[0.0] * 5))

    done = threading.Event()

    def keep_busy() -> None:
        while not done.wait(0.0005):
            publish()

    writer = threading.Thread(target=keep_busy)
    writer.start()
    try:
        probe.until(lambda: len(probe.received["/visualization/scene"]) >= 20)
    finally:
        errors = stop(process, number)
        done.set()
        writer.join()
    assert process.returncode == 0
    assert errors == ""


@pytest.mark.parametrize(
    ("parameter", "complaint"),
    [
        ("rate:=0.0", "rate: found 0.0; allowed is a number from 0.01 to 10000"),
        ("sensor_fov_deg:=361", "sensor_fov_deg: found 361; allowed is a number from 0.1 to 360"),
        ("lengths:=[4.0, 4.0]", "lengths: found [4.0, 4.0]; allowed is one number above 0, or 3"),
        ("rate:=fast", "rate: found 'fast'; allowed is a number from 0.01 to 10000"),
        ("sensors:=[unknown]", "sensors: found ['unknown']; allowed are"),
        ("vehicles:=[a, a]", "allowed are names that differ"),
        ("road_file:=/nowhere.xodr", "/nowhere.xodr: cannot be read"),
    ],
)
def test_a_wrong_parameter_ends_with_one_line(
    environment: dict[str, str], parameter: str, complaint: str
) -> None:
    process = start(environment, parameter)
    _, errors = process.communicate(timeout=HANG_S)
    assert process.returncode == 2
    assert errors.startswith("visualisation: ")
    assert complaint in errors
    assert errors.count("\n") == 1
