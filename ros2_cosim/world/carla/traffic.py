# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Background traffic: vehicles that the bridge drives, each along its lane, none into another.

The bridge drives them itself, from what the simulator reports about all vehicles, and with exact
arithmetic only: so a run with traffic has the same bits in every run shape, which the client's own
traffic manager (threads, its own clock) could not promise.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf
from typing import Final, NamedTuple

from ros2_cosim.core.kernel.exactmath import sqrt
from ros2_cosim.core.messages.records import Odometry
from ros2_cosim.world.carla.crossings import Crossings, Reservations, Way, WayRequest
from ros2_cosim.world.carla.lights import LightsAhead
from ros2_cosim.world.carla.scene_vehicle import SceneVehicle, StaticObstacle
from ros2_cosim.world.drivers.intelligent_driver import DriverStyle, intelligent_driver
from ros2_cosim.world.drivers.leader_driver import LongitudinalCommand
from ros2_cosim.world.map import OFF_ROAD, RoadNetwork, RoadPosition, driving_direction
from ros2_cosim.world.map.network import LaneStretch
from ros2_cosim.world.map.traffic_lights import RED
from ros2_cosim.world.vehicle import VEHICLES, pedals_for

LOOK_AHEAD: Final = 200.0
"""Way along the lane within which others are seen [m]."""

#: How background traffic drives.
STYLE: Final = DriverStyle(
    max_acceleration=1.5, deceleration=2.0, hardest=8.0, standstill_gap=2.0, time_gap=1.5
)
#: Most acceleration to the side in a bend [m/s^2], and deceleration before it [m/s^2].
_SIDEWAYS: Final = 2.0
_EASING: Final = 1.2
_BEND_STEP: Final = 4.0  # m, between the places where a bend is looked at
_NO_BEND: Final = 60.0  # m/s, faster than anything on the road
#: A way is requested so long before the junction [s], with room to brake and to spare [m].
_ASK_TIME: Final = 2.0
_ASK_ROOM: Final = 15.0
#: Ways of the scene's vehicles are kept free for so long before they come [s], and so far [m].
_KEPT_FREE: Final = 10.0
_KEPT_ROOM: Final = 20.0
#: A vehicle that can stop before a junction with this deceleration [m/s^2] may still have to.
_CAN_STOP: Final = 4.0
#: Behind a junction a vehicle needs its length and this [m], unless what is ahead is faster [m/s].
_EXIT_ROOM: Final = 3.0
_MOVING: Final = 3.0
_CREEPING: Final = 1.0  # m/s, the least speed that is wanted


class _RoadUser(NamedTuple):
    """Whatever a driver must not run into; ``half_length`` in m, ``speed`` in m/s."""

    position: RoadPosition
    half_length: float
    speed: float
    is_traffic: bool = False


class _Ahead(NamedTuple):
    """What is next in the lane: way from centre to centre [m], and the road user."""

    way: float
    user: _RoadUser


class _Entry(NamedTuple):
    """A junction ahead: way from the front bumper to it and through it [m]."""

    request: WayRequest
    way: float
    length: float


class _LightAhead(NamedTuple):
    """A light to stop at: way from the front bumper to its line [m], greatest acceleration."""

    way: float
    acceleration: float


Driven = tuple[SceneVehicle, Odometry, RoadPosition]
"""A vehicle of the scene, its state, and where it is on the road."""


class BackgroundTraffic:
    """The drivers of all background vehicles.

    :param network: the roads, along the route of the scene
    :param vehicles: the vehicles, spawned; each drives at the speed of its ``spec``, or slower in
        the same share as the speed limit
    :param obstacles: static objects on the road
    :param lights: traffic lights that are obeyed, None: they are not looked at
    :param period: time between two decisions [s]
    """

    def __init__(
        self,
        network: RoadNetwork,
        vehicles: Sequence[SceneVehicle],
        obstacles: Sequence[StaticObstacle],
        lights: LightsAhead | None = None,
        period: float = 0.0,
    ) -> None:
        self.vehicles = tuple(vehicles)
        self._network = network
        self._standing = [_RoadUser(where, half, 0.0) for where, half in obstacles]
        self._crossings = Crossings(network)
        self._reservations = Reservations(self._crossings)
        self._bends: dict[Way, tuple[tuple[float, float], ...]] = {}
        self._lights = lights
        self._period = period
        self._shares = [_share_of_limit(network, vehicle) for vehicle in self.vehicles]
        #: What is where, by road and lane, as of the last decision.
        self._places: dict[Way, list[_RoadUser]] = {}

    def decide(self, own: Sequence[Odometry], others: Sequence[Driven]) -> None:
        """Set ``steer`` and ``demand`` of every vehicle.

        :param own: state of each of ``vehicles``
        :param others: the vehicles of the scene
        """
        users = []
        for vehicle, odometry in zip(self.vehicles, own, strict=True):
            vehicle.steer = vehicle.keeper.steer(odometry)
            assert vehicle.keeper.position is not None
            users.append(_user(vehicle, odometry, vehicle.keeper.position, is_traffic=True))
        everything = [*users, *(_user(*found) for found in others), *self._standing]
        places: dict[Way, list[_RoadUser]] = {}
        for user in everything:
            places.setdefault((user.position.road_id, user.position.lane_id), []).append(user)
        self._places = places
        ways = [
            self._network.lane_ahead(
                user.position.road_id, vehicle.keeper.lane_id, user.position.s, LOOK_AHEAD
            )
            for vehicle, user in zip(self.vehicles, users, strict=True)
        ]
        nearest = [self._next(user, way) for user, way in zip(users, ways, strict=True)]
        stops = [
            self._light_stop(number, *found)
            for number, found in enumerate(zip(users, ways, strict=True))
        ]
        entries = self._pass_junctions(users, ways, nearest, stops, self._needed(others))
        for number, vehicle in enumerate(self.vehicles):
            me, way = users[number], ways[number]
            gap, gap_rate = _gap(me, way, nearest[number], entries[number])
            direction = driving_direction(vehicle.keeper.lane_id)
            slope = direction * self._network.slope(me.position.road_id, me.position.s)
            wanted = self._wanted(number, me, way)
            acceleration = intelligent_driver(STYLE, max(me.speed, 0.0), wanted, gap, gap_rate)
            stop = stops[number]
            if stop is not None:
                acceleration = min(acceleration, stop.acceleration)
            dynamics = VEHICLES[vehicle.spec.dynamics]
            pedals = pedals_for(dynamics, acceleration, me.speed, slope)
            vehicle.demand = LongitudinalCommand(acceleration, *pedals)

    def restraint(self, driven: Driven, wanted: float) -> float | None:
        """Most acceleration [m/s^2] of a vehicle of the scene behind background traffic.

        :param wanted: speed on a free road [m/s]
        :returns: None: no background vehicle is ahead in its lane
        """
        vehicle, odometry, position = driven
        me = _user(vehicle, odometry, position)
        way = lane_ahead(self._network, vehicle, position, LOOK_AHEAD)
        found = self._next(me, way, traffic_only=True)
        if found is None:
            return None
        gap = found.way - found.user.half_length - me.half_length
        speed = max(me.speed, 0.0)
        return intelligent_driver(STYLE, speed, wanted, gap, found.user.speed - me.speed)

    def _light_stop(
        self, number: int, me: _RoadUser, way: Sequence[LaneStretch]
    ) -> _LightAhead | None:
        """The light at which a vehicle has to stop, if there is one."""
        if self._lights is None:
            return None
        vehicle, speed = self.vehicles[number], max(me.speed, 0.0)
        light = self._lights.ahead(way, me.half_length)
        self._lights.watch(vehicle.number, light, speed * self._period)
        most = vehicle.light_stop.most(speed, light.state, light.distance)
        return None if most is None else _LightAhead(light.distance, most)

    def _next(
        self, me: _RoadUser, way: Sequence[LaneStretch], *, traffic_only: bool = False
    ) -> _Ahead | None:
        """What is next on a way, seen from its start."""
        for stretch in way:
            best: _Ahead | None = None
            direction = driving_direction(stretch.lane_id)
            for user in self._places.get((stretch.road_id, stretch.lane_id), ()):
                along = direction * (user.position.s - stretch.s)
                if user is me or not 0.0 <= along <= stretch.length:
                    continue
                if traffic_only and not user.is_traffic:
                    continue
                if best is None or stretch.way + along < best.way:
                    best = _Ahead(stretch.way + along, user)
            if best is not None:
                return best
        return None

    def _pass_junctions(
        self,
        users: Sequence[_RoadUser],
        ways: Sequence[Sequence[LaneStretch]],
        nearest: Sequence[_Ahead | None],
        stops: Sequence[_LightAhead | None],
        priority: Mapping[Way, int],
    ) -> list[_Entry | None]:
        """Give and take the ways through junctions.

        :returns: for each vehicle the next junction that it must not enter
        """
        reservations = self._reservations
        entries: list[list[_Entry]] = []
        for number, (me, way) in enumerate(zip(users, ways, strict=True)):
            found = self._entries(number, me, way)
            stop = stops[number]
            if stop is not None:  # what lies behind the light is requested when it is green
                found = [entry for entry in found if entry.way < stop.way]
            entries.append(found)
            kept = [entry.request.way for entry in found]
            if self._driven_on(way[0]) > me.half_length + 1.0:
                reservations.release(number, kept)
            for entry in found:
                if entry.way <= -me.half_length:
                    reservations.enter(entry.request)
                elif entry.way > 0.5 * me.speed * me.speed / _CAN_STOP:
                    reservations.yield_way(entry.request, priority)
        asking = []
        for number, (me, found) in enumerate(zip(users, entries, strict=True)):
            closed = next((e for e in found if not reservations.holds(number, e.request.way)), None)
            if closed is not None and _asks(me, closed, nearest[number]):
                asking.append(closed.request)
        reservations.decide(asking, priority)
        return [
            next((e for e in found if not reservations.holds(number, e.request.way)), None)
            for number, found in enumerate(entries)
        ]

    def _entries(self, number: int, me: _RoadUser, way: Sequence[LaneStretch]) -> list[_Entry]:
        """The junctions on a way, the nearest first."""
        found: list[_Entry] = []
        before: int | None = None
        for stretch in way:
            junction = self._crossings.junction(stretch.road_id)
            if junction is not None and stretch.road_id != before:
                request = WayRequest(number, (stretch.road_id, stretch.lane_id), junction)
                inside = me.half_length if stretch.way > 0.0 else 2.0 * me.half_length
                length = self._network.length(stretch.road_id)
                found.append(_Entry(request, stretch.way - inside, length))
            before = stretch.road_id
        return found

    def _driven_on(self, stretch: LaneStretch) -> float:
        """How far the centre of a vehicle is behind the beginning of its road [m]."""
        if stretch.lane_id < 0:
            return stretch.s
        return self._network.length(stretch.road_id) - stretch.s

    def _needed(self, others: Sequence[Driven]) -> dict[Way, int]:
        """The ways that vehicles of the scene are on, or come to soon, with their junctions."""
        needed: dict[Way, int] = {}
        for vehicle, odometry, position in others:
            reach = _KEPT_FREE * max(odometry.vx, 0.0) + _KEPT_ROOM
            way = lane_ahead(self._network, vehicle, position, reach)
            red = self._red_ahead(vehicle, way)
            for stretch in way:
                if stretch.way > red:
                    break
                junction = self._crossings.junction(stretch.road_id)
                if junction is not None:
                    needed[stretch.road_id, stretch.lane_id] = junction
        return needed

    def _red_ahead(self, vehicle: SceneVehicle, way: Sequence[LaneStretch]) -> float:
        """Way from the centre of a vehicle of the scene to the next line, if it is at red [m]."""
        if self._lights is None:
            return inf
        light = self._lights.ahead(way, vehicle.body.extent[0])
        return light.distance if light.state == RED else inf

    def _wanted(self, number: int, me: _RoadUser, way: Sequence[LaneStretch]) -> float:
        """Speed on a free road [m/s]: within the limits, and such that bends can be driven."""
        spec, share = self.vehicles[number].spec, self._shares[number]
        reach = me.speed * me.speed / _EASING + _BEND_STEP
        wanted = spec.speed
        for stretch in way:
            if stretch.way > reach:
                break
            limit = self._network.speed_limit(stretch.road_id, stretch.s, stretch.lane_id)
            if limit is not None and share is not None:
                eased = limit * share
                wanted = min(wanted, sqrt(eased * eased + 2.0 * _EASING * stretch.way))
            direction = driving_direction(stretch.lane_id)
            for s, most in self._bends_of(stretch.road_id, stretch.lane_id):
                along = direction * (s - stretch.s)
                if -_BEND_STEP <= along <= stretch.length:
                    ahead = max(stretch.way + along, 0.0)
                    wanted = min(wanted, sqrt(most * most + 2.0 * _EASING * ahead))
        return max(wanted, _CREEPING)

    def _bends_of(self, road_id: int, lane_id: int) -> tuple[tuple[float, float], ...]:
        """(station, greatest speed) in the bends of a lane."""
        found = self._bends.get((road_id, lane_id))
        if found is None:
            found = self._bends[road_id, lane_id] = tuple(self._measured_bends(road_id, lane_id))
        return found

    def _measured_bends(self, road_id: int, lane_id: int) -> list[tuple[float, float]]:
        network = self._network
        length = network.length(road_id)
        bends = []
        for index in range(int(length / _BEND_STEP) + 1):
            s = index * _BEND_STEP
            if lane_id in network.lane_ids(road_id, s):
                t = network.lane_centre(road_id, lane_id, s)
                curvature = abs(network.curvature(road_id, s, t))
                if curvature * _NO_BEND * _NO_BEND > _SIDEWAYS:
                    bends.append((s, sqrt(_SIDEWAYS / curvature)))
        return bends


def lane_ahead(
    network: RoadNetwork, vehicle: SceneVehicle, position: RoadPosition, reach: float
) -> tuple[LaneStretch, ...]:
    """The lane ahead of a vehicle of the scene, ``reach`` [m] far; nothing where it is in none."""
    lane = vehicle.keeper.lane_id
    if lane not in network.lane_ids(position.road_id, position.s):
        lane = position.lane_id
    if lane == OFF_ROAD:
        return ()
    return network.lane_ahead(position.road_id, lane, position.s, reach)


def _asks(me: _RoadUser, entry: _Entry, ahead: _Ahead | None) -> bool:
    """Whether a vehicle asks for a way: it comes near, as the first, and can leave it again."""
    speed = max(me.speed, 0.0)
    if entry.way > 0.5 * speed * speed / STYLE.deceleration + _ASK_TIME * speed + _ASK_ROOM:
        return False
    if ahead is None:
        return True
    beyond = ahead.way - ahead.user.half_length - me.half_length - entry.way - entry.length
    if ahead.way - me.half_length < entry.way:
        return False
    return beyond > 2.0 * me.half_length + _EXIT_ROOM or ahead.user.speed > _MOVING


def _gap(
    me: _RoadUser, way: Sequence[LaneStretch], ahead: _Ahead | None, closed: _Entry | None
) -> tuple[float | None, float]:
    """Gap to what is next, and its rate; a closed junction and the end of a lane stand still."""
    gap, gap_rate = None, 0.0
    if ahead is not None:
        gap = ahead.way - ahead.user.half_length - me.half_length
        gap_rate = ahead.user.speed - me.speed
    standing = []
    if closed is not None:
        standing.append(closed.way)
    reached = way[-1].way + way[-1].length
    if reached < LOOK_AHEAD - 1.0:
        standing.append(reached - me.half_length)
    for room in standing:
        if gap is None or room < gap:
            gap, gap_rate = room, -me.speed
    return gap, gap_rate


def _share_of_limit(network: RoadNetwork, vehicle: SceneVehicle) -> float | None:
    """Speed of a vehicle as a share of the limit where it starts, None where there is none."""
    spec = vehicle.spec
    limit = network.speed_limit(spec.road, spec.s, spec.lane)
    return spec.speed / limit if limit else None


def _user(
    vehicle: SceneVehicle, odometry: Odometry, position: RoadPosition, *, is_traffic: bool = False
) -> _RoadUser:
    return _RoadUser(position, vehicle.body.extent[0], odometry.vx, is_traffic)
