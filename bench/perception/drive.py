# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A drive through the town with the real client: a car with the rig among others.

The car follows another one on a route that the seed draws. Other cars come towards it, or drive
beside it and wait at the next junction. Parked cars are part of the scenery.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from math import atan2, cos, hypot, radians, sin
from typing import Any, Final, NamedTuple

import numpy as np

from bench.perception.rig import STEP_S, Floats, Rig, Sight

_CAR: Final = "vehicle.tesla.model3"
_PLACE: Final = 1.0  # m, between places of a route
_LEAD: Final = 25  # places, by which the first car is ahead
_BEGIN: Final = 7.0  # m/s
_LATERAL: Final = 1.5  # m/s2, in curves
_GAP_S, _STAND_GAP = 1.2, 9.0  # s, m between the middles
_NEAR: Final = 90.0  # m; so near to the car others begin to drive
_LANE: Final = 2.4  # m; nearer to the route no other car drives
_ON_THE_WAY: Final = 40.0  # m; farther from the route there is none


class Truth(NamedTuple):
    """What is true at one moment.

    :ivar cars: (n, 7) boxes of vehicles in the world: middle x, y, z, half length, half width,
        half height [m], yaw [rad]
    :ivar lane: (m, 2) places in the middle of the lane ahead, in the world; none: it has no paint
        on a side, or there is a junction
    :ivar width: of the lane [m]
    """

    cars: Floats
    lane: Floats
    width: float


class Follower:
    """A car that drives along places, as fast as curves and the next one ahead allow."""

    def __init__(self, actor: Any, way: Floats, speed: float) -> None:
        import carla

        self.actor, self._way, self._control = actor, way, carla.VehicleControl
        self._at = 0
        wheels = actor.get_physics_control().wheels
        ahead = actor.get_transform().get_forward_vector()
        places = [wheel.position for wheel in wheels]
        self._base = max(abs((a - b).dot(ahead)) for a in places for b in places) / 100.0
        self._most = radians(wheels[0].max_steer_angle)
        turns = np.diff(np.unwrap(np.arctan2(*np.diff(way, axis=0).T[::-1])))
        bend = np.abs(np.convolve(turns, np.full(5, 0.2), "same")) / _PLACE
        allowed = np.minimum(speed, np.sqrt(_LATERAL / np.maximum(bend, 1.0e-6)))
        self._allowed = np.append(allowed, [allowed[-1], 0.0])
        for i in range(len(self._allowed) - 2, -1, -1):  # to brake with 1.5 m/s2
            later = self._allowed[i + 1]
            self._allowed[i] = min(self._allowed[i], np.sqrt(later * later + 3.0 * _PLACE))

    def drive(self, pose: Any, speed: float, others: Floats) -> None:
        """Steer, and give throttle or brake.

        :param others: (n, 2) places of other cars
        """
        x, y, yaw = pose.location.x, pose.location.y, radians(pose.rotation.yaw)
        near = self._way[self._at : self._at + 30] - (x, y)
        self._at += int((near * near).sum(axis=1).argmin())
        goal = self._way[min(len(self._way) - 1, self._at + round(3.0 + 0.5 * speed))] - (x, y)
        across = cos(yaw) * goal[1] - sin(yaw) * goal[0]
        steer = atan2(2.0 * self._base * across, max(1.0, float(goal @ goal))) / self._most
        wanted = min(self._allowed[self._at], self._behind(x, y, others))
        push = 0.35 * (wanted - speed)
        self.actor.apply_control(
            self._control(
                throttle=min(0.8, max(0.0, push + 0.15 * (wanted > 0.5))),
                brake=min(1.0, max(0.0, -push - 0.1) + 0.5 * (wanted < 0.2)),
                steer=min(1.0, max(-1.0, steer)),
            )
        )

    def _behind(self, x: float, y: float, others: Floats) -> float:
        """How fast it may be behind those that are on its way [m/s]."""
        if not len(others):
            return 99.0
        ahead = self._way[self._at : self._at + 40]
        away = ahead[None] - others[:, None]
        on = (away * away).sum(axis=2).min(axis=1) < 1.5**2
        gap = np.hypot(*(others[on] - (x, y)).T).min(initial=999.0)
        return max(0.0, (gap - _STAND_GAP) / _GAP_S)


class Drive:
    """A world with a car that has the rig."""

    def __init__(self, client: Any, seed: int, length: float, vehicles: int, weather: str) -> None:
        """Fill the world.

        :param length: of the route [m]
        :param weather: one of the client's parameters of weather, as ``ClearNoon``
        """
        import carla

        self.world = client.get_world()
        settings = self.world.get_settings()
        settings.synchronous_mode, settings.fixed_delta_seconds = True, STEP_S
        self.world.apply_settings(settings)
        self.world.set_weather(getattr(carla.WeatherParameters, weather))
        self.map = self.world.get_map()
        self._chance = random.Random(seed)
        self._library = self.world.get_blueprint_library()
        self._points = self.map.get_spawn_points()
        self._chance.shuffle(self._points)
        self._painted = {
            getattr(carla.LaneMarkingType, name)
            for name in ("Solid", "Broken", "SolidSolid", "SolidBroken", "BrokenSolid")
        }
        route = self._route(length)
        way = np.array([_xy(waypoint) for waypoint in route])
        ends = len(route) - _LEAD
        self.followers = [
            self._follower(_CAR, route[0].transform, way[:ends], 9.0),
            self._follower("vehicle.audi.etron", route[_LEAD].transform, way[_LEAD:], 8.0),
        ]
        self.car = self.followers[0].actor
        self._fill(way, vehicles)
        self._parked = [
            _box(thing.bounding_box.location, thing.bounding_box.extent,
                 radians(thing.bounding_box.rotation.yaw))
            for thing in self.world.get_environment_objects(carla.CityObjectLabel.Car)
        ]  # fmt: skip
        self.world.tick()
        for each in self.followers[:2]:  # the drive begins on the way
            ahead = each.actor.get_transform().get_forward_vector()
            each.actor.set_target_velocity(carla.Vector3D(_BEGIN * ahead.x, _BEGIN * ahead.y))
        self.rig = Rig(self.world, self.car)

    def _follower(self, kind: str, pose: Any, way: Floats, speed: float) -> Follower:
        import carla

        place = carla.Transform(pose.location + carla.Location(z=0.3), pose.rotation)
        actor = self.world.spawn_actor(self._library.find(kind), place)
        return Follower(actor, way, speed)

    def _route(self, length: float) -> list[Any]:
        route: list[Any] = []
        for point in self._points:
            route = self._onward(point, length, stop=False)
            if (len(route) - 1) * _PLACE >= length:
                return route
        found = (len(route) - 1) * _PLACE
        raise ValueError(f"no route of {length:g} m was found on the map; the last has {found:g} m")

    def _onward(self, point: Any, length: float, stop: bool) -> list[Any]:
        """Places along the lanes from a point on; or to the next junction."""
        way = [self.map.get_waypoint(point.location)]
        while (len(way) - 1) * _PLACE < length:
            following = way[-1].next(_PLACE)
            if not following or (stop and following[0].is_junction):
                break
            way.append(self._chance.choice(following))
        return way

    def _fill(self, route: Floats, vehicles: int) -> None:
        kinds = sorted(
            kind.id
            for kind in self._library.filter("vehicle.*")
            if int(kind.get_attribute("number_of_wheels")) == 4
        )
        taken = [route]
        for point in self._points:
            if len(self.followers) >= vehicles + 2:
                return
            way = np.array([_xy(each) for each in self._onward(point, 150.0, stop=True)])
            start = np.hypot(*(route - way[0]).T).min()
            apart = min(_apart(way, other) for other in taken)
            if len(way) < 20 or start > _ON_THE_WAY or apart < _LANE:
                continue
            kind = self._chance.choice(kinds)
            self.followers.append(self._follower(kind, point, way, 7.0))
            taken.append(way)

    def moments(self, seconds: float) -> Iterator[tuple[Sight, Truth]]:
        """Drive; at most so long [s], and to the end of the route."""
        for step in range(round(seconds / STEP_S)):
            frame = self.world.tick()
            snapshot = self.world.get_snapshot()
            states = [snapshot.find(each.actor.id) for each in self.followers]
            poses = [state.get_transform() for state in states]
            places = np.array([(pose.location.x, pose.location.y) for pose in poses])
            for i, (each, state) in enumerate(zip(self.followers, states, strict=True)):
                others = np.delete(places, i, axis=0)
                if i < 2 or hypot(*(places[i] - places[0])) < _NEAR:
                    each.drive(poses[i], state.get_velocity().length(), others)
            yield self.rig.sight(frame), self._truth(poses)
            if step > 50 and states[0].get_velocity().length() < 0.05:
                return

    def _truth(self, poses: list[Any]) -> Truth:
        cars = list(self._parked)
        for each, pose in zip(self.followers[1:], poses[1:], strict=True):
            box = each.actor.bounding_box
            middle = pose.transform(box.location)
            cars.append(_box(middle, box.extent, radians(pose.rotation.yaw)))
        lane, width = self._lane(poses[0].location)
        return Truth(np.array(cars).reshape(-1, 7), lane, width)

    def _lane(self, place: Any) -> tuple[Floats, float]:
        here = self.map.get_waypoint(place)
        way = [here]
        while len(way) < 28:
            following = way[-1].next(_PLACE)
            way.append(following[0] if len(following) == 1 else None)
            if way[-1] is None or way[-1].is_junction or not self._has_paint(way[-1]):
                return np.zeros((0, 2)), 0.0
        return np.array([_xy(each) for each in way]), float(here.lane_width)

    def _has_paint(self, waypoint: Any) -> bool:
        marks = waypoint.left_lane_marking, waypoint.right_lane_marking
        return all(mark.type in self._painted for mark in marks)

    def close(self) -> None:
        """Remove the sensors."""
        self.rig.close()


def _xy(waypoint: Any) -> tuple[float, float]:
    place = waypoint.transform.location
    return place.x, place.y


def _box(middle: Any, half: Any, yaw: float) -> tuple[float, ...]:
    return middle.x, middle.y, middle.z, half.x, half.y, half.z, yaw


def _apart(one: Floats, two: Floats) -> float:
    """The least distance between places of two ways [m]."""
    away = one[:, None] - two[None]
    return float(np.sqrt((away * away).sum(axis=2).min()))
