# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What is in the payloads of sensors: what the client shows of them."""

from __future__ import annotations

import struct
from typing import Final

import msgpack

_IMAGE_HEAD: Final = 12  # width, height, field of view
_LIDAR_HEAD: Final = struct.Struct("<fI")  # angle, channels; then a count for each channel


def satellite(payload: bytes) -> tuple[float, float, float]:
    """Latitude, longitude [deg] and altitude [m] of a GNSS."""
    latitude, longitude, altitude = msgpack.unpackb(payload)
    return latitude, longitude, altitude


def inertial(payload: bytes) -> tuple[float, ...]:
    """Accelerometer, gyroscope (three numbers each) and compass of an IMU."""
    felt, rates, compass = msgpack.unpackb(payload)
    return (*felt, *rates, compass)


def measured(blueprint: str, payload: bytes) -> memoryview:
    """The points or pixels of a lidar, a radar or a camera, without a copy."""
    if blueprint.startswith("sensor.camera."):
        return memoryview(payload)[_IMAGE_HEAD:]
    if blueprint.startswith("sensor.lidar."):
        _, channels = _LIDAR_HEAD.unpack_from(payload)
        return memoryview(payload)[_LIDAR_HEAD.size + 4 * channels :]
    return memoryview(payload)
