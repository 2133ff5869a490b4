# SPDX-License-Identifier: Apache-2.0
"""Background traffic: vehicles that the bridge drives, each along its lane, none into another.

The bridge drives them itself, from what the simulator tells of all vehicles and with exact
arithmetic only: so a run with traffic has the same bits in every run shape, which the client's
own traffic manager (threads, a clock of its own) could not promise.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from ros2_cosim.carla_bridge.scene_vehicle import SceneVehicle, StaticObstacle
from ros2_cosim.interfaces.records import Odometry
from ros2_cosim.models.intelligent_driver import DriverStyle, intelligent_driver
from ros2_cosim.models.leader_driver import LongitudinalCommand
from ros2_cosim.models.road import RoadError, RoadNetwork, RoadPosition, driving_direction
from ros2_cosim.models.vehicle import VEHICLES, pedals_for

LOOK_AHEAD: Final = 200.0
"""Way along the lane within which others are seen [m]."""

#: How background traffic drives.
STYLE: Final = DriverStyle(
    max_acceleration=1.5, deceleration=2.0, hardest=8.0, standstill_gap=2.0, time_gap=1.5
)
# The way to a point LOOK_AHEAD further differs from that in a curve; a lane that ends is shorter.
_ENDS: Final = 0.9


class _RoadUser(NamedTuple):
    """Whatever a driver must not run into; ``half_length`` in m, ``speed`` in m/s."""

    position: RoadPosition
    x: float
    y: float
    half_length: float
    speed: float


class Traffic:
    """The drivers of all background vehicles.

    :param network: the roads
    :param vehicles: the vehicles, spawned; each drives at the speed of its ``spec``
    :param obstacles: static objects on the road
    """

    def __init__(
        self,
        network: RoadNetwork,
        vehicles: Sequence[SceneVehicle],
        obstacles: Sequence[StaticObstacle],
    ) -> None:
        self.vehicles = tuple(vehicles)
        self._network = network
        self._hints: dict[int, RoadPosition] = {}
        self._standing = []
        for position, half_length in obstacles:
            x, y, _, _ = network.pose(position.road_id, position.s, position.t)
            self._standing.append(_RoadUser(position, x, y, half_length, 0.0))

    def decide(
        self, own: Sequence[Odometry], others: Sequence[tuple[SceneVehicle, Odometry]]
    ) -> None:
        """Set ``steer`` and ``demand`` of every vehicle.

        :param own: state of each of ``vehicles``
        :param others: the vehicles of the scene and their states
        """
        users = []
        for vehicle, odometry in zip(self.vehicles, own, strict=True):
            vehicle.steer = vehicle.keeper.steer(odometry)
            assert vehicle.keeper.position is not None
            users.append(_user(vehicle, odometry, vehicle.keeper.position))
        for vehicle, odometry in others:
            place = self._network.project(odometry.x, odometry.y, self._hints.get(vehicle.number))
            self._hints[vehicle.number] = place
            users.append(_user(vehicle, odometry, place))
        users += self._standing
        for number, vehicle in enumerate(self.vehicles):
            me = users[number]
            lane = vehicle.keeper.lane_id
            gap, gap_rate = self._ahead(me, lane, users)
            direction = driving_direction(lane)
            slope = direction * self._network.slope(me.position.road_id, me.position.s)
            wanted = max(vehicle.spec.speed, 0.1)
            acceleration = intelligent_driver(STYLE, max(me.speed, 0.0), wanted, gap, gap_rate)
            dynamics = VEHICLES[vehicle.spec.dynamics]
            pedals = pedals_for(dynamics, acceleration, me.speed, slope)
            vehicle.demand = LongitudinalCommand(acceleration, *pedals)

    def _ahead(
        self, me: _RoadUser, lane: int, users: Sequence[_RoadUser]
    ) -> tuple[float | None, float]:
        """Gap to the nearest ahead in the lane, and its rate; the end of a lane stands still."""
        gap, gap_rate = self._room(me, lane), -me.speed
        for other in users:
            dx, dy = other.x - me.x, other.y - me.y
            if other is me or dx * dx + dy * dy > LOOK_AHEAD * LOOK_AHEAD:
                continue
            found = self._gap(me, lane, other)
            if found is not None and (gap is None or found < gap):
                gap, gap_rate = found, other.speed - me.speed
        return gap, gap_rate

    def _gap(self, me: _RoadUser, lane: int, other: _RoadUser) -> float | None:
        """Bumper to bumper, None unless ``other`` is ahead in the lane."""
        here = me.position
        try:
            way = driving_direction(lane) * self._network.distance(here, other.position)
        except RoadError:  # another part of the map
            return None
        if way <= 0.0:
            return None
        road_id, lane_id, _ = self._network.advance(here.road_id, lane, here.s, way)
        if (road_id, lane_id) != (other.position.road_id, other.position.lane_id):
            return None
        return way - me.half_length - other.half_length

    def _room(self, me: _RoadUser, lane: int) -> float | None:
        """Way from the front bumper to the end of the lane, None while that is far."""
        here = me.position
        road_id, lane_id, s = self._network.advance(here.road_id, lane, here.s, LOOK_AHEAD)
        end = RoadPosition(road_id, s, here.t, lane_id, 0.0)
        way = driving_direction(lane) * self._network.distance(here, end)
        return None if way > _ENDS * LOOK_AHEAD else way - me.half_length


def _user(vehicle: SceneVehicle, odometry: Odometry, position: RoadPosition) -> _RoadUser:
    half_length = vehicle.body.extent[0]
    return _RoadUser(position, odometry.x, odometry.y, half_length, odometry.vx)
