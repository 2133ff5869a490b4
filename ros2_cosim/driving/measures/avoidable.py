# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Contacts that the competent and careful driver of UN R157 would have avoided.

Beside each ego drives, in thought, a careful driver that sees the same road user ahead. Until this
driver has perceived it, both are at one place with one speed; from then on it drives by itself. At
a contact of the ego its way is followed to its end, with the other keeping its speed.
"""

from __future__ import annotations

from typing import Final

from ros2_cosim.driving.controllers.reference_drivers import CarefulDriver, DriverSight
from ros2_cosim.world.map.encounters import MovingBox
from ros2_cosim.world.map.lane_frame import LaneGeometry, seen_ahead

#: Between the centres of two lanes [m]; class estimate.
LANE: Final = 3.5
#: What is farther does not matter yet [m].
_FAR: Final = 200.0
#: A driver's way is followed for so long after the contact, in such steps [s].
_AFTER: Final = 10.0
_STEP: Final = 0.05


class _Shadow:
    """The careful driver beside one ego, and what it has seen of one other last.

    :ivar gap, speed, acceleration: of the driver's vehicle
    :ivar offset: of the other from the way, without sign [m]
    :ivar came: whether it was in another lane when it was first seen
    """

    __slots__ = (
        "acceleration", "alone", "came", "demand", "driver", "gap", "hit", "inward", "offset",
        "other_speed", "speed", "time",
    )  # fmt: skip

    def __init__(self, offset: float) -> None:
        self.driver = CarefulDriver()
        self.came = offset > 0.5 * LANE
        self.time: int | None = None
        self.gap = self.speed = self.other_speed = self.acceleration = self.inward = 0.0
        self.offset = offset
        self.demand: float | None = None
        self.alone = False
        self.hit = False

    def drive(self, dt: float, sizes: tuple[float, float]) -> None:
        """Drive on, once it drives by itself, and decide.

        :param dt: [s]
        :param sizes: lengths of both vehicles together, and half of both widths [m]
        """
        lengths, half = sizes
        if self.alone:
            speed = self.speed if self.demand is None else self.speed + self.demand * dt
            speed = max(0.0, speed)
            self.acceleration, self.speed = (speed - self.speed) / dt, speed
            self.gap += (self.other_speed - speed) * dt
        aside = self.offset - half
        self.hit = self.hit or (aside < 0.0 and 0.0 - lengths < self.gap < 0.0)
        sight = DriverSight(
            dt, self.speed, self.other_speed, self.acceleration, self.gap, aside, self.inward,
            LANE - self.offset, lengths,
        )  # fmt: skip
        self.demand = self.driver.demand(sight)
        self.alone = self.alone or self.demand is not None


class AvoidableContacts:
    """Counts the contacts of egos that a careful driver would have avoided.

    :ivar count: pairs so far
    :param road: what the ways follow
    """

    def __init__(self, road: LaneGeometry) -> None:
        self.count = 0
        self._road = road
        self._shadows: dict[tuple[str, str], _Shadow] = {}
        self._sizes: dict[tuple[str, str], tuple[float, float]] = {}
        self._judged: set[tuple[str, str]] = set()

    def look(self, time: int, ego: MovingBox, other: MovingBox) -> None:
        """Look at one pair.

        :param time: [ns]
        """
        pair = ego.name, other.name
        seen = seen_ahead(self._road, ego.box, other.box)
        lengths = 2.0 * (ego.box.half + other.box.half)
        offset = abs(seen.left)
        if not -lengths < seen.gap < _FAR or offset > 2.0 * LANE or pair in self._judged:
            self._shadows.pop(pair, None)
            return
        shadow = self._shadows.setdefault(pair, _Shadow(offset))
        speed = ego.box.direction * ego.box.speed
        if shadow.time is None:
            shadow.time, shadow.speed = time, speed
            shadow.gap = seen.gap
        dt = (time - shadow.time) * 1e-9
        shadow.other_speed = speed + seen.speed
        if dt <= 0.0:
            return
        shadow.inward, shadow.offset = (shadow.offset - offset) / dt, offset
        if not shadow.alone:
            shadow.acceleration = (speed - shadow.speed) / dt
            shadow.speed, shadow.gap = speed, seen.gap
        shadow.time = time
        self._sizes[pair] = lengths, 0.5 * (ego.box.width + other.box.width)
        shadow.drive(dt, self._sizes[pair])

    def contact(self, ego: str, other: str) -> None:
        """Judge a contact of an ego with what was ahead of it."""
        pair = ego, other
        shadow = self._shadows.pop(pair, None)
        if pair in self._judged or shadow is None or pair not in self._sizes:
            return
        self._judged.add(pair)
        for _ in range(round(_AFTER / _STEP)):
            if shadow.hit or shadow.speed <= shadow.other_speed:
                break
            shadow.alone = True
            shadow.offset = max(0.0, shadow.offset - max(0.0, shadow.inward) * _STEP)
            shadow.drive(_STEP, self._sizes[pair])
        if not shadow.hit or (shadow.came and not shadow.driver.was_critical):
            self.count += 1


#: Classes of its state.
SHADOW_PARTS: Final = (AvoidableContacts, _Shadow, CarefulDriver)
