# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Trajectories under way: their points when the action begins, and how far a vehicle has come.

Clothoids are drawn by their curvature, which is linear over the way (OpenSCENARIO XML 1.3,
ClothoidSpline). NURBS are evaluated by de Boor's algorithm in homogeneous coordinates (L. Piegl,
W. Tiller, "The NURBS Book", 2nd ed. (1997), algorithm A4.1), the time as a further coordinate.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from functools import partial
from math import inf
from typing import Final, NamedTuple

from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.exactmath import atan2, cos, hypot, sin
from ros2_cosim.core.messages.records import Odometry
from ros2_cosim.driving.openscenario.places import neighbour
from ros2_cosim.driving.openscenario.story import Nurbs, SplineSegment, Trajectory, Where
from ros2_cosim.driving.openscenario.traffic import Seen, Traffic
from ros2_cosim.world.drivers.speed_profiles import SpeedPoint
from ros2_cosim.world.map import RoadNetwork, RoadPosition, driving_direction
from ros2_cosim.world.map.frames import quaternion_from_yaw

_NS: Final = 1e9
#: Curves become straight pieces of this length [m].
_STEP: Final = 0.25
#: Straight pieces between two control points of NURBS.
_PIECES: Final = 20
#: So far ahead on its trajectory a vehicle may be found from one look to the next [m].
_WINDOW: Final = 30.0
#: A trajectory with less than this left is at its end [m].
_AT_END: Final = 0.01
#: An entity outside the world is so far beside its place, and from the next one there [m].
OUTSIDE: Final = 20_000.0
OUTSIDE_STEP: Final = 100.0
#: A vehicle within this distance of a trajectory is on it [m].
_ON_LINE: Final = 3.0
#: Speed per error of the way, where a trajectory says when to be where [1/s].
_WAY_GAIN: Final = 0.5


class PlannedPose(NamedTuple):
    """A point of the map [m], and a heading [rad]."""

    x: float
    y: float
    heading: float

    def ahead(self, dx: float, dy: float, turn: float) -> PlannedPose:
        """The pose so far ahead and to the left of this one, turned."""
        c, s = cos(self.heading), sin(self.heading)
        return PlannedPose(self.x + dx * c - dy * s, self.y + dx * s + dy * c, self.heading + turn)


class _Timed(NamedTuple):
    x: float
    y: float
    time: float | None


def pose_of(where: Where, traffic: Traffic) -> PlannedPose:
    """A pose as it is now.

    :raises RoadError: a lane that it counts from is not there
    """
    if where.to is None:
        return PlannedPose(where.x, where.y, where.heading)
    found = _pose_beside(where, traffic.seen[where.to], traffic.network)
    return found._replace(heading=where.heading) if where.absolute else found


def _pose_beside(where: Where, other: Seen, network: RoadNetwork) -> PlannedPose:
    """A pose relative to a road user, its heading relative, too."""
    x, y = other.reference
    if where.frame in ("axes", "vehicle"):
        heading = atan2(other.sin, other.cos)
        if where.frame == "axes":
            return PlannedPose(x + where.x, y + where.y, heading + where.heading)
        return PlannedPose(x, y, heading).ahead(where.x, where.y, where.heading)
    here = network.project(x, y, other.position)
    if where.frame == "road":
        s = here.s + other.along * where.x
        x, y, _, heading = network.pose(here.road_id, s, here.t + other.along * where.y)
        return PlannedPose(x, y, heading + where.heading)
    road, s = here.road_id, here.s
    lane = here.lane_id or _nearest_lane(network, here)
    lane = neighbour(lane, where.lanes, other.along) if where.lanes else lane
    if where.x >= 0.0:
        road, lane, s = network.advance(road, lane, s, where.x)
    else:
        back = s + driving_direction(lane) * where.x
        s = min(max(back, 0.0), network.length(road))
    t = network.lane_centre(road, lane, s) + where.y
    x, y, _, _ = network.pose(road, s, t)
    return PlannedPose(x, y, network.lane_pose(road, lane, s).heading + where.heading)


def _nearest_lane(network: RoadNetwork, here: RoadPosition) -> int:
    """The lane beside which something is."""
    lanes = network.lane_ids(here.road_id, here.s)
    return min(lanes, key=lambda i: abs(network.lane_centre(here.road_id, i, here.s) - here.t))


def ground_odometry(pose: PlannedPose, speed: float, traffic: Traffic) -> Odometry:
    """What stands on the road at a pose, or beside it as high, and goes ahead [m/s]."""
    network = traffic.network
    here = network.project(pose.x, pose.y)
    z = network.pose(here.road_id, here.s, here.t)[2]
    q = quaternion_from_yaw(pose.heading)
    return Odometry(pose.x, pose.y, z, *q, speed, 0.0, 0.0, 0.0, 0.0, 0.0)


def far_from(pose: PlannedPose, name: str, traffic: Traffic) -> PlannedPose:
    """Where something is that is not in the world: far beside all roads, each in its own place."""
    number = sorted(traffic.acceleration).index(name)
    return pose._replace(y=pose.y + OUTSIDE + OUTSIDE_STEP * number)


def points_of(
    trajectory: Trajectory, name: str, pose: Callable[[Where], PlannedPose]
) -> list[_Timed]:
    """The points of a trajectory as it is when a vehicle begins it.

    :param name: of the vehicle
    :param pose: what a pose is then
    """
    if trajectory.polyline is not None:
        found = []
        for vertex in trajectory.polyline:
            x, y, _ = pose(vertex.at)
            found.append(_Timed(x, y, vertex.time))
        return [*found, found[0]] if trajectory.closed else found
    if trajectory.spline is not None:
        own = Where(x=0.0, y=0.0, to=name, frame="vehicle")
        first = trajectory.spline[0].at or own
        return _spline(pose(first), trajectory.spline, trajectory.end_time, pose)
    assert trajectory.nurbs is not None
    return _nurbs(trajectory.nurbs, pose)


def _spline(
    here: PlannedPose,
    segments: tuple[SplineSegment, ...],
    end_time: float | None,
    pose: Callable[[Where], PlannedPose],
) -> list[_Timed]:
    points: list[_Timed] = []
    for number, segment in enumerate(segments):
        if segment.at is not None:
            here = pose(segment.at)
        here = here._replace(heading=here.heading + segment.turn)
        following = segments[number + 1].time if number + 1 < len(segments) else end_time
        count = max(int(segment.length / _STEP + 0.999999), 1)
        step = segment.length / count
        for i in range(count + 1):
            time = None
            if segment.time is not None and following is not None:
                time = segment.time + (following - segment.time) * (i / count)
            if i or not points or (points[-1].x, points[-1].y) != (here.x, here.y):
                points.append(_Timed(here.x, here.y, time))
            if i < count:
                here = _drawn(here, segment, i * step, step)
    return points


def _drawn(here: PlannedPose, segment: SplineSegment, way: float, step: float) -> PlannedPose:
    """The pose one step further on a clothoid; the chord has the heading in its middle."""
    growth = (segment.curvature_end - segment.curvature) / segment.length
    begin = segment.curvature + growth * way
    half = begin * 0.5 * step + growth * 0.125 * step * step
    middle = here.heading + half
    turn = begin * step + 0.5 * growth * step * step
    return PlannedPose(
        here.x + step * cos(middle), here.y + step * sin(middle), here.heading + turn
    )


def _nurbs(nurbs: Nurbs, pose: Callable[[Where], PlannedPose]) -> list[_Timed]:
    rows = []
    timed = all(point.time is not None for point in nurbs.points)
    for point in nurbs.points:
        x, y, _ = pose(point.at)
        w, t = point.weight, point.time or 0.0
        rows.append((w * x, w * y, w * t, w))
    degree, knots = nurbs.order - 1, nurbs.knots
    low, high = knots[degree], knots[len(rows)]
    count = _PIECES * len(rows)
    points = []
    for i in range(count + 1):
        u = low + (high - low) * (i / count)
        x, y, t, w = _de_boor(rows, knots, degree, u)
        points.append(_Timed(x / w, y / w, t / w if timed else None))
    return points


_Row = tuple[float, float, float, float]


def _de_boor(rows: list[_Row], knots: tuple[float, ...], degree: int, u: float) -> _Row:
    span = min(max(bisect_right(knots, u) - 1, degree), len(rows) - 1)
    found = [rows[span - degree + j] for j in range(degree + 1)]
    for level in range(1, degree + 1):
        for j in range(degree, level - 1, -1):
            low = knots[span - degree + j]
            width = knots[span + 1 + j - level] - low
            share = (u - low) / width if width > 0.0 else 0.0
            a, b = found[j - 1], found[j]
            x, y, t, w = ((1.0 - share) * p + share * q for p, q in zip(a, b, strict=True))
            found[j] = (x, y, t, w)
    return found[degree]


class Path:
    """A line of straight pieces, and how far along it something has come.

    :param points: at least two, not all in one place
    """

    def __init__(self, points: list[tuple[float, float]]) -> None:
        self._points = points
        self.ways = [0.0]
        for (x, y), (u, v) in zip(points, points[1:], strict=False):
            self.ways.append(self.ways[-1] + hypot(u - x, v - y))
        #: The way along it so far [m]; it never decreases.
        self.way = 0.0

    @property
    def length(self) -> float:
        """Its length [m]."""
        return self.ways[-1]

    def come_to(self, x: float, y: float) -> None:
        """Look where on the line a point is, from the last look on."""
        first = self._piece(self.way)
        best, found = inf, self.way
        for i in range(first, len(self._points) - 1):
            if self.ways[i] > self.way + _WINDOW:
                break
            (a, b), (c, d) = self._points[i], self._points[i + 1]
            size = self.ways[i + 1] - self.ways[i]
            if size <= 0.0:
                continue
            along = ((x - a) * (c - a) + (y - b) * (d - b)) / size
            along = min(max(along, 0.0), size)
            off = hypot(x - (a + along * (c - a) / size), y - (b + along * (d - b) / size))
            if off < best:
                best, found = off, self.ways[i] + along
        self.way = max(self.way, found)

    def way_to(self, x: float, y: float) -> float | None:
        """How far along the line a point of it is [m], as near as ``_ON_LINE``; None: it is not."""
        best, found = _ON_LINE, None
        for (a, b), (c, d), start, end in zip(
            self._points, self._points[1:], self.ways, self.ways[1:], strict=False
        ):
            size = end - start
            if size <= 0.0:
                continue
            along = min(max(((x - a) * (c - a) + (y - b) * (d - b)) / size, 0.0), size)
            off = hypot(x - (a + along * (c - a) / size), y - (b + along * (d - b) / size))
            if off < best:
                best, found = off, start + along
        return found

    def at(self, way: float) -> tuple[float, float]:
        """The point so far along the line [m], which goes straight on behind its end."""
        i = self._piece(min(way, self.length))
        (a, b), (c, d) = self._points[i], self._points[i + 1]
        share = (way - self.ways[i]) / (self.ways[i + 1] - self.ways[i])
        return a + share * (c - a), b + share * (d - b)

    def _piece(self, way: float) -> int:
        """The number of the piece at a way; none without length."""
        i = min(max(bisect_right(self.ways, way) - 1, 0), len(self._points) - 2)
        while i > 0 and self.ways[i + 1] <= self.ways[i]:
            i -= 1
        while self.ways[i + 1] <= self.ways[i]:
            i += 1
        return i


class TrajectoryRun:
    """A FollowTrajectoryAction on one vehicle: across the road, and along it where it has times.

    :param name: of the vehicle
    :raises ConfigurationError: it has no length, or its times do not grow
    """

    def __init__(self, action: Trajectory, name: str, traffic: Traffic) -> None:
        points = points_of(action, name, partial(pose_of, traffic=traffic))
        self._name = name
        self.path = Path([(x, y) for x, y, _ in points])
        if self.path.length <= 0.0:
            raise ConfigurationError(f"vehicle '{name}': trajectory: all its points are one")
        self.path.way = min(action.start, self.path.length)
        self._times: list[float] | None = None
        timing = action.timing
        if timing is not None:
            begin = timing.offset + (0.0 if timing.absolute else traffic.time / _NS)
            times = [begin + timing.scale * time for _, _, time in points if time is not None]
            if len(times) < len(points) or any(
                b < a for a, b in zip(times, times[1:], strict=False)
            ):
                raise ConfigurationError(
                    f"vehicle '{name}': trajectory: its times are missing or do not grow"
                )
            self._times = times

    @property
    def is_timed(self) -> bool:
        """Whether it says when to be where."""
        return self._times is not None

    @property
    def over(self) -> bool:
        """Whether the vehicle is at its end."""
        return self.path.length - self.path.way <= _AT_END

    def look(self, traffic: Traffic) -> None:
        """See how far the vehicle has come."""
        self.path.come_to(*traffic.seen[self._name].reference)

    def done(self, now: int, traffic: Traffic) -> bool:
        """Whether its time is over, or the vehicle at its end."""
        return self.over if self._times is None else now / _NS >= self._times[-1]

    def motion(self, now: int, traffic: Traffic) -> SpeedPoint:
        """The speed that brings the vehicle to its place on time."""
        times, own = self._times, traffic.seen[self._name]
        assert times is not None, "asked of those with times alone"
        t = now / _NS
        if t < times[0]:
            return SpeedPoint(max(own.speed, 0.0), 0.0)
        if t >= times[-1]:
            return SpeedPoint(self._speed(len(times) - 2), 0.0)
        i = bisect_right(times, t) - 1
        speed = self._speed(i)
        wanted = self.path.ways[i] + speed * (t - times[i])
        return SpeedPoint(max(speed + _WAY_GAIN * (wanted - self.path.way), 0.0), 0.0)

    def _speed(self, piece: int) -> float:
        assert self._times is not None
        time = self._times[piece + 1] - self._times[piece]
        way = self.path.ways[piece + 1] - self.path.ways[piece]
        return way / time if time > 0.0 else 0.0
