# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Sensors of the headless CARLA server on topics of ROS 2, received by another node."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import rclpy
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import CameraInfo, Image, Imu, NavSatFix, PointCloud2
from support.headless_process import TOWN
from tf2_msgs.msg import TFMessage

from ros2_cosim.ros.node.native_sensors import NativeSensors
from ros2_cosim.world.headless.maps import MapLibrary
from ros2_cosim.world.headless.methods import ALL
from ros2_cosim.world.headless.simulation import Simulation
from ros2_cosim.world.headless.wire_types import (
    ActorDescription,
    AttributeValue,
    EpisodeSettings,
    Rotation,
    Transform,
    Vector,
)

#: The stream of an actor.
OFFSET = 16
#: After so many frames, each with a wait for messages, every kind of them has come on any machine.
FRAMES = 200


@pytest.fixture
def simulation() -> Iterator[Simulation]:
    made = Simulation(MapLibrary([TOWN]), 0, lambda *_: None, lambda _: False)
    made.apply_settings(EpisodeSettings(True, fixed_delta_seconds=0.1))
    yield made
    made.ros.close()


def _called(simulation: Simulation, name: str, *arguments: Any) -> Any:
    return ALL.call(simulation, name, list(arguments))


def _spawn(
    simulation: Simulation, kind: str, place: Transform, parent: int = 0, **attributes: str
) -> int:
    values = tuple(AttributeValue(name, 3, value) for name, value in attributes.items())
    return simulation.spawn(ActorDescription(0, kind, values), place, parent).id


def test_without_ros_it_is_refused(simulation: Simulation) -> None:
    sensor = _spawn(simulation, "sensor.other.imu", simulation.world.spawn_points()[0])
    answer = _called(simulation, "enable_sensor_for_ros", sensor + OFFSET)
    assert "this server has no ROS 2" in str(answer)
    assert "True" not in str(_called(simulation, "is_sensor_enabled_for_ros", sensor + OFFSET))

    def missing() -> NativeSensors:
        raise ImportError("No module named 'rclpy'")

    simulation.ros.open = missing
    answer = _called(simulation, "enable_sensor_for_ros", sensor + OFFSET)
    assert "ROS 2 cannot be used: No module named 'rclpy'" in str(answer)


def test_every_sensor_arrives_with_its_name_and_type(
    ros_domain: object, simulation: Simulation
) -> None:
    simulation.ros.open = NativeSensors
    point = simulation.world.spawn_points()[5]
    car = _spawn(simulation, "vehicle.tesla.model3", point, ros_name="hero")
    mounted = Transform(Vector(1.0, 0.5, 2.0), Rotation(yaw=90.0))
    size = {"image_size_x": "32", "image_size_y": "24"}
    kinds: dict[str, tuple[str, dict[str, str], dict[str, type]]] = {
        "front": ("sensor.camera.rgb", size, {"/image": Image, "/camera_info": CameraInfo}),
        "top": ("sensor.lidar.ray_cast", {}, {"": PointCloud2}),
        "labels": ("sensor.lidar.ray_cast_semantic", {}, {"": PointCloud2}),
        "radar": ("sensor.other.radar", {}, {"": PointCloud2}),
        "gnss": ("sensor.other.gnss", {}, {"": NavSatFix}),
        "imu": ("sensor.other.imu", {}, {"": Imu}),
    }
    streams, topics = [], {"/clock": Clock, "/tf": TFMessage}
    for name, (kind, attributes, endings) in kinds.items():
        sensor = _spawn(simulation, kind, mounted, car, ros_name=name, **attributes)
        streams.append(sensor + OFFSET)
        topics |= {f"/carla/hero/{name}{ending}": form for ending, form in endings.items()}
        _called(simulation, "enable_sensor_for_ros", streams[-1])
        answer = _called(simulation, "is_sensor_enabled_for_ros", streams[-1])
        assert "True" in str(answer)
    collision = _spawn(simulation, "sensor.other.collision", mounted, car)
    answer = _called(simulation, "enable_sensor_for_ros", collision + OFFSET)
    assert "'sensor.other.collision' has no topic" in str(answer)

    context = Context()
    rclpy.init(context=context)
    node = rclpy.create_node("reader", context=context)
    executor = SingleThreadedExecutor(context=context)
    executor.add_node(node)
    found: dict[str, Any] = {}
    transforms: dict[str, Any] = {}

    def keeping(topic: str) -> Callable[[Any], None]:
        def keep(message: Any) -> None:
            found[topic] = message
            if topic == "/tf":
                transforms.update((t.child_frame_id, t) for t in message.transforms)

        return keep

    for topic, form in topics.items():
        node.create_subscription(form, topic, keeping(topic), 10)
    for _ in range(FRAMES):
        simulation.tick()
        # Each sensor has a transform besides.
        for _ in range(len(topics) + len(kinds)):
            executor.spin_once(timeout_sec=0.1)
        if found.keys() == topics.keys() and transforms.keys() == kinds.keys():
            break
    assert (found.keys(), transforms.keys()) == (topics.keys(), kinds.keys())
    image, info = found["/carla/hero/front/image"], found["/carla/hero/front/camera_info"]
    assert (image.width, image.height, image.encoding, len(image.data)) == (32, 24, "bgra8", 3072)
    assert info.k[0] == pytest.approx(16.0) and image.header.frame_id == "front"
    names = [field.name for field in found["/carla/hero/labels"].fields]
    assert names == ["x", "y", "z", "cos_inc_angle", "object_idx", "object_tag"]
    cloud = found["/carla/hero/top"]
    points = np.frombuffer(bytes(cloud.data), "<f4").reshape(-1, 4)
    assert len(points) == cloud.width > 50
    assert np.median(points[:, 2]) < 0.0  # most of what a lidar on a car meets is below it
    assert found["/carla/hero/imu"].linear_acceleration.z == pytest.approx(9.81, abs=0.3)
    assert found["/clock"].clock.sec >= 0 and found["/carla/hero/gnss"].latitude != 0.0
    place = transforms["front"].transform
    assert transforms["front"].header.frame_id == "hero"
    assert (place.translation.x, place.translation.y, place.translation.z) == (1.0, -0.5, 2.0)
    assert place.rotation.z == pytest.approx(-(0.5**0.5))  # to the right
    # Of a sensor that is disabled nothing comes any more.
    for stream in streams:
        _called(simulation, "disable_sensor_for_ros", stream)
        answer = _called(simulation, "is_sensor_enabled_for_ros", stream)
        assert "True" not in str(answer)
    executor.shutdown()
    node.destroy_node()
    rclpy.shutdown(context=context)
