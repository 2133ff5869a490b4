# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Sensors of the headless CARLA server as ROS 2 topics, as a CARLA server publishes them itself.

Names, types and fields are those of CARLA 0.9.16: below ``/carla`` the ``ros_name`` of the parents
and of the sensor. Vectors are in the right-handed axes of REP 103.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any, Final

import msgpack
import numpy as np
import rclpy
from builtin_interfaces.msg import Time
from geometry_msgs.msg import TransformStamped
from numpy.typing import NDArray
from rclpy.context import Context
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import CameraInfo, Image, Imu, NavSatFix, PointCloud2, PointField
from tf2_msgs.msg import TFMessage

from ros2_cosim.core.kernel.exactmath import PI, cos, radians, sin, tan

_DEPTH: Final = 10
_NS: Final = 1_000_000_000
_IMAGE_HEAD = struct.Struct("<IIf")
_LIDAR_HEAD = struct.Struct("<fI")  # angle, channels; then a count of points for each channel

_LIDAR: Final = ("x", "y", "z", "intensity")
_SEMANTIC: Final = ("x", "y", "z", "cos_inc_angle", "object_idx", "object_tag")
_RADAR: Final = ("x", "y", "z", "velocity", "azimuth", "altitude", "depth")
_WHOLE: Final = ("object_idx", "object_tag")

_CAMERAS: Final = {
    "sensor.camera.cosmos_visualization": ("bgra8", 4),
    "sensor.camera.depth": ("bgra8", 4),
    "sensor.camera.instance_segmentation": ("bgra8", 4),
    "sensor.camera.normals": ("bgra8", 4),
    "sensor.camera.optical_flow": ("32FC2", 8),
    "sensor.camera.rgb": ("bgra8", 4),
    "sensor.camera.semantic_segmentation": ("bgra8", 4),
}

Rows = NDArray[np.float32]
Vector = tuple[float, ...]
Made = list[tuple[str, Any]]


class NativeSensors:
    """A node that publishes what sensors of a server measure, its clock and their transforms."""

    def __init__(self) -> None:
        """Join ROS 2 in the domain of the environment.

        :raises RuntimeError: ROS 2 cannot be started
        """
        self._context = Context()
        rclpy.init(context=self._context)
        self._node = rclpy.create_node("carla_server", context=self._context)
        self._publishers: dict[str, Any] = {}
        self._makers: dict[str, Callable[[bytes], Made]] = {
            "sensor.lidar.ray_cast": _lidar,
            "sensor.lidar.ray_cast_semantic": _semantic_lidar,
            "sensor.other.gnss": _gnss,
            "sensor.other.imu": _imu,
            "sensor.other.radar": _radar,
        }
        for blueprint, (encoding, size) in _CAMERAS.items():
            self._makers[blueprint] = _camera(encoding, size)

    def supports(self, blueprint: str) -> bool:
        """Whether a kind of sensor has a topic."""
        return blueprint in self._makers

    def close(self) -> None:
        """Leave ROS 2."""
        self._node.destroy_node()
        rclpy.shutdown(context=self._context)

    def tell_time(self, time_ns: int) -> None:
        """Publish the simulated time on ``/clock``."""
        self._publish("/clock", Clock(clock=_time(time_ns)))

    def publish(
        self,
        blueprint: str,
        names: tuple[str, ...],
        pose: Vector,
        time_ns: int,
        payload: bytes,
    ) -> None:
        """Publish a measurement.

        :param names: of the parents and of the sensor, the outermost first
        :param pose: x, y, z [m], pitch, yaw, roll [deg] on the parent, in CARLA's axes
        :param payload: of the message of the protocol, without its header
        """
        base = "/".join(("/carla", *names))
        stamp = _time(time_ns)
        for ending, message in self._makers[blueprint](payload):
            message.header.stamp = stamp
            message.header.frame_id = names[-1]
            self._publish(base + ending, message)
        moved = TransformStamped(child_frame_id=names[-1])
        moved.header.stamp = stamp
        moved.header.frame_id = names[-2] if len(names) > 1 else "map"
        _place(moved.transform, pose)
        self._publish("/tf", TFMessage(transforms=[moved]))

    def _publish(self, topic: str, message: Any) -> None:
        publisher = self._publishers.get(topic)
        if publisher is None:
            publisher = self._node.create_publisher(type(message), topic, _DEPTH)
            self._publishers[topic] = publisher
        publisher.publish(message)


def _time(time_ns: int) -> Time:
    return Time(sec=time_ns // _NS, nanosec=time_ns % _NS)


def _camera(encoding: str, size: int) -> Callable[[bytes], Made]:
    def make(payload: bytes) -> Made:
        width, height, field = _IMAGE_HEAD.unpack_from(payload)
        image = Image(height=height, width=width, encoding=encoding, step=width * size)
        image.data.frombytes(payload[_IMAGE_HEAD.size :])
        focal = width / (2.0 * tan(0.5 * radians(field)))
        cx, cy = 0.5 * width, 0.5 * height
        info = CameraInfo(height=height, width=width, distortion_model="plumb_bob")
        info.d = [0.0] * 5
        info.k = [focal, 0.0, cx, 0.0, focal, cy, 0.0, 0.0, 1.0]
        info.r = [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0]
        info.p = [focal, 0.0, cx, 0.0, 0.0, focal, cy, 0.0, 0.0, 0.0, 1.0, 0.0]
        info.roi.height, info.roi.width, info.roi.do_rectify = height, width, True
        return [("/camera_info", info), ("/image", image)]

    return make


def _lidar(payload: bytes) -> Made:
    return _cloud(_LIDAR, _mirrored(_points(payload).reshape(-1, len(_LIDAR))))


def _semantic_lidar(payload: bytes) -> Made:
    return _cloud(_SEMANTIC, _mirrored(_points(payload).reshape(-1, len(_SEMANTIC))))


def _points(payload: bytes) -> Rows:
    _, channels = _LIDAR_HEAD.unpack_from(payload)
    return np.frombuffer(payload, "<f4", offset=_LIDAR_HEAD.size + 4 * channels)


def _mirrored(rows: Rows) -> Rows:
    mirrored = rows.copy()
    mirrored[:, 1] = np.float32(0.0) - mirrored[:, 1]
    return mirrored


def _radar(payload: bytes) -> Made:
    found = np.frombuffer(payload, "<f4").reshape(-1, 4)
    rows = np.empty((len(found), len(_RADAR)), "<f4")
    rows[:, 3:] = found
    for row, (_, azimuth, altitude, depth) in zip(rows, found.tolist(), strict=True):
        level = depth * cos(altitude)
        row[:3] = level * cos(azimuth), 0.0 - level * sin(azimuth), depth * sin(altitude)
    return _cloud(_RADAR, rows)


def _cloud(names: tuple[str, ...], rows: Rows) -> Made:
    size = 4 * len(names)
    cloud = PointCloud2(
        height=1, width=len(rows), point_step=size, row_step=size * len(rows), is_dense=False
    )
    cloud.fields = [
        PointField(
            name=name,
            offset=4 * place,
            datatype=PointField.UINT32 if name in _WHOLE else PointField.FLOAT32,
            count=1,
        )
        for place, name in enumerate(names)
    ]
    cloud.data.frombytes(rows.tobytes())
    return [("", cloud)]


def _gnss(payload: bytes) -> Made:
    latitude, longitude, altitude = msgpack.unpackb(payload)
    return [("", NavSatFix(latitude=latitude, longitude=longitude, altitude=altitude))]


def _imu(payload: bytes) -> Made:
    (ax, ay, az), (wx, wy, wz), compass = msgpack.unpackb(payload)
    message = Imu()
    felt, turn, rates = message.linear_acceleration, message.orientation, message.angular_velocity
    felt.x, felt.y, felt.z = ax, 0.0 - ay, az
    rates.x, rates.y, rates.z = 0.0 - wx, wy, 0.0 - wz
    half = 0.5 * (0.5 * PI - compass)
    turn.z, turn.w = sin(half), cos(half)
    return [("", message)]


def _place(transform: Any, pose: Vector) -> None:
    x, y, z, pitch, yaw, roll = pose
    transform.translation.x, transform.translation.y, transform.translation.z = x, 0.0 - y, z
    halves = (0.5 * radians(angle) for angle in (roll, 0.0 - pitch, 0.0 - yaw))
    (sr, cr), (sp, cp), (sy, cy) = ((sin(half), cos(half)) for half in halves)
    rotation = transform.rotation
    rotation.w = cr * cp * cy + sr * sp * sy
    rotation.x = sr * cp * cy - cr * sp * sy
    rotation.y = cr * sp * cy + sr * cp * sy
    rotation.z = cr * cp * sy - sr * sp * cy
