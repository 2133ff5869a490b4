# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Conversion between CARLA and ROS frames, checked against carla, transforms3d and matrices."""

import math

import carla
import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st
from transforms3d.euler import euler2quat, quat2euler
from transforms3d.quaternions import qmult, quat2mat, rotate_vector

from ros2_cosim.world.map import frames

MIRROR = numpy.diag([1.0, -1.0, 1.0])
angle = st.floats(-math.pi, math.pi)
steep = st.floats(-1.5, 1.5)
coordinate = st.floats(-1e4, 1e4)
vector = st.tuples(coordinate, coordinate, coordinate)


def wxyz(q: frames.Quaternion) -> tuple[float, float, float, float]:
    return q[3], q[0], q[1], q[2]


def carla_matrix(pitch: float, yaw: float, roll: float) -> numpy.ndarray:
    """Rotation matrix of the CARLA client itself (single precision)."""
    transform = carla.Transform(carla.Location(), carla.Rotation(pitch=pitch, yaw=yaw, roll=roll))
    return numpy.array(transform.get_matrix())[:3, :3]


@given(vector)
def test_vectors_come_back(v: frames.Vector) -> None:
    assert frames.vector_to_carla(*frames.vector_to_ros(*v)) == v
    assert frames.angular_velocity_to_carla(*frames.angular_velocity_to_ros(*v)) == v
    back = frames.angular_velocity_degrees_to_carla(*frames.angular_velocity_degrees_to_ros(*v))
    assert back == pytest.approx(v, rel=1e-15)


@given(vector, vector)
def test_cross_product_of_a_pseudo_vector_survives_the_mirror(
    w: frames.Vector, r: frames.Vector
) -> None:
    velocity = tuple(numpy.cross(w, r))
    ros = numpy.cross(frames.angular_velocity_to_ros(*w), frames.vector_to_ros(*r))
    assert tuple(ros) == pytest.approx(frames.vector_to_ros(*velocity), abs=1e-6)


@given(steep, angle, angle)
def test_rotation_is_the_mirrored_matrix_of_the_carla_client(
    pitch: float, yaw: float, roll: float
) -> None:
    rotation = [math.degrees(value) for value in (pitch, yaw, roll)]
    ros = quat2mat(wxyz(frames.rotation_to_ros(*rotation)))
    assert ros == pytest.approx(MIRROR @ carla_matrix(*rotation) @ MIRROR, abs=3e-6)


@given(steep, angle, angle)
def test_rotation_comes_back(pitch: float, yaw: float, roll: float) -> None:
    rotation = [math.degrees(value) for value in (pitch, yaw, roll)]
    back = frames.rotation_to_carla(*frames.rotation_to_ros(*rotation))
    for actual, expected in zip(back, rotation, strict=True):
        assert math.remainder(actual - expected, 360.0) == pytest.approx(0.0, abs=1e-9)


@given(angle, steep, angle)
def test_angles_and_quaternions_agree_with_transforms3d(
    roll: float, pitch: float, yaw: float
) -> None:
    q = frames.quaternion_from_rpy(roll, pitch, yaw)
    expected = euler2quat(roll, pitch, yaw, "sxyz")
    assert wxyz(q) == pytest.approx(tuple(expected), abs=1e-14)
    assert frames.rpy_from_quaternion(*q) == pytest.approx(quat2euler(wxyz(q), "sxyz"), abs=1e-12)
    assert frames.yaw_from_quaternion(*q) == frames.rpy_from_quaternion(*q)[2]


@given(angle, steep, angle, vector)
def test_rotating_vectors_agrees_with_transforms3d(
    roll: float, pitch: float, yaw: float, v: frames.Vector
) -> None:
    q = frames.quaternion_from_rpy(roll, pitch, yaw)
    expected = rotate_vector(v, wxyz(q))
    assert frames.body_to_world(q, v) == pytest.approx(tuple(expected), abs=1e-10)
    back = frames.world_to_body(q, frames.body_to_world(q, v))
    assert back == pytest.approx(v, abs=1e-10)


@given(angle, steep, angle)
def test_product_agrees_with_transforms3d(roll: float, pitch: float, yaw: float) -> None:
    a = frames.quaternion_from_rpy(roll, pitch, yaw)
    b = frames.quaternion_from_rpy(yaw, pitch, roll)
    assert wxyz(frames.multiply(a, b)) == pytest.approx(tuple(qmult(wxyz(a), wxyz(b))), abs=1e-15)


def test_ninety_degrees_left_is_minus_ninety_in_carla() -> None:
    q = frames.quaternion_from_yaw(math.pi / 2.0)
    assert frames.rotation_to_carla(*q) == pytest.approx((0.0, -90.0, 0.0))
    assert frames.yaw_to_carla(math.pi / 2.0) == -90.0
    assert frames.yaw_to_ros(-90.0) == math.pi / 2.0
    assert frames.body_to_world(q, (1.0, 0.0, 0.0)) == pytest.approx((0.0, 1.0, 0.0))


@pytest.mark.parametrize(
    ("rotation", "axis"),
    [((10.0, 0.0, 0.0), (0, -1, 0)), ((0.0, 10.0, 0.0), (0, 0, -1)), ((0, 0, 10.0), (1, 0, 0))],
)
def test_handedness_of_each_axis(
    rotation: tuple[float, float, float], axis: tuple[int, int, int]
) -> None:
    """Nose up is a negative turn about y (left); right turn a negative about z; roll keeps."""
    q = frames.rotation_to_ros(*rotation)
    sine = math.sin(math.radians(5.0))
    assert q[:3] == pytest.approx(tuple(sine * component for component in axis))


def test_turning_left_is_a_positive_rate_in_ros() -> None:
    assert frames.angular_velocity_degrees_to_ros(0.0, 0.0, -180.0) == (0.0, 0.0, math.pi)


def test_gravity_keeps_its_sign_and_steering_changes_it() -> None:
    assert frames.vector_to_ros(0.0, 0.0, 9.81) == (0.0, 0.0, 9.81)
    assert frames.steer_to_carla(0.25) == -0.25
    assert frames.steer_to_ros(-1.0) == 1.0


def test_zero_never_becomes_negative_zero() -> None:
    results = [
        *frames.vector_to_ros(0.0, 0.0, 0.0),
        *frames.angular_velocity_to_carla(0.0, 0.0, 0.0),
        *frames.angular_velocity_degrees_to_ros(0.0, 0.0, 0.0),
        *frames.rotation_to_ros(0.0, 0.0, 0.0),
        *frames.rotation_to_carla(0.0, 0.0, 0.0, 1.0),
        frames.steer_to_carla(0.0),
    ]
    assert all(math.copysign(1.0, value) == 1.0 for value in results)


@pytest.mark.parametrize("pitch", [math.pi / 2.0, -math.pi / 2.0])
def test_looking_straight_up_or_down_keeps_the_rotation(pitch: float) -> None:
    q = frames.quaternion_from_rpy(0.3, pitch, -0.8)
    back = frames.quaternion_from_rpy(*frames.rpy_from_quaternion(*q))
    sign = 1.0 if back[3] * q[3] + back[0] * q[0] >= 0.0 else -1.0
    assert tuple(sign * value for value in back) == pytest.approx(q, abs=1e-7)
