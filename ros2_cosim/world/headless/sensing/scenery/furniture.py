# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Walls, fences, guard rails, benches, bins, street lamps, and cars that are parked."""

from __future__ import annotations

from typing import Final

from ros2_cosim.world.headless.labels import (
    CARS,
    DYNAMIC,
    FENCES,
    GUARD_RAILS,
    POLES,
    STATIC,
    WALLS,
)
from ros2_cosim.world.headless.lamp_places import ARM, HEIGHT, LIGHT, ROOT, THICK
from ros2_cosim.world.headless.materials import Colour
from ros2_cosim.world.headless.sensing.bodies import outline_of, vehicle_body
from ros2_cosim.world.headless.sensing.figures import Point, SolidBlock, SolidFigure, shaded
from ros2_cosim.world.headless.sensing.scenery.dice import Dice

_WOOD: Final[Colour] = (122, 92, 62)
_STEEL: Final[Colour] = (150, 152, 154)
_STONES: Final[tuple[Colour, ...]] = ((150, 138, 120), (164, 158, 148), (132, 84, 68))
_PAINTS: Final[tuple[Colour, ...]] = (
    (168, 170, 172), (36, 38, 42), (214, 214, 210), (34, 60, 104), (134, 32, 34), (88, 94, 90),
)  # fmt: skip

#: Posts of a guard rail stand so far apart [m]; heights of its band above the ground.
RAIL_STEP: Final = 6.0
_RAIL: Final = 0.45, 0.75

#: Length, width and height of a parked car [m].
CAR: Final = 4.4, 1.8, 1.48


def fence(length: float, dice: Dice) -> SolidFigure:
    """A wooden fence along x from 0 to its length [m]."""
    form = SolidFigure(FENCES)
    colour = shaded(_WOOD, dice.between(0.8, 1.4))
    form.block((0.0, 0.0, -0.3), (length, 0.1, 1.15))
    count = max(1, int(length / 2.0))
    for n in range(count + 1):
        x = n * (length - 0.1) / count
        form.box((x, 0.0, -0.3), (x + 0.1, 0.1, 1.15), colour)
    for z in (0.25, 0.8):
        form.box((0.0, 0.02, z), (length, 0.08, z + 0.2), colour, has_floor=True)
    return form


def wall(length: float, dice: Dice) -> SolidFigure:
    """A wall along x from 0 to its length [m]."""
    form = SolidFigure(WALLS)
    form.block((0.0, 0.0, -0.3), (length, 0.25, 0.9))
    form.box((0.0, 0.0, -0.3), (length, 0.25, dice.between(0.9, 1.8)), dice.pick(_STONES))
    return form


def guard_rail(points: list[Point]) -> SolidFigure:
    """A guard rail along points on the ground, posts at each: in the frame of the points."""
    form = SolidFigure(GUARD_RAILS)
    for x, y, z in points:
        form.pillar((x, y, z - 0.3), _RAIL[1] + 0.3, (0.08, 0.08), _STEEL, sides=3)
    for (x0, y0, z0), (x1, y1, z1) in zip(points, points[1:], strict=False):
        low, high = _RAIL
        form.blocks.append(SolidBlock((x0, y0, z0), (x1, y1, z1), 0.08, high))
        band: list[Point] = [
            (x0, y0, z0 + low), (x1, y1, z1 + low), (x1, y1, z1 + high), (x0, y0, z0 + high),
        ]  # fmt: skip
        # A thin band: both of its sides are seen.
        dx, dy = x1 - x0, y1 - y0
        for side in (-1.0, 1.0):
            form.convex([band], (x0 + side * dy, y0 - side * dx, z0), _STEEL)
    return form


def bench() -> SolidFigure:
    """A bench at the origin, along x."""
    form = SolidFigure(STATIC)
    form.block((-0.9, -0.25, 0.0), (0.9, 0.26, 0.9))
    for x in (-0.7, 0.6):
        form.box((x, -0.2, 0.0), (x + 0.1, 0.25, 0.42), _STEEL)
    form.box((-0.9, -0.25, 0.42), (0.9, 0.25, 0.48), _WOOD, has_floor=True)
    form.box((-0.9, 0.2, 0.6), (0.9, 0.26, 0.9), _WOOD, has_floor=True)
    return form


def litter_bin() -> SolidFigure:
    """A bin at the origin, which may be moved."""
    form = SolidFigure(DYNAMIC)
    form.block((-0.28, -0.28, 0.0), (0.28, 0.28, 0.95))
    form.pillar((0.0, 0.0, 0.0), 0.95, (0.24, 0.28), (58, 74, 62))
    return form


def street_lamp() -> SolidFigure:
    """A street lamp whose light is at the origin, at the end of an arm to its left."""
    form = SolidFigure(POLES)
    top = HEIGHT - LIGHT
    foot = top - HEIGHT - ROOT
    form.block((0.0 - THICK, ARM - THICK, foot), (THICK, ARM + THICK, top))
    form.pillar((0.0, ARM, foot), top - foot, (THICK, 0.06), _STEEL, sides=5)
    form.box((-0.04, 0.0, top - 0.06), (0.04, ARM, top), _STEEL, has_floor=True)
    return form


def parked_car(dice: Dice) -> SolidFigure:
    """A car at the origin, along x."""
    form = vehicle_body(outline_of("car", CAR[2]), CAR, dice.pick(_PAINTS), CARS)
    length, width, height = CAR
    form.block((-0.5 * length, -0.5 * width, 0.0), (0.5 * length, 0.5 * width, height))
    return form
