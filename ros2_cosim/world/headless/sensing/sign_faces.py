# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Bodies of traffic signs and lights: outline, face and text by their kind.

Drivers know a stop sign by its eight corners and a yield sign by its three, from behind, too; a
face looks to the traffic that it holds for.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from ros2_cosim.core.kernel.exactmath import PI, sincos, total
from ros2_cosim.world.headless.labels import POLES
from ros2_cosim.world.headless.materials import Colour
from ros2_cosim.world.headless.sensing.figures import Point, SolidFigure
from ros2_cosim.world.headless.sensing.lettering import strokes
from ros2_cosim.world.headless.signals import PLATE, LightActor, SignActor
from ros2_cosim.world.headless.wire_types import BoundingBox, Vector
from ros2_cosim.world.map.traffic_lights import GREEN, RED, YELLOW

_POLE: Final = 0.06  # m, half a pole's thickness
_PAPER: Final[Colour] = (228, 228, 222)
_METAL: Final[Colour] = (110, 112, 114)
_HOUSING: Final[Colour] = (24, 26, 24)
_RED: Final[Colour] = (190, 26, 28)
_INK: Final[Colour] = (26, 26, 28)
_DARK_LAMP: Final[Colour] = (52, 50, 46)
#: A lamp that is on: what it looks like is its own light alone.
_LAMP: Final[Colour] = (4, 4, 4)
_LAMPS: Final[tuple[tuple[int, float, Colour], ...]] = (
    (RED, 0.62, (250, 44, 36)), (YELLOW, 0.0, (250, 196, 40)), (GREEN, -0.62, (44, 232, 90)),
)  # fmt: skip
#: Text lies so far above the face [m]; more than a detail does.
_TEXT: Final = 3.0e-4
#: Width and height of lights whose map gives none [m].
_LIGHT_SIZE: Final = 0.4, 1.0
#: Half sizes of a lamp as shares of those of the housing.
_LAMP_SIZE: Final = 0.6, 0.27

#: Convex outlines as shares of half the width and the height of a plate.
_Outline = tuple[tuple[float, float], ...]
_SQUARE: Final[_Outline] = ((-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0))
_TRIANGLE: Final[_Outline] = ((-1.0, 1.0), (0.0, -1.0), (1.0, 1.0))
_CUT: Final = 0.41421356237309503  # of an octagon's side
_OCTAGON: Final[_Outline] = (
    (1.0, -_CUT), (1.0, _CUT), (_CUT, 1.0), (-_CUT, 1.0),
    (-1.0, _CUT), (-1.0, -_CUT), (-_CUT, -1.0), (_CUT, -1.0),
)  # fmt: skip


def _disc(sides: int) -> _Outline:
    turns = [sincos(2.0 * PI * n / sides) for n in range(sides)]
    return tuple((cos, sin) for sin, cos in turns)


_ROUND, _BULB = _disc(12), _disc(8)


class _Face(NamedTuple):
    """What a kind of sign shows.

    :ivar border: colour of the rim, and ``inner`` of what is within, ``share`` of the size
    :ivar ink: colour of the text, and ``room``: shares of the half sizes that it takes
    """

    outline: _Outline
    border: Colour
    inner: Colour
    share: float
    ink: Colour = _INK
    room: tuple[float, float] = (0.0, 0.0)


_FACES: Final = {
    "stop": _Face(_OCTAGON, _PAPER, _RED, 0.93, _PAPER, (0.74, 0.3)),
    "yield": _Face(_TRIANGLE, _RED, _PAPER, 0.62),
    "speed_limit": _Face(_ROUND, _RED, _PAPER, 0.8, _INK, (0.5, 0.36)),
}
_UNKNOWN: Final = _Face(_SQUARE, _INK, _PAPER, 0.9)


def sign_body(actor: SignActor, label: int) -> tuple[SolidFigure, BoundingBox]:
    """The body of a sign or light in the frame of its plate's or housing's foot, and its box."""
    signal = actor.signal
    width, height = actor.size()
    deep = PLATE
    if isinstance(actor, LightActor):
        width, height = signal.width or _LIGHT_SIZE[0], signal.height or _LIGHT_SIZE[1]
        deep = 0.5 * width
    base, form = actor.stand(), SolidFigure(label)
    # From the ground: the place is above it where the map says so.
    foot = min(0.0, 0.0 - signal.z_offset) - base
    if foot < 0.0:
        form.box((-_POLE, -_POLE, foot), (_POLE, _POLE, 0.0), _METAL, POLES, has_floor=True)
    plate = _Plate(form, 0.5 * width, 0.5 * height, deep, actor.front)
    if isinstance(actor, LightActor):
        _add_lamps(plate, actor.light.state)
    else:
        _, kind, *rest = actor.blueprint.id.split(".")
        _add_face(plate, _FACES.get(kind, _UNKNOWN), "".join(rest) if rest else kind)
    return form, BoundingBox(
        Vector(0.0, 0.0, base + 0.5 * height), Vector(deep, 0.5 * width, 0.5 * height)
    )


class _Plate(NamedTuple):
    """A plate or housing: half sizes [m], and at which end of the x axis its face is."""

    form: SolidFigure
    half: float
    high: float
    deep: float
    front: float

    def at(self, u: float, v: float, end: float) -> Point:
        """A place on one of its ends; u to the right as one looks at the face."""
        return end * self.deep, 0.0 - self.front * u * self.half, (1.0 + v) * self.high

    def show(
        self, outline: _Outline, colour: Colour, shine: Colour = (0, 0, 0), above: float = 0.0
    ) -> None:
        """Something on the face, or so far above it [m]."""
        corners = [
            (x + self.front * above, y, z) for x, y, z in
            (self.at(u, v, self.front) for u, v in outline)
        ]  # fmt: skip
        self.form.patch(corners, (self.front, 0.0, 0.0), colour, shine)

    def fill(self, outline: _Outline, colour: Colour, back: Colour) -> None:
        """The body over an outline: colour of its face, and of the rest."""
        face, other = (
            [self.at(u, v, end) for u, v in outline] for end in (self.front, -self.front)
        )
        count, inside = len(outline), (0.0, 0.0, self.high)
        rim = [[face[n], face[(n + 1) % count], other[(n + 1) % count], other[n]]
               for n in range(count)]  # fmt: skip
        self.form.convex([face], inside, colour)
        self.form.convex([other, *rim], inside, back)


def _add_face(plate: _Plate, face: _Face, text: str) -> None:
    plate.fill(face.outline, face.border, _METAL)
    middle = total(v for _, v in face.outline) / len(face.outline)
    inner = tuple((u * face.share, middle + (v - middle) * face.share) for u, v in face.outline)
    plate.show(inner, face.inner)
    wide, high = face.room
    for low, right, down, up in strokes(text.upper()) if wide > 0.0 else ():
        a, b, c, d = low * wide, right * wide, down * high, up * high
        plate.show(((a, c), (b, c), (b, d), (a, d)), face.ink, above=_TEXT)


def _add_lamps(plate: _Plate, state: int) -> None:
    plate.fill(_SQUARE, _HOUSING, _HOUSING)
    wide, high = _LAMP_SIZE
    for own, middle, colour in _LAMPS:
        disc = tuple((u * wide, middle + v * high) for u, v in _BULB)
        if own == state:
            plate.show(disc, _LAMP, colour)
        else:
            plate.show(disc, _DARK_LAMP)
