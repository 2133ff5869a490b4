# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Arriving together: the speed of a vehicle that is at a place when another one is at its own.

The demand is that of the double integrator that covers a way in a time with the least squared
acceleration, with or without a speed at the end (A. E. Bryson, Y.-C. Ho, "Applied Optimal Control",
1975, section 5.2), found anew in each period: what the other vehicle does is followed.
"""

from __future__ import annotations

from math import inf
from typing import Final

from ros2_cosim.core.kernel.exactmath import hypot
from ros2_cosim.driving.openscenario.story import Synchronize, Where
from ros2_cosim.driving.openscenario.traffic import Traffic
from ros2_cosim.driving.openscenario.trajectories import pose_of
from ros2_cosim.world.drivers.speed_profiles import SpeedPoint
from ros2_cosim.world.map import RoadError, RoadPosition

_NS: Final = 1e9
#: Strongest accelerations, up and down [m/s^2].
_UP: Final = 5.0
_DOWN: Final = 8.0
_MAX_SPEED: Final = 100.0
#: With less time left the speed is kept: the way over it would say nothing [s].
_LAST: Final = 0.1
#: Slower than that the other vehicle does not arrive [m/s].
_STANDS: Final = 0.1
#: The commanded speed is not further from the own one than this: what the plant could not follow
#: must not add up [m/s].
_AHEAD: Final = 2.0
#: A pedestrian that passes a place is nearer to it than this [m].
_NEAR: Final = 1.0


class Arriving:
    """A SynchronizeAction on one vehicle.

    :param name: of the vehicle
    :param speed: its commanded speed when the action begins [m/s]
    :param walks: whether it goes beside roads, too: its way is then the straight one
    """

    def __init__(
        self, action: Synchronize, name: str, speed: float, traffic: Traffic, *, walks: bool
    ) -> None:
        self._action = action
        self._own = (_Straight if walks else _Way)(name, action.place, traffic)
        self._master = _Way(action.master, action.master_place, traffic)
        self._name = name
        self._speed = speed
        self._time = traffic.time

    def motion(self, now: int, traffic: Traffic) -> SpeedPoint:
        """What the vehicle should do now."""
        step = (now - self._time) / _NS
        self._time = now
        demand = self._demand(traffic)
        own = traffic.seen[self._name].speed
        speed = min(max(self._speed + demand * step, own - _AHEAD), own + _AHEAD)
        self._speed = min(max(speed, 0.0), _MAX_SPEED)
        return SpeedPoint(self._speed, demand if self._speed > 0.0 else 0.0)

    def done(self, now: int, traffic: Traffic) -> bool:
        """Whether both are where they were to be."""
        action = self._action
        own, master = self._own.left(traffic), self._master.left(traffic)
        return own <= action.tolerance and master <= action.master_tolerance

    def _demand(self, traffic: Traffic) -> float:
        action = self._action
        other = traffic.seen[action.master].speed
        pace = abs(other)
        way, speed = self._own.left(traffic), self._speed
        final = action.final_speed
        if final is not None and action.relative:
            final += other
        time = inf
        if pace > _STANDS:
            time = self._master.left(traffic) / pace
        if final is not None:
            # The way at the final speed is not part of the change.
            steady = action.steady_distance
            if final > 0.0:
                time -= action.steady_time + steady / final
            way -= steady + final * action.steady_time
        if time < _LAST or way <= 0.0:
            if final is None:
                return 0.0
            return _bounded((final - speed) / 0.5)
        if time == inf:
            return _bounded(-speed * speed / (2.0 * way))
        if final is None:
            return _bounded(3.0 * (way - speed * time) / (time * time))
        return _bounded((6.0 * way / time - 4.0 * speed - 2.0 * final) / time)


class _Way:
    """What is left of a vehicle's way to a place, along its trajectory or the roads."""

    def __init__(self, name: str, place: Where, traffic: Traffic) -> None:
        self._name = name
        self._x, self._y, _ = pose_of(place, traffic)
        # Where roads cross, the place is on the one that the vehicle takes.
        network = traffic.network_of(name)
        hint = traffic.seen[name].position
        self._place: RoadPosition = network.project(self._x, self._y, hint)
        self._passed = False

    def left(self, traffic: Traffic) -> float:
        """The way [m]; 0 from where the place is passed."""
        if self._passed:
            return 0.0
        seen = traffic.seen[self._name]
        line = traffic.lines.get(self._name)
        there = None if line is None else line.way_to(self._x, self._y)
        if line is not None and there is not None:
            way = there - line.way
            self._passed = way <= 0.0
            return max(way, 0.0)
        network = traffic.network_of(self._name)
        here = network.project(*seen.reference, seen.position)
        try:
            way = seen.along * network.distance(here, self._place)
            way = -way if seen.speed < -_STANDS else way
        except RoadError:
            return inf
        self._passed = way <= 0.0
        return max(way, 0.0)


class _Straight(_Way):
    """What is left of the way to a place, straight on."""

    def __init__(self, name: str, place: Where, traffic: Traffic) -> None:
        super().__init__(name, place, traffic)
        self._least = inf

    def left(self, traffic: Traffic) -> float:
        """The way [m]; 0 from where it was least, near the place."""
        if self._passed:
            return 0.0
        x, y = traffic.seen[self._name].reference
        way = hypot(self._x - x, self._y - y)
        self._least = min(self._least, way)
        self._passed = self._least < _NEAR and way > self._least
        return 0.0 if self._passed else way


def _bounded(demand: float) -> float:
    return min(max(demand, -_DOWN), _UP)
