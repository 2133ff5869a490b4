# SPDX-License-Identifier: Apache-2.0
"""Roads linked into a network: places on it, the way from map coordinates to lanes and back.

The map frame is right-handed (OpenDRIVE's own, ROS ``map``); CARLA's is mirrored in y. A
place is (road, s, t): s [m] along the reference line, t [m] to its left.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final, NamedTuple

from ros2_cosim.documents.files import read_bounded
from ros2_cosim.documents.xml_reader import MAX_BYTES
from ros2_cosim.kernel.exactmath import PI, hypot, wrap_angle
from ros2_cosim.models.road.elements import RoadError
from ros2_cosim.models.road.nearest import Sample, Samples
from ros2_cosim.models.road.opendrive import Road, read_opendrive
from ros2_cosim.models.road.plan_view import Foot
from ros2_cosim.models.road.stations import Stations

_SEARCH_STEP: Final = 5.0
_MAX_HOPS: Final = 20
# A hint is given up when the point is this far from the road it names.
_MAX_LATERAL: Final = 50.0
_END_TOLERANCE: Final = 1e-6
_MAX_LINK_GAP: Final = 0.1


class RoadPosition(NamedTuple):
    """A point on the road network.

    ``lane_id`` is 0 (``OFF_ROAD``) outside all lanes; ``heading`` [rad, wrapped] is that of the
    reference line towards larger s, also for lanes that are driven the other way.
    """

    road_id: int
    s: float
    t: float
    lane_id: int
    heading: float


class LanePoint(NamedTuple):
    """A point of a lane's centre line; ``heading`` [rad] is the driving direction."""

    x: float
    y: float
    z: float
    heading: float


def driving_direction(lane_id: int) -> int:
    """+1 for lanes driven towards larger s (negative ids), -1 for the others."""
    return 1 if lane_id < 0 else -1


class RoadNetwork:
    """Immutable road network; all methods are pure."""

    def __init__(self, roads: list[Road], geo_reference: str = "", source: str = "roads") -> None:
        self.roads = {road.id: road for road in roads}
        self.geo_reference = geo_reference
        self.source = source
        self._check_links()
        self._stations = Stations(self.roads)
        self._samples = Samples(
            [
                Sample(point.x, point.y, road.id, s)
                for road in roads
                for s in _stations(road.length, _SEARCH_STEP)
                for point in (road.line.at(s),)
            ]
        )

    def _check_links(self) -> None:
        """Linked ends must meet, or distances along them would be wrong."""
        for road in self.roads.values():
            for forward in (True, False):
                link = road.link(forward)
                if link is None:
                    continue
                other = self.road(link.road_id)
                here = road.line.at(road.length if forward else 0.0)
                there = other.line.at(0.0 if link.at_start else other.length)
                gap = hypot(here.x - there.x, here.y - there.y)
                if gap > _MAX_LINK_GAP:
                    raise RoadError(
                        f"{self.source}: road {road.id} is linked to road {other.id}, but their "
                        f"ends are {gap:.3f} m apart; at most {_MAX_LINK_GAP:g} m is allowed"
                    )

    @classmethod
    def from_xodr(cls, text: str, source: str = "OpenDRIVE text") -> RoadNetwork:
        """Read an OpenDRIVE text; RoadError names line and element of what is wrong."""
        roads, geo_reference = read_opendrive(text, source)
        return cls(roads, geo_reference, source)

    @classmethod
    def from_file(cls, path: str | Path) -> RoadNetwork:
        """Read an OpenDRIVE file; RoadError if it cannot be read."""
        try:
            text = read_bounded(Path(path), MAX_BYTES).decode("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise RoadError(f"{path}: cannot be read: {error}") from None
        return cls.from_xodr(text, str(path))

    def road(self, road_id: int) -> Road:
        """The road with this id; RoadError if there is none."""
        try:
            return self.roads[road_id]
        except KeyError:
            raise RoadError(
                f"{self.source}: no road {road_id}: there are roads {sorted(self.roads)[:20]}"
            ) from None

    def _on(self, road_id: int, s: float) -> Road:
        road = self.roads.get(road_id) or self.road(road_id)
        if not -_END_TOLERANCE <= s <= road.line.length + _END_TOLERANCE:
            raise RoadError(
                f"{self.source}: s={s!r} is not on road {road_id}: 0 to {road.length!r} is allowed"
            )
        return road

    @property
    def geo_origin(self) -> tuple[float, float] | None:
        """Latitude and longitude [deg] of the map origin from geoReference, if it has them."""
        values = []
        for key in ("lat_0", "lon_0"):
            found = re.search(rf"\+{key}=([-+0-9.eE]+)", self.geo_reference)
            try:
                values.append(float(found.group(1)) if found else None)
            except ValueError:
                values.append(None)
        latitude, longitude = values
        return None if latitude is None or longitude is None else (latitude, longitude)

    def length(self, road_id: int) -> float:
        """Length of a road's reference line [m]."""
        return self.road(road_id).length

    def pose(self, road_id: int, s: float, t: float) -> tuple[float, float, float, float]:
        """(x, y, z, heading) of a place; heading [rad, wrapped] towards larger s."""
        road = self._on(road_id, s)
        x, y, cos, sin, _ = road.line.frame(s)
        return (
            x - t * sin,
            y + t * cos,
            road.elevation.value(s),
            wrap_angle(road.line.heading(s)),
        )

    def slope(self, road_id: int, s: float) -> float:
        """dz/ds of the road towards larger s."""
        return self._on(road_id, s).elevation.slope(s)

    def curvature(self, road_id: int, s: float, t: float = 0.0) -> float:
        """Curvature [1/m] at lateral position t, positive where the road turns left."""
        k = self._on(road_id, s).line.at(s).curvature
        return k / (1.0 - k * t)

    def speed_limit(self, road_id: int, s: float) -> float | None:
        """Speed limit at a station [m/s], None if the road has none."""
        found = None
        for start, limit in self._on(road_id, s).speed_limits:
            if start <= s:
                found = limit
        return found

    def lane_centre(self, road_id: int, lane_id: int, s: float) -> float:
        """Lateral position t of a lane's centre [m]."""
        return self._on(road_id, s).lanes.centre(lane_id, s)

    def lane_width(self, road_id: int, lane_id: int, s: float) -> float:
        """Width of a lane [m]."""
        return self._on(road_id, s).lanes.width(lane_id, s)

    def lane_borders(self, road_id: int, lane_id: int, s: float) -> tuple[float, float]:
        """Lateral positions t of a lane's inner and outer border [m]."""
        return self._on(road_id, s).lanes.borders(lane_id, s)

    def lane_ids(self, road_id: int, s: float, lane_type: str | None = None) -> list[int]:
        """Lanes at a station from right to left, all or those of one type."""
        lanes = self._on(road_id, s).lanes.section(s).lanes
        return sorted(i for i, lane in lanes.items() if lane_type in (None, lane.type))

    def lane_pose(self, road_id: int, lane_id: int, s: float) -> LanePoint:
        """Point of a lane's centre line with the driving direction as heading."""
        x, y, z, heading = self.pose(road_id, s, self.lane_centre(road_id, lane_id, s))
        if lane_id > 0:
            heading = wrap_angle(heading + PI)
        return LanePoint(x, y, z, heading)

    def lane_point(self, road_id: int, lane_id: int, s: float) -> tuple[float, float]:
        """(x, y) of ``lane_pose``, which is all that steering asks for."""
        road = self._on(road_id, s)
        t = road.lanes.centre(lane_id, s)
        x, y, cos, sin, _ = road.line.frame(s)
        return x - t * sin, y + t * cos

    def project(self, x: float, y: float, hint: RoadPosition | None = None) -> RoadPosition:
        """The closest point of the network, seen from above.

        :param hint: an earlier position nearby; makes the search local and quick
        """
        if hint is not None:
            found = self._project_near(x, y, hint.road_id, hint.s)
            if found is not None:
                return found
        best = self._samples.nearest(x, y)
        found = self._project_near(x, y, best.road_id, best.s, limit=1e12)
        if found is None:
            # Next to the centre of a curve there is no foot: take the sample.
            road = self.roads[best.road_id]
            return _position(road, road.line.foot_at(x, y, best.s))
        return found

    def _project_near(
        self, x: float, y: float, road_id: int, s: float, limit: float = _MAX_LATERAL
    ) -> RoadPosition | None:
        """The foot on a road or on those linked to it; None if there is none nearby."""
        road = self.roads[road_id]
        came: bool | None = None
        for _ in range(_MAX_HOPS):
            line = road.line
            foot = line.project(x, y, s)
            if foot is None:
                return None
            s, across, _ = foot
            if 0.0 <= s <= line.length:
                return _position(road, foot) if -limit < across < limit else None
            forward = s > 0.0
            overshoot = s - line.length if forward else -s
            link = road.link(forward)
            # The end of a way, or before one road and behind the other.
            if link is None or (came is not None and forward != came):
                if overshoot > limit:
                    return None
                return _position(road, line.foot_at(x, y, line.length if forward else 0.0))
            road = self.roads[link.road_id]
            came = link.at_start
            overshoot = min(overshoot, road.line.length)
            s = overshoot if came else road.line.length - overshoot
        return None

    def distance(self, a: RoadPosition, b: RoadPosition) -> float:
        """Way from a to b along the road at their mean lateral position [m].

        Positive if b lies towards larger s of a's road. In a curve the way at lateral position
        t is shorter or longer than the reference line's by t times the angle turned.

        :raises RoadError: the roads of a and b are not linked
        """
        return self._stations.distance(self.roads, a.road_id, a.s, a.t, b.road_id, b.s, b.t)

    def advance(
        self, road_id: int, lane_id: int, s: float, distance: float
    ) -> tuple[int, int, float]:
        """(road, lane, s) after ``distance`` >= 0 in the driving direction of a lane.

        Measured on the reference line; follows lane links, stops at the end of the lane.
        """
        road = self._on(road_id, s)
        for _ in range(10_000):
            forward = lane_id < 0
            section = road.lanes.section(s)
            room = section.end - s if forward else s - section.start
            if distance <= room:
                return road.id, lane_id, s + distance if forward else s - distance
            following = self._next_section(road, lane_id, s)
            if following is None:
                break
            distance -= room
            road, lane_id, s = following
        return road.id, lane_id, section.end if forward else section.start

    def _next_section(self, road: Road, lane_id: int, s: float) -> tuple[Road, int, float] | None:
        """Where a lane goes on behind its section: road, lane, station (inside the section)."""
        forward = lane_id < 0
        lanes = road.lanes
        i = lanes.index(s)
        lane = lanes.sections[i].lanes[lane_id]
        linked = lane.successor if forward else lane.predecessor
        j = i + 1 if forward else i - 1
        if 0 <= j < len(lanes.sections):
            if linked is None or linked not in lanes.sections[j].lanes:
                return None
            start = lanes.sections[j].start
            return road, linked, start if forward else _just_below(lanes.sections[j].end)
        link = road.link(forward)
        if link is None or linked is None:
            return None
        road = self.roads[link.road_id]
        station = 0.0 if link.at_start else road.length
        if linked not in road.lanes.section(station).lanes or (linked < 0) != link.at_start:
            return None
        return road, linked, station

    def centre_line(self, road_id: int, lane_id: int, step: float = 5.0) -> list[LanePoint]:
        """Points of a lane's centre line in driving direction, where the lane exists."""
        road = self.road(road_id)
        stations = [
            s for s in _stations(road.length, step) if lane_id in road.lanes.section(s).lanes
        ]
        if lane_id > 0:
            stations.reverse()
        return [self.lane_pose(road_id, lane_id, s) for s in stations]

    def border_line(
        self, road_id: int, lane_id: int, step: float = 5.0, outer: bool = True
    ) -> list[tuple[float, float, float]]:
        """Points (x, y, z) of a lane's outer or inner border towards larger s."""
        road = self.road(road_id)
        points = []
        for s in _stations(road.length, step):
            if lane_id in road.lanes.section(s).lanes:
                t = road.lanes.borders(lane_id, s)[1 if outer else 0]
                points.append(self.pose(road_id, s, t)[:3])
        return points

    def spawn_points(self, step: float = 50.0, margin: float = 10.0) -> list[LanePoint]:
        """Poses on all driving lanes, road by road, lane by lane."""
        return [
            self.lane_pose(road.id, lane_id, s)
            for road in self.roads.values()
            for lane_id in self.lane_ids(road.id, 0.0, "driving")
            for s in _stations(road.length, step)
            if margin <= s <= road.length - margin and lane_id in road.lanes.section(s).lanes
        ]


def lateral_error(network: RoadNetwork, position: RoadPosition, lane_id: int) -> float:
    """Distance of a position from the centre of a lane [m], positive to the lane's left."""
    error = position.t - network.lane_centre(position.road_id, lane_id, position.s)
    return error if lane_id < 0 else -error


def _position(road: Road, foot: Foot) -> RoadPosition:
    s, t, heading = foot
    return RoadPosition(road.id, s, t, road.lanes.lane_at(s, t), wrap_angle(heading))


def _stations(length: float, step: float) -> list[float]:
    """0, step, 2 step, ... and the end."""
    count = int(length / step)
    stations = [i * step for i in range(count + 1)]
    if length - stations[-1] > 1e-6:
        stations.append(length)
    return stations


def _just_below(s: float) -> float:
    """A station inside the section that ends at s."""
    return s - 1e-9 * max(1.0, s)
