# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Bodies of few triangles: what stands beside roads, vehicles, people.

A figure has its own frame: x forward or along a road, y to the right or away from it, z up [m]; the
ground is at 0. Details are flat pieces in a face, as windows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ros2_cosim.core.kernel.exactmath import PI, sincos
from ros2_cosim.world.headless.materials import Colour
from ros2_cosim.world.headless.sensing.axes import Floats
from ros2_cosim.world.headless.sensing.mesh import cross, dot

Point = tuple[float, float, float]

#: Corners of the faces of a box; bit 0 of a number is x, 1 is y, 2 is z. The last one is below.
_FACES = ((0, 1, 5, 4), (3, 2, 6, 7), (1, 3, 7, 5), (2, 0, 4, 6), (4, 5, 7, 6), (0, 2, 3, 1))

# Details lie so much before their face [m]: enough to win against it from any distance.
_BEFORE = 2.0e-4
_SPOKES = 12  # corners of a wheel


class SolidPiece(NamedTuple):
    """Triangles (n, 3, 3) of one look.

    :ivar shine: what they shine with while their lamp is on
    :ivar lamps: bits of a vehicle's lights that switch it on; 0: it is on, in houses at night
    """

    points: Floats
    label: int
    colour: Colour
    is_detail: bool
    shine: Colour = (0, 0, 0)
    lamps: int = 0


class SolidBlock(NamedTuple):
    """A box that vehicles collide with: its middle line from one point to another, [m].

    :ivar half: half its width
    :ivar high: its upper end above the first point
    """

    begin: Point
    end: Point
    half: float
    high: float


class SolidFigure:
    """The pieces of one object.

    :param label: of the protocol, of all pieces that have no other one
    :ivar blocks: what vehicles collide with
    :ivar filled: two corners of a box that nothing is seen through, None: there is none
    """

    def __init__(self, label: int) -> None:
        self.label = label
        self.pieces: list[SolidPiece] = []
        self.filled: tuple[Point, Point] | None = None
        self.blocks: list[SolidBlock] = []

    def block(self, low: Point, high: Point) -> None:
        """Let vehicles collide with a box along the axes, between two corners."""
        y = 0.5 * (low[1] + high[1])
        ends = (low[0], y, low[2]), (high[0], y, low[2])
        self.blocks.append(SolidBlock(*ends, 0.5 * (high[1] - low[1]), high[2] - low[2]))

    def convex(
        self,
        polygons: Sequence[Sequence[Point]],
        inside: Point,
        colour: Colour,
        label: int | None = None,
    ) -> None:
        """Convex polygons that turn their fronts away from a point inside."""
        triangles = [
            (polygon[0], polygon[i], polygon[i + 1])
            for polygon in polygons
            for i in range(1, len(polygon) - 1)
        ]
        points = np.array(triangles, dtype=np.float64)
        normals = cross(points[:, 1] - points[:, 0], points[:, 2] - points[:, 0])
        inwards = dot(normals, points[:, 0] - np.array(inside)) < 0.0
        points[inwards] = points[inwards][:, ::-1]
        found = self.label if label is None else label
        self.pieces.append(SolidPiece(points, found, colour, is_detail=False))

    def box(
        self,
        low: Point,
        high: Point,
        colour: Colour,
        label: int | None = None,
        *,
        has_floor: bool = False,
    ) -> None:
        """A box between two corners; without its face below unless that can be seen."""
        ends = low, high
        corners = [(ends[n & 1][0], ends[n >> 1 & 1][1], ends[n >> 2][2]) for n in range(8)]
        faces = _FACES if has_floor else _FACES[:-1]
        middle = tuple(0.5 * (a + b) for a, b in zip(low, high, strict=True))
        polygons = [[corners[n] for n in face] for face in faces]
        self.convex(polygons, (middle[0], middle[1], middle[2]), colour, label)

    def pillar(
        self,
        foot: Point,
        height: float,
        radii: tuple[float, float],
        colour: Colour,
        sides: int = 6,
        label: int | None = None,
        *,
        has_floor: bool = False,
    ) -> None:
        """A prism, or a pyramid with a radius of 0 at the top; a floor is seen from below."""
        x, y, z = foot
        lower, upper = radii
        turns = [sincos(2.0 * PI * n / sides) for n in range(sides)]
        low = [(x + lower * c, y + lower * s, z) for s, c in turns]
        top = [(x + upper * c, y + upper * s, z + height) for s, c in turns]
        polygons: list[list[Point]] = []
        for n in range(sides):
            m = (n + 1) % sides
            polygons.append([low[n], low[m], top[m], top[n]] if upper else [low[n], low[m], top[n]])
        if upper:
            polygons.append(top)
        if has_floor:
            polygons.append(low)
        self.convex(polygons, (x, y, z + 0.4 * height), colour, label)

    def wheel(self, hub: Point, thick: float, radius: float, colour: Colour) -> None:
        """A disc around an axle along y, from the hub so thick [m], to the left if below 0."""
        x, y, z = hub
        turns = [sincos(2.0 * PI * n / _SPOKES) for n in range(_SPOKES)]
        rims = [
            [(x + radius * c, y + depth, z + radius * s) for s, c in turns]
            for depth in (0.0, thick)
        ]
        polygons = [*rims]
        for n in range(_SPOKES):
            m = (n + 1) % _SPOKES
            polygons.append([rims[0][n], rims[0][m], rims[1][m], rims[1][n]])
        self.convex(polygons, (x, y + 0.5 * thick, z), colour)

    def ball(
        self, middle: Point, radii: Point, colours: tuple[Colour, Colour], sides: int = 6
    ) -> None:
        """A round body of two rings: the upper half lighter than the lower one."""
        x, y, z = middle
        a, b, c = radii
        turns = [sincos(2.0 * PI * n / sides) for n in range(sides)]
        rings = [
            [(x + share * a * c_, y + share * b * s_, z + height * c) for s_, c_ in turns]
            for share, height in ((0.55, -0.85), (1.0, -0.1), (0.6, 0.78))
        ]
        upper: list[list[Point]] = [rings[2]]
        lower: list[list[Point]] = [rings[0]]
        for n in range(sides):
            m = (n + 1) % sides
            lower.append([rings[0][n], rings[0][m], rings[1][m], rings[1][n]])
            upper.append([rings[1][n], rings[1][m], rings[2][m], rings[2][n]])
        self.convex(lower, middle, colours[0])
        self.convex(upper, middle, colours[1])

    def patch(
        self,
        corners: Sequence[Point],
        outward: Point,
        colour: Colour,
        shine: Colour = (0, 0, 0),
        lamps: int = 0,
    ) -> None:
        """A detail: a convex polygon in a face with this outward direction, of length 1.

        :param shine: and ``lamps``: as those of a piece
        """
        u, v, w = outward
        corners = [(x + _BEFORE * u, y + _BEFORE * v, z + _BEFORE * w) for x, y, z in corners]
        (x0, y0, z0), (x1, y1, z1), (x2, y2, z2) = corners[:3]
        ax, ay, az, bx, by, bz = x1 - x0, y1 - y0, z1 - z0, x2 - x0, y2 - y0, z2 - z0
        normal = ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx
        ahead = normal[0] * outward[0] + normal[1] * outward[1] + normal[2] * outward[2]
        order = list(corners) if ahead > 0.0 else list(corners)[::-1]
        triangles = [(order[0], order[i], order[i + 1]) for i in range(1, len(order) - 1)]
        points = np.array(triangles, dtype=np.float64)
        self.pieces.append(SolidPiece(points, self.label, colour, True, shine, lamps))


def shaded(colour: Colour, factor: float) -> Colour:
    """A colour that is darker, or lighter for a factor above 1."""
    red, green, blue = (min(255, max(0, int(part * factor))) for part in colour)
    return red, green, blue
