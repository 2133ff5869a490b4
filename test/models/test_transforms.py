# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The frames of a run: transforms under the clock, fixed frames, robot descriptions."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
from lxml import etree

from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.participant import ModelContext, Sample, Step
from ros2_cosim.core.messages.records import Odometry
from ros2_cosim.world.map.frames import body_to_world
from ros2_cosim.world.map.transforms import TransformParameters, Transforms

SCENE = {
    "vehicles": {
        "ego": {"length": 4.5, "width": 1.8},
        "other": {"length": 12.0, "width": 2.5},
    }
}
FRAMES = {
    "ego/lidar": {"parent": "ego/mast", "z": 0.5, "yaw": math.pi / 2},
    "ego/mast": {"parent": "ego/base_link", "z": 1.5},
}


def made(frames: dict[str, Any], *outputs: str) -> tuple[Transforms, TransformParameters]:
    context = ModelContext(
        "frames", {}, SCENE, 1, Path(), output_types=dict.fromkeys(("tf", *outputs), "")
    )
    parameters = TransformParameters.model_validate({"frames": frames})
    Transforms.check_settings(context, parameters)
    return Transforms(context, parameters), parameters


def step(time: int, **odometry: Odometry) -> Step:
    latest = {f"odometry/{n}": Sample(time, 0, o) for n, o in odometry.items()}
    return Step(time, {}, {"odometry/ego": None, "odometry/other": None, **latest})


def test_vehicles_move_and_sensors_are_fixed_to_them() -> None:
    model, _ = made(FRAMES, "tf_static", "robot_description/ego")
    first = model.activate(step(0))
    assert first["tf"].transforms == ()
    lidar, mast = first["tf_static"].transforms
    assert (lidar.header.frame_id, lidar.child_frame_id) == ("ego/mast", "ego/lidar")
    assert lidar.transform.translation == (0.0, 0.0, 0.5)
    assert lidar.transform.rotation == pytest.approx((0, 0, math.sqrt(0.5), math.sqrt(0.5)))
    assert (mast.header.frame_id, mast.transform.translation.z) == ("ego/base_link", 1.5)
    pose = Odometry(1.0, 2.0, 3.0, 0.0, 0.0, 0.0, 1.0, *[0.0] * 6)
    later = model.activate(step(1_500_000_000, ego=pose))
    assert later.keys() == {"tf"}, "what does not change is sent once"
    (ego,) = later["tf"].transforms
    assert ego.header == ((1, 500_000_000), "map")
    assert ego.child_frame_id == "ego/base_link"
    assert ego.transform == ((1.0, 2.0, 3.0), (0.0, 0.0, 0.0, 1.0))


def test_a_robot_description_has_the_size_and_all_frames() -> None:
    model, _ = made(FRAMES, "robot_description/ego")
    text = model.activate(step(0))["robot_description/ego"].data
    robot = etree.fromstring(text)
    assert [link.get("name") for link in robot.iter("link")] == [
        "ego/base_link",
        "ego/mast",
        "ego/lidar",
    ]
    assert robot.find(".//box").get("size") == "4.5 1.8 1.5"
    joints = {j.find("child").get("link"): j for j in robot.iter("joint")}
    assert joints["ego/lidar"].find("parent").get("link") == "ego/mast"
    assert joints["ego/lidar"].find("origin").get("xyz") == "0.0 0.0 0.5"


@pytest.mark.parametrize(
    ("frames", "fault"),
    [
        ({"a": {"parent": "nothing"}}, "a.parent: found 'nothing', which leads to no vehicle"),
        ({"a": {"parent": "b"}, "b": {"parent": "a"}}, "which leads to no vehicle"),
        ({"ego/base_link": {"parent": "map"}}, "found 'ego/base_link', which moves"),
    ],
)
def test_frames_that_make_no_tree_are_refused(frames: dict[str, Any], fault: str) -> None:
    with pytest.raises(ConfigurationError, match=fault):
        made(frames)


def test_sensors_of_the_scene_have_their_frames() -> None:
    """The one of the mount, and of a camera the optical one: z along the axis, x to the right."""
    camera = {"vehicle": "ego", "blueprint": "sensor.camera.rgb", "period": "100ms", "x": 1.0}
    scene = {**SCENE, "sensors": {"front": camera}}
    context = ModelContext("frames", {}, scene, 1, Path(), output_types={"tf": "", "tf_static": ""})
    model = Transforms(context, TransformParameters())
    mounted, optical = model.activate(step(0))["tf_static"].transforms
    assert (mounted.header.frame_id, mounted.child_frame_id) == ("ego/base_link", "ego/front")
    assert mounted.transform.translation.x == 1.0
    assert (optical.header.frame_id, optical.child_frame_id) == ("ego/front", "ego/front_optical")
    turn = tuple(optical.transform.rotation)
    q = (turn[0], turn[1], turn[2], turn[3])
    assert body_to_world(q, (0.0, 0.0, 1.0)) == pytest.approx((1.0, 0.0, 0.0), abs=1e-9)
    assert body_to_world(q, (1.0, 0.0, 0.0)) == pytest.approx((0.0, -1.0, 0.0), abs=1e-9)
    taken = TransformParameters.model_validate({"frames": {"ego/front": {"parent": "map"}}})
    with pytest.raises(ConfigurationError, match="found 'ego/front', which scene.sensors has"):
        Transforms.check_settings(context, taken)
