# SPDX-License-Identifier: Apache-2.0
"""The nearest of many points in the plane, without looking at all of them."""

from __future__ import annotations

from collections.abc import Sequence
from math import floor
from typing import Final, NamedTuple

#: Side of a cell [m]: some times the distance of neighbours, so that few cells hold the nearest.
_CELL: Final = 20.0
#: So many cells away all points are looked at instead: whoever asks is off the map.
_MAX_RINGS: Final = 40
#: Beyond this a coordinate has no cell [m].
_MAX_COORDINATE: Final = 1.0e9


class Sample(NamedTuple):
    """A point of a road's reference line: ``s`` [m] on road ``road_id``."""

    x: float
    y: float
    road_id: int
    s: float


class Samples:
    """Points sorted into the cells of a grid.

    :param samples: at least one
    """

    __slots__ = ("_all", "_cells")

    def __init__(self, samples: Sequence[Sample]) -> None:
        self._all = list(samples)
        self._cells: dict[tuple[int, int], list[int]] = {}
        for index, sample in enumerate(self._all):
            cell = floor(sample.x / _CELL), floor(sample.y / _CELL)
            self._cells.setdefault(cell, []).append(index)

    def nearest(self, x: float, y: float) -> Sample:
        """The sample with the smallest distance; of several the first."""
        if not (-_MAX_COORDINATE < x < _MAX_COORDINATE and -_MAX_COORDINATE < y < _MAX_COORDINATE):
            return self._scanned(x, y)
        column, row = floor(x / _CELL), floor(y / _CELL)
        best = -1
        least = 0.0
        for ring in range(_MAX_RINGS):
            # What lies in this ring or outside of it is at least so far away; the share keeps
            # rounding from hiding an equal one.
            inner = (ring - 1) * _CELL * (1.0 - 1e-9)
            if best >= 0 and ring > 0 and least < inner * inner:
                return self._all[best]
            for i in range(column - ring, column + ring + 1):
                edge = i == column - ring or i == column + ring
                for j in range(row - ring, row + ring + 1, 1 if edge else max(2 * ring, 1)):
                    for index in self._cells.get((i, j), ()):
                        sample = self._all[index]
                        dx, dy = sample.x - x, sample.y - y
                        square = dx * dx + dy * dy
                        if best < 0 or square < least or (square == least and index < best):
                            best, least = index, square
        return self._scanned(x, y)

    def _scanned(self, x: float, y: float) -> Sample:
        return min(self._all, key=lambda p: (p.x - x) * (p.x - x) + (p.y - y) * (p.y - y))
