# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Houses: thirteen kinds of facade, each with its storeys, windows, colours and roof.

Sizes are those that such houses usually have (class estimates); no house is that of a place.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from ros2_cosim.world.headless.labels import BUILDINGS
from ros2_cosim.world.headless.materials import Colour
from ros2_cosim.world.headless.sensing.figures import Point, SolidFigure, shaded
from ros2_cosim.world.headless.sensing.scenery.dice import Dice

FLAT, GABLE, HIP, SHED = "flat", "gable", "hip", "shed"

_GLASS: Final[Colour] = (62, 76, 90)
_DOOR: Final[Colour] = (84, 62, 46)
_SHOP_GLASS: Final[Colour] = (74, 92, 104)
#: What windows shine with at night, and how many of them do, of rooms and of shops.
_LIT: Final[tuple[Colour, ...]] = ((168, 130, 74), (150, 122, 82), (136, 142, 146))
_ROOMS_LIT, _SHOPS_LIT = 0.4, 0.8
_DARK: Final[Colour] = (0, 0, 0)
_TILES: Final[tuple[Colour, ...]] = ((146, 74, 56), (120, 66, 54), (92, 88, 86))
_GRAVEL: Final[tuple[Colour, ...]] = ((142, 140, 134), (118, 116, 112))
_METAL: Final[tuple[Colour, ...]] = ((150, 156, 160), (104, 118, 128))
_BASE: Final = 0.6  # m, of a house below the ground: land slopes
_PARAPET: Final = 0.5  # m


class Facade(NamedTuple):
    """A kind of house.

    :ivar walls: colours that its walls may have
    :ivar storeys: fewest and most
    :ivar storey: height of one [m]
    :ivar width: least and most of its front [m], and ``depth``
    :ivar window: width and height of a window [m], and ``spacing`` from one to the next; a spacing
        of 0: one strip over the whole front
    :ivar sill: height of a window above the floor [m]
    :ivar is_shop: whether the ground floor has large windows
    :ivar balconies: whether the upper storeys have balconies to the road
    """

    name: str
    walls: tuple[Colour, ...]
    storeys: tuple[int, int]
    storey: float
    width: tuple[float, float]
    depth: tuple[float, float]
    window: tuple[float, float]
    spacing: float
    sill: float
    roof: str
    roofs: tuple[Colour, ...]
    is_shop: bool = False
    balconies: bool = False


_BRICK: Final[tuple[Colour, ...]] = ((142, 82, 66), (128, 74, 60), (158, 100, 80))
_RENDER: Final[tuple[Colour, ...]] = (
    (214, 202, 178), (196, 178, 150), (222, 214, 200), (186, 196, 190),
)  # fmt: skip
_CONCRETE: Final[tuple[Colour, ...]] = ((166, 164, 158), (148, 148, 146))
_STONE: Final[tuple[Colour, ...]] = ((178, 166, 142), (160, 150, 134))

TOWN: Final = (
    Facade("BrickTownHouse", _BRICK, (3, 5), 3.2, (8, 12), (10, 13), (1.1, 1.7), 2.4, 0.9,
           GABLE, _TILES),
    Facade("RenderedTownHouse", _RENDER, (3, 5), 3.1, (9, 14), (10, 13), (1.2, 1.6), 2.6, 0.9,
           HIP, _TILES),
    Facade("ShopHouse", _RENDER + _BRICK, (3, 4), 3.4, (10, 16), (11, 14), (1.3, 1.7), 2.8, 0.8,
           FLAT, _GRAVEL, is_shop=True),
    Facade("StoneHouse", _STONE, (3, 4), 3.8, (12, 18), (12, 15), (1.2, 2.2), 3.0, 0.8,
           HIP, _METAL),
    Facade("Flats", _RENDER, (4, 6), 2.9, (18, 26), (11, 14), (1.5, 1.4), 3.2, 0.9,
           FLAT, _GRAVEL, balconies=True),
)  # fmt: skip
CENTRE: Final = (
    Facade("RibbonOffice", _CONCRETE, (5, 9), 3.6, (20, 30), (14, 18), (0.0, 1.7), 0.0, 1.0,
           FLAT, _GRAVEL),
    Facade("GlassOffice", _METAL, (6, 12), 3.7, (18, 28), (14, 20), (1.7, 2.7), 2.0, 0.5,
           FLAT, _GRAVEL, is_shop=True),
    Facade("SlabBlock", _CONCRETE, (6, 9), 2.8, (24, 34), (11, 13), (1.6, 1.4), 3.0, 0.9,
           FLAT, _GRAVEL, balconies=True),
    Facade("DepartmentStore", _STONE, (3, 4), 4.5, (26, 36), (18, 24), (3.4, 1.6), 5.2, 2.0,
           FLAT, _GRAVEL, is_shop=True),
)  # fmt: skip
SUBURB: Final = (
    Facade("Villa", _RENDER, (2, 2), 2.9, (9, 13), (9, 11), (1.3, 1.3), 3.0, 0.9, HIP, _TILES),
    Facade("Cottage", _BRICK + _RENDER, (1, 2), 2.7, (8, 11), (8, 10), (1.1, 1.2), 2.8, 0.9,
           GABLE, _TILES),
    Facade("Terrace", _BRICK, (2, 3), 2.8, (16, 24), (9, 11), (1.2, 1.4), 2.7, 0.9, GABLE, _TILES),
)  # fmt: skip
WORKS: Final = (
    Facade("Warehouse", _METAL + _CONCRETE, (1, 2), 4.6, (24, 38), (18, 26), (2.4, 0.9), 5.0, 3.2,
           SHED, _METAL),
)  # fmt: skip
FACADES: Final = TOWN + CENTRE + SUBURB + WORKS


class _Wall(NamedTuple):
    """A wall seen from outside: where it begins, its direction along and out, its length [m]."""

    x: float
    y: float
    along: tuple[float, float]
    out: tuple[float, float]
    length: float

    def at(self, across: float, z: float) -> Point:
        return self.x + across * self.along[0], self.y + across * self.along[1], z

    def patch(
        self,
        form: SolidFigure,
        low: float,
        high: float,
        z: tuple[float, float],
        colour: Colour,
        shine: Colour = _DARK,
    ) -> None:
        corners = self.at(low, z[0]), self.at(high, z[0]), self.at(high, z[1]), self.at(low, z[1])
        form.patch(corners, (*self.out, 0.0), colour, shine)


def house(kind: Facade, width: float, depth: float, dice: Dice, evening: Dice) -> SolidFigure:
    """A house whose front, at y = 0, looks to the road; x from 0 to its width [m].

    :param evening: draws which windows are lit at night
    """
    form = SolidFigure(BUILDINGS)
    wall, roof = shaded(dice.pick(kind.walls), dice.between(0.88, 1.06)), dice.pick(kind.roofs)
    storeys = dice.whole(*kind.storeys)
    height = storeys * kind.storey
    flat = kind.roof == FLAT
    form.filled = (0.0, 0.0, 0.0 - _BASE), (width, depth, height + (_PARAPET if flat else 0.0))
    form.box(*form.filled, wall)
    form.block(*form.filled)
    if flat:
        _add_flat_roof(form, width, depth, height + _PARAPET, roof, dice)
    else:
        _add_roof(form, kind.roof, (width, depth, height), wall, roof)
    front = _Wall(0.0, 0.0, (1.0, 0.0), (0.0, -1.0), width)
    others = (
        _Wall(0.0, depth, (1.0, 0.0), (0.0, 1.0), width),
        _Wall(0.0, 0.0, (0.0, 1.0), (-1.0, 0.0), depth),
        _Wall(width, 0.0, (0.0, 1.0), (1.0, 0.0), depth),
    )
    _add_ground_floor(form, front, kind, evening)
    for storey in range(1, storeys):
        _add_windows(form, front, kind, storey, evening)
    for side in others:
        for storey in range(storeys):
            _add_windows(form, side, kind, storey, evening)
    if kind.balconies:
        for storey in range(1, storeys):
            _add_balconies(form, width, storey * kind.storey, shaded(wall, 0.85))
    return form


def _light(evening: Dice, chance: float) -> Colour:
    """What a window shines with at night."""
    return evening.pick(_LIT) if evening.falls(chance) else _DARK


def _add_windows(form: SolidFigure, wall: _Wall, kind: Facade, storey: int, evening: Dice) -> None:
    floor = storey * kind.storey + kind.sill
    z = floor, floor + kind.window[1]
    if kind.spacing == 0.0:
        wall.patch(form, 0.4, wall.length - 0.4, z, _GLASS, _light(evening, _ROOMS_LIT))
        return
    count = int((wall.length - 0.8) / kind.spacing)
    margin = 0.5 * (wall.length - count * kind.spacing)
    for n in range(count):
        low = margin + n * kind.spacing + 0.5 * (kind.spacing - kind.window[0])
        wall.patch(form, low, low + kind.window[0], z, _GLASS, _light(evening, _ROOMS_LIT))


def _add_ground_floor(form: SolidFigure, front: _Wall, kind: Facade, evening: Dice) -> None:
    middle = 0.5 * front.length
    front.patch(form, middle - 0.6, middle + 0.6, (0.0, 2.2), _DOOR)
    if kind.is_shop:
        height = kind.storey - 0.6
        for low, high in ((0.5, middle - 1.0), (middle + 1.0, front.length - 0.5)):
            shine = _light(evening, _SHOPS_LIT)
            front.patch(form, low, high, (0.4, height), _SHOP_GLASS, shine)
        return
    for low, high in ((0.0, middle - 1.0), (middle + 1.0, front.length)):
        part = _Wall(front.x + low, front.y, front.along, front.out, high - low)
        _add_windows(form, part, kind, 0, evening)


def _add_balconies(form: SolidFigure, width: float, z: float, colour: Colour) -> None:
    count = max(1, int(width / 6.0))
    for n in range(count):
        middle = (n + 0.5) * width / count
        form.box((middle - 1.5, -1.1, z), (middle + 1.5, 0.0, z + 1.0), colour, has_floor=True)


def _add_flat_roof(
    form: SolidFigure, width: float, depth: float, z: float, roof: Colour, dice: Dice
) -> None:
    form.patch(((0.0, 0.0, z), (width, 0.0, z), (width, depth, z), (0.0, depth, z)),
               (0.0, 0.0, 1.0), roof)  # fmt: skip
    x, y = dice.between(0.2, 0.6) * width, dice.between(0.3, 0.6) * depth
    form.box((x, y, z), (x + 0.2 * width, y + 0.2 * depth, z + dice.between(1.2, 2.6)), roof)


def _add_roof(
    form: SolidFigure, kind: str, size: tuple[float, float, float], wall: Colour, roof: Colour
) -> None:
    """A roof whose ridge lies along the road."""
    width, depth, z = size
    top = z + (0.16 if kind == SHED else 0.38) * depth
    a, b, c, d = (0.0, 0.0, z), (width, 0.0, z), (width, depth, z), (0.0, depth, z)
    inside = 0.5 * width, 0.5 * depth, z + 0.1
    if kind == SHED:
        e, f = (0.0, depth, top), (width, depth, top)
        form.convex([(a, b, f, e)], inside, roof)
        form.convex([(a, e, d), (b, f, c), (c, d, e, f)], inside, wall)
        return
    inset = 0.0 if kind == GABLE else min(0.5 * depth, 0.4 * width)
    e, f = (inset, 0.5 * depth, top), (width - inset, 0.5 * depth, top)
    form.convex([(a, b, f, e), (c, d, e, f)], inside, roof)
    form.convex([(a, e, d), (b, c, f)], inside, wall if kind == GABLE else roof)
