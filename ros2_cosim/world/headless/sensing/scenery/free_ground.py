# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Where there is room beside the roads: squares of ground, each with its distance from a road."""

from __future__ import annotations

import numpy as np

from ros2_cosim.world.headless.sensing.axes import Floats
from ros2_cosim.world.headless.sensing.land import distances
from ros2_cosim.world.headless.sensing.mesh import Indices
from ros2_cosim.world.headless.sensing.samples import samples_of

_CELL = 1.0  # m
_FARTHEST = 24  # cells, up to which distances are known
_MARGIN = 160.0  # m of ground around the roads
_SAMPLES = 0.7  # m, from one sample of a road's surface to the next


class FreeGround:
    """The ground of a map in squares.

    :param paved: (n, 3, 3) triangles that are to stay free: roads, sidewalks [m]
    """

    def __init__(self, paved: Floats) -> None:
        corners = paved[..., :2].reshape(-1, 2)
        self._low = np.floor(corners.min(axis=0) - _MARGIN)
        self._size = np.ceil((corners.max(axis=0) + _MARGIN - self._low) / _CELL).astype(np.int64)
        paving = np.zeros(self._size, dtype=bool)
        cells = self._cells(samples_of(paved, _SAMPLES))
        paving[cells[:, 0], cells[:, 1]] = True
        self._away = distances(paving, _FARTHEST) * _CELL
        self._taken = np.zeros(self._size, dtype=bool)

    def room(self, points: Floats) -> Floats:
        """How far points (n, 2) are from what is paved [m], at most; to half a diagonal.

        A point off the squares has no room.
        """
        cells = self._cells(points)
        inside = ((cells >= 0) & (cells < self._size)).all(axis=1)
        cells = np.clip(cells, 0, self._size - 1)
        return np.where(inside, self._away[cells[:, 0], cells[:, 1]], 0.0)

    def is_free(self, points: Floats, clearance: float) -> bool:
        """Whether all points (n, 2) are so far from roads [m], and nothing has been put there."""
        if self.room(points).min() < clearance:
            return False
        cells = self._cells(points)
        return not self._taken[cells[:, 0], cells[:, 1]].any()

    def take(self, points: Floats) -> None:
        """Note that something stands at points (n, 2)."""
        cells = np.clip(self._cells(points), 0, self._size - 1)
        self._taken[cells[:, 0], cells[:, 1]] = True

    def _cells(self, points: Floats) -> Indices:
        cells: Indices = np.floor((points[:, :2] - self._low) / _CELL).astype(np.int64)
        return cells


def rectangle(x: float, y: float, axes: tuple[float, float], size: tuple[float, ...]) -> Floats:
    """Points (n, 2) over a rectangle, at most as far apart as a square is wide.

    :param axes: cosine and sine of its direction
    :param size: (low along, high along, low across, high across) [m] from the place
    """
    cos, sin = axes
    steps = [int((size[i + 1] - size[i]) / (0.7 * _CELL)) + 2 for i in (0, 2)]
    u = np.linspace(size[0], size[1], steps[0])[:, None]
    v = np.linspace(size[2], size[3], steps[1])[None, :]
    points = np.empty((steps[0], steps[1], 2))
    points[..., 0] = x + (u * cos - v * sin)
    points[..., 1] = y + (u * sin + v * cos)
    return points.reshape(-1, 2)
