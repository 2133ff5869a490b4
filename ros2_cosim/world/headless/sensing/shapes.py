# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What actors look like, in their own frame: vehicles, people, props, signs, lights."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ros2_cosim.world.headless.actors import Actor, VehicleActor
from ros2_cosim.world.headless.blueprints import LIBRARY
from ros2_cosim.world.headless.materials import PLAIN, Colour, Material
from ros2_cosim.world.headless.sensing.axes import Floats
from ros2_cosim.world.headless.sensing.bodies import (
    cycle_body,
    outline_of,
    person_body,
    vehicle_body,
)
from ros2_cosim.world.headless.sensing.figures import SolidFigure
from ros2_cosim.world.headless.sensing.mesh import SURFACE, Bytes, Indices
from ros2_cosim.world.headless.sensing.painted import Direction, box_corners, painted_box, textured
from ros2_cosim.world.headless.sensing.sign_faces import sign_body
from ros2_cosim.world.headless.signals import LightActor, SignActor
from ros2_cosim.world.headless.wire_types import BoundingBox

# Hinges of the doors as shares of half a vehicle: along it, and the side; of hood and trunk.
_SIDE_DOORS = ((0.45, -1.0), (0.45, 1.0), (-0.05, -1.0), (-0.05, 1.0))
_LIDS = (0.5, -0.6)
_DOOR, _PLATE_HALF = 0.45, 0.03  # m, half the width and half the depth of a door

_DARKEST = 24  # of a channel: black paint shines
_PAINTED: Colour = (128, 132, 138)
_SHIRTS: tuple[Colour, ...] = ((150, 60, 50), (60, 90, 140), (190, 180, 150), (70, 110, 80))
_ORANGE: Colour = (222, 104, 34)
_PROP: Colour = (150, 132, 104)


class BodyShape(NamedTuple):
    """Triangles (n, 3, 3) in the actor's frame, with tags, colours, levels, shades and glow (n).

    :ivar shine: (n, 3) what lamps shine with, and ``lamps`` (n): the lights that switch them on
    """

    points: Floats
    tags: Bytes
    colours: Bytes
    levels: Bytes
    shades: Floats
    glow: Bytes
    shine: Bytes
    lamps: Indices

    def lit(self, lights: int) -> BodyShape:
        """The same with lights (bits of ``VehicleLightState``) on."""
        burns = (self.lamps & lights) != 0
        return self._replace(glow=np.where(burns[:, None], self.shine, self.glow))


class _Pieces:
    """Collects the triangles of a shape."""

    def __init__(self, tag: int, material: Material) -> None:
        self.tag = tag
        self._material = material
        self._points: list[Floats] = []
        self._rows: list[tuple[int, ...]] = []
        self._shades: list[Direction] = []

    def box(
        self,
        centre: tuple[float, float, float],
        half: tuple[float, float, float],
        colour: Colour,
    ) -> None:
        corners = box_corners(*half) + np.array(centre)
        for piece in painted_box(corners, colour, self._material):
            self._take(piece.points, self.tag, piece.colour, piece.glow, piece.shade)

    def figure(self, figure: SolidFigure, box: BoundingBox) -> None:
        """A figure that stands on the floor of a box, with the textures of the material."""
        foot = np.array((*box.location[:2], box.location[2] - box.extent[2]))
        for piece in figure.pieces:
            points = piece.points + foot
            lamp = piece.shine, piece.lamps
            glow = (0, 0, 0) if piece.lamps else piece.shine
            if self._material == PLAIN:
                self._take(points, piece.label, piece.colour, glow, lamp=lamp)
                continue
            for triangle in points:
                look, shade = textured(triangle, piece.colour, self._material, box)
                glow = look.glow if any(look.glow) else glow
                self._take(triangle[None], piece.label, look.colour, glow, shade, lamp)

    def _take(
        self,
        points: Floats,
        tag: int,
        colour: Colour,
        glow: Colour,
        shade: Direction = (0.0, 0.0, 0.0),
        lamp: tuple[Colour, int] = ((0, 0, 0), 0),
    ) -> None:
        self._points.append(points)
        self._rows.extend([(tag, *colour, SURFACE, *glow, *lamp[0], lamp[1])] * len(points))
        self._shades.extend([shade] * len(points))

    def shape(self) -> BodyShape:
        lamps = np.array([row[-1] for row in self._rows], dtype=np.int64)
        rows = np.array([row[:-1] for row in self._rows], dtype=np.uint8)
        return BodyShape(
            np.concatenate(self._points), rows[:, 0], rows[:, 1:4], rows[:, 4],
            np.array(self._shades), rows[:, 5:8], rows[:, 8:11], lamps,
        )  # fmt: skip


def look_of(actor: Actor) -> int:
    """What of an actor's look may change: the state of a traffic light, open doors."""
    if isinstance(actor, VehicleActor):
        return actor.open_doors
    return actor.light.state if isinstance(actor, LightActor) else 0


def shape_of(actor: Actor, material: Material = PLAIN) -> BodyShape | None:
    """The shape of an actor; None if it is not to be seen.

    :param material: what clients have painted it with
    """
    tag = actor.blueprint.semantic_tag
    if isinstance(actor, SignActor):
        pieces = _Pieces(tag, material)
        pieces.figure(*sign_body(actor, tag))
        return pieces.shape()
    box = actor.bounding_box
    if min(box.extent) <= 0.0:
        return None
    pieces = _Pieces(tag, material)
    shirt = _SHIRTS[actor.id % len(_SHIRTS)]
    size = 2.0 * box.extent.x, 2.0 * box.extent.y, 2.0 * box.extent.z
    form = LIBRARY.get(actor.blueprint.likeness, actor.blueprint)
    base_type = form.default("base_type")
    if form.kind == "walker":
        pieces.figure(person_body(size, shirt, tag), box)
    elif form.default("number_of_wheels") == "2":
        motor = base_type == "motorcycle"
        paint = _colour_of(actor)
        pieces.figure(cycle_body(size, paint, shirt, tag, motor=motor), box)
    elif form.kind == "vehicle":
        outline = outline_of(base_type, size[2])
        pieces.figure(vehicle_body(outline, size, _colour_of(actor), tag), box)
        if isinstance(actor, VehicleActor):
            _add_doors(pieces, box, _colour_of(actor), actor.open_doors)
    else:
        colour = _ORANGE if "cone" in form.id else _PROP
        pieces.box(box.location, box.extent, colour)
    return pieces.shape()


def _colour_of(actor: Actor) -> Colour:
    parts = (actor.attribute("color") or "").split(",")
    if len(parts) != 3:
        return _PAINTED
    red, green, blue = (min(max(int(part), _DARKEST), 255) for part in parts)
    return red, green, blue


def _add_doors(pieces: _Pieces, box: BoundingBox, colour: Colour, doors: int) -> None:
    """Open doors: plates that stand out from the box, at right angles to its sides or its top."""
    (x, y, z), (length, width, height) = box.location, box.extent
    for number, (along, side) in enumerate(_SIDE_DOORS):
        if doors >> number & 1:
            place = (x + along * length, y + side * (width + _DOOR), z + 0.1 * height)
            pieces.box(place, (_PLATE_HALF, _DOOR, 0.7 * height), colour)
    for number, along in enumerate(_LIDS, start=len(_SIDE_DOORS)):
        if doors >> number & 1:
            place = (x + along * length, y, z + height + _DOOR)
            pieces.box(place, (_PLATE_HALF, 0.7 * width, _DOOR), colour)
