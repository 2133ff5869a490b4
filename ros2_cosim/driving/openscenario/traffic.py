# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The vehicles as the conditions of a storyboard see them at one time.

Contact, smallest distance and the time to collision are those of ``world/map/encounters.py``.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import inf
from typing import Literal, NamedTuple, Protocol

from ros2_cosim.core.kernel.exactmath import cos as _cos
from ros2_cosim.core.kernel.exactmath import hypot
from ros2_cosim.core.kernel.exactmath import sin as _sin
from ros2_cosim.core.messages.records import Odometry
from ros2_cosim.driving.openscenario.story import Box, Standing
from ros2_cosim.world.map import OFF_ROAD, RoadError, RoadNetwork, RoadPosition
from ros2_cosim.world.map.encounters import apart, time_to_collision
from ros2_cosim.world.map.lane_frame import LaneBox, box_at, heading_of, seen_ahead

#: The speed with which boxes come nearer is that over this time [s].
_MOMENT = 1e-4


class Measuring(NamedTuple):
    """How a distance is measured.

    ``freespace``: between the boxes instead of the reference points, and at least 0;
    ``along_road``: along or across the road instead of the first vehicle; ``network``: the roads
    that ways follow, where they are not those without routes.
    """

    measure: Literal["longitudinal", "lateral", "euclidian"] = "longitudinal"
    freespace: bool = False
    along_road: bool = False
    network: RoadNetwork | None = None


class WayLine(Protocol):
    """A line, and how far along it its vehicle has come [m]."""

    way: float

    def way_to(self, x: float, y: float) -> float | None:
        """How far along it a point is [m]; None: it is not on it."""


class Seen(NamedTuple):
    """A road user or a point at one time: its box on the road, and how far the centre of the box is
    ahead of the point that places mean [m]; speed along and across its heading [m/s].
    """

    lane: LaneBox
    centre: float = 0.0
    speed: float = 0.0
    aside: float = 0.0

    @property
    def x(self) -> float:
        """Centre of its box [m]."""
        return self.lane.x

    @property
    def y(self) -> float:
        """Centre of its box [m]."""
        return self.lane.y

    @property
    def cos(self) -> float:
        """Of its heading."""
        return self.lane.cos

    @property
    def sin(self) -> float:
        """Of its heading."""
        return self.lane.sin

    @property
    def position(self) -> RoadPosition:
        """Place of its centre on the road."""
        found: RoadPosition = self.lane.position
        return found

    @property
    def along(self) -> float:
        """+1 or -1 as it heads along or against the road."""
        return self.lane.direction

    @property
    def reference(self) -> tuple[float, float]:
        """(x, y) of the point that OpenSCENARIO means by the vehicle: on its rear axle."""
        return self.x - self.centre * self.cos, self.y - self.centre * self.sin

    def half(self, cos: float, sin: float) -> float:
        """Half of what the box takes up along a direction [m]."""
        ahead = abs(self.cos * cos + self.sin * sin)
        across = abs(self.cos * sin - self.sin * cos)
        return 0.5 * (ahead * self.lane.length + across * self.lane.width)

    def velocity(self, cos: float, sin: float) -> float:
        """How fast it moves in a direction [m/s]."""
        ahead = self.cos * cos + self.sin * sin
        return self.speed * ahead + self.aside * (self.cos * sin - self.sin * cos)


class Traffic:
    """All vehicles of a scene on their roads."""

    def __init__(
        self, network: RoadNetwork, boxes: Mapping[str, Box], standing: Mapping[str, Standing]
    ) -> None:
        self.network = network
        #: The same roads for vehicles that have a route: where roads overlap, they are on theirs.
        self.routed: dict[str, RoadNetwork] = {}
        #: The trajectories of vehicles that follow one.
        self.lines: dict[str, WayLine] = {}
        self._boxes = dict(boxes)
        self.seen: dict[str, Seen] = {name: self._stands(found) for name, found in standing.items()}
        self.travelled = dict.fromkeys(boxes, 0.0)
        self.acceleration = dict.fromkeys((*boxes, *standing), 0.0)
        #: Since when each vehicle stands, is at the end of its road, is in no lane [ns]; the others
        #: are not there.
        self.standing: dict[str, int] = {}
        self.at_end: dict[str, int] = {}
        self.off_road: dict[str, int] = {}
        #: Those that are not in the world now.
        self.gone: set[str] = set()
        #: Pairs between which a contact has begun since the last look.
        self.touched: set[frozenset[str]] = set()
        #: Time of the newest look [ns].
        self.time = 0

    def _stands(self, found: Standing) -> Seen:
        cos, sin = _cos(found.heading), _sin(found.heading)
        box = found.box
        x, y = found.x + box.centre * cos, found.y + box.centre * sin
        lane = box_at(self.network, x, y, cos, sin, box.length, box.width, None, 0.0, 0.0)
        return Seen(lane, box.centre)

    def point(self, x: float, y: float) -> Seen:
        """A point of the map, as something without size that stands there."""
        return Seen(box_at(self.network, x, y, 1.0, 0.0, 0.0, 0.0, None, 0.0, 0.0))

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
                # It has been put elsewhere: that is not a way that it has come.
                before = hint = None
            network, box, speed = self.network_of(name), self._boxes[name], found.vx
            lane = box_at(
                network, found.x, found.y, cos, sin, box.length, box.width, hint, speed, found.vy
            )
            self.seen[name] = Seen(lane, box.centre, speed, found.vy)
            if before is not None and seconds > 0.0:
                self.travelled[name] += 0.5 * abs(before.speed + speed) * seconds
                self.acceleration[name] = (speed - before.speed) / seconds
            lane_id = lane.position.lane_id
            for since, holds in (
                (self.standing, abs(speed) < STANDING),
                (self.at_end, lane_id == OFF_ROAD or self._is_at_end(self.seen[name])),
                (self.off_road, lane_id == OFF_ROAD),
            ):
                if holds:
                    since.setdefault(name, time)
                else:
                    since.pop(name, None)

    def _is_at_end(self, seen: Seen) -> bool:
        """Whether the lane goes on no further than the vehicle's front."""
        here = seen.position
        half = 0.5 * seen.lane.length
        road, _, s = self.network.advance(here.road_id, here.lane_id, here.s, half)
        return road == here.road_id and abs(s - here.s) < half - 1e-6

    def network_of(self, name: str) -> RoadNetwork:
        """The roads as a vehicle takes them."""
        return self.routed.get(name, self.network)

    def distance(self, a: Seen, b: Seen, how: Measuring) -> float:
        """Distance between two road users, or one and a point [m]; infinite without a way."""
        if how.measure == "euclidian":
            return apart(a.lane, b.lane) if how.freespace else _points_apart(a, b)
        return abs(self.way(a, b, how))

    def way(self, a: Seen, b: Seen, how: Measuring) -> float:
        """As :meth:`distance` along or across, positive where b is ahead of a, or to its left."""
        start, end = (a.x, a.y), (b.x, b.y)
        if not how.freespace:
            start, end = a.reference, b.reference
        longitudinal = how.measure == "longitudinal"
        if how.along_road:
            found = self._along_road(a, b, start, end, how)
            halves = [_half_on_road(each.lane, across=not longitudinal) for each in (a, b)]
        else:
            cos, sin = (a.cos, a.sin) if longitudinal else (-a.sin, a.cos)
            found = (end[0] - start[0]) * cos + (end[1] - start[1]) * sin
            halves = [each.half(cos, sin) for each in (a, b)]
        if not how.freespace or abs(found) == inf:
            return found
        left = max(abs(found) - halves[0] - halves[1], 0.0)
        return left if found >= 0.0 else -left

    def _along_road(
        self, a: Seen, b: Seen, start: tuple[float, float], end: tuple[float, float], how: Measuring
    ) -> float:
        network = how.network or self.network
        here = network.project(*start, a.position)
        there = network.project(*end, b.position)
        if how.measure == "lateral":
            return a.along * (there.t - here.t)
        try:
            return a.along * network.distance(here, there)
        except RoadError:
            return inf

    def closing(self, a: Seen, b: Seen, how: Measuring) -> float:
        """How fast a distance becomes smaller, at constant speeds and headings [m/s].

        Along the road it is the difference of the speeds along the lane, in bends too.
        """
        if how.measure == "euclidian":
            later = self.distance(_later(a, _MOMENT), _later(b, _MOMENT), how)
            return (self.distance(a, b, how) - later) / _MOMENT
        ahead = 1.0 if self.way(a, b, how._replace(freespace=False)) >= 0.0 else -1.0
        if not how.along_road:
            cos, sin = (a.cos, a.sin) if how.measure == "longitudinal" else (-a.sin, a.cos)
            return ahead * (a.velocity(cos, sin) - b.velocity(cos, sin))
        if how.measure == "lateral":
            across = [each.velocity(-each.lane.lane_sin, each.lane.lane_cos) for each in (a, b)]
            return ahead * a.along * (across[0] - across[1])
        network = how.network or self.network
        seen = seen_ahead(network, a.lane, b.lane)
        if seen.gap == inf:
            # No way leads from a to b: it is the one from b to a.
            return 0.0 - seen_ahead(network, b.lane, a.lane).speed
        return 0.0 - ahead * seen.speed

    def time_to_collision(self, a: Seen, b: Seen, how: Measuring) -> float:
        """The distance as a time at the speed with which it becomes smaller [s]."""
        closing = self.closing(a, b, how)
        return time_to_collision(self.distance(a, b, how), closing, closes=0.0, longest=inf)


#: Below this speed a vehicle stands [m/s].
STANDING = 0.05
#: A way between two looks that is so much longer than the speed says is a jump [m].
_JUMP = 3.0


def _has_jumped(before: Seen, found: Odometry, seconds: float) -> bool:
    """Whether a vehicle has been put elsewhere between two looks."""
    way = hypot(found.x - before.x, found.y - before.y)
    return way > _JUMP + 2.0 * max(abs(before.speed), abs(found.vx)) * seconds


def _half_on_road(box: LaneBox, *, across: bool) -> float:
    """Half of what a box takes up along or across the road [m]."""
    if not across:
        return box.half
    along = abs(box.cos * box.lane_cos + box.sin * box.lane_sin)
    aside = abs(box.sin * box.lane_cos - box.cos * box.lane_sin)
    return 0.5 * (box.length * aside + box.width * along)


def _later(seen: Seen, seconds: float) -> Seen:
    """It a moment later, as far as its place in the map is concerned."""
    box = seen.lane
    x = box.x + seconds * seen.velocity(1.0, 0.0)
    y = box.y + seconds * seen.velocity(0.0, 1.0)
    return seen._replace(
        lane=LaneBox(
            x, y, box.cos, box.sin, box.length, box.width, box.position,
            box.lane_cos, box.lane_sin, box.half, box.speed, box.direction,
        )
    )  # fmt: skip


def _points_apart(a: Seen, b: Seen) -> float:
    (x, y), (u, v) = a.reference, b.reference
    return hypot(u - x, v - y)
