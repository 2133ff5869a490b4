# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Pavement between the lanes of junctions, where a map has none.

Lanes of a junction are strips that part and cross: wedges are left between them, which no road has
as land. Squares of ground that are so near to pavement on all sides that a disc would not fit
between (a morphological closing) belong to the junction, and so do holes without room for a larger
one; an island of a roundabout stays.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from ros2_cosim.core.kernel.exactmath import total
from ros2_cosim.world.headless.labels import GROUND, ROADS, SIDEWALKS, TERRAIN
from ros2_cosim.world.headless.materials import Colour
from ros2_cosim.world.headless.sensing.axes import Floats
from ros2_cosim.world.headless.sensing.land import distances
from ros2_cosim.world.headless.sensing.mesh import Flags, Indices, Mesh, MeshBuilder
from ros2_cosim.world.headless.sensing.samples import samples_of
from ros2_cosim.world.map import RoadNetwork

_CELL: Final = 0.25  # m
_RADIUS: Final = 10  # cells, of the disc
_LARGER: Final = 14  # of the one for holes
_NODE: Final = 4  # cells, from one place whose height is looked up to the next
_LONGEST: Final = 8  # cells, of a strip
#: The pavement lies so far below that of lanes [m], which so cover its edge.
_BELOW: Final = 0.02
_PAVED: Final = (ROADS, SIDEWALKS, GROUND)

Cell = tuple[int, int]


class Gaps(NamedTuple):
    """Pavement between lanes.

    :ivar mesh: its triangles, with numbers of surfaces for actors
    :ivar heights: of its squares [m], by their numbers along x and y of CARLA's frame
    """

    mesh: Mesh
    heights: dict[Cell, float]

    def height(self, x: float, y: float) -> float | None:
        """Its height at a place of CARLA's frame [m]; None where there is none."""
        return self.heights.get((int(x // _CELL), int(y // _CELL)))


def gaps_of(
    network: RoadNetwork, paved: Mesh, surfaces: dict[int, tuple[int, int]], colour: Colour
) -> Gaps:
    """The gaps of a map's junctions.

    :param paved: what the map has, seen from above, with numbers of surfaces for actors
    :param surfaces: road and label of each number
    """
    builder, heights = MeshBuilder(), dict[Cell, float]()
    roads = np.array([surfaces[number][0] for number in range(len(surfaces))], dtype=np.int64)
    owners = roads.take(paved.actors.astype(np.int64))
    lows, highs = paved.points[..., :2].min(axis=1), paved.points[..., :2].max(axis=1)
    for junction in network.junctions.values():
        own = {connection.connecting_road for connection in junction.connections}
        inside = np.isin(owners, list(own)) & (paved.tags == ROADS)
        if not inside.any():
            continue
        margin = 2 * _RADIUS + 2
        low = np.floor(lows[inside].min(axis=0) / _CELL).astype(np.int64) - margin
        high = np.floor(highs[inside].max(axis=0) / _CELL).astype(np.int64) + margin
        near = ((highs > low * _CELL) & (lows < high * _CELL)).all(axis=1)
        squares = _Squares(low, high - low + 1)
        level = float(np.median(paved.points[inside][..., 2]))
        beside = np.abs(paved.centres[:, 2] - level) < 4.0  # roads above and below are others
        chosen = near & beside
        fills = squares.gaps(
            paved.points[chosen & np.isin(paved.tags, _PAVED)],
            paved.points[chosen & (paved.tags == TERRAIN)],
            paved.points[inside],
        )
        number = int(paved.actors[np.flatnonzero(inside)[0]])
        _add(builder, network, fills, level, (number, colour), heights)
    return Gaps(builder.build(upwards=True), heights)


class _Squares:
    """Squares of ground around a junction: the first one, and how many along x and y."""

    def __init__(self, low: Indices, size: Indices) -> None:
        self._low = low
        self._size = (int(size[0]), int(size[1]))

    def gaps(self, paved: Floats, other: Floats, own: Floats) -> Indices:
        """Numbers (n, 2) of squares between what is paved, and of those at its edge.

        :param paved: triangles (n, 3, 3), and ``other``: lanes of grass, which stay
        :param own: those of the junction
        """
        marked, taken = self._marks(paved), self._marks(other)
        # What is not within a disc that touches no pavement.
        wide = distances(marked, _RADIUS) <= _RADIUS
        closed = distances(~wide, _RADIUS) > _RADIUS
        close = distances(self._marks(own), _RADIUS) <= _RADIUS
        closed = (closed & close) | marked
        found = (closed | _holes(closed)) & ~marked & ~taken
        # Below the edges of what is beside it: the rim of squares has steps.
        found = (distances(found, 1) < 1.5) & (found | marked)
        result: Indices = np.argwhere(found) + self._low
        return result

    def _marks(self, triangles: Floats) -> Flags:
        marks = np.zeros(self._size, dtype=bool)
        points = samples_of(triangles, 0.7 * _CELL)
        cells = np.floor(points / _CELL).astype(np.int64) - self._low
        inside = ((cells >= 0) & (cells < self._size)).all(axis=1)
        marks[cells[inside, 0], cells[inside, 1]] = True
        return marks


def _holes(closed: Flags) -> Flags:
    """Squares that are enclosed, in holes without room for the larger disc."""
    free = ~closed
    rim = np.ones_like(free)
    rim[1:-1, 1:-1] = False
    enclosed = free & ~_reached(free, rim)
    wide = distances(closed, _LARGER) > _LARGER
    return enclosed & ~_reached(enclosed, wide)


def _reached(free: Flags, start: Flags) -> Flags:
    """Free squares to which a way leads from others, along rows and columns."""
    reached = free & start
    count = -1
    while count != (count := int(reached.sum())):
        for axis in (0, 1):
            numbers = np.arange(free.shape[axis]).reshape((-1, 1) if axis == 0 else (1, -1))
            for way in (1, -1):
                # The last square that is reached comes after the last one that is not free.
                flip = np.s_[::way] if axis == 0 else np.s_[:, ::way]
                last, wall = (
                    np.maximum.accumulate(np.where(marks[flip], numbers, -1), axis=axis)
                    for marks in (reached, ~free)
                )
                reached[flip] |= last > wall
    return reached


def _add(
    builder: MeshBuilder,
    network: RoadNetwork,
    fills: Indices,
    level: float,
    look: tuple[int, Colour],
    heights: dict[Cell, float],
) -> None:
    """Add squares of ground, a little below the road there, in strips."""
    nodes: dict[Cell, float] = {}

    def node(i: int, j: int) -> float:
        if (i, j) not in nodes:
            at = network.project(i * _NODE * _CELL, 0.0 - j * _NODE * _CELL, z=level)
            nodes[i, j] = network.pose(at.road_id, at.s, at.t)[2]
        return nodes[i, j]

    def corner(i: int, j: int) -> tuple[float, float, float]:
        """A corner of squares, between the nodes around it: to look for roads takes time."""
        m, n = i // _NODE, j // _NODE
        u, v = (i - m * _NODE) / _NODE, (j - n * _NODE) / _NODE
        low = node(m, n) + u * (node(m + 1, n) - node(m, n))
        high = node(m, n + 1) + u * (node(m + 1, n + 1) - node(m, n + 1))
        return i * _CELL, j * _CELL, low + v * (high - low) - _BELOW

    quads = []
    for strip in _strips(fills):
        (i, first), (_, last) = strip[0], strip[-1]
        quads.append([
            corner(i, first), corner(i, last + 1), corner(i + 1, last + 1), corner(i + 1, first)
        ])  # fmt: skip
        for _, j in strip:
            around = (corner(i + di, j + dj)[2] for di, dj in ((0, 0), (0, 1), (1, 0), (1, 1)))
            heights[i, j] = 0.25 * total(around) + _BELOW
    if quads:
        a, b, c, d = (np.array(quads)[:, n] for n in range(4))
        builder.quads(a, b, c, d, ROADS, look[1], owner=look[0])


def _strips(fills: Indices) -> list[list[list[int]]]:
    """Squares (n, 2) in the order of their numbers, cut where a strip along y ends."""
    i, j = fills.T
    ends = (np.diff(i) != 0) | (np.diff(j) != 1) | (j[1:] % _LONGEST == 0)
    return [part.tolist() for part in np.split(fills, np.flatnonzero(ends) + 1) if len(part)]
