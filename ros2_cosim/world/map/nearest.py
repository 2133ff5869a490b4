# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A grid over the plane that names the roads near a point, each with a station to begin at."""

from __future__ import annotations

from collections.abc import Iterable
from math import floor
from typing import Final

from ros2_cosim.world.map.opendrive import Road

_CELL: Final = 25.0  # m
_STEP: Final = 5.0  # m, between the samples of a road
# Lanes farther from their reference line than this are found as if they were no farther [m].
_MAX_REACH: Final = 200.0
# A road is looked for in this many rings of cells around a point, then everywhere.
MAX_RINGS: Final = 8

#: A sample of a reference line: x, y, road, station.
Sample = tuple[float, float, int, float]


class RoadIndex:
    """Samples of all roads, each in every cell that its piece of the road may touch."""

    __slots__ = ("_cells", "samples")

    def __init__(self, roads: Iterable[Road]) -> None:
        self.samples: list[Sample] = []
        self._cells: dict[tuple[int, int], list[Sample]] = {}
        for road in roads:
            for s in stations(road.length, _STEP):
                x, y, _, _, _ = road.line.frame(s)
                sample = x, y, road.id, s
                self.samples.append(sample)
                # From here to the samples beside, and across to the ends of the lanes.
                right, left = road.lanes.edges(s)
                reach = min(_STEP + max(0.0 - right, left, 0.0) + 1.0, _MAX_REACH)
                for column in range(_cell(x - reach), _cell(x + reach) + 1):
                    for row in range(_cell(y - reach), _cell(y + reach) + 1):
                        self._cells.setdefault((column, row), []).append(sample)

    def ring(self, x: float, y: float, number: int) -> list[Sample]:
        """The samples in a ring of cells around a point (ring 0 is the point's own cell).

        Of each road that the ring holds the sample nearest to the point, in order of the roads.
        """
        column, row = _cell(x), _cell(y)
        nearest: dict[int, tuple[float, Sample]] = {}
        for cell in _ring(column, row, number):
            for sample in self._cells.get(cell, ()):
                dx, dy = sample[0] - x, sample[1] - y
                square = dx * dx + dy * dy
                known = nearest.get(sample[2])
                if known is None or square < known[0]:
                    nearest[sample[2]] = square, sample
        return [nearest[road_id][1] for road_id in sorted(nearest)]

    def all_around(self, x: float, y: float) -> Sample:
        """The sample nearest to a point, wherever it is."""
        return min(self.samples, key=lambda p: (p[0] - x) * (p[0] - x) + (p[1] - y) * (p[1] - y))


def reached(x: float, y: float, number: int) -> float:
    """Everything nearer to a point than this [m] lies in the rings up to a number."""
    inside_x, inside_y = x - _cell(x) * _CELL, y - _cell(y) * _CELL
    return number * _CELL + min(inside_x, _CELL - inside_x, inside_y, _CELL - inside_y)


def stations(length: float, step: float) -> list[float]:
    """0, step, 2 step, ... and the end."""
    count = int(length / step)
    found = [i * step for i in range(count + 1)]
    if length - found[-1] > 1e-6:
        found.append(length)
    return found


def _cell(coordinate: float) -> int:
    return floor(coordinate / _CELL)


def _ring(column: int, row: int, number: int) -> Iterable[tuple[int, int]]:
    if number == 0:
        yield column, row
        return
    for i in range(-number, number + 1):
        yield column + i, row - number
        yield column + i, row + number
    for j in range(1 - number, number):
        yield column - number, row + j
        yield column + number, row + j
