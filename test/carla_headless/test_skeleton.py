# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The bones of walkers: their gait, the poses of clients, and the bodies that follow them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ros2_cosim.world.headless.sensing.bodies import person_body
from ros2_cosim.world.headless.sensing.limbs import posed
from ros2_cosim.world.headless.skeleton import LIMBS, Skeleton
from ros2_cosim.world.headless.wire_types import ORIGIN, Rotation, Transform, Vector

EXTENT = Vector(0.19, 0.19, 0.93)
BODY = np.concatenate([p.points for p in person_body((0.38, 0.38, 1.86), (1, 2, 3), 12).pieces])
BODY = BODY - np.array([0.0, 0.0, EXTENT.z])


def skeleton() -> Skeleton:
    return Skeleton(2.0 * EXTENT.z, 2.0 * EXTENT.y)


def place(bones: Skeleton, name: str) -> Transform:
    return bones.limbs()[LIMBS.index(name)]


def test_a_body_at_rest_is_the_figure() -> None:
    bones = skeleton()
    assert bones.look() == ()
    assert posed(BODY, EXTENT, bones) == pytest.approx(BODY, abs=1e-12)
    assert [limb.location for limb in bones.limbs()] == bones.resting_limbs()
    places = {bone.name: bone.component for bone in bones.poses(ORIGIN)}
    assert [places[name] for name in LIMBS] == bones.limbs()


@given(st.floats(0.3, 6.0), st.floats(0.001, 0.2))
def test_a_foot_on_the_ground_stays_there_until_the_next_one(speed: float, way: float) -> None:
    bones = skeleton()
    bones.walk(0.0, speed)
    x, changes = 0.0, 0
    stood: dict[str, float] = {}
    for _ in range(40):
        feet = {side: place(bones, f"crl_foot__{side}") for side in "LR"}
        assert all(pose.rotation.pitch == pytest.approx(0.0, abs=1e-9) for pose in feet.values())
        standing = {
            side: pose.location.x + x
            for side, pose in feet.items()
            if abs(pose.location.z + 0.46 * 2.0 * EXTENT.z) < 1e-9
        }
        assert standing
        if not any(abs(stood.get(side, 1e9) - there) < 1e-6 for side, there in standing.items()):
            changes += 1
        stood = standing
        bones.walk(way, speed)
        x += way
    assert changes <= x / (2.0 * min(0.25 * speed, 0.3 * 2.0 * EXTENT.z)) + 1
    bones.walk(0.0, 0.0)
    assert bones.look() == ()


def test_a_pose_of_a_client_is_blended_in_and_moves_the_body() -> None:
    bones = skeleton()
    thigh = next(bone for bone in bones.poses(ORIGIN) if bone.name == "crl_thigh__L")
    raised = Transform(thigh.relative.location, Rotation(90.0))
    assert bones.set_pose({"crl_thigh__L": raised, "wing": ORIGIN}) == ["wing"]
    assert bones.look() == () and place(bones, "crl_foot__L").location.x == 0.0
    bones.blend = 1.0
    leg = 0.48 * 2.0 * EXTENT.z
    assert place(bones, "crl_foot__L").location.x == pytest.approx(leg)
    body = posed(BODY, EXTENT, bones)
    moved = np.abs(body - BODY).max(axis=(1, 2)) > 1e-9
    # The left leg and shoe alone; its end is as far ahead as the leg is long.
    assert 0.1 < moved.mean() < 0.3 and BODY[moved][..., 1].mean() < -0.03
    assert body[..., 0].max() == pytest.approx(leg, abs=0.1)
    bones.blend = 0.5
    assert place(bones, "crl_foot__L").location.x == pytest.approx(leg * 0.5**0.5)


def test_the_pose_of_the_gait_can_be_kept() -> None:
    bones = skeleton()
    bones.walk(0.1, 1.4)
    walking = bones.limbs()
    bones.take_pose_of_gait()
    bones.walk(0.0, 0.0)
    assert bones.limbs() != walking
    bones.blend = 1.0
    assert bones.limbs() == walking
