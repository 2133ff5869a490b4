# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What a vehicle says in its CAMs, and what a receiver makes of one."""

from __future__ import annotations

from collections import deque
from typing import Final

from ros2_cosim.core.kernel.exactmath import cos, degrees, hypot, radians, sin
from ros2_cosim.core.messages.records import Odometry, V2VMessage
from ros2_cosim.driving.v2v.cam import DELTA_TIMES, Cam, PathPoint
from ros2_cosim.world.map.earth import MapOrigin, TangentPlane
from ros2_cosim.world.map.frames import yaw_from_quaternion
from ros2_cosim.world.map.vehicle_info import VehicleInfo

LOW_FREQUENCY_NS: Final = 500_000_000
"""A CAM has the low frequency container if the last one that had it is as old [ns]."""
PATH_LENGTH_M: Final = 200.0
"""A path goes back as far."""
PATH_ERROR_M: Final = 1.0
"""The vehicle was never further from the lines between the points of its path."""
PATH_CHORD_M: Final = 100.0
"""No two neighbouring points are further apart."""
MOST_POINTS: Final = 40
_NS_PER_MS: Final = 1_000_000
#: Below that speed the curvature that follows from the yaw rate is noise [m/s].
_SLOW: Final = 0.5
_Point = tuple[float, float, int]


class CamWriter:
    """Makes the CAMs of one vehicle, one after the other.

    :param info: the vehicle
    :param origin: where the map lies
    """

    def __init__(self, info: VehicleInfo, origin: MapOrigin) -> None:
        self._info = info
        self._place = CamPlace(origin)
        self._altitude = origin.altitude
        self._path = PathHistory()
        #: When the last CAM with a low frequency container was made [ns].
        self._told_all = -LOW_FREQUENCY_NS

    def cam(self, time: int, odometry: Odometry, acceleration: float, braking: bool) -> Cam:
        """The next CAM.

        :param time: of its generation [ns]
        :param odometry: of the vehicle's centre
        :param acceleration: along the vehicle [m/s^2]
        """
        o = odometry
        yaw = yaw_from_quaternion(o.qx, o.qy, o.qz, o.qw)
        # The reference position is the middle of the front.
        ahead = 0.5 * self._info.length
        x, y = o.x + ahead * cos(yaw), o.y + ahead * sin(yaw)
        latitude, longitude = self._place.plane.geodetic(x, y)
        self._path.add(x, y, time)
        path = None
        if time - self._told_all >= LOW_FREQUENCY_NS:
            self._told_all = time
            path = self._path_points(x, y, time)
        curvature = o.wz / o.vx if abs(o.vx) > _SLOW else None
        return Cam(
            station=self._info.id,
            milliseconds=time // _NS_PER_MS % DELTA_TIMES,
            latitude=latitude,
            longitude=longitude,
            altitude=self._altitude + o.z,
            heading=90.0 - degrees(yaw),
            speed=o.vx,
            acceleration=acceleration,
            curvature=curvature,
            yaw_rate=degrees(o.wz),
            length=self._info.length,
            width=self._info.width,
            braking=braking,
            path=path,
        )

    def _path_points(self, x: float, y: float, time: int) -> tuple[PathPoint, ...]:
        found = []
        north, east = self._place.plane.geodetic(x, y)
        for u, v, then in self._path.points(x, y, time):
            to_north, to_east = self._place.plane.geodetic(u, v)
            found.append(PathPoint(to_north - north, to_east - east, (time - then) * 1e-9))
            north, east, time = to_north, to_east, then
        return tuple(found)


class PathHistory:
    """The way that a vehicle has come, as few points."""

    def __init__(self) -> None:
        #: The points, the oldest first, and the places since the last of them.
        self._kept: deque[_Point] = deque()
        self._since: list[_Point] = []

    def points(self, x: float, y: float, time: int) -> list[_Point]:
        """The points of the path back from a place [m], with their times [ns]; newest first.

        :param time: they are older than that [ns]
        """
        found: list[_Point] = []
        far = 0.0
        for point in reversed(self._kept):
            far += hypot(point[0] - x, point[1] - y)
            if far > PATH_LENGTH_M:
                break
            if point[2] < time:
                found.append(point)
            x, y = point[:2]
        return found

    def add(self, x: float, y: float, time: int) -> None:
        """The vehicle has told that it is at a place [m]."""
        place = (x, y, time)
        if not self._kept:
            self._kept.append(place)
            return
        begin = self._kept[-1]
        if hypot(x - begin[0], y - begin[1]) > PATH_CHORD_M or any(
            _distance(between, begin, place) > PATH_ERROR_M for between in self._since
        ):
            if self._since:
                self._kept.append(self._since[-1])
                self._since.clear()
            if len(self._kept) > MOST_POINTS:
                self._kept.popleft()
        self._since.append(place)


class CamPlace:
    """Takes places and times from CAMs.

    :param origin: where the map lies
    """

    def __init__(self, origin: MapOrigin) -> None:
        self.plane = TangentPlane(origin)

    def beacon(self, cam: Cam, received: int) -> V2VMessage | None:
        """What a reader of V2V messages gets; None without place, heading or speed.

        A CAM does not say what acceleration is demanded: the measured one stands for it.

        :param received: less than 65.536 s after the CAM was made [ns]
        """
        if cam.latitude is None or cam.longitude is None:
            return None
        if cam.heading is None or cam.speed is None:
            return None
        x, y = self.plane.on_map(cam.latitude, cam.longitude)
        length = cam.length or 0.0
        yaw = radians(90.0 - cam.heading)
        acceleration = cam.acceleration or 0.0
        now = received // _NS_PER_MS
        age = (now - cam.milliseconds) % DELTA_TIMES
        return V2VMessage(
            sender=cam.station,
            generation_time=(now - age) * _NS_PER_MS,
            x=x - 0.5 * length * cos(yaw),
            y=y - 0.5 * length * sin(yaw),
            speed=cam.speed,
            acceleration=acceleration,
            commanded_acceleration=acceleration,
            length=length,
            braking=cam.braking,
        )


def _distance(point: _Point, begin: _Point, end: _Point) -> float:
    """Of a point from the line through two others [m]."""
    dx, dy = end[0] - begin[0], end[1] - begin[1]
    length = hypot(dx, dy)
    px, py = point[0] - begin[0], point[1] - begin[1]
    return abs(dx * py - dy * px) / length if length > 0.0 else hypot(px, py)
