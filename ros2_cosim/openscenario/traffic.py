# SPDX-License-Identifier: Apache-2.0
"""The vehicles as the conditions of a storyboard see them at one time."""

from __future__ import annotations

from collections.abc import Mapping
from math import inf
from typing import Literal, NamedTuple

from ros2_cosim.interfaces.records import Odometry
from ros2_cosim.kernel.exactmath import cos as _cos
from ros2_cosim.kernel.exactmath import hypot
from ros2_cosim.kernel.exactmath import sin as _sin
from ros2_cosim.models.lane_frame import heading_of
from ros2_cosim.models.road import OFF_ROAD, RoadError, RoadNetwork, RoadPosition
from ros2_cosim.openscenario.story import Box, Standing

Measure = Literal["longitudinal", "lateral", "euclidian"]


class Seen(NamedTuple):
    """A vehicle at one time: centre of its box, heading (cos, sin), speed [m/s], place."""

    box: Box
    x: float
    y: float
    cos: float
    sin: float
    speed: float
    position: RoadPosition
    along: float

    @property
    def reference(self) -> tuple[float, float]:
        """(x, y) of the point that OpenSCENARIO means by the vehicle: on its rear axle."""
        return self.x - self.box.centre * self.cos, self.y - self.box.centre * self.sin

    def half(self, cos: float, sin: float) -> float:
        """Half of what the box takes up along a direction [m]."""
        ahead = abs(self.cos * cos + self.sin * sin)
        across = abs(self.cos * sin - self.sin * cos)
        return 0.5 * (ahead * self.box.length + across * self.box.width)


class Traffic:
    """All vehicles of a scene on their roads."""

    def __init__(
        self, network: RoadNetwork, boxes: Mapping[str, Box], standing: Mapping[str, Standing]
    ) -> None:
        self.network = network
        #: The same roads for vehicles that have a route: where roads overlap, they are on theirs.
        self.routed: dict[str, RoadNetwork] = {}
        self._boxes = dict(boxes)
        self.seen: dict[str, Seen] = {name: self._stands(found) for name, found in standing.items()}
        self.travelled = dict.fromkeys(boxes, 0.0)
        self.acceleration = dict.fromkeys((*boxes, *standing), 0.0)
        #: Since when each vehicle stands, is at the end of its road, is in no lane [ns]; the others
        #: are not there.
        self.standing: dict[str, int] = {}
        self.at_end: dict[str, int] = {}
        self.off_road: dict[str, int] = {}
        #: Pairs between which a contact has begun since the last look.
        self.touched: set[frozenset[str]] = set()
        #: Time of the newest look [ns].
        self.time = 0

    def _stands(self, found: Standing) -> Seen:
        cos, sin = _cos(found.heading), _sin(found.heading)
        x, y = found.x + found.box.centre * cos, found.y + found.box.centre * sin
        return Seen(found.box, x, y, cos, sin, 0.0, self.network.project(x, y), 1.0)

    def look(self, time: int, odometry: Mapping[str, Odometry]) -> None:
        """Take in where all vehicles are.

        :param time: since the start of the run [ns], growing from call to call
        """
        seconds = (time - self.time) / 1e9
        self.time = time
        for name, found in odometry.items():
            before = self.seen.get(name)
            cos, sin = heading_of(found)
            hint = before.position if before is not None else None
            if before is not None and _has_jumped(before, found, seconds):
                # It has been put elsewhere: that is no way that it has come.
                before = hint = None
            network = self.routed.get(name, self.network)
            position = network.project(found.x, found.y, hint)
            speed = found.vx
            line = self.network.pose(position.road_id, position.s, 0.0)[3]
            # +1 or -1 as the vehicle heads along or against the road.
            along = 1.0 if cos * _cos(line) + sin * _sin(line) >= 0.0 else -1.0
            self.seen[name] = Seen(
                self._boxes[name], found.x, found.y, cos, sin, speed, position, along
            )
            if before is not None and seconds > 0.0:
                self.travelled[name] += 0.5 * abs(before.speed + speed) * seconds
                self.acceleration[name] = (speed - before.speed) / seconds
            lane = position.lane_id
            for since, holds in (
                (self.standing, abs(speed) < STANDING),
                (self.at_end, lane == OFF_ROAD or self._is_at_end(self.seen[name])),
                (self.off_road, lane == OFF_ROAD),
            ):
                if holds:
                    since.setdefault(name, time)
                else:
                    since.pop(name, None)

    def _is_at_end(self, seen: Seen) -> bool:
        """Whether the lane goes on no further than the vehicle's front."""
        here = seen.position
        half = 0.5 * seen.box.length
        road, _, s = self.network.advance(here.road_id, here.lane_id, here.s, half)
        return road == here.road_id and abs(s - here.s) < half - 1e-6

    def distance(
        self, a: Seen, b: Seen | tuple[float, float], measure: Measure, *, freespace: bool,
        along_road: bool,
    ) -> float:  # fmt: skip
        """Distance between a vehicle and another one, or a point [m]; infinite without a way.

        :param freespace: between the boxes instead of the reference points; at least 0
        :param along_road: along or across the road instead of the vehicle ``a``
        """
        if measure == "euclidian":
            return _apart(a, b) if freespace else _points_apart(a, b)
        way = self.way(a, b, measure, freespace=freespace, along_road=along_road)
        return abs(way)

    def way(
        self, a: Seen, b: Seen | tuple[float, float], measure: Measure, *, freespace: bool,
        along_road: bool,
    ) -> float:  # fmt: skip
        """As :meth:`distance`, positive where b is ahead of a, or to its left."""
        start = (a.x, a.y) if freespace else a.reference
        if isinstance(b, Seen):
            end = (b.x, b.y) if freespace else b.reference
        else:
            end = b
        if along_road:
            found = self._along_road(a, b, start, end, measure)
        else:
            dx, dy = end[0] - start[0], end[1] - start[1]
            found = dx * a.cos + dy * a.sin
            if measure == "lateral":
                found = dy * a.cos - dx * a.sin
        if not freespace or abs(found) == inf:
            return found
        if measure == "longitudinal":
            halves = 0.5 * a.box.length
            halves += b.half(a.cos, a.sin) if isinstance(b, Seen) else 0.0
        else:
            halves = 0.5 * a.box.width
            halves += b.half(-a.sin, a.cos) if isinstance(b, Seen) else 0.0
        left = max(abs(found) - halves, 0.0)
        return left if found >= 0.0 else -left

    def _along_road(
        self, a: Seen, b: Seen | tuple[float, float], start: tuple[float, float],
        end: tuple[float, float], measure: Measure,
    ) -> float:  # fmt: skip
        network = self.network
        here = network.project(*start, a.position)
        there = network.project(*end, b.position if isinstance(b, Seen) else None)
        if measure == "lateral":
            return a.along * (there.t - here.t)
        try:
            return a.along * network.distance(here, there)
        except RoadError:
            return inf

    def closing(self, a: Seen, b: Seen | tuple[float, float], way: float) -> float:
        """How fast a distance ahead or behind becomes smaller [m/s]."""
        other = 0.0
        if isinstance(b, Seen):
            other = b.speed * (a.cos * b.cos + a.sin * b.sin)
        return a.speed - other if way >= 0.0 else other - a.speed


#: Below this speed a vehicle stands [m/s].
STANDING = 0.05
#: A way between two looks that is so much longer than the speed says is a jump [m].
_JUMP = 3.0


def _has_jumped(before: Seen, found: Odometry, seconds: float) -> bool:
    """Whether a vehicle has been put elsewhere between two looks."""
    way = hypot(found.x - before.x, found.y - before.y)
    return way > _JUMP + 2.0 * max(abs(before.speed), abs(found.vx)) * seconds


def _points_apart(a: Seen, b: Seen | tuple[float, float]) -> float:
    x, y = a.reference
    u, v = b.reference if isinstance(b, Seen) else b
    return hypot(u - x, v - y)


def _apart(a: Seen, b: Seen | tuple[float, float]) -> float:
    """Smallest distance between two boxes, or a box and a point [m]; 0 where they overlap."""
    if not isinstance(b, Seen):
        return _to_box(b, a)
    if overlap(a, b):
        return 0.0
    # One of the nearest points of two convex shapes apart is a corner.
    return min(
        min(_to_box(corner, a) for corner in _corners(b)),
        min(_to_box(corner, b) for corner in _corners(a)),
    )


def _to_box(point: tuple[float, float], box: Seen) -> float:
    dx, dy = point[0] - box.x, point[1] - box.y
    ahead = abs(dx * box.cos + dy * box.sin) - 0.5 * box.box.length
    across = abs(dy * box.cos - dx * box.sin) - 0.5 * box.box.width
    return hypot(max(ahead, 0.0), max(across, 0.0))


def _corners(box: Seen) -> list[tuple[float, float]]:
    corners = []
    for u in (-0.5 * box.box.length, 0.5 * box.box.length):
        for v in (-0.5 * box.box.width, 0.5 * box.box.width):
            corners.append((box.x + u * box.cos - v * box.sin, box.y + u * box.sin + v * box.cos))
    return corners


def overlap(a: Seen, b: Seen) -> bool:
    """Whether two boxes overlap."""
    dx, dy = b.x - a.x, b.y - a.y
    for cos, sin in ((a.cos, a.sin), (-a.sin, a.cos), (b.cos, b.sin), (-b.sin, b.cos)):
        if abs(dx * cos + dy * sin) > a.half(cos, sin) + b.half(cos, sin):
            return False
    return True
