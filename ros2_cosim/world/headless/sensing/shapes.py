# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What actors look like, in their own frame: vehicles, people, props, signs, lights."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ros2_cosim.world.headless.actors import Actor, VehicleActor
from ros2_cosim.world.headless.blueprints import LIBRARY
from ros2_cosim.world.headless.labels import POLES
from ros2_cosim.world.headless.materials import PLAIN, Colour, Material
from ros2_cosim.world.headless.sensing.axes import Floats
from ros2_cosim.world.headless.sensing.bodies import (
    cycle_body,
    outline_of,
    person_body,
    vehicle_body,
)
from ros2_cosim.world.headless.sensing.figures import SolidFigure
from ros2_cosim.world.headless.sensing.mesh import PAINT, SURFACE, Bytes
from ros2_cosim.world.headless.sensing.painted import Direction, box_corners, painted_box, textured
from ros2_cosim.world.headless.signals import PLATE, LightActor, SignActor
from ros2_cosim.world.headless.wire_types import BoundingBox
from ros2_cosim.world.map.traffic_lights import GREEN, RED, YELLOW

# Hinges of the doors as shares of half a vehicle: along it, and the side; of hood and trunk.
_SIDE_DOORS = ((0.45, -1.0), (0.45, 1.0), (-0.05, -1.0), (-0.05, 1.0))
_LIDS = (0.5, -0.6)
_DOOR, _PLATE_HALF = 0.45, 0.03  # m, half the width and half the depth of a door
_POLE = 0.06  # m, half a pole's thickness
_LIGHT_SIZE = (0.4, 1.0)

_DARKEST = 24  # of a channel: black paint shines
_PAPER: Colour = (228, 228, 222)
_METAL: Colour = (110, 112, 114)
_HOUSING: Colour = (24, 26, 24)
_RED: Colour = (190, 26, 28)
_PAINTED: Colour = (128, 132, 138)
_SHIRTS: tuple[Colour, ...] = ((150, 60, 50), (60, 90, 140), (190, 180, 150), (70, 110, 80))
_ORANGE: Colour = (222, 104, 34)
_PROP: Colour = (150, 132, 104)
_DARK_LAMP: Colour = (52, 50, 46)
_LAMPS: tuple[tuple[int, float, Colour], ...] = (
    (RED, 0.62, (250, 44, 36)), (YELLOW, 0.0, (250, 196, 40)), (GREEN, -0.62, (44, 232, 90)),
)  # fmt: skip

#: A patch on a face: (low u, high u, low v, high v) as shares of the half sizes, and colour.
Patch = tuple[float, float, float, float, Colour]


class BodyShape(NamedTuple):
    """Triangles (n, 3, 3) in the actor's frame, with tags, colours, levels, shades and glow (n)."""

    points: Floats
    tags: Bytes
    colours: Bytes
    levels: Bytes
    shades: Floats
    glow: Bytes


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
        tag: int | None = None,
    ) -> None:
        corners = box_corners(*half) + np.array(centre)
        for piece in painted_box(corners, colour, self._material):
            self._take(
                piece.points, self.tag if tag is None else tag, piece.colour, SURFACE,
                piece.glow, piece.shade,
            )  # fmt: skip

    def figure(self, figure: SolidFigure, box: BoundingBox) -> None:
        """A figure that stands on the floor of a box, with the textures of the material."""
        foot = np.array((*box.location[:2], box.location[2] - box.extent[2]))
        for piece in figure.pieces:
            points = piece.points + foot
            if self._material == PLAIN:
                self._take(points, piece.label, piece.colour, SURFACE)
                continue
            for triangle in points:
                look, shade = textured(triangle, piece.colour, self._material, box)
                self._take(triangle[None], piece.label, look.colour, SURFACE, look.glow, shade)

    def patches(
        self,
        centre: tuple[float, float, float],
        half: tuple[float, float, float],
        axis: int,
        sign: float,
        patches: tuple[Patch, ...],
    ) -> None:
        """Patches on the face of a box at the end of an axis (0: front and back, 1: sides)."""
        for u0, u1, v0, v1, colour in patches:
            around = np.empty((4, 3))
            across = 1 - axis
            around[:, axis] = centre[axis] + sign * half[axis]
            around[:, across] = centre[across] + half[across] * np.array([u0, u1, u1, u0])
            around[:, 2] = centre[2] + half[2] * np.array([v0, v0, v1, v1])
            if (sign > 0.0) == (axis == 1):
                around = around[::-1]
            self._take(np.stack((around[[0, 1, 2]], around[[0, 2, 3]])), self.tag, colour, PAINT)

    def _take(
        self,
        points: Floats,
        tag: int,
        colour: Colour,
        level: int,
        glow: Colour = (0, 0, 0),
        shade: Direction = (0.0, 0.0, 0.0),
    ) -> None:
        self._points.append(points)
        self._rows.extend([(tag, *colour, level, *glow)] * len(points))
        self._shades.extend([shade] * len(points))

    def shape(self) -> BodyShape:
        rows = np.array(self._rows, dtype=np.uint8)
        return BodyShape(
            np.concatenate(self._points), rows[:, 0], rows[:, 1:4], rows[:, 4],
            np.array(self._shades), rows[:, 5:8],
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
        return _sign(actor, tag, material)
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


def _sign(actor: SignActor, tag: int, material: Material) -> BodyShape:
    """A pole from the ground up to the plate or the lamps."""
    signal = actor.signal
    pieces = _Pieces(tag, material)
    light = isinstance(actor, LightActor)
    width, height = actor.size()
    if light:
        width, height = signal.width or _LIGHT_SIZE[0], signal.height or _LIGHT_SIZE[1]
    base = actor.stand()
    # From the ground: the place is above it where the map says so.
    foot = 0.0 - max(signal.z_offset, 0.0)
    half_pole = 0.5 * (base - foot)
    if half_pole > 0.0:
        middle = (0.0, 0.0, foot + half_pole)
        pieces.box(middle, (_POLE, _POLE, half_pole), _METAL, POLES)
    centre = (0.0, 0.0, base + 0.5 * height)
    if isinstance(actor, LightActor):
        # As ``LightActor.head``: as deep as it is wide.
        size = (0.5 * width, 0.5 * width, 0.5 * height)
        pieces.box(centre, size, _HOUSING)
        lamps: tuple[Patch, ...] = tuple(
            (-0.6, 0.6, v - 0.26, v + 0.26, colour if actor.light.state == state else _DARK_LAMP)
            for state, v, colour in _LAMPS
        )
        for sign in (-1.0, 1.0):
            pieces.patches(centre, size, 0, sign, lamps)
        return pieces.shape()
    size = (PLATE, 0.5 * width, 0.5 * height)
    stop = actor.blueprint.id == "traffic.stop"
    pieces.box(centre, size, _RED)
    inner: Patch = (-0.7, 0.7, -0.16, 0.16, _PAPER) if stop else (-0.7, 0.7, -0.7, 0.7, _PAPER)
    for sign in (-1.0, 1.0):
        pieces.patches(centre, size, 0, sign, (inner,))
    return pieces.shape()
