# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Shapes that clients draw as triangles, for the colour cameras."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ros2_cosim.core.kernel.exactmath import sqrt
from ros2_cosim.world.headless.debug_shapes import DebugShape, Kind
from ros2_cosim.world.headless.labels import STATIC
from ros2_cosim.world.headless.sensing.axes import BodyAxes, Floats, axes_of
from ros2_cosim.world.headless.sensing.mesh import Mesh, MeshBuilder
from ros2_cosim.world.headless.sensing.painted import box_corners, box_triangles
from ros2_cosim.world.headless.wire_types import Vector

# A line is at least so thick [m]: a thickness of 0 is that of a pixel in CARLA.
_THINNEST = 0.02
# The edges of a box by the numbers of its corners: bit 0 of a number is x, 1 is y, 2 is z.
_EDGES = tuple((a, a | bit) for bit in (1, 2, 4) for a in range(8) if not a & bit)


def mesh_of_shapes(shapes: Sequence[DebugShape]) -> Mesh | None:
    """The triangles of the shapes of the world; None if there are none. Texts have none."""
    builder = MeshBuilder()
    count = 0
    for shape in shapes:
        if shape.is_hud:
            continue
        for triangles in _pieces(shape):
            builder.add(triangles, STATIC, shape.colour)
            count += 1
    return builder.build() if count else None


def _pieces(shape: DebugShape) -> Iterator[Floats]:
    half = 0.5 * max(shape.thickness, _THINNEST)
    if shape.kind is Kind.POINT:
        size = 0.5 * max(shape.size, _THINNEST)
        yield box_triangles(box_corners(size, size, size) + np.array(shape.start))
    elif shape.kind is Kind.LINE:
        yield from _bar(shape.start, shape.end, half)
    elif shape.kind is Kind.ARROW:
        yield from _bar(shape.start, shape.end, half)
        yield from _head(shape)
    elif shape.kind is Kind.BOX:
        corners = axes_of(shape.pose()).outside(box_corners(*shape.end))
        places = [Vector(*corner) for corner in corners.tolist()]
        for a, b in _EDGES:
            yield from _bar(places[a], places[b], half)


def _bar(start: Vector, end: Vector, half: float) -> Iterator[Floats]:
    """A bar of square section from one place to another."""
    axes, length = _along(start, end)
    if length > 0.0:
        corners = box_corners(0.5 * length, half, half) + np.array((0.5 * length, 0.0, 0.0))
        yield box_triangles(axes.outside(corners))


def _head(shape: DebugShape) -> Iterator[Floats]:
    """A pyramid that ends at the end of an arrow."""
    axes, length = _along(shape.start, shape.end)
    if length <= 0.0 or shape.size <= 0.0:
        return
    back, side = length - shape.size, 0.5 * shape.size
    local = np.array(
        ((length, 0.0, 0.0), (back, side, side), (back, -side, side), (back, -side, -side),
         (back, side, -side))
    )  # fmt: skip
    tip, a, b, c, d = axes.outside(local)
    sides = [(tip, a, b), (tip, b, c), (tip, c, d), (tip, d, a), (a, d, c), (a, c, b)]
    yield np.array([[*three] for three in sides])


def _along(start: Vector, end: Vector) -> tuple[BodyAxes, float]:
    """Axes at one place that look at another, and how far it is [m]."""
    x, y, z = end.x - start.x, end.y - start.y, end.z - start.z
    length = sqrt(x * x + y * y + z * z)
    if length == 0.0:
        return BodyAxes(start, Vector(1.0), Vector(0.0, 1.0), Vector(0.0, 0.0, 1.0)), 0.0
    forward = Vector(x / length, y / length, z / length)
    flat = sqrt(forward.x * forward.x + forward.y * forward.y)
    right = Vector(0.0 - forward.y / flat, forward.x / flat) if flat > 1e-9 else Vector(0.0, 1.0)
    up = Vector(
        forward.y * right.z - forward.z * right.y,
        forward.z * right.x - forward.x * right.z,
        forward.x * right.y - forward.y * right.x,
    )
    return BodyAxes(start, forward, right, up), length
