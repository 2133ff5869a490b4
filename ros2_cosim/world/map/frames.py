# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The one place where CARLA and ROS frames and units are converted.

CARLA: left-handed, x forward, y right, z up; rotations in degrees, yaw clockwise from above,
pitch nose up, roll right side down. ROS: right-handed, x forward, y left, z up (REP-103),
``map`` as world (REP-105); rotations as quaternions ``(x, y, z, w)``, angles in radians.
OpenDRIVE is right-handed like ROS.

With M = diag(1, -1, 1):

* positions, velocities, accelerations are vectors: v_ros = M v_carla;
* angular velocities are pseudo-vectors: w_ros = det(M) M w_carla = (-wx, wy, -wz);
* rotation matrices: R_ros = M R_carla M, that is (roll, -pitch, -yaw) about the fixed axes.

``transforms3d`` is the tests' oracle for these functions and no more: its trigonometry is the C
library's, which does not give the same bits on every machine.

All functions are pure and take and return plain floats. A zero never becomes a negative zero,
so that equal states also look equal in text and in bytes.
"""

from __future__ import annotations

from typing import Final

from ros2_cosim.core.kernel.exactmath import DEGREE, PI, RADIAN, asin, atan2, sincos

Vector = tuple[float, float, float]
Quaternion = tuple[float, float, float, float]

# Beyond this sine of the pitch, roll and yaw turn about the same axis.
_GIMBAL_LIMIT: Final = 0.9999999999999


def vector_to_ros(x: float, y: float, z: float) -> Vector:
    """Position [m], velocity or acceleration from CARLA to ROS axes (world or body)."""
    return x, 0.0 - y, z


def vector_to_carla(x: float, y: float, z: float) -> Vector:
    """Position [m], velocity or acceleration from ROS to CARLA axes (world or body)."""
    return x, 0.0 - y, z


def angular_velocity_to_ros(wx: float, wy: float, wz: float) -> Vector:
    """Angular velocity from CARLA to ROS axes, rad/s on both sides (CARLA: IMU gyroscope)."""
    return 0.0 - wx, wy, 0.0 - wz


def angular_velocity_to_carla(wx: float, wy: float, wz: float) -> Vector:
    """Angular velocity from ROS to CARLA axes, rad/s on both sides."""
    return 0.0 - wx, wy, 0.0 - wz


def angular_velocity_degrees_to_ros(wx: float, wy: float, wz: float) -> Vector:
    """Angular velocity from CARLA [deg/s] (``get_angular_velocity``) to ROS [rad/s]."""
    return 0.0 - wx * DEGREE, wy * DEGREE, 0.0 - wz * DEGREE


def angular_velocity_degrees_to_carla(wx: float, wy: float, wz: float) -> Vector:
    """Angular velocity from ROS [rad/s] to CARLA [deg/s]."""
    return 0.0 - wx * RADIAN, wy * RADIAN, 0.0 - wz * RADIAN


def rotation_to_ros(pitch: float, yaw: float, roll: float) -> Quaternion:
    """Orientation from a CARLA rotation [deg] to a ROS quaternion."""
    return quaternion_from_rpy(roll * DEGREE, 0.0 - pitch * DEGREE, 0.0 - yaw * DEGREE)


def rotation_to_carla(qx: float, qy: float, qz: float, qw: float) -> Vector:
    """Orientation from a ROS quaternion to a CARLA rotation ``(pitch, yaw, roll)`` [deg]."""
    roll, pitch, yaw = rpy_from_quaternion(qx, qy, qz, qw)
    return 0.0 - pitch * RADIAN, 0.0 - yaw * RADIAN, roll * RADIAN


def yaw_to_ros(yaw: float) -> float:
    """Heading from CARLA [deg, clockwise] to ROS [rad, counter-clockwise]."""
    return 0.0 - yaw * DEGREE


def yaw_to_carla(yaw: float) -> float:
    """Heading from ROS [rad, counter-clockwise] to CARLA [deg, clockwise]."""
    return 0.0 - yaw * RADIAN


def steer_to_ros(steer: float) -> float:
    """Steering command -1..1 from CARLA (positive right) to ROS (positive left)."""
    return 0.0 - steer


def steer_to_carla(steer: float) -> float:
    """Steering command -1..1 from ROS (positive left) to CARLA (positive right)."""
    return 0.0 - steer


def quaternion_from_yaw(yaw: float) -> Quaternion:
    """Rotation by yaw [rad] about z."""
    s, c = sincos(0.5 * yaw)
    return 0.0, 0.0, s, c


def quaternion_from_rpy(roll: float, pitch: float, yaw: float) -> Quaternion:
    """Rotation Rz(yaw) Ry(pitch) Rx(roll) about fixed axes, angles in rad."""
    if roll == 0.0 and pitch == 0.0:  # on level ground; the same bits
        sr, cr, sp, cp = 0.5 * roll, 1.0, 0.5 * pitch, 1.0
    else:
        sr, cr = sincos(0.5 * roll)
        sp, cp = sincos(0.5 * pitch)
    sy, cy = sincos(0.5 * yaw)
    return (
        sr * cp * cy - cr * sp * sy,
        cr * sp * cy + sr * cp * sy,
        cr * cp * sy - sr * sp * cy,
        cr * cp * cy + sr * sp * sy,
    )


def rpy_from_quaternion(qx: float, qy: float, qz: float, qw: float) -> Vector:
    """(roll, pitch, yaw) [rad] about fixed axes of a unit quaternion.

    At a pitch of +-90 degrees roll and yaw are not unique; roll is 0 then.
    """
    sine = 2.0 * (qw * qy - qz * qx)
    if sine > _GIMBAL_LIMIT or sine < -_GIMBAL_LIMIT:
        half = atan2(qz, qw)
        return 0.0, (0.5 * PI if sine > 0.0 else -0.5 * PI), _wrap_once(2.0 * half)
    roll = atan2(2.0 * (qw * qx + qy * qz), 1.0 - 2.0 * (qx * qx + qy * qy))
    yaw = atan2(2.0 * (qw * qz + qx * qy), 1.0 - 2.0 * (qy * qy + qz * qz))
    return roll, asin(sine), yaw


def _wrap_once(angle: float) -> float:
    if angle > PI:
        return angle - 2.0 * PI
    return angle + 2.0 * PI if angle <= -PI else angle


def yaw_from_quaternion(qx: float, qy: float, qz: float, qw: float) -> float:
    """Heading of the body x axis in the x-y plane [rad], in [-pi, pi]."""
    x, y = forward_axis(qx, qy, qz, qw)
    return atan2(y, x)


def forward_axis(qx: float, qy: float, qz: float, qw: float) -> tuple[float, float]:
    """Return x and y, in the world, of the body's x axis; of length 1 where it is level."""
    return 1.0 - 2.0 * (qy * qy + qz * qz), 2.0 * (qw * qz + qx * qy)


def body_to_world(q: Quaternion, v: Vector) -> Vector:
    """R v: a vector of the body frame in the world frame."""
    # v + 2 w (u x v) + 2 u x (u x v), u the vector part
    qx, qy, qz, qw = q
    x, y, z = v
    tx = 2.0 * (qy * z - qz * y)
    ty = 2.0 * (qz * x - qx * z)
    tz = 2.0 * (qx * y - qy * x)
    return (
        x + qw * tx + (qy * tz - qz * ty),
        y + qw * ty + (qz * tx - qx * tz),
        z + qw * tz + (qx * ty - qy * tx),
    )


def world_to_body(q: Quaternion, v: Vector) -> Vector:
    """R^T v: a vector of the world frame (such as a velocity) in the body frame."""
    return body_to_world(conjugate(q), v)


def conjugate(q: Quaternion) -> Quaternion:
    """The opposite rotation: ``body_to_world`` with it is ``world_to_body`` with q."""
    return -q[0], -q[1], -q[2], q[3]


def multiply(a: Quaternion, b: Quaternion) -> Quaternion:
    """Quaternion product: first rotate by b, then by a."""
    ax, ay, az, aw = a
    bx, by, bz, bw = b
    return (
        aw * bx + ax * bw + ay * bz - az * by,
        aw * by - ax * bz + ay * bw + az * bx,
        aw * bz + ax * by - ay * bx + az * bw,
        aw * bw - ax * bx - ay * by - az * bz,
    )
