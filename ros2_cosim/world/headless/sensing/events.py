# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Sensors that report events: collision and obstacle."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgpack

from ros2_cosim.core.kernel.exactmath import sqrt
from ros2_cosim.world.headless import labels
from ros2_cosim.world.headless.sensing.axes import BodyAxes, axes_of
from ros2_cosim.world.headless.sensing.boxes import box_of
from ros2_cosim.world.headless.sensing.device import Device, SensedFrame
from ros2_cosim.world.headless.wire_types import (
    ActorDescription,
    ActorRecord,
    BoundingBox,
    Vector,
)

if TYPE_CHECKING:
    from ros2_cosim.world.headless.actors import Actor
    from ros2_cosim.world.headless.world import World

_MAX_DISTANCE = 10_000.0  # m
_MAX_RADIUS = 100.0  # m
# A sweep ends so close to a box [m]; each of its steps goes as far as the box is away.
_TOUCH = 1.0e-4
_MAX_STEPS = 256
_DYNAMIC = ("vehicle", "walker")
#: The kinds of what stands beside the roads, as CARLA's type ids have them.
_NAMES = {
    labels.BUILDINGS: "building", labels.WALLS: "wall", labels.FENCES: "fence",
    labels.POLES: "pole", labels.VEGETATION: "vegetation", labels.CARS: "car",
    labels.TRAINS: "train", labels.STATIC: "static", labels.DYNAMIC: "dynamic",
    labels.OTHER: "other", labels.GROUND: "ground", labels.BRIDGES: "bridge",
    labels.RAIL_TRACKS: "railtrack", labels.GUARD_RAILS: "guardrail",
}  # fmt: skip


class Collision(Device):
    """One message for each contact of the actor that carries the sensor."""

    sensor_type = 0

    def may_measure(self, world: World) -> bool:
        """Only in frames with a contact."""
        return bool(world.collisions)

    def measure(self, moment: SensedFrame) -> list[bytes]:
        """Own actor, other actor, impulse [N s, world frame]."""
        world, payloads = moment.world, []
        for event in world.collisions:
            if event.actor != self.sensor.parent:
                continue
            own, other = (world.actors.get(number) for number in (event.actor, event.other))
            if own is None or (other is None and event.other):
                continue
            hit = _standing(event.label) if other is None else moment.record(other)
            payloads.append(moment.header + msgpack.packb([moment.record(own), hit, event.impulse]))
        return payloads


def _standing(label: int) -> ActorRecord:
    """What CARLA names where a vehicle hits a part of the map: an actor that there is not."""
    kind = f"static.{_NAMES.get(label, 'unknown')}"
    return ActorRecord(0, 0, ActorDescription(0, kind), BoundingBox(), bytes((label,)), b"")


class Obstacle(Device):
    """The first actor that a ball meets on its straight way ahead; the sensor's carrier is none.

    The distance is the way of the ball's centre up to the contact.
    """

    sensor_type = 7

    def __init__(self, sensor: Actor) -> None:
        super().__init__(sensor)
        self._reach = self.within("distance", 0.0, _MAX_DISTANCE)
        self._radius = self.within("hit_radius", 0.0, _MAX_RADIUS)
        self._dynamic_only = sensor.attribute("only_dynamics") == "true"

    def measure(self, moment: SensedFrame) -> list[bytes]:
        """Own actor, other actor, distance [m]; nothing where the way is free."""
        world = moment.world
        axes = axes_of(moment.pose)
        nearest: tuple[float, Actor] | None = None
        for other in world.collidable():
            if other.id == self.sensor.parent:
                continue
            if self._dynamic_only and other.blueprint.kind not in _DYNAMIC:
                continue
            reach = self._reach if nearest is None else nearest[0]
            way = _free_way(axes, reach, self._radius, box_of(world, other))
            if way is not None and (nearest is None or way < nearest[0]):
                nearest = way, other
        if nearest is None:
            return []
        own = world.actors.get(self.sensor.parent, self.sensor)
        found = [moment.record(own), moment.record(nearest[1]), nearest[0]]
        return [moment.header + msgpack.packb(found)]


def _free_way(
    axes: BodyAxes, reach: float, radius: float, box: tuple[BodyAxes, Vector]
) -> float | None:
    """How far a ball comes until it touches a box, None if it passes by."""
    place, half = box
    x, y, z = (_dot(_minus(axes.origin, place.origin), axis) for axis in place[1:])
    dx, dy, dz = (_dot(axes.forward, axis) for axis in place[1:])
    way = 0.0
    for _ in range(_MAX_STEPS):
        gap = _distance(x + way * dx, y + way * dy, z + way * dz, half) - radius
        if gap <= _TOUCH:
            return way
        way += gap
        if way > reach:
            return None
    return None


def _distance(x: float, y: float, z: float, half: Vector) -> float:
    """Distance of a point from a box around the origin."""
    a = max(abs(x) - half.x, 0.0)
    b = max(abs(y) - half.y, 0.0)
    c = max(abs(z) - half.z, 0.0)
    return sqrt(a * a + b * b + c * c)


def _minus(a: Vector, b: Vector) -> Vector:
    return Vector(a.x - b.x, a.y - b.y, a.z - b.z)


def _dot(a: Vector, b: Vector) -> float:
    return a.x * b.x + a.y * b.y + a.z * b.z
