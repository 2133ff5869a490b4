# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Roads linked into a network: places on it, the way from map coordinates to lanes and back.

The map frame is right-handed (OpenDRIVE's own, ROS ``map``); CARLA's is mirrored in y. A
place is (road, s, t): s [m] along the reference line, t [m] to its left.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from math import isnan
from pathlib import Path
from typing import Final, NamedTuple

from ros2_cosim.core.documents.files import cause_of, read_bounded
from ros2_cosim.core.documents.xml_reader import MAX_BYTES
from ros2_cosim.core.kernel.exactmath import PI, atan2, hypot, wrap_angle
from ros2_cosim.core.kernel.named_tuples import NEW
from ros2_cosim.world.map.elements import RoadError
from ros2_cosim.world.map.lanes import OFF_ROAD
from ros2_cosim.world.map.nearest import MAX_RINGS, RoadIndex, reached
from ros2_cosim.world.map.nearest import stations as _stations
from ros2_cosim.world.map.opendrive import SPEED_UNITS, Road, RoadMap, read_opendrive
from ros2_cosim.world.map.plan_view import Foot
from ros2_cosim.world.map.routes import Routes
from ros2_cosim.world.map.signals import MAX_LANES, SPEED_LIMIT, LaneRange, Signal, holds_for
from ros2_cosim.world.map.stations import Stations

_MAX_HOPS: Final = 20
# A hint is given up when the point is this far from the road it names.
_MAX_LATERAL: Final = 50.0
_END_TOLERANCE: Final = 1e-6
_MAX_LINK_GAP: Final = 0.1
# A road so much above or below a point [m] may still be the one that the point is on.
_LEVEL_TOLERANCE: Final = 2.0
# Ranks roads without driving lanes behind all others that hold a point [m].
_NO_DRIVING: Final = 1.0e6
# Spawn points are on lanes of at least this width, on roads of at least this length [m].
_MIN_SPAWN_WIDTH: Final = 2.0
_MIN_SPAWN_ROAD: Final = 8.0
_ROADRUNNER = "VectorZero"
_SPEED_SIGN = re.compile(r"sp+e+d_?(?:limit)?(\d+)", re.IGNORECASE)
_FAST = 70.0 / 3.6 + 1e-6  # m/s


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


#: Compiled, a constant of the module need not be looked for.
_POSITION: Final = RoadPosition


class LanePoint(NamedTuple):
    """A point of a lane's centre line; ``heading`` [rad] is the driving direction."""

    x: float
    y: float
    z: float
    heading: float


class SpawnPoint(NamedTuple):
    """A place for a vehicle: point of a lane, driving direction, and dz per metre along it."""

    x: float
    y: float
    z: float
    heading: float
    slope: float


class LaneStretch(NamedTuple):
    """A lane within one section of a road, as far as a way goes along it.

    The way enters it at station ``s``, ``way`` [m] behind its start, and goes ``length`` [m] in the
    lane's driving direction.
    """

    road_id: int
    lane_id: int
    s: float
    way: float
    length: float


class BesideLane(NamedTuple):
    """A point as seen from a lane that is followed.

    ``way`` [m] along the roads to the point's foot, ``left`` [m] of the lane's centre, and the
    driving direction there.
    """

    way: float
    left: float
    cos: float
    sin: float


def driving_direction(lane_id: int) -> int:
    """+1 for lanes driven towards larger s (negative ids), -1 for the others."""
    return 1 if lane_id < 0 else -1


class RoadNetwork:
    """Immutable road network; all methods are pure."""

    def __init__(self, content: RoadMap, source: str = "roads") -> None:
        self._content = content
        self.roads = {road.id: road for road in content.roads}
        self.junctions = {junction.id: junction for junction in content.junctions}
        #: Whether vehicles know limits from signs alone, as in CARLA's towns: those of RoadRunner
        #: name speeds of roads that CARLA does not use, and signs as objects.
        self.has_limits_by_signs = content.vendor == _ROADRUNNER
        signals = list(content.signals)
        for road in content.roads if self.has_limits_by_signs else ():
            signals += _named_signs(road)
        self.signals = {signal.id: signal for signal in signals}
        self.signal_references = content.signal_references
        self.controllers = {controller.id: controller for controller in content.controllers}
        self.geo_reference = content.geo_reference
        #: What of the file was passed over, one line for each kind.
        self.notes = content.notes
        self.source = source
        self._check_links()
        self._stations = Stations(self.roads)
        self._routes = Routes(self.roads, content.junctions)
        self._index = RoadIndex(content.roads)
        self._speed_signs: dict[int, list[tuple[float, tuple[LaneRange, ...], float]]] = {}
        for signal in signals:
            if signal.type == SPEED_LIMIT and signal.value > 0.0:
                limit = signal.value * SPEED_UNITS.get(signal.unit, SPEED_UNITS["km/h"])
                sign = signal.s, signal.lanes or _sides(signal.orientation), limit
                self._speed_signs.setdefault(signal.road_id, []).append(sign)

    def _check_links(self) -> None:
        """Linked ends must meet, or distances along them would be wrong."""
        for road in self.roads.values():
            for forward in (True, False):
                link = road.link(forward)
                # At junctions lanes meet, not roads as a whole.
                if link is None or road.junction is not None:
                    continue
                other = self.road(link.road_id)
                gap = _gap(road, forward, other, link.at_start)
                if other.junction is None and gap > _MAX_LINK_GAP:
                    raise RoadError(
                        f"{self.source}: road {road.id} is linked to road {other.id}, but their "
                        f"ends are {gap:.3f} m apart; at most {_MAX_LINK_GAP:g} m is allowed"
                    )

    @classmethod
    def from_xodr(cls, text: str, source: str = "OpenDRIVE text") -> RoadNetwork:
        """Read an OpenDRIVE text; RoadError names line and element of what is wrong."""
        return cls(read_opendrive(text, source), source)

    @classmethod
    def from_file(cls, path: str | Path) -> RoadNetwork:
        """Read an OpenDRIVE file; RoadError if it cannot be read."""
        try:
            text = read_bounded(Path(path), MAX_BYTES).decode("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise RoadError(f"{path}: cannot be read: {cause_of(error)}") from None
        return cls.from_xodr(text, str(path))

    def along(self, route: Sequence[int]) -> RoadNetwork:
        """The same roads, where ways go along a route in junctions, and else straight on.

        :param route: roads one after the other, without those inside junctions
        :raises ConfigurationError: one of them does not lead to the next one
        """
        if not route:
            return self
        for road_id in route:
            self.road(road_id)
        routed = RoadNetwork(self._content, self.source)
        routed._routes = self._routes.along(route)
        return routed

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
            road.surface(s, t)[0],
            wrap_angle(road.line.heading(s)),
        )

    def slope(self, road_id: int, s: float) -> float:
        """dz/ds of the road towards larger s."""
        return self._on(road_id, s).elevation.slope(s)

    def curvature(self, road_id: int, s: float, t: float = 0.0) -> float:
        """Curvature [1/m] at lateral position t, positive where the road turns left."""
        k = self._on(road_id, s).line.at(s).curvature
        return k / (1.0 - k * t)

    def speed_limit(self, road_id: int, s: float, lane_id: int = -1) -> float | None:
        """Speed limit for a lane at a station [m/s], None if the road has none.

        The last sign passed on this road; without one what the road itself says.
        """
        found: float | None = None
        for start, limit in self._on(road_id, s).speed_limits:
            if start <= s:
                found = limit
        passed = self.sign_passed(road_id, s, lane_id)
        return found if passed is None else passed

    def sign_passed(self, road_id: int, s: float, lane_id: int) -> float | None:
        """The limit of the last speed sign before a place on its road [m/s], None without one."""
        found: float | None = None
        nearest: float | None = None
        for at, lanes, limit in self._speed_signs.get(road_id, []):
            passed = s - at if lane_id < 0 else at - s
            if passed >= 0.0 and holds_for(lanes, lane_id):
                if nearest is None or passed < nearest:
                    nearest, found = passed, limit
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
        road = self._on(road_id, s)
        t = road.lanes.centre(lane_id, s)
        x, y, z, heading = self.pose(road_id, s, t)
        slope = road.lanes.centre_slope(lane_id, s)
        if slope != 0.0:
            stretch = 1.0 - road.line.at(s).curvature * t
            heading = wrap_angle(heading + atan2(slope, stretch))
        if lane_id > 0:
            heading = wrap_angle(heading + PI)
        return LanePoint(x, y, z, heading)

    def lane_point(self, road_id: int, lane_id: int, s: float) -> tuple[float, float]:
        """(x, y) of ``lane_pose``, which is all that steering asks for."""
        road = self._on(road_id, s)
        t = road.lanes.centre(lane_id, s)
        x, y, cos, sin, _ = road.line.frame(s)
        return x - t * sin, y + t * cos

    def project(
        self, x: float, y: float, hint: RoadPosition | None = None, z: float | None = None
    ) -> RoadPosition:
        """The road below or beside a point, and the point's place on it, seen from above.

        Of several roads that hold the point in a lane (in junctions) the one with the nearest
        centre of a driving lane; outside all lanes the road with the nearest lane.

        :param hint: an earlier position nearby; makes the search local and quick. The road
            and its straightest continuation are kept as long as the point is in their lanes.
        :param z: height of the point [m], tells a bridge from the road below it; only needed
            where there is no hint
        """
        near = None
        if hint is not None:
            near = self._project_near(x, y, hint)
            if near is not None and near.lane_id != OFF_ROAD:
                return near
        found = self._project_anywhere(x, y, z)
        # From a hint the foot is the better known one, if both mean the same road.
        return near if near is not None and near.road_id == found.road_id else found

    def _project_anywhere(self, x: float, y: float, z: float | None) -> RoadPosition:
        best: tuple[tuple[float, float], RoadPosition] | None = None
        for number in range(MAX_RINGS + 1):
            for _, _, road_id, s in self._index.ring(x, y, number):
                candidate = self._candidate(x, y, z, road_id, s)
                if best is None or candidate[0] < best[0]:
                    best = candidate
            if best is not None and best[0][0] <= reached(x, y, number):
                return best[1]
        if best is None:
            _, _, road_id, s = self._index.all_around(x, y)
            best = self._candidate(x, y, z, road_id, s)
        return best[1]

    def _candidate(
        self, x: float, y: float, z: float | None, road_id: int, s: float
    ) -> tuple[tuple[float, float], RoadPosition]:
        """The place on one road near a station, behind its rank (the lower the better)."""
        road = self.roads[road_id]
        line = road.line
        # Next to the centre of a curve there is no foot: take the station.
        foot = line.project(x, y, s)
        if isnan(foot[0]):
            foot = line.foot_at(x, y, s)
        along = 0.0
        if not 0.0 <= foot[0] <= line.length:
            end = 0.0 if foot[0] < 0.0 else line.length
            px, py, cos, sin, _ = line.frame(end)
            along = (x - px) * cos + (y - py) * sin
            foot = line.foot_at(x, y, end)
        found = _position(road, foot)
        right, left = road.lanes.edges(found.s)
        outside = hypot(along, max(found.t - left, right - found.t, 0.0))
        if z is not None:
            off_level = abs(road.surface(found.s, found.t)[0] - z)
            outside += max(off_level - _LEVEL_TOLERANCE, 0.0)
        off_centre = road.lanes.off_centre(found.s, found.t, "driving")
        return (outside, _NO_DRIVING if off_centre is None else off_centre), found

    def _project_near(self, x: float, y: float, hint: RoadPosition) -> RoadPosition | None:
        """The foot on a road or on those that follow it; None if there is none nearby."""
        road_id, s, _, lane_id, _ = hint
        road = self.roads[road_id]
        came: bool | None = None
        for _ in range(_MAX_HOPS):
            line = road.line
            s, across, heading = line.project(x, y, s)
            if isnan(s):
                return None
            if 0.0 <= s <= line.length:
                near = -_MAX_LATERAL < across < _MAX_LATERAL
                return _position(road, (s, across, heading)) if near else None
            forward = s > 0.0
            excess = s - line.length if forward else -s
            onward = self._onward(road, forward, lane_id)
            # The end of a way, or before one road and behind the other.
            if onward is None or (came is not None and forward != came):
                if excess > _MAX_LATERAL:
                    return None
                return _position(road, line.foot_at(x, y, line.length if forward else 0.0))
            road_id, came = onward
            road = self.roads[road_id]
            excess = min(excess, road.line.length)
            s = excess if came else road.line.length - excess
        return None

    def _onward(self, road: Road, forward: bool, lane_id: int) -> tuple[int, bool] | None:
        """The road behind an end, and whether its start is met; in a junction the straightest."""
        link = road.link(forward)
        if link is not None:
            return link.road_id, link.at_start
        for turn in self._routes.turns(road.id, forward):
            if lane_id in turn.lanes:
                return turn.road_id, turn.at_start
        return None

    def distance(self, a: RoadPosition, b: RoadPosition) -> float:
        """Way from a to b along the roads at their mean lateral position [m].

        Positive if b lies towards larger s of a's road. In a curve the way at lateral position
        t is shorter or longer than the reference line's by t times the angle turned. Through
        junctions it is the shortest way in the driving directions of the lanes, of at most
        ``routes.MAX_WAY``.

        :raises RoadError: the roads of a and b are not linked
        """
        if not self.junctions:
            return self._stations.distance(a.road_id, a.s, a.t, b.road_id, b.s, b.t)
        # b ahead of a, and b behind a.
        found: list[float] = []
        for along in _directions(a.lane_id):
            ahead = self._way(a, b, along)
            if ahead is not None:
                found.append(ahead[0] if along else -ahead[0])
        for along in _directions(b.lane_id):
            behind = self._way(b, a, along)
            if behind is not None:
                found.append(-behind[0] if behind[1] else behind[0])
        if not found:
            raise RoadError(
                f"roads {a.road_id} and {b.road_id} are not linked: no distance between them"
            )
        return min(found, key=abs)

    def _way(self, a: RoadPosition, b: RoadPosition, along: bool) -> tuple[float, bool] | None:
        """Way from a to b, which leaves a in a direction, and the direction it comes to b in."""
        found = self._routes.way(a.road_id, a.s, along, b.road_id, b.s)
        if found is None:
            return None
        length, turn, arrives_along = found
        lateral = 0.5 * ((a.t if along else -a.t) + (b.t if arrives_along else -b.t))
        return length - lateral * turn, arrives_along

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
        return self._routes.lane_onward(road, lane_id)

    def lanes_onward(self, road_id: int, lane_id: int) -> list[tuple[int, int, float]]:
        """(road, lane, s) of all lanes that a lane leads to behind the end of its road."""
        found = self._routes.lanes_onward(self.road(road_id), lane_id)
        return [(road.id, lane, s) for road, lane, s in found]

    def lane_ahead(
        self, road_id: int, lane_id: int, s: float, distance: float
    ) -> tuple[LaneStretch, ...]:
        """The stretches that ``advance`` goes along."""
        road = self._on(road_id, s)
        found = []
        way = 0.0
        for _ in range(10_000):
            section = road.lanes.section(s)
            room = section.end - s if lane_id < 0 else s - section.start
            length = min(room, distance - way)
            found.append(LaneStretch(road.id, lane_id, s, way, length))
            way += length
            following = self._next_section(road, lane_id, s) if way < distance else None
            if following is None:
                break
            road, lane_id, s = following
        return tuple(found)

    def beside_lane(
        self, start: RoadPosition, lane_id: int, x: float, y: float, reach: float
    ) -> BesideLane | None:
        """A point (x, y) as seen from a lane that is followed from a place on.

        :param lane_id: the lane there; it need not be the one that holds the place
        :param reach: how far the lane is followed [m]
        :returns: None: no foot of the point is on this way
        """
        best: BesideLane | None = None
        for road_id, lane, s, way, length in self.lane_ahead(
            start.road_id, lane_id, start.s, reach
        ):
            direction = driving_direction(lane)
            road = self.roads[road_id]
            foot = road.line.project(x, y, s + 0.5 * direction * length)
            along = direction * (foot[0] - s)
            if not -_END_TOLERANCE <= along <= length + _END_TOLERANCE:
                continue
            at = min(max(foot[0], 0.0), road.length)
            left = direction * (foot[1] - road.lanes.centre(lane, at))
            if best is None or abs(left) < abs(best.left):
                _, _, cos, sin, _ = road.line.frame(at)
                best = BesideLane(way + along, left, direction * cos, direction * sin)
        return best

    def lane_before(self, road_id: int, lane_id: int) -> tuple[int, int, float] | None:
        """(road, lane, s) of the end of the lane that leads onto a lane of a road.

        None: there is no road before, or several come together in a junction.
        """
        found = self._routes.lane_before(self.road(road_id), lane_id)
        return None if found is None else (found[0].id, found[1], found[2])

    def lanes_before(self, road_id: int, lane_id: int) -> list[tuple[int, int, float]]:
        """(road, lane, s) of the ends of all lanes that lead onto a lane of a road."""
        before = self.lane_before(road_id, lane_id)
        junction = self.road(road_id).junction_at(lane_id > 0)
        if before is not None or junction is None:
            return [] if before is None else [before]
        return [
            (road.id, lane, end)
            for road in self.roads.values()
            if road.junction == junction
            for end in (0.0, road.length)
            for lane in self.lane_ids(road.id, end, "driving")
            if (lane < 0) == (end > 0.0)
            and any(to[:2] == (road_id, lane_id) for to in self.lanes_onward(road.id, lane))
        ]

    def signal_pose(self, signal_id: str) -> tuple[float, float, float, float]:
        """(x, y, z, heading) of a signal; RoadError if there is none of this id."""
        signal = self.signals.get(signal_id)
        if signal is None:
            raise RoadError(f"{self.source}: no signal {signal_id!r}")
        s = min(max(signal.s, 0.0), self.length(signal.road_id))
        x, y, z, heading = self.pose(signal.road_id, s, signal.t)
        return x, y, z + signal.z_offset, wrap_angle(heading + signal.h_offset)

    def centre_line(self, road_id: int, lane_id: int, step: float = 5.0) -> list[LanePoint]:
        """Points of a lane's centre line in driving direction, where the lane exists."""
        road = self.road(road_id)
        stations = [
            s for s in _stations(road.length, step) if lane_id in road.lanes.section(s).lanes
        ]
        if lane_id > 0:
            stations.reverse()
        return [self.lane_pose(road_id, lane_id, s) for s in stations]

    def spawn_points(
        self, step: float = 50.0, margin: float = 10.0, fast: float | None = None
    ) -> list[SpawnPoint]:
        """Poses on all driving lanes outside junctions, road by road, lane by lane.

        On roads that are shorter than two margins in their middle.

        :param step: way from one to the next [m]
        :param fast: the same on roads faster than 70 km/h; None: the same
        """
        points = []
        for road in self.roads.values():
            if road.junction is not None or road.length < _MIN_SPAWN_ROAD:
                continue
            is_fast = any(limit > _FAST for _, limit in road.speed_limits)
            space = fast if fast is not None and is_fast else step
            places = [
                s for s in _stations(road.length, space) if margin <= s <= road.length - margin
            ]
            places = places or [0.5 * road.length]
            ids = sorted({i for section in road.lanes.sections for i in section.lanes})
            points += [
                SpawnPoint(
                    *self.lane_pose(road.id, lane_id, s),
                    driving_direction(lane_id) * self.slope(road.id, s),
                )
                for lane_id in ids
                for s in places
                if self._is_spacious(road, lane_id, s)
            ]
        return points

    @staticmethod
    def _is_spacious(road: Road, lane_id: int, s: float) -> bool:
        section = road.lanes.section(s)
        lane = section.lanes.get(lane_id)
        return (
            lane is not None
            and lane.type == "driving"
            and section.width(lane_id, s) >= _MIN_SPAWN_WIDTH
        )


def lateral_error(network: RoadNetwork, position: RoadPosition, lane_id: int) -> float:
    """Distance of a position from the centre of a lane [m], positive to the lane's left."""
    error = position.t - network.lane_centre(position.road_id, lane_id, position.s)
    return error if lane_id < 0 else -error


def _gap(road: Road, forward: bool, other: Road, at_start: bool) -> float:
    """Distance of the ends of two roads: of their reference lines, or of lanes that are linked."""
    here, there = (road.length if forward else 0.0), (0.0 if at_start else other.length)
    x, y, cos, sin, _ = road.line.frame(here)
    u, v, other_cos, other_sin, _ = other.line.frame(there)
    gap = hypot(x - u, y - v)
    other_lanes = other.lanes.section(there).lanes
    for lane in road.lanes.section(here).lanes.values():
        linked = lane.successor if forward else lane.predecessor
        if linked in other_lanes:
            t, other_t = road.lanes.centre(lane.id, here), other.lanes.centre(linked, there)
            dx = x - t * sin - (u - other_t * other_sin)
            dy = y + t * cos - (v + other_t * other_cos)
            gap = min(gap, hypot(dx, dy))
    return gap


def _position(road: Road, foot: Foot) -> RoadPosition:
    s, t, heading = foot
    return NEW(_POSITION, (road.id, s, t, road.lanes.lane_at(s, t), wrap_angle(heading)))


def _named_signs(road: Road) -> Iterator[Signal]:
    """The speed signs that a map has among its objects, which hold for their side of the road."""
    for thing in road.objects:
        named = _SPEED_SIGN.match(thing.name)
        if named is not None:
            yield Signal(
                f"object {thing.id}", thing.name, road.id, thing.s, thing.t, 0.0, thing.heading,
                0.0, 0.0, "-" if thing.t > 0.0 else "+", False, "", SPEED_LIMIT, "-1",
                float(named[1]), "km/h", "", 0.0, 0.0, (),
            )  # fmt: skip


def _sides(orientation: str) -> tuple[LaneRange, ...]:
    """The lanes that a signal without lanes holds for."""
    return {"+": ((-MAX_LANES, -1),), "-": ((1, MAX_LANES),)}.get(orientation, ())


def _directions(lane_id: int) -> tuple[bool, ...]:
    """The directions in which a lane is driven; outside all lanes both."""
    return (True, False) if lane_id == OFF_ROAD else (lane_id < 0,)


def _just_below(s: float) -> float:
    """A station inside the section that ends at s."""
    return s - 1e-9 * max(1.0, s)
