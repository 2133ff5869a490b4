# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What a simulator reports about an actor, as records in ROS frames and units."""

from __future__ import annotations

from typing import Final, NamedTuple

from ros2_cosim.core.kernel.exactmath import atan
from ros2_cosim.core.kernel.named_tuples import NEW
from ros2_cosim.core.messages.records import (
    CLASS_CAR,
    CLASS_OBSTACLE,
    CLASS_TRUCK,
    CLASS_UNKNOWN,
    Acceleration,
    Odometry,
    RoadUser,
    StaticObject,
)
from ros2_cosim.core.scene.simulator import Body, Motion, Pose
from ros2_cosim.world.headless.snapshot import Numbers
from ros2_cosim.world.map import LanePoint, frames

TRUCK_LENGTH: Final = 6.5
"""A vehicle that is not a participant's counts as a truck if it is longer [m]."""


class VehicleReading(NamedTuple):
    """State of one vehicle; the reference point is the centre of its footprint."""

    odometry: Odometry
    acceleration: Acceleration


#: Compiled, constants of a module need not be looked for.
_ODOMETRY: Final = Odometry
_ACCELERATION: Final = Acceleration
_READING: Final = VehicleReading


def reading(motion: Motion, body: Body) -> VehicleReading:
    """State of a vehicle with the given box."""
    (x, y, z, pitch, yaw, roll), (vx, vy, vz), (wx, wy, wz), (ax, ay, az) = motion
    return reading_of((x, y, z, pitch, yaw, roll, vx, vy, vz, wx, wy, wz, ax, ay, az), body)


def reading_of(numbers: Numbers, body: Body) -> VehicleReading:
    """The same for a state as numbers."""
    # Number by number: compiled, none of them becomes an object before the records are made.
    x, y, z, pitch, yaw, roll, vx, vy, vz, wx, wy, wz, ax, ay, az = numbers
    qx, qy, qz, qw = frames.rotation_to_ros(pitch, yaw, roll)
    # As vector_to_ros does it, which would be called three times.
    y, vy, ay = 0.0 - y, 0.0 - vy, 0.0 - ay
    to_centre, to_left, _ = body.centre
    if to_centre != 0.0 or to_left != 0.0:
        offset = frames.vector_to_ros(to_centre, to_left, 0.0)
        dx, dy, dz = frames.body_to_world((qx, qy, qz, qw), offset)
        x, y, z = x + dx, y + dy, z + dz
    to_body = frames.conjugate((qx, qy, qz, qw))
    vx, vy, vz = frames.body_to_world(to_body, (vx, vy, vz))
    wx, wy, wz = frames.body_to_world(to_body, frames.angular_velocity_degrees_to_ros(wx, wy, wz))
    ax, ay, az = frames.body_to_world(to_body, (ax, ay, az))
    odometry = NEW(_ODOMETRY, (x, y, z, qx, qy, qz, qw, vx, vy, vz, wx, wy, wz))
    return NEW(_READING, (odometry, NEW(_ACCELERATION, (ax, ay, az))))


def road_user(number: int, motion: Motion, body: Body) -> RoadUser:
    """A vehicle that is not a participant's."""
    odometry = reading(motion, body).odometry
    length, width, height = (2.0 * half for half in body.extent)
    return RoadUser(
        number,
        CLASS_TRUCK if length > TRUCK_LENGTH else CLASS_CAR,
        odometry.x,
        odometry.y,
        odometry.z,
        frames.yaw_to_ros(motion.pose.yaw),
        odometry.vx,
        odometry.vy,
        length,
        width,
        height,
    )


def placed_pose(odometry: Odometry, body: Body, height: float = 0.0) -> Pose:
    """Pose of the actor whose footprint has its centre where a record says; see ``reading``.

    :param height: of the actor's origin above the ground [m]
    """
    q = odometry[3:7]
    dx, dy, dz = frames.body_to_world(q, frames.vector_to_ros(body.centre[0], body.centre[1], 0.0))
    x, y, z = frames.vector_to_carla(odometry.x - dx, odometry.y - dy, odometry.z - dz + height)
    pitch, yaw, roll = frames.rotation_to_carla(*q)
    return Pose(x, y, z, pitch, yaw, roll)


def placed_user(number: int, odometry: Odometry, body: Body) -> RoadUser:
    """An object that commands move, where a record says."""
    length, width, height = (2.0 * half for half in body.extent)
    return RoadUser(
        number,
        CLASS_UNKNOWN,
        odometry.x,
        odometry.y,
        odometry.z,
        frames.yaw_from_quaternion(*odometry[3:7]),
        odometry.vx,
        odometry.vy,
        length,
        width,
        height,
    )


def static_object(number: int, pose: Pose, body: Body) -> StaticObject:
    """A static object as a box."""
    q = frames.rotation_to_ros(pose.pitch, pose.yaw, pose.roll)
    x, y, z = _centre(pose, q, body.centre)
    length, width, height = (2.0 * half for half in body.extent)
    return StaticObject(
        number, CLASS_OBSTACLE, x, y, z, frames.yaw_to_ros(pose.yaw), length, width, height
    )


def carla_pose(point: LanePoint, slope: float, height: float = 0.0) -> Pose:
    """Pose of an actor standing on a lane point.

    :param slope: rise over run in the direction of the point's heading
    :param height: above the road [m]
    """
    q = frames.quaternion_from_rpy(0.0, 0.0 - atan(slope), point.heading)
    x, y, z = frames.vector_to_carla(point.x, point.y, point.z + height)
    pitch, yaw, roll = frames.rotation_to_carla(*q)
    return Pose(x, y, z, pitch, yaw, roll)


def _centre(pose: Pose, q: frames.Quaternion, offset: frames.Vector) -> frames.Vector:
    x, y, z = frames.vector_to_ros(pose.x, pose.y, pose.z)
    if offset == (0.0, 0.0, 0.0):
        return x, y, z
    dx, dy, dz = frames.body_to_world(q, frames.vector_to_ros(*offset))
    return x + dx, y + dy, z + dz
