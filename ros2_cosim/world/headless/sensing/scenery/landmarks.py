# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Ponds, sidings with trains, billboards, forecourts, and the decks of bridges.

Sizes are those that such things usually have (class estimates).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from ros2_cosim.core.kernel.exactmath import PI, sincos
from ros2_cosim.world.headless.labels import (
    BRIDGES,
    GROUND,
    OTHER,
    POLES,
    RAIL_TRACKS,
    TRAINS,
    WATER,
)
from ros2_cosim.world.headless.materials import Colour
from ros2_cosim.world.headless.sensing.axes import Floats
from ros2_cosim.world.headless.sensing.figures import Point, SolidBlock, SolidFigure
from ros2_cosim.world.headless.sensing.ground import RoadLine, stations_of
from ros2_cosim.world.headless.sensing.scenery.dice import Dice
from ros2_cosim.world.map import RoadNetwork
from ros2_cosim.world.map.opendrive import Road

_WATER: Final[Colour] = (52, 78, 94)
_BALLAST: Final[Colour] = (112, 106, 100)
_RUSTY: Final[Colour] = (104, 78, 62)
_SLEEPER: Final[Colour] = (84, 74, 66)
_STEEL: Final[Colour] = (150, 152, 154)
_GLASS: Final[Colour] = (28, 34, 40)
_PAVING: Final[Colour] = (158, 150, 138)
_CONCRETE: Final[Colour] = (154, 152, 146)
_TRAINS: Final[tuple[Colour, ...]] = ((170, 44, 40), (46, 84, 132), (88, 110, 74))
_POSTERS: Final[tuple[Colour, ...]] = ((214, 176, 60), (60, 120, 170), (196, 80, 64))

#: Half of a siding's width, half its gauge, and the height of its rails [m].
TRACK, _GAUGE, _RAIL_TOP = 2.2, 0.7175, 0.42
#: Length and half the width of a carriage, its floor and its roof above the rails' foot [m].
CARRIAGE: Final = 22.0
_HALF, _FLOOR, _ROOF = 1.4, 1.2, 4.1
#: A road that is so far above the land [m] is on a bridge; its deck is so thick.
_FREE, _DECK = 2.5, 0.9
_PARAPET: Final = 0.25, 0.95  # m, thickness and height

Height = Callable[[float, float], float]


def pond(radius: float, dice: Dice) -> SolidFigure:
    """Water around the origin, up to so far [m]."""
    form = SolidFigure(WATER)
    count = 14
    rim: list[Point] = []
    for n in range(count):
        sin, cos = sincos(2.0 * PI * n / count)
        away = radius * dice.between(0.8, 1.0)
        rim.append((away * cos, away * sin, 0.0))
    # From the middle: whatever the rim's shape is, each piece is convex.
    pieces = [[(0.0, 0.0, 0.0), rim[n], rim[(n + 1) % count]] for n in range(count)]
    form.convex(pieces, (0.0, 0.0, -1.0), _WATER)
    return form


def siding(length: float) -> SolidFigure:
    """A track along x from 0 to its length [m]."""
    form = SolidFigure(RAIL_TRACKS)
    form.box((0.0, 0.0 - TRACK, -0.4), (length, TRACK, 0.25), _BALLAST)
    for n in range(int(length / 1.2)):
        x, z = 0.3 + 1.2 * n, 0.25
        corners = [(x, -1.3, z), (x + 0.26, -1.3, z), (x + 0.26, 1.3, z), (x, 1.3, z)]
        form.patch(corners, (0.0, 0.0, 1.0), _SLEEPER)
    for side in (-1.0, 1.0):
        low, high = sorted((side * _GAUGE, side * (_GAUGE + 0.07)))
        form.box((0.0, low, 0.25), (length, high, _RAIL_TOP), _RUSTY)
    return form


def train(carriages: int, dice: Dice) -> SolidFigure:
    """A train that stands on a siding, along x from 0."""
    form = SolidFigure(TRAINS)
    paint = dice.pick(_TRAINS)
    for n in range(carriages):
        low, high = n * CARRIAGE + 0.4, (n + 1) * CARRIAGE - 0.4
        form.box((low, 0.0 - _HALF, _FLOOR), (high, _HALF, _ROOF), paint, has_floor=True)
        form.block((low, 0.0 - _HALF, 0.0), (high, _HALF, _ROOF))
        for x in (low + 1.5, high - 4.0):
            form.box((x, -1.1, _RAIL_TOP), (x + 2.5, 1.1, _FLOOR), _GLASS)
        for side in (-1.0, 1.0):
            for m in range(8):
                x, y = low + 1.2 + 2.4 * m, side * _HALF
                corners = [(x, y, 2.2), (x + 1.7, y, 2.2), (x + 1.7, y, 3.3), (x, y, 3.3)]
                form.patch(corners, (0.0, side, 0.0), _GLASS)
    return form


def billboard(dice: Dice) -> SolidFigure:
    """A board on two posts at the origin, along x."""
    form = SolidFigure(OTHER)
    for x in (-1.5, 1.4):
        form.box((x, 0.0, -0.3), (x + 0.1, 0.1, 2.2), _STEEL, POLES)
        form.block((x, 0.0, -0.3), (x + 0.1, 0.1, 2.2))
    form.box((-2.2, -0.05, 2.2), (2.2, 0.15, 4.6), dice.pick(_POSTERS), has_floor=True)
    return form


def forecourt(width: float, depth: float, height: float) -> SolidFigure:
    """Paving before a shop, from the origin so wide and deep and high [m]."""
    form = SolidFigure(GROUND)
    form.box((0.0, 0.0, -0.3), (width, depth, height), _PAVING)
    return form


def bridge_of(network: RoadNetwork, road: Road, height: Height) -> SolidFigure | None:
    """The deck and the parapets of a road where the land is far below it, in the world."""
    form = SolidFigure(BRIDGES)
    for section in road.lanes.sections:
        stations = stations_of(road, section)
        if not stations:
            continue
        line = RoadLine(road, stations)
        edges = np.array([road.lanes.edges(s) for s in stations])
        sides = [line.beside(edges[:, n]) for n in (0, 1)]
        free = np.array([
            all(float(z) - height(float(x), float(y)) > _FREE for x, y, z in pair)
            for pair in zip(*(side.tolist() for side in sides), strict=True)
        ])  # fmt: skip
        for n in np.flatnonzero(free[:-1] & free[1:]).tolist():
            _add_deck(form, *(side[n : n + 2] for side in sides))
    return form if form.pieces else None


def _add_deck(form: SolidFigure, right: Floats, left: Floats) -> None:
    """The deck between two stations, whose edges (2, 3) are given."""
    down = np.array((0.0, 0.0, 0.0 - _DECK))
    middle = 0.25 * (right.sum(axis=0) + left.sum(axis=0)) + 0.5 * down
    inside: Point = (float(middle[0]), float(middle[1]), float(middle[2]))
    a, b, c, d = right[0], right[1], left[1], left[0]
    faces = [[a, b, b + down, a + down], [d, c, c + down, d + down],
             [a + down, b + down, c + down, d + down]]  # fmt: skip
    form.convex([[_point(p) for p in face] for face in faces], inside, _CONCRETE)
    thick, high = _PARAPET
    up = np.array((0.0, 0.0, high))
    for near, far in ((right, left), (left, right)):
        across = near - far
        across[:, 2] = 0.0
        across *= thick / np.sqrt((across * across).sum(axis=1))[:, None]
        outer = near + across
        begin, end = (_point(place) for place in near + 0.5 * across)
        form.blocks.append(SolidBlock(begin, end, 0.5 * thick, high))
        a, b, c, d = near[0], near[1], outer[1], outer[0]
        faces = [[a, b, b + up, a + up], [d + down, c + down, c + up, d + up],
                 [a + up, b + up, c + up, d + up]]  # fmt: skip
        middle = 0.5 * (a + c) + 0.3 * up
        inside = (float(middle[0]), float(middle[1]), float(middle[2]))
        form.convex([[_point(p) for p in face] for face in faces], inside, _CONCRETE)


def _point(place: Floats) -> Point:
    x, y, z = place.tolist()
    return x, y, z
