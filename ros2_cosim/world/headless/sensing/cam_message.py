# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Messages of V2X sensors on the wire: the structures of the client's ``LibITS.h``, x86-64.

They are sent as they lie in memory, each behind the power that it arrives with (f32, 4 bytes
nothing). Lists in them (path history, protected zones) are pointers there: they stay empty. Units
are those of ETSI EN 302 637-2.
"""

from __future__ import annotations

import struct
from typing import Final, NamedTuple

_POWER = struct.Struct("<f4x")
_HEADER = struct.Struct("<3q")  # version, kind, station
# Time; kind of station, latitude, longitude, ellipse (3), altitude and its confidence.
_BASIC = struct.Struct("<q8q")
_OFTEN = struct.Struct(
    "<q"  # what follows
    "15q"  # heading, speed, direction, length, width, acceleration, curvature, mode, yaw rate
    "?B?5xq"  # pedals, lane: not known
    "?7x2q"  # steering wheel: not known
    "?7x2q"  # lateral acceleration
    "?7x2q"  # vertical acceleration
    "?7xq"  # performance class: not known
    "?7x3q?7x"  # tolling zone: none
    "q24x"  # protected zones of a road side unit
)
_KIND = struct.Struct("<q")
_SELDOM = struct.Struct("<q q B7x q24x")  # what follows, role, lights, path history
_TEXT = struct.Struct("<100s4x")

CAM_SENSOR: Final = "sensor.other.v2x"
TEXT_SENSOR: Final = "sensor.other.v2x_custom"

#: Longest text of ``TEXT_SENSOR`` [byte]: the client reads up to the zero behind it.
MOST_TEXT: Final = 99

_VERSION: Final = 2
_CUSTOM, _CAM = 0, 2
_NOTHING, _VEHICLE, _ROAD_SIDE = 0, 1, 2
PEDESTRIAN, ROAD_SIDE_UNIT = 1, 15
_NO_AXIS, _NO_HEADING, _NO_ALTITUDE = 4095, 3601, 15
_ONE_DEGREE, _THREE_CENTIMETRES = 10, 3
_NO_LENGTH_KIND, _NO_CURVATURE, _NO_CURVATURE_CONFIDENCE = 4, 30001, 7
_NO_ACCELERATION, _NO_ACCELERATION_CONFIDENCE = 161, 102
_NO_YAW_RATE, _NO_YAW_RATE_CONFIDENCE = 32767, 8
_MOST_SPEED, _MOST_LENGTH, _MOST_WIDTH = 16382, 1022, 61


class VehicleMotion(NamedTuple):
    """What a vehicle says often, in CARLA's frame: heading [deg], speed [m/s], size [m],
    accelerations with gravity [m/s^2], yaw rate [deg/s].
    """

    heading: float
    speed: float
    is_backwards: bool
    length: float
    width: float
    acceleration: tuple[float, float, float]
    yaw_rate: float


class VehicleRole(NamedTuple):
    """What a vehicle says every half second: its role and its lights, as bits of ETSI."""

    role: int
    lights: int


def cam(
    station: int,
    station_type: int,
    time_ms: int,
    place: tuple[float, float, float],
    motion: VehicleMotion | None,
    role: VehicleRole | None,
) -> bytes:
    """A CAM.

    :param place: latitude, longitude [deg], altitude [m]
    """
    latitude, longitude, altitude = place
    basic = _BASIC.pack(
        time_ms % 65536, station_type, 10 * _whole(latitude * 1.0e6),
        10 * _whole(longitude * 1.0e6), _NO_AXIS, _NO_AXIS, _NO_HEADING,
        _whole(100.0 * altitude), _NO_ALTITUDE,
    )  # fmt: skip
    said = _NOTHING if role is None else _VEHICLE
    seldom = _SELDOM.pack(said, *(role or (0, 0)), 0)
    kind = _ROAD_SIDE if station_type == ROAD_SIDE_UNIT else _NOTHING
    often = _often(motion) if motion else _KIND.pack(kind).ljust(_OFTEN.size, b"\0")
    return _HEADER.pack(_VERSION, _CAM, station) + basic + often + seldom


def _often(m: VehicleMotion) -> bytes:
    along, across, above = (_tenths(part) for part in m.acceleration)
    turn = _whole(100.0 * m.yaw_rate)
    if abs(turn) >= _NO_YAW_RATE:
        turn = _NO_YAW_RATE
    return _OFTEN.pack(
        _VEHICLE,
        _whole(10.0 * m.heading) % 3600, _ONE_DEGREE,
        min(_whole(100.0 * m.speed), _MOST_SPEED), _THREE_CENTIMETRES, int(m.is_backwards),
        min(_whole(10.0 * m.length), _MOST_LENGTH), _NO_LENGTH_KIND,
        min(_whole(10.0 * m.width), _MOST_WIDTH),
        along, _NO_ACCELERATION_CONFIDENCE,
        _NO_CURVATURE, _NO_CURVATURE_CONFIDENCE, 0,
        turn, _NO_YAW_RATE_CONFIDENCE,
        False, 0, False, 0,
        False, 0, 0,
        True, across, _NO_ACCELERATION_CONFIDENCE,
        True, above, _NO_ACCELERATION_CONFIDENCE,
        False, 0,
        False, 0, 0, 0, False,
        0,
    )  # fmt: skip


def custom(station: int, text: bytes) -> bytes:
    """A message of ``TEXT_SENSOR``."""
    return _HEADER.pack(_VERSION, _CUSTOM, station) + _TEXT.pack(text)


def received(power: float, message: bytes) -> bytes:
    """A message as a receiver has it.

    :param power: [dBm]
    """
    return _POWER.pack(power) + message


def _whole(value: float) -> int:
    """The nearest whole number; halves away from 0, as C rounds."""
    return int(value + 0.5) if value >= 0.0 else -int(0.5 - value)


def _tenths(acceleration: float) -> int:
    value = _whole(10.0 * acceleration)
    return value if -160 <= value < _NO_ACCELERATION else _NO_ACCELERATION
