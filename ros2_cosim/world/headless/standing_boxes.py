# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What stands beside the roads and can be hit: things that the map names, and scenery.

Vehicles that leave the carriageway look for it, and people. Scenery, which takes long to make, is
made when the first one leaves the lanes, if no sensor has made it before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

from ros2_cosim.world.headless.actors import VehicleActor, box_at
from ros2_cosim.world.headless.body import VehicleBody
from ros2_cosim.world.headless.contact import OrientedBox
from ros2_cosim.world.headless.labels import SIDEWALKS, TERRAIN, WATER
from ros2_cosim.world.headless.things import Thing, Things
from ros2_cosim.world.headless.walkers import WalkerActor
from ros2_cosim.world.map import RoadNetwork

#: Vehicles pass over what is no higher [m], and under what is so far above the ground.
_LOWEST: Final = 0.25
_CELL: Final = 8.0  # m
#: Scenery stands so far beside what is paved [m], at least.
_MARGIN: Final = 0.7
_PASSED: Final = (SIDEWALKS, TERRAIN, WATER)


class StandingBox(NamedTuple):
    """A box that does not move: a side of the two in a contact."""

    id: int
    hull: OrientedBox
    thing: Thing

    def box(self) -> OrientedBox:
        """The box in the map frame."""
        return self.hull

    def motion(self) -> tuple[float, float, float]:
        """It stands, whatever pushes it."""
        return 0.0, 0.0, 0.0

    def push(self, dx: float, dy: float, dvx: float, dvy: float) -> None:
        """It stays."""


class StandingBoxes:
    """The boxes of a map, by squares of ground.

    :param make: makes the scenery, which is then to be taken; None: there is none
    """

    def __init__(
        self, network: RoadNetwork, things: Things, make: Callable[[], None] | None
    ) -> None:
        self._network = network
        self._cells: dict[tuple[int, int], list[StandingBox]] = {}
        self._make, self._is_made = make, False
        for thing in things.shown():
            hull = box_at(thing.pose, thing.half)
            at = network.project(hull.x, hull.y, z=thing.pose.location.z)
            # A file may name things that are in the way: signs above the road, areas on it.
            section = network.roads[at.road_id].lanes.section(at.s)
            if not section.is_driven(at.lane_id):
                self._add(thing, hull)

    def take(self, boxes: Iterable[tuple[Thing, OrientedBox]]) -> None:
        """Take the boxes of the scenery; those that have been taken stay."""
        if self._is_made:
            return
        self._is_made = True
        for thing, hull in boxes:
            self._add(thing, hull)

    def _add(self, thing: Thing, hull: OrientedBox) -> None:
        if thing.label in _PASSED or 2.0 * hull.half_height < _LOWEST:
            return
        standing = StandingBox(0 - thing.label, hull, thing)
        reach_x = abs(hull.cos) * hull.half_length + abs(hull.sin) * hull.half_width
        reach_y = abs(hull.sin) * hull.half_length + abs(hull.cos) * hull.half_width
        for i in range(int((hull.x - reach_x) // _CELL), int((hull.x + reach_x) // _CELL) + 1):
            for j in range(int((hull.y - reach_y) // _CELL), int((hull.y + reach_y) // _CELL) + 1):
                self._cells.setdefault((i, j), []).append(standing)

    def cells(self) -> list[list[StandingBox]]:
        """The boxes of each square of ground that has some."""
        return list(self._cells.values())

    def near(self, vehicle: VehicleActor) -> list[StandingBox]:
        """What may touch a vehicle that moves."""
        if vehicle.body.velocity() == (0.0, 0.0) or not self._leaves(vehicle.body):
            return []
        self._be_made()
        return self._around(vehicle.box(), 0.0)

    def before(self, walker: WalkerActor, way: float) -> list[StandingBox]:
        """What may touch a walker, on the last part of its way, so long [m]."""
        if not walker.is_on_lane:
            self._be_made()
        return self._around(walker.box(), way)

    def _be_made(self) -> None:
        if not self._is_made and self._make is not None:
            self._make()

    def _around(self, box: OrientedBox, more: float) -> list[StandingBox]:
        """The boxes in squares of ground around another one, and so much more [m]."""
        reach = box.half_length + box.half_width + more
        found: dict[int, StandingBox] = {}
        for i in range(int((box.x - reach) // _CELL), int((box.x + reach) // _CELL) + 1):
            for j in range(int((box.y - reach) // _CELL), int((box.y + reach) // _CELL) + 1):
                for standing in self._cells.get((i, j), ()):
                    if standing.thing.is_shown:
                        found[id(standing.hull)] = standing
        return list(found.values())

    def _leaves(self, body: VehicleBody) -> bool:
        """Whether a vehicle is partly beside the lanes of its road, or on a sidewalk."""
        road_id, s, t, lane_id, heading = body.place_on_road()
        if lane_id == 0:
            return True
        lanes = self._network.roads[road_id].lanes
        right, left = lanes.edges(s)
        half = body.most_across(heading)
        if t - half < right - _MARGIN or t + half > left + _MARGIN:  # it may be
            half = body.across(heading)
            if t - half < right - _MARGIN or t + half > left + _MARGIN:
                return True
        return not lanes.section(s).is_driven(lane_id)
