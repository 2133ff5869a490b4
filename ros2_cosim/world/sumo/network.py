# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The road network as SUMO has it: lanes, ways along them, speed limits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from ros2_cosim.core.kernel.exactmath import hypot
from ros2_cosim.world.map import RoadError, RoadNetwork

#: A way ends after this, if its lanes do not end before [m]; and after so many roads.
_LONGEST_WAY: Final = 100_000.0
_MOST_ROADS: Final = 2000
#: SUMO's word for a link that leads straight on.
_STRAIGHT: Final = "s"


class LanePlace(NamedTuple):
    """A place in a lane; ``position`` is along it [m]."""

    road: str
    lane: int
    position: float

    @property
    def lane_id(self) -> str:
        """SUMO's name of the lane."""
        return f"{self.road}_{self.lane}"


class SumoNetwork:
    """What the simulator asks of SUMO's roads.

    :param library: the module ``libsumo``, with a running simulation
    """

    def __init__(self, library: Any) -> None:
        self._library = library
        self.lanes: tuple[str, ...] = tuple(
            lane
            for lane in library.lane.getIDList()
            if not lane.startswith(":") and "passenger" in library.lane.getAllowed(lane)
        )

    def place_at(self, x: float, y: float) -> tuple[LanePlace, float]:
        """The nearest place in a lane, and how far away it is [m].

        :param x, y: in the map's frame (y to the left) [m]
        """
        road, position, lane = self._library.simulation.convertRoad(x, y, False, "passenger")
        found = LanePlace(road, lane, position)
        there = self._library.simulation.convert2D(road, position, lane)
        return found, hypot(there[0] - x, there[1] - y)

    def length(self, lane: str) -> float:
        """Length of a lane [m]."""
        return float(self._library.lane.getLength(lane))

    def way_from(self, start: LanePlace, choose: Callable[[int], int]) -> list[str]:
        """The roads along a lane and what follows it, straight on where that is possible.

        :param choose: gives one of so many links that do not lead straight on
        """
        lane, way = start.lane_id, [start.road]
        left = _LONGEST_WAY
        while left > 0.0 and len(way) < _MOST_ROADS:
            links = self._library.lane.getLinks(lane)
            if not links:
                break
            straight = [link for link in links if link[6] == _STRAIGHT]
            lane = straight[0][0] if straight else links[choose(len(links))][0]
            way.append(lane.rpartition("_")[0])
            left -= self.length(lane)
        return way

    def take_speed_limits(self, roads: RoadNetwork) -> None:
        """Give the lanes the speed limits of the map, which the converter does not take over."""
        for lane in self.lanes:
            road, _, index = lane.rpartition("_")
            x, y = self._library.simulation.convert2D(road, 0.5 * self.length(lane), int(index))
            try:
                place = roads.project(x, y)
            except RoadError:
                continue
            limit = roads.speed_limit(place.road_id, place.s, place.lane_id)
            if limit is not None:
                self._library.lane.setMaxSpeed(lane, limit)
