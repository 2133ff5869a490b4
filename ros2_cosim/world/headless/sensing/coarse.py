# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A picture in a coarser grid, for what changes slowly over it: fog, reflections, shadows.

Pictures of up to 960 columns have their own grid; larger ones one of every second pixel, every
third one, and so on.
"""

from __future__ import annotations

from typing import Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from ros2_cosim.world.headless.sensing.axes import BodyAxes, Floats
from ros2_cosim.world.headless.sensing.mesh import Indices
from ros2_cosim.world.headless.sensing.raster import Lens, View, pixel_centres

_Value = TypeVar("_Value", bound=np.generic)

_MOST_COLUMNS: Final = 960


def cell_size(lens: Lens, most: int = _MOST_COLUMNS) -> int:
    """How many pixels a cell has in both directions, if there are so many columns at most."""
    return 1 + (lens.width - 1) // most


class Coarse:
    """The grid of a picture.

    :ivar seen: (cells) number of the triangle, -1 for the sky
    :ivar shape: rows and columns
    :ivar x: of columns from the middle of the image [pixels], and ``y`` of rows
    """

    def __init__(self, view: View, lens: Lens, most: int = _MOST_COLUMNS) -> None:
        """:param most: columns"""
        self._view, self._lens = view, lens
        step = self._step = cell_size(lens, most)
        self._part = np.s_[step // 2 :: step]
        numbers = np.append(np.arange(len(view.mesh), dtype=np.int32), np.int32(-1))
        whole = view.picture(numbers).reshape(lens.height, lens.width)
        small = whole[self._part, self._part]
        self.shape = small.shape
        self.seen = small.reshape(-1)
        x, y = pixel_centres(lens)
        self.x, self.y = x[self._part], y[self._part]

    def places(self, which: Indices) -> tuple[Floats, Floats]:
        """X and y of cells from the middle of the image [pixels]."""
        rows, columns = np.divmod(which, len(self.x))
        return self.x.take(columns), self.y.take(rows)

    def depths(self, which: Indices) -> Floats:
        """Depth of cells that show a triangle [m]."""
        found = self.seen.take(which)
        a, b, c = (np.ascontiguousarray(self._view.planes[:, n]).take(found) for n in range(3))
        x, y = self.places(which)
        return 1.0 / ((a + b * x) + c * y)

    def rays(self, which: Indices, eye: BodyAxes) -> tuple[Floats, Floats]:
        """How much longer than the depth the ray of a cell is, and how much it rises with it."""
        across, down = (way / self._lens.focal for way in self.places(which))
        longer = np.sqrt((1.0 + across * across) + down * down)
        return longer, (eye.forward.z + across * eye.right.z) - down * eye.up.z

    def of_pixels(self, which: Indices) -> Indices:
        """The cells of pixels of the picture."""
        rows, columns = np.divmod(which, self._lens.width)
        row, column = (
            np.minimum(part // self._step, most - 1)
            for part, most in zip((rows, columns), self.shape, strict=True)
        )
        return row * self.shape[1] + column

    def spread(self, values: NDArray[_Value]) -> NDArray[_Value]:
        """Values of all cells in each pixel of the picture (height * width)."""
        step, lens = self._step, self._lens
        if step == 1:
            return values
        grid = values.reshape(self.shape).repeat(step, axis=0).repeat(step, axis=1)
        room = [
            (0, max(0, n - m)) for n, m in zip((lens.height, lens.width), grid.shape, strict=True)
        ]
        return np.pad(grid, room, mode="edge")[: lens.height, : lens.width].reshape(-1)
