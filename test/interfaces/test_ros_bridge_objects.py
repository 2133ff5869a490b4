# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What programs for CARLA's ROS bridge find when they ask it to spawn something."""

from __future__ import annotations

import pytest

from ros2_cosim.core.scene.scene import read_scene
from ros2_cosim.driving.ros_bridge.ros_bridge_objects import NO_OBJECT, BridgeObjects

SCENE = {
    "vehicles": {"slow": {}, "ego": {"blueprint": "vehicle.audi.tt"}, "hidden": {}},
    "sensors": {
        "rgb_front": {"vehicle": "ego", "blueprint": "sensor.camera.rgb", "period": "50ms"},
    },
}
TOPICS = (
    "/carla/ego/objects",
    "/carla/ego/collision",
    "/carla/ego/rgb_front/image",
    "/carla/objects",
    "/carla/traffic_lights/status",
    "/tf",
)


@pytest.fixture
def objects() -> BridgeObjects:
    return BridgeObjects(read_scene(SCENE), ("slow", "ego"), TOPICS)


@pytest.mark.parametrize(
    ("kind", "name", "attach_to", "number"),
    [
        ("vehicle.audi.tt", "ego", 0, 2),
        ("vehicle.*", "slow", 0, 1),
        ("sensor.camera.rgb", "rgb_front", 2, 600_001),
        ("sensor.pseudo.objects", "objects", 2, 600_001),
        ("sensor.pseudo.objects", "objects", 0, 600_001),
        ("sensor.pseudo.traffic_lights", "traffic_lights", 0, 600_001),
        ("sensor.other.collision", "collision", 2, 600_001),
        ("sensor.pseudo.tf", "tf", 2, 600_001),
        ("actor.pseudo.control", "control", 2, 600_001),
    ],
)
def test_what_is_there_is_found(
    kind: str, name: str, attach_to: int, number: int, objects: BridgeObjects
) -> None:
    assert objects.spawn(kind, name, attach_to) == (number, "")
    assert objects.spawn(kind, name, attach_to) == (number, ""), "it is the same one"


@pytest.mark.parametrize(
    ("kind", "name", "attach_to", "reason"),
    [
        ("vehicle.audi.tt", "hero", 0, "found vehicle 'hero'; allowed are those of the scenario"),
        ("vehicle.audi.tt", "hidden", 0, "found vehicle 'hidden'"),
        ("vehicle.tesla.model3", "ego", 0, "'ego' of the scenario is a vehicle.audi.tt, no"),
        ("walker.pedestrian.0001", "anna", 0, "'walker.pedestrian.0001': a run has vehicles and"),
        ("sensor.camera.rgb", "rgb_front", 1, "on 'slow', which nothing in the scenario publishes"),
        ("sensor.camera.depth", "rgb_front", 2, "found sensor.camera.depth 'rgb_front' on 'ego'"),
        ("sensor.camera.rgb", "rgb_view", 2, "found sensor.camera.rgb 'rgb_view'"),
        ("sensor.camera.rgb", "rgb_front", 9, "attach_to: found 9, which is not a vehicle"),
        ("sensor.pseudo.markers", "markers", 0, "'markers' that stands alone"),
        ("sensor.pseudo.odom", "odometry", 2, "found sensor.pseudo.odom 'odometry' on 'ego'"),
    ],
)
def test_what_is_not_there_is_refused_with_the_reason(
    kind: str, name: str, attach_to: int, reason: str, objects: BridgeObjects
) -> None:
    found = objects.spawn(kind, name, attach_to)
    assert found.number == NO_OBJECT and reason in found.reason and "\n" not in found.reason


def test_sensors_have_numbers_of_their_own(objects: BridgeObjects) -> None:
    assert objects.spawn("sensor.pseudo.objects", "objects", 0).number == 600_001
    assert objects.spawn("sensor.pseudo.objects", "objects", 2).number == 600_002
    assert objects.spawn("sensor.camera.rgb", "rgb_front", 2).number == 600_003


def test_what_is_attached_to_a_sensor_is_on_its_vehicle(objects: BridgeObjects) -> None:
    camera = objects.spawn("sensor.camera.rgb", "rgb_front", 2).number
    control = objects.spawn("actor.pseudo.control", "control", camera)
    assert control.number == camera + 1
    assert objects.spawn("actor.pseudo.control", "control", control.number + 1).number == NO_OBJECT


def test_blueprints_are_those_of_the_run(objects: BridgeObjects) -> None:
    kinds = objects.blueprints("")
    assert {"vehicle.audi.tt", "vehicle.tesla.model3", "sensor.camera.rgb"} <= set(kinds)
    assert kinds == sorted(kinds) and "sensor.pseudo.odom" in kinds
    some = objects.blueprints("vehicle.*")
    assert "vehicle.audi.tt" in some and "sensor.camera.rgb" not in some
