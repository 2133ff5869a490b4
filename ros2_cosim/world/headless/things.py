# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What a map consists of: its ground, and the things that stand beside its roads.

They are what the protocol calls environment objects: clients list, hide, show and paint them.
Rays and cameras see them, vehicles collide with them. Things are poles, street lamps, buildings,
barriers, trees that the map names. Parts of the map are the carriageways, sidewalks and lines of
each road, the land, and the scenery that is made where the map says nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from ros2_cosim.core.kernel.errors import CosimError
from ros2_cosim.world.headless.labels import (
    ANY,
    BRIDGES,
    BUILDINGS,
    CARS,
    DYNAMIC,
    FENCES,
    GUARD_RAILS,
    OTHER,
    POLES,
    RAIL_TRACKS,
    STATIC,
    TERRAIN,
    TRAINS,
    VEGETATION,
    WALLS,
    WATER,
)
from ros2_cosim.world.headless.materials import PLAIN, Colour, Material, Mosaic
from ros2_cosim.world.headless.wire_types import BoundingBox, Rotation, Transform, Vector
from ros2_cosim.world.map import RoadNetwork, frames
from ros2_cosim.world.map.objects import RoadObject

ALL_LAYERS: Final = 0xFFFF

#: Layers of the protocol (``MapLayer``).
_BUILDINGS, _FOLIAGE, _GROUND, _PARKED, _PROPS, _STREET_LIGHTS, _WALLS = 1, 4, 8, 16, 64, 128, 256
_LAYERS: Final = {
    BUILDINGS: _BUILDINGS, VEGETATION: _FOLIAGE, FENCES: _WALLS, WALLS: _WALLS, CARS: _PARKED,
    TERRAIN: _GROUND, STATIC: _PROPS, GUARD_RAILS: _PROPS, TRAINS: _PARKED, DYNAMIC: _PROPS,
    OTHER: _PROPS, WATER: _GROUND, RAIL_TRACKS: _GROUND, BRIDGES: _GROUND,
}  # fmt: skip

_POLE: Final = (POLES, (120, 120, 122))
_KINDS: Final[dict[str, tuple[int, Colour]]] = {
    "building": (BUILDINGS, (160, 142, 126)),
    "pole": _POLE,
    "streetlamp": _POLE,
    "barrier": (FENCES, (150, 150, 152)),
    "railing": (FENCES, (150, 150, 152)),
    "tree": (VEGETATION, (62, 92, 48)),
    "vegetation": (VEGETATION, (62, 92, 48)),
}
_OTHER: Final = (STATIC, (136, 128, 118))
#: Parts of the names of street lamps; OpenDRIVE has a type for them since 1.5 only.
_LAMP_NAMES: Final = ("streetlamp", "streetlight")

_LEAST_HEIGHT: Final = 0.1
"""A thing that is flatter than this [m] is painted on the ground, or not visible."""


class UnknownThingError(CosimError):
    """The map has no such thing."""


class MapPart(NamedTuple):
    """What a map has besides the things that it names: a part of its ground, or of its scenery.

    :ivar name: of its kind
    :ivar label: of the protocol
    :ivar pose: of the foot of a box around it, in CARLA's frame, and ``half``: the box's half sizes
    :ivar lamp: where its light is, None: it is not a street lamp
    """

    name: str
    label: int
    pose: Transform
    half: Vector
    lamp: Vector | None = None


def upright_box(low: Sequence[float], high: Sequence[float]) -> tuple[Transform, Vector]:
    """Foot and half sizes [m] of a box along the world's axes, from its corners."""
    middle = Vector(0.5 * (low[0] + high[0]), 0.5 * (low[1] + high[1]), low[2])
    half = Vector(*(0.5 * (b - a) for a, b in zip(low, high, strict=True)))
    return Transform(middle), half


class Thing:
    """One thing: a box that stands on the ground, or the box around a part of the map.

    :ivar id: number in the protocol
    :ivar name: one of its own
    :ivar label: of the protocol
    :ivar pose: of its foot, in the world
    :ivar half: half sizes [m]
    :ivar layer: bit of the map layer that it belongs to, 0 if to none
    :ivar lamp: where a street lamp's light is, in the world; None: it is not one
    :ivar colour: without a texture
    :ivar material: what clients have painted it with
    """

    def __init__(
        self, number: int, name: str, label: int, layer: int, half: Vector, pose: Transform
    ) -> None:
        self.id = number
        self.name = name
        self.label = label
        self.layer = layer
        self.half = half
        self.pose = pose
        self.colour: Colour = _OTHER[1]
        self.material = PLAIN
        self.lamp: Vector | None = None
        self.is_shown = True

    def box(self) -> BoundingBox:
        """Its box in the world."""
        x, y, z = self.pose.location
        return BoundingBox(Vector(x, y, z + self.half.z), self.half, self.pose.rotation)


class Things:
    """All things of a map, in its order.

    ``version`` grows with every change of what is to be seen of them.
    """

    def __init__(self, network: RoadNetwork) -> None:
        self.version = 0
        self._things: dict[int, Thing] = {}
        self._names: dict[str, Thing] = {}
        #: How many things share the first part of their names.
        self._words: dict[str, int] = {}
        #: The parts in the order in which they were named; (): not yet. Lamps are named before.
        self._parts: tuple[Thing, ...] = ()
        self._lamps: tuple[Thing, ...] = ()
        #: What clients have painted actors with, by their ids.
        self.painted: dict[int, Material] = {}
        for road in network.roads.values():
            for found in road.objects:
                if _stands(found, road.length):
                    self._add(network, found)

    def _add(self, network: RoadNetwork, found: RoadObject) -> None:
        name = self._free_name("".join((found.name or found.type).split()) or "Thing")
        kind = "pole" if "post" in found.name.lower() else found.type.lower()
        label, colour = _KINDS.get(kind, _OTHER)
        layer = _STREET_LIGHTS if _is_lamp(found) else _LAYERS.get(label, _PROPS)
        half = Vector(0.5 * found.length, 0.5 * found.width, 0.5 * found.height)
        x, y, z, heading = network.pose(found.road_id, found.s, found.t)
        place = Vector(*frames.vector_to_carla(x, y, z + found.z_offset))
        turned = Rotation(0.0, frames.yaw_to_carla(heading + found.heading), 0.0)
        thing = Thing(len(self._things) + 1, name, label, layer, half, Transform(place, turned))
        thing.colour = colour
        if layer == _STREET_LIGHTS:
            thing.lamp = Vector(place.x, place.y, place.z + 2.0 * half.z)
        self._things[thing.id] = self._names[name] = thing

    def take_lamps(self, parts: Iterable[MapPart]) -> None:
        """Name the street lamps of the scenery, once, before the other parts."""
        self._lamps = tuple(self._named(part) for part in parts)

    def made_lamps(self) -> tuple[Thing, ...]:
        """The street lamps of the scenery in their order; none before they have been named."""
        return self._lamps

    def take_parts(self, parts: Iterable[MapPart]) -> None:
        """Name the other parts of the map, once: only what sees knows them."""
        if self._parts:
            return
        self._parts = tuple(self._named(part) for part in parts)

    def _named(self, part: MapPart) -> Thing:
        layer = _LAYERS.get(part.label, 0) if part.lamp is None else _STREET_LIGHTS
        name = self._free_name(part.name)
        thing = Thing(len(self._things) + 1, name, part.label, layer, part.half, part.pose)
        thing.lamp = part.lamp
        self._things[thing.id] = self._names[name] = thing
        return thing

    def _free_name(self, word: str) -> str:
        name, count = word, self._words.get(word, 0) + 1
        while name in self._names:
            count += 1
            name = f"{word}_{count}"
        self._words[word] = count
        return name

    def parts(self) -> tuple[Thing, ...]:
        """The parts but lamps in their order; none before they have been named."""
        return self._parts

    def shown(self) -> list[Thing]:
        """The visible things, without the parts of the map."""
        count = len(self._things) - len(self._parts) - len(self._lamps)
        return [thing for thing in list(self._things.values())[:count] if thing.is_shown]

    def labelled(self, label: int) -> list[Thing]:
        """The things of a label, or all (``ANY``), hidden ones too."""
        return [thing for thing in self._things.values() if label in (ANY, thing.label)]

    def lamps(self) -> list[Thing]:
        """The street lamps."""
        return [thing for thing in self._things.values() if thing.lamp is not None]

    def show(self, numbers: Iterable[int], shown: bool) -> None:
        """Show or hide things.

        :raises UnknownThingError: the map has no such thing; then nothing is changed
        """
        chosen = []
        for number in numbers:
            if number not in self._things:
                raise UnknownThingError(f"no environment object {number}: found none of that id")
            chosen.append(self._things[number])
        self._show(chosen, shown)

    def show_layers(self, layers: int, shown: bool) -> None:
        """Show or hide all things of map layers (bits of the protocol's ``MapLayer``)."""
        self._show([t for t in self._things.values() if t.layer & layers], shown)

    def paint(self, name: str, parameter: int, grid: Mosaic) -> bool:
        """Give a thing a texture; False: the map has no such thing."""
        thing = self._names.get(name)
        if thing is None:
            return False
        thing.material = thing.material.painted(parameter, grid)
        self.version += 1
        return True

    def paint_actor(self, number: int, parameter: int, grid: Mosaic) -> None:
        """Give an actor a texture."""
        self.painted[number] = self.painted.get(number, PLAIN).painted(parameter, grid)

    def _show(self, things: list[Thing], shown: bool) -> None:
        for thing in things:
            if thing.is_shown != shown:
                thing.is_shown = shown
                self.version += 1


def _is_lamp(thing: RoadObject) -> bool:
    words = "".join((thing.type + " " + thing.name).lower().replace("_", " ").split())
    return any(name in words for name in _LAMP_NAMES)


def _stands(thing: RoadObject, length: float) -> bool:
    return (
        thing.type.lower() != "crosswalk"
        and min(thing.length, thing.width) > 0.0
        and thing.height >= _LEAST_HEIGHT
        and 0.0 <= thing.s <= length
    )
