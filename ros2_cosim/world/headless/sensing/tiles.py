# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The triangles of a map by squares of ground and by parts, of which a view needs only some."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ros2_cosim.world.headless.sensing.axes import Floats
from ros2_cosim.world.headless.sensing.mesh import Flags, Indices, Mesh, length, ranges

_TILE = 40.0  # m
_OWN = 1 << 40  # a row of squares in which no ground lies


class Tiles(NamedTuple):
    """Balls around the triangles of each tile, and which triangles those are.

    :ivar centres: (tiles, 3) [m], and ``radii`` (tiles)
    :ivar triangles: (n) numbers of triangles, tile after tile, and ``counts`` (tiles) of each
    """

    centres: Floats
    radii: Floats
    triangles: Indices
    counts: Indices

    def of(self, chosen: Flags) -> Indices:
        """The triangles of some tiles, in the order of the mesh."""
        ends = np.cumsum(self.counts)
        counts = self.counts[chosen]
        is_in = np.zeros(len(self.triangles), dtype=bool)
        is_in[self.triangles[ranges((ends - self.counts)[chosen], counts)]] = True
        return np.flatnonzero(is_in)


def tiles_of(mesh: Mesh, owners: Indices | None = None) -> Tiles:
    """The tiles of a mesh. A triangle belongs to the tile of its centre, whatever its size.

    :param owners: (n) numbers of parts, each of which is a tile; below 0: of none
    """
    squares = np.floor(mesh.centres[:, :2] / _TILE).astype(np.int64)
    if owners is not None:
        own = owners >= 0
        squares[own, 0], squares[own, 1] = owners[own], _OWN
    _, numbers = np.unique(squares, axis=0, return_inverse=True)
    numbers = numbers.reshape(-1)
    order = np.argsort(numbers, kind="stable")
    counts = np.bincount(numbers)
    starts = np.cumsum(counts) - counts
    placed = mesh.centres[order]
    low, high = (part.reduceat(placed, starts) for part in (np.minimum, np.maximum))
    centres = 0.5 * (low + high)
    away = length(placed - np.repeat(centres, counts, axis=0)) + mesh.radii[order]
    # A little more than enough, so that rounding leaves nothing out.
    return Tiles(centres, np.maximum.reduceat(away, starts) * 1.000001, order, counts)
