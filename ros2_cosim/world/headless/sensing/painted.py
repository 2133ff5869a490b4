# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Boxes with textures on their sides: each cell of a texture is a small quadrilateral."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

import numpy as np

from ros2_cosim.world.headless.materials import PLAIN, Colour, Look, Material
from ros2_cosim.world.headless.sensing.axes import Floats
from ros2_cosim.world.headless.wire_types import BoundingBox

#: Corners of the six faces (back, front, left, right, bottom, top), seen from outside in turn: of
#: the upright ones the first two are the left edge from below.
FACES: Final = (
    (0, 4, 6, 2), (3, 7, 5, 1), (1, 5, 4, 0), (2, 6, 7, 3), (0, 2, 3, 1), (4, 5, 7, 6)
)  # fmt: skip

# A triangle whose normal rises more than this lies flat: its texture is that of the top.
_LEVEL: Final = 0.9

Direction = tuple[float, float, float]


class PaintedPiece(NamedTuple):
    """Triangles (n, 3, 3) of one look; ``shade``: the normal they are lit by, zeros: their own."""

    points: Floats
    colour: Colour
    glow: Colour
    shade: Direction


def box_corners(half_x: float, half_y: float, half_z: float) -> Floats:
    """The corners (8, 3) of a box around the origin; bit 0 of a number is x, 1 is y, 2 is z."""
    number = np.arange(8)
    bits = np.stack((number & 1, number >> 1 & 1, number >> 2), axis=1)
    return (2.0 * bits - 1.0) * np.array([half_x, half_y, half_z])


def box_triangles(corners: Floats) -> Floats:
    """The twelve triangles of a box from its corners (8, 3)."""
    return np.array(
        [corners[[f[i] for i in three]] for f in FACES for three in ((0, 1, 2), (0, 2, 3))]
    )


def painted_box(corners: Floats, own: Colour, material: Material) -> Iterator[PaintedPiece]:
    """A box from its corners (8, 3).

    :param own: its colour where no texture gives another one
    """
    if material == PLAIN:
        yield PaintedPiece(box_triangles(corners), own, (0, 0, 0), (0.0, 0.0, 0.0))
        return
    count = material.cells()
    for face in FACES:
        low, high, _, right = (corners[corner] for corner in face)
        up, across = high - low, right - low
        normal = _product(up, across)
        for row in range(count):
            for column in range(count):
                look = material.look(own, row, column, count)
                a = low + up * ((count - 1 - row) / count) + across * (column / count)
                b, d = a + up / count, a + across / count
                points = np.array([[a, b, b + across / count], [a, b + across / count, d]])
                shade = (
                    look.tilt[0] * _unit(across) - look.tilt[1] * _unit(up)
                    + look.tilt[2] * _unit(normal)
                )  # fmt: skip
                yield PaintedPiece(points, look.colour, look.glow, tuple(shade.tolist()))


def textured(
    triangle: Floats, own: Colour, material: Material, box: BoundingBox
) -> tuple[Look, Direction]:
    """The look of a triangle (3, 3) within a box on whose sides a texture lies.

    It is that of the cell of the nearest side before which its centre is.

    :param own: its colour where no texture gives another one
    :returns: the look, and the normal by which it is lit
    """
    first, second, third = triangle
    out = _unit(_product(second - first, third - first))
    sideways = abs(out[2]) > _LEVEL
    up = np.array((1.0, 0.0, 0.0)) if sideways else np.array((0.0, 0.0, 1.0))
    across = _unit(_product(out, up))
    up = _product(across, out)
    away = ((first + second + third) / 3.0 - np.array(box.location)) / np.array(box.extent)
    right, top = (float((away * np.sign(axis))[abs(axis) > 0.5].sum()) for axis in (across, up))
    count = material.cells()
    row, column = (
        min(count - 1, max(0, int(0.5 * (1.0 + share) * count))) for share in (0.0 - top, right)
    )
    look = material.look(own, row, column, count)
    shade = look.tilt[0] * across - look.tilt[1] * up + look.tilt[2] * out
    return look, tuple(shade.tolist())


def _product(a: Floats, b: Floats) -> Floats:
    """Vector product, by the usual formula."""
    return np.array(
        [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
    )


def _unit(vector: Floats) -> Floats:
    size = np.sqrt(vector[0] * vector[0] + vector[1] * vector[1] + vector[2] * vector[2])
    unit: Floats = vector / size if size > 0.0 else vector
    return unit
