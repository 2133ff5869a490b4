# SPDX-License-Identifier: Apache-2.0
"""Boxes with textures on their sides: each cell of a texture is a small quadrilateral."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

import numpy as np

from ros2_cosim.world.headless.materials import PLAIN, Colour, Material
from ros2_cosim.world.headless.sensing.axes import Floats

#: Corners of the six faces (back, front, left, right, bottom, top), seen from outside in turn: of
#: the upright ones the first two are the left edge from below.
FACES: Final = (
    (0, 4, 6, 2), (3, 7, 5, 1), (1, 5, 4, 0), (2, 6, 7, 3), (0, 2, 3, 1), (4, 5, 7, 6)
)  # fmt: skip

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
        normal = np.array(
            [
                up[1] * across[2] - up[2] * across[1],
                up[2] * across[0] - up[0] * across[2],
                up[0] * across[1] - up[1] * across[0],
            ]
        )
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


def _unit(vector: Floats) -> Floats:
    size = np.sqrt(vector[0] * vector[0] + vector[1] * vector[1] + vector[2] * vector[2])
    unit: Floats = vector / size if size > 0.0 else vector
    return unit
