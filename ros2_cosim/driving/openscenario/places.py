# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Positions of OpenSCENARIO as places on the roads of the map."""

from __future__ import annotations

from collections.abc import Callable
from math import pi
from typing import Final, NamedTuple

from ros2_cosim.core.kernel.exactmath import cos, sin, wrap_angle
from ros2_cosim.driving.openscenario.document import (
    Element,
    Findings,
    FollowingError,
    declared,
)
from ros2_cosim.world.map import (
    OFF_ROAD,
    RoadError,
    RoadNetwork,
    RoadPosition,
    driving_direction,
)
from ros2_cosim.world.map.lane_routes import Stretch, lane_route, place_on

#: A heading across the lane [rad].
_ACROSS: Final = 0.5 * pi
#: A heading may be so much further from that of the lane than across it [rad].
_ALONG: Final = 0.35


class Spot(NamedTuple):
    """A place on a road: ``lane`` and the offset [m] of its centre, positive towards larger t."""

    road: int
    lane: int
    s: float
    offset: float


class Places:
    """Positions on one map."""

    def __init__(
        self, network: RoadNetwork, findings: Findings, catalogues: Callable[[Element], Element]
    ) -> None:
        """:param catalogues: from a CatalogReference to the entry"""
        self.network = network
        self._findings = findings
        self._catalogues = catalogues
        #: From a TrajectoryPosition to its point; set by what reads trajectories.
        self.on_trajectory: Callable[[Element], tuple[float, float]] | None = None
        #: Where the vehicles start, as far as known, and where they head [rad].
        self.starts: dict[str, Spot] = {}
        self.headings: dict[str, float] = {}

    def point(self, spot: Spot) -> tuple[float, float]:
        """(x, y) of a place."""
        network = self.network
        t = network.lane_centre(spot.road, spot.lane, spot.s) + spot.offset
        x, y, _, _ = network.pose(spot.road, spot.s, t)
        return x, y

    def moved(self, spot: Spot, way: float) -> Spot:
        """The place so far ahead [m] in the driving direction of the lane.

        :raises RoadError: there is no such lane
        """
        if way >= 0.0:
            road, lane, s = self.network.advance(spot.road, spot.lane, spot.s, way)
            return Spot(road, lane, s, spot.offset)
        s = spot.s + driving_direction(spot.lane) * way
        return spot._replace(s=min(max(s, 0.0), self.network.length(spot.road)))

    def find(self, position: Element) -> Spot:
        """The place of an element ``Position``.

        :raises ConfigurationError: it is of a kind that is not supported, or not on a road
        """
        kind = position.choice()
        maker = _MAKERS.get(kind.tag)
        if maker is None:
            raise kind.error(f"not supported; supported are {', '.join(_MAKERS)}")
        orientation = kind.find("Orientation")
        if orientation is not None:
            orientation.number("h", 0.0)  # where but the point counts, it says nothing
            orientation.text("type", "absolute")
        try:
            spot = maker(self, kind)
            self.network.lane_width(spot.road, spot.lane, spot.s)
        except RoadError as error:
            raise kind.error(str(error)) from None
        return spot

    def standing_at(self, position: Element) -> tuple[Spot, float]:
        """The place of what need not stand in a lane, and how far it is turned from the lane's
        direction [rad].

        :raises ConfigurationError: it is of a kind that is not supported, or not on a road
        """
        kind = position.choice()
        if kind.tag == "WorldPosition":
            spot = self.at_point(kind.number("x"), kind.number("y"))
        else:
            spot = self.find(position)
        return spot, self.turned(kind, spot)

    def start_of_vehicle(self, position: Element) -> tuple[Spot, float]:
        """The place that a vehicle starts at, and how far it is turned from the lane's direction
        [rad]; the lane is one whose direction is about its own, where there is one.

        :raises ConfigurationError: as :meth:`find`
        """
        kind = position.choice()
        spot = self.find(position)
        if kind.tag == "WorldPosition" and not kind.has("h"):
            return spot, 0.0
        off = self.turned(kind, spot)
        orientation = kind.find("Orientation")
        if spot.lane > 0 and kind.tag in _OF_THE_ROAD and orientation is not None:
            # Relative to the road, or to the lane driven the other way: files do both.
            relative = orientation.text("type", "absolute") == "relative"
            off = min(off, wrap_angle(off + pi), key=abs) if relative else off
        return self.facing(spot, off)

    def facing(self, spot: Spot, off: float) -> tuple[Spot, float]:
        """A place and how far it is turned from the direction of its lane [rad], in a lane that
        leads where it heads, if there is one.
        """
        if abs(off) <= _ACROSS + _ALONG:
            return spot, off
        network = self.network
        t = network.lane_centre(spot.road, spot.lane, spot.s) + spot.offset
        lanes = [
            lane
            for lane in network.lane_ids(spot.road, spot.s, "driving")
            if (lane < 0) != (spot.lane < 0)
        ]
        if not lanes:
            return spot, off  # it drives against the lane
        lane = min(lanes, key=lambda i: abs(network.lane_centre(spot.road, i, spot.s) - t))
        offset = t - network.lane_centre(spot.road, lane, spot.s)
        return Spot(spot.road, lane, spot.s, offset), wrap_angle(off + pi)

    def turned(self, kind: Element, spot: Spot) -> float:
        """How far a position is turned from the direction of its lane [rad]."""
        lane_heading = self.network.lane_pose(spot.road, spot.lane, spot.s).heading
        if kind.tag == "WorldPosition":
            return wrap_angle(kind.number("h", 0.0) - lane_heading)
        orientation = kind.find("Orientation")
        relative = orientation is None or orientation.text("type", "absolute") == "relative"
        heading = 0.0 if orientation is None else orientation.number("h", 0.0)
        if kind.tag == "RelativeObjectPosition" and relative:
            other = self.headings.get(kind.text("entityRef"), lane_heading)
            return wrap_angle(other + heading - lane_heading)
        if orientation is None:
            return 0.0
        if not relative:
            return wrap_angle(heading - lane_heading)
        # That of lanes driven the other way is against the road's.
        against = spot.lane > 0 and kind.tag in _OF_THE_ROAD
        return wrap_angle(heading + pi) if against else wrap_angle(heading)

    def at_point(self, x: float, y: float) -> Spot:
        """The place of a point, seen from the nearest lane."""
        found = self.network.project(x, y)
        return self.on_road(found.road_id, found.s, found.t)

    def anywhere(self) -> tuple[float, float, float]:
        """(x, y, heading) of a place on the map."""
        road = min(self.network.roads)
        x, y, _, heading = self.network.pose(road, 0.0, 0.0)
        return x, y, heading

    def on_road(self, road: int, s: float, t: float) -> Spot:
        """The place at a station and a lateral position, in the lane that is there."""
        network = self.network
        lane = network.road(road).lanes.lane_at(s, t)
        if lane == OFF_ROAD:
            lanes = network.lane_ids(road, s, "driving")
            if not lanes:
                raise RoadError(f"road {road}: no driving lane at s={s:g} m")
            lane = min(lanes, key=lambda i: abs(network.lane_centre(road, i, s) - t))
        return Spot(road, lane, s, t - network.lane_centre(road, lane, s))

    def near(self, element: Element, x: float, y: float) -> Spot:
        """The place at a point.

        :raises ConfigurationError: it is in no lane
        """
        found = self.network.project(x, y)
        if found.lane_id == OFF_ROAD:
            raise element.error(f"found ({x:g}, {y:g}), which is in no lane of the map")
        return self.on_road(found.road_id, found.s, found.t)

    def way(self, holder: Element) -> list[Stretch]:
        """The way of a Route, or of one that a CatalogReference names.

        :raises ConfigurationError: a place of it is not on a road, or does not lead to the next
        """
        route = self.route(holder)
        points = route.each("Waypoint")
        if len(points) < 2:
            raise route.error(f"found {len(points)} Waypoint; allowed are 2 and more")
        spots = [self.find(point.one("Position")) for point in points]
        found: list[Stretch] = []
        for point, here, there in zip(points[1:], spots, spots[1:], strict=False):
            start = Stretch(here.road, here.lane, here.s)
            part = lane_route(self.network, start, Stretch(there.road, there.lane, there.s))
            if part is None:
                raise point.error(
                    f"found road {there.road}, lane {there.lane}, s={there.s:g}; no lane leads "
                    f"there from road {here.road}, lane {here.lane}, s={here.s:g} without a change"
                )
            found += part if not found else part[1:]
        return found

    def route(self, holder: Element) -> Element:
        """A Route, or the one that a CatalogReference names."""
        route = holder.find("Route")
        if route is None:
            route = self._catalogues(holder.one("CatalogReference"))
        else:
            route = route.within(declared(route, {}))
        if route.flag("closed", False):
            raise route.error("closed: found true; supported is false")
        for point in route.each("Waypoint"):
            if point.text("routeStrategy", "shortest") != "shortest":
                self._findings.notes.append(
                    f"{point.place}: routeStrategy has no effect: routes are the shortest way"
                )
        return route

    # Kinds of positions ------------------------------------------------------------------

    def _world(self, kind: Element) -> Spot:
        x, y = kind.number("x"), kind.number("y")
        z = kind.number("z") if kind.has("z") else None
        kind.number("h", 0.0)  # where but the point counts, it says nothing
        found = self.network.project(x, y, None, z)
        if found.lane_id == OFF_ROAD:
            raise kind.error(f"found ({x:g}, {y:g}), which is in no lane of the map")
        return self.on_road(found.road_id, found.s, found.t)

    def _lane(self, kind: Element) -> Spot:
        road, lane, s = kind.whole("roadId"), kind.whole("laneId"), kind.number("s")
        offset = kind.number("offset", 0.0)
        # Lane 0 is the line from which lanes are counted.
        return Spot(road, lane, s, offset) if lane else self.on_road(road, s, offset)

    def _road(self, kind: Element) -> Spot:
        return self.on_road(kind.whole("roadId"), kind.number("s"), kind.number("t"))

    def _start_of(self, kind: Element) -> Spot:
        name = kind.text("entityRef")
        if name not in self.starts and self._findings.faults:
            raise FollowingError(name)
        if name not in self.starts:
            raise kind.error(
                f"entityRef: found '{name}', whose place is not known yet; known are "
                + (", ".join(self.starts) or "none")
            )
        return self.starts[name]

    def _relative_lane(self, kind: Element) -> Spot:
        start = self._start_of(kind)
        way = kind.number("ds") if kind.has("ds") else kind.number("dsLane", 0.0)
        ahead = self.moved(start._replace(offset=0.0), way)
        direction = float(driving_direction(start.lane))
        lane = neighbour(ahead.lane, kind.whole("dLane"), direction)
        return ahead._replace(lane=lane, offset=kind.number("offset", 0.0))

    def _relative_road(self, kind: Element) -> Spot:
        start = self._start_of(kind)
        t = self.network.lane_centre(start.road, start.lane, start.s) + start.offset
        direction = driving_direction(start.lane)
        return self.on_road(
            start.road, start.s + direction * kind.number("ds"), t + direction * kind.number("dt")
        )

    def _relative_object(self, kind: Element) -> Spot:
        start = self._start_of(kind)
        dx, dy = kind.number("dx"), kind.number("dy")
        if kind.tag == "RelativeObjectPosition":
            lane_heading = self.network.lane_pose(start.road, start.lane, start.s).heading
            heading = self.headings.get(kind.text("entityRef"), lane_heading)
            c, s = cos(heading), sin(heading)
            dx, dy = dx * c - dy * s, dx * s + dy * c
        x, y = self.point(start)
        hint = RoadPosition(start.road, start.s, 0.0, start.lane, 0.0)
        found = self.network.project(x + dx, y + dy, hint)
        return self.on_road(found.road_id, found.s, found.t)

    def _on_trajectory(self, kind: Element) -> Spot:
        assert self.on_trajectory is not None
        return self.near(kind, *self.on_trajectory(kind))

    def _on_route(self, kind: Element) -> Spot:
        way = self.way(kind.one("RouteRef"))
        place = kind.one("InRoutePosition").choice()
        if place.tag == "FromCurrentEntity":
            return self._start_of(place)
        found = place_on(self.network, way, place.number("pathS"))
        if found is None:
            raise place.error(f"pathS: found {place.number('pathS'):g}, behind the route's end")
        # Both are positive to the left of the way.
        direction = driving_direction(found.lane)
        if place.tag == "FromLaneCoordinates":
            lane = place.whole("laneId")
            # Files count the lanes of a road by its own direction, or by that of the route.
            lane = lane if (lane < 0) == (found.lane < 0) else -lane
            return Spot(found.road, lane, found.s, direction * place.number("laneOffset", 0.0))
        # "t" since OpenSCENARIO 1.1, "pathT" in files before it.
        t = direction * (place.number("t") if place.has("t") else place.number("pathT"))
        return self.on_road(found.road, found.s, t)


#: Positions whose relative orientation is that to the road.
_OF_THE_ROAD: Final = ("LanePosition", "RoadPosition")

_MAKERS: Final = {
    "WorldPosition": Places._world,
    "LanePosition": Places._lane,
    "RoadPosition": Places._road,
    "RelativeLanePosition": Places._relative_lane,
    "RelativeRoadPosition": Places._relative_road,
    "RelativeWorldPosition": Places._relative_object,
    "RelativeObjectPosition": Places._relative_object,
    "RoutePosition": Places._on_route,
    "TrajectoryPosition": Places._on_trajectory,
}


def neighbour(lane: int, lanes: int, along: float) -> int:
    """The lane so many lanes to the left of a vehicle in a lane; 0 is skipped.

    :param along: at least 0 if the vehicle heads along the road, below if against it
    """
    # Ids grow to the left of the road.
    step = lanes if along >= 0.0 else -lanes
    result = lane + step
    if (lane < 0) != (result < 0) or result == 0:
        result += 1 if step > 0 else -1
    return result
