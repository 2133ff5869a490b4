# SPDX-License-Identifier: Apache-2.0
"""Walls, fences, guard rails, benches, bins, and cars that are parked."""

from __future__ import annotations

from typing import Final

from ros2_cosim.world.headless.labels import CARS, FENCES, GUARD_RAILS, STATIC, WALLS
from ros2_cosim.world.headless.materials import Colour
from ros2_cosim.world.headless.sensing.scenery.dice import Dice
from ros2_cosim.world.headless.sensing.scenery.forms import Point, SceneryForm, shaded

_WOOD: Final[Colour] = (122, 92, 62)
_STEEL: Final[Colour] = (150, 152, 154)
_STONES: Final[tuple[Colour, ...]] = ((150, 138, 120), (164, 158, 148), (132, 84, 68))
_PAINTS: Final[tuple[Colour, ...]] = (
    (168, 170, 172), (36, 38, 42), (214, 214, 210), (34, 60, 104), (134, 32, 34), (88, 94, 90),
)  # fmt: skip
_GLASS: Final[Colour] = (30, 36, 42)
_TYRE: Final[Colour] = (24, 24, 26)

#: Posts of a guard rail stand so far apart [m]; heights of its band above the ground.
RAIL_STEP: Final = 6.0
_RAIL: Final = 0.45, 0.75

#: Length, width and height of a parked car [m].
CAR: Final = 4.4, 1.8, 1.48


def fence(length: float, dice: Dice) -> SceneryForm:
    """A wooden fence along x from 0 to its length [m]."""
    form = SceneryForm(FENCES)
    colour = shaded(_WOOD, dice.between(0.8, 1.4))
    count = max(1, int(length / 2.0))
    for n in range(count + 1):
        x = n * (length - 0.1) / count
        form.box((x, 0.0, -0.3), (x + 0.1, 0.1, 1.15), colour)
    for z in (0.25, 0.8):
        form.box((0.0, 0.02, z), (length, 0.08, z + 0.2), colour, has_floor=True)
    return form


def wall(length: float, dice: Dice) -> SceneryForm:
    """A wall along x from 0 to its length [m]."""
    form = SceneryForm(WALLS)
    form.box((0.0, 0.0, -0.3), (length, 0.25, dice.between(0.9, 1.8)), dice.pick(_STONES))
    return form


def guard_rail(points: list[Point]) -> SceneryForm:
    """A guard rail along points on the ground, posts at each: in the frame of the points."""
    form = SceneryForm(GUARD_RAILS)
    for x, y, z in points:
        form.pillar((x, y, z - 0.3), _RAIL[1] + 0.3, (0.08, 0.08), _STEEL, sides=3)
    for (x0, y0, z0), (x1, y1, z1) in zip(points, points[1:], strict=False):
        low, high = _RAIL
        band: list[Point] = [
            (x0, y0, z0 + low), (x1, y1, z1 + low), (x1, y1, z1 + high), (x0, y0, z0 + high),
        ]  # fmt: skip
        # A thin band: both of its sides are seen.
        dx, dy = x1 - x0, y1 - y0
        for side in (-1.0, 1.0):
            form.convex([band], (x0 + side * dy, y0 - side * dx, z0), _STEEL)
    return form


def bench() -> SceneryForm:
    """A bench at the origin, along x."""
    form = SceneryForm(STATIC)
    for x in (-0.7, 0.6):
        form.box((x, -0.2, 0.0), (x + 0.1, 0.25, 0.42), _STEEL)
    form.box((-0.9, -0.25, 0.42), (0.9, 0.25, 0.48), _WOOD, has_floor=True)
    form.box((-0.9, 0.2, 0.6), (0.9, 0.26, 0.9), _WOOD, has_floor=True)
    return form


def litter_bin() -> SceneryForm:
    """A bin at the origin."""
    form = SceneryForm(STATIC)
    form.pillar((0.0, 0.0, 0.0), 0.95, (0.24, 0.28), (58, 74, 62))
    return form


def parked_car(dice: Dice) -> SceneryForm:
    """A car at the origin, along x: body, cabin and wheels."""
    form = SceneryForm(CARS)
    paint = dice.pick(_PAINTS)
    length, width, height = CAR
    x, y = 0.5 * length, 0.5 * width
    form.box((0.0 - x, 0.0 - y, 0.28), (x, y, 0.82), paint, has_floor=True)
    low = _level((-0.42 * length, 0.24 * length), y, 0.82)
    top = _level((-0.32 * length, 0.08 * length), y - 0.15, height)
    glass = [[low[n], low[(n + 1) % 4], top[(n + 1) % 4], top[n]] for n in range(4)]
    form.convex(glass, (0.0, 0.0, 1.0), _GLASS)
    form.convex([top], (0.0, 0.0, 1.0), paint)
    for wheel in (-0.3 * length, 0.3 * length):
        for side in (0.0 - y, y - 0.2):
            form.box((wheel - 0.3, side, 0.0), (wheel + 0.3, side + 0.2, 0.6), _TYRE)
    return form


def _level(along: tuple[float, float], half: float, z: float) -> list[Point]:
    """The corners of a level rectangle around the x axis, in their order."""
    back, front = along
    return [(back, 0.0 - half, z), (front, 0.0 - half, z), (front, half, z), (back, half, z)]
