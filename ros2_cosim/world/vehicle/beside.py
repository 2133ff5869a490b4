# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The ground beside the roads: what is on no lane stands on the land, where a world has some."""

from __future__ import annotations

from typing import Final, NamedTuple, Protocol

from ros2_cosim.world.map import OFF_ROAD, RoadNetwork, RoadPosition
from ros2_cosim.world.vehicle.vehicle import Vehicle
from ros2_cosim.world.vehicle.wheel_ground import TYPICAL_TRACK, WheelGround

#: A road that is so far above what stands below it is a bridge [m].
_OVERHEAD: Final = 2.5
#: Beyond the end of a road a place is so far from its foot [m].
_BEYOND: Final = 0.05
#: A wheel hangs or climbs no farther from the ground in the middle [m]: beside bridges.
_REACH: Final = 0.8


class LandHeights(Protocol):
    """The land around roads."""

    def height(self, x: float, y: float) -> float | None:
        """Height at a place of the map frame [m]; None where there is no land."""


class GroundBelow(NamedTuple):
    """The nearest road, the height of the ground [m], and whether that is the land."""

    place: RoadPosition
    z: float
    is_land: bool


def ground_at(
    network: RoadNetwork,
    land: LandHeights | None,
    x: float,
    y: float,
    hint: RoadPosition | None,
    z: float | None,
) -> GroundBelow:
    """The ground at a place: the road that has it in a lane, else the land, else the next road.

    :param hint: an earlier place nearby
    :param z: height near which the ground is [m]
    """
    place = network.project(x, y, hint, z)
    road = network.roads[place.road_id]
    height = road.surface(place.s, place.t)[0]
    if land is None or (
        place.lane_id != OFF_ROAD
        and (z is None or height - z < _OVERHEAD)
        and not _is_beyond(network, place, x, y)
    ):
        return GroundBelow(place, height, False)
    found = land.height(x, y)
    return GroundBelow(place, height if found is None else found, found is not None)


def _is_beyond(network: RoadNetwork, place: RoadPosition, x: float, y: float) -> bool:
    """Whether a place is behind the end of its road."""
    if 0.0 < place.s < network.roads[place.road_id].length:
        return False
    foot_x, foot_y, _, _ = network.pose(place.road_id, place.s, place.t)
    return abs(foot_x - x) + abs(foot_y - y) > _BEYOND


class _Below:
    """The ground below the wheels of a vehicle, near that below its middle."""

    def __init__(
        self,
        network: RoadNetwork,
        land: LandHeights,
        vehicle: Vehicle,
        hint: RoadPosition,
        z: float,
    ) -> None:
        self._network, self._land, self._hint, self._z = network, land, hint, z
        self.has_land = False
        self._middle: float | None = None
        self._middle = self.height(0, vehicle.x, vehicle.y)

    def height(self, wheel: int, x: float, y: float) -> float:
        """Height of road or land [m]."""
        found = ground_at(self._network, self._land, x, y, self._hint, self._z)
        self.has_land = self.has_land or found.is_land
        middle = self._middle
        if middle is None:
            return found.z
        return min(max(found.z, middle - _REACH), middle + _REACH)


def lie_beside(
    network: RoadNetwork, land: LandHeights, vehicle: Vehicle, hint: RoadPosition, z: float
) -> WheelGround | None:
    """What is below the wheels of a vehicle that is partly beside the roads; None: it is not.

    :param hint: where it is on the roads
    :param z: height near which the ground is [m]
    """
    below = _Below(network, land, vehicle, hint, z)
    p = vehicle.parameters
    found = WheelGround(below, p, TYPICAL_TRACK * p.width)
    found.settle(vehicle)
    return found if below.has_land else None
