# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The components of an actor that have a place, by their names in CARLA.

Known from CARLA's sources are those of the root, of the box of a vehicle and of a walker, and the
name ``front-blinker-r-1`` of a lamp; the other lamps are named in the same way here. Lamps are
where they are painted on the vehicle's box.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from ros2_cosim.world.headless.actors import Actor, VehicleActor
from ros2_cosim.world.headless.signals import SignActor
from ros2_cosim.world.headless.walkers import WalkerActor
from ros2_cosim.world.headless.wire_types import ORIGIN, Rotation, Transform, Vector

_BACKWARDS: Final = Rotation(0.0, 180.0, 0.0)
#: Lamps: end of the vehicle (1 the front), and place across it and above its middle, as shares of
#: the half sizes of its box; those on the left mirror those on the right.
_LAMPS: Final = {
    "front-blinker": (1.0, 0.9, -0.09),
    "low-beam": (1.0, 0.76, -0.09),
    "high-beam": (1.0, 0.66, -0.09),
    "fog": (1.0, 0.76, -0.4),
    "back-blinker": (-1.0, 0.92, -0.015),
    "brake": (-1.0, 0.81, -0.015),
    "reverse": (-1.0, 0.7, -0.015),
}
_SIDES: Final = {"l": -1.0, "r": 1.0}


class Component(NamedTuple):
    """A component and its place on the actor's root."""

    name: str
    on_root: Transform


def components_of(actor: Actor) -> list[Component]:
    """All of them, the root first."""
    if isinstance(actor, VehicleActor):
        return _of_vehicle(actor)
    if isinstance(actor, WalkerActor):
        feet = Vector(0.0, 0.0, 0.0 - actor.bounding_box.extent.z)
        return [
            Component("CollisionCylinder", ORIGIN),
            Component("CharacterMesh0", Transform(feet)),
        ]
    if isinstance(actor, SignActor):
        return [Component("SceneRootComponent", ORIGIN)]
    if actor.blueprint.kind == "sensor":
        return [Component("CamMesh", ORIGIN)]
    return [Component("StaticMeshComponent0", ORIGIN)]


def _of_vehicle(vehicle: VehicleActor) -> list[Component]:
    box = vehicle.bounding_box
    found = [
        Component("VehicleMesh", ORIGIN),
        Component("VehicleBounds", Transform(box.location, box.rotation)),
    ]
    middle, half = box.location, box.extent
    for name, (end, across, above) in _LAMPS.items():
        for side, sign in _SIDES.items():
            place = Vector(
                middle.x + end * half.x, middle.y + sign * across * half.y,
                middle.z + above * half.z,
            )  # fmt: skip
            turned = Rotation() if end > 0.0 else _BACKWARDS
            found.append(Component(f"{name}-{side}-1", Transform(place, turned)))
    return found
