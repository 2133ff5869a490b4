# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A distance kept to the side of another vehicle or object (LateralDistanceAction)."""

from __future__ import annotations

from math import sqrt
from typing import Final

from ros2_cosim.driving.openscenario.story import KeepAside
from ros2_cosim.driving.openscenario.traffic import Seen, Traffic

#: A distance that is kept within this counts as reached [m].
_REACHED: Final = 0.1


class Beside:
    """The line across the road that a vehicle keeps: it moves to where the distance is right.

    The line moves with bounded speed and acceleration; the vehicle follows it by steering.
    """

    def __init__(self, action: KeepAside, name: str, traffic: Traffic, period: float) -> None:
        """Begin; ``period`` is that of the calls [s]."""
        own, other = traffic.seen[name], traffic.seen[action.to]
        self._action = action
        self._name = name
        self._period = period
        #: Lateral position of the line [m], and how fast it moves [m/s].
        self._line = own.position.t
        self._speed = 0.0
        way = own.position.t - other.position.t
        left = way * other.along >= 0.0 if action.left is None else action.left
        #: +1 or -1: to which side of the other one, in lateral positions of the road.
        self._side = other.along if left else -other.along
        distance = action.distance
        if distance is None:
            distance = max(abs(way) - self._halves(own, other), 0.0)
        self._distance = distance

    def line(self, traffic: Traffic) -> float:
        """The lateral position that the vehicle should have now [m]; called in each period."""
        action = self._action
        left = self._wanted(traffic) - self._line
        # As fast as it can still be stopped.
        fastest = min(sqrt(2.0 * action.max_acceleration * abs(left)), action.max_speed)
        wanted = min(fastest, abs(left) / self._period)
        wanted = wanted if left >= 0.0 else -wanted
        change = action.max_acceleration * self._period
        self._speed = min(max(wanted, self._speed - change), self._speed + change)
        self._line += self._speed * self._period
        return self._line

    def done(self, now: int, traffic: Traffic) -> bool:
        """Whether the distance is reached, if that ends the action."""
        if self._action.continuous:
            return False
        own = traffic.seen[self._name].position.t
        return abs(self._wanted(traffic) - own) <= _REACHED

    def _wanted(self, traffic: Traffic) -> float:
        own, other = traffic.seen[self._name], traffic.seen[self._action.to]
        away = self._distance + self._halves(own, other)
        return other.position.t + self._side * away

    def _halves(self, own: Seen, other: Seen) -> float:
        """What both boxes take up of the distance between the places [m]."""
        if not self._action.freespace:
            return 0.0
        return 0.5 * own.lane.width + other.half(-own.sin, own.cos)
