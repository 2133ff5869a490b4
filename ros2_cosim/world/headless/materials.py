# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Textures that clients put on objects, in the fineness in which they are shown.

A texture becomes a grid of at most ``CELLS`` times ``CELLS`` means, which lies once on each side of
a box, its first row on top; on roads and on the land lies its mean.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from ros2_cosim.core.kernel.exactmath import total

CELLS: Final = 8

#: Parameters of materials as the protocol numbers them (``MaterialParameter``).
NORMAL, OCCLUSION, DIFFUSE, EMISSIVE = range(4)

Colour = tuple[int, int, int]
Rgba = tuple[float, float, float, float]


class Mosaic(NamedTuple):
    """Means of a texture, row by row from the top; red, green, blue and alpha from 0 to 1."""

    rows: tuple[tuple[Rgba, ...], ...]

    def at(self, row: int, column: int, count: int) -> Rgba:
        """The value in a cell of a grid of ``count`` times ``count``."""
        cells = self.rows[row * len(self.rows) // count]
        return cells[column * len(cells) // count]


class Look(NamedTuple):
    """A place on a surface: colour, its own light, and normal on the surface.

    :ivar tilt: to the right, downwards and out of the surface; zeros: the surface's own normal
    """

    colour: Colour
    glow: Colour
    tilt: tuple[float, float, float]


class Material(NamedTuple):
    """The textures of an object; None where it has none."""

    normal: Mosaic | None = None
    occlusion: Mosaic | None = None
    diffuse: Mosaic | None = None
    emissive: Mosaic | None = None

    def painted(self, parameter: int, grid: Mosaic) -> Material:
        """The same with another texture."""
        textures = list(self)
        textures[parameter] = grid
        return Material(*textures)

    def cells(self) -> int:
        """How many rows and columns of looks a side of the object has."""
        sizes = [max(len(grid.rows), len(grid.rows[0])) for grid in self if grid is not None]
        return CELLS if sizes and max(sizes) > 1 else 1

    def mean(self) -> Material:
        """The same without any pattern."""
        return Material(*(None if grid is None else _mean(grid) for grid in self))

    def look(self, own: Colour, row: int, column: int, count: int) -> Look:
        """How a cell of a side looks whose colour without a texture is ``own``."""
        red, green, blue = own
        if self.diffuse is not None:
            red, green, blue = _colour(self.diffuse.at(row, column, count))
        glow = (0, 0, 0)
        if self.emissive is not None:
            glow = _colour(self.emissive.at(row, column, count))
        if self.occlusion is not None:
            # Red is the light that comes in, alpha how much of its colour the surface sends out.
            # Without reflections there is nothing to see of roughness (green) and metal (blue).
            light, _, _, out = self.occlusion.at(row, column, count)
            if self.emissive is None:
                glow = tuple(int(out * part) for part in (red, green, blue))  # type: ignore[assignment]
            red, green, blue = (int(light * part + 0.5) for part in (red, green, blue))
        tilt = (0.0, 0.0, 0.0)
        if self.normal is not None:
            x, y, z, _ = self.normal.at(row, column, count)
            tilt = 2.0 * x - 1.0, 2.0 * y - 1.0, max(2.0 * z - 1.0, 0.0)
        return Look((red, green, blue), glow, tilt)


PLAIN: Final = Material()


def grid_of(width: int, height: int, pixels: Sequence[Sequence[float]], scale: float) -> Mosaic:
    """The means of a texture; values are divided by ``scale``, and bounded to 0 and 1."""
    rows, columns = min(CELLS, height), min(CELLS, width)

    def mean(row: int, column: int) -> Rgba:
        cell = [
            pixels[y * width + x]
            for y in range(row * height // rows, (row + 1) * height // rows)
            for x in range(column * width // columns, (column + 1) * width // columns)
        ]
        red, green, blue, alpha = (
            min(1.0, max(0.0, total(pixel[part] for pixel in cell) / (scale * len(cell))))
            for part in range(4)
        )
        return red, green, blue, alpha

    return Mosaic(tuple(tuple(mean(row, col) for col in range(columns)) for row in range(rows)))


def _mean(grid: Mosaic) -> Mosaic:
    cells = [cell for row in grid.rows for cell in row]
    red, green, blue, alpha = (total(c[part] for c in cells) / len(cells) for part in range(4))
    return Mosaic((((red, green, blue, alpha),),))


def _colour(value: Rgba) -> Colour:
    red, green, blue = (int(255.0 * part + 0.5) for part in value[:3])
    return red, green, blue
