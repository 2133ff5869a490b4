# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The land around the roads: a grid of heights that follows them, a little below.

The heights of the grid are fitted to the roads (Gilbert's simultaneous iterations, which need
nothing but sums), then lowered where a road would still lie in the land. Between the roads the land
is smooth, and towards the horizon it is level. Where nothing stands it may have hills.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ros2_cosim.core.kernel.exactmath import sqrt
from ros2_cosim.world.headless.labels import TERRAIN
from ros2_cosim.world.headless.materials import Colour
from ros2_cosim.world.headless.sensing.axes import Floats
from ros2_cosim.world.headless.sensing.draws import Draws
from ros2_cosim.world.headless.sensing.mesh import Flags, Indices, MeshBuilder

_CELL: Final = 8.0  # m, of the grid
_MOST_CELLS: Final = 20_000
_MARGIN: Final = 160.0  # m of land with hills around the roads
# The land under the roads is so far below them [m], where they bend at least so far.
_BELOW, _LEAST_BELOW = 0.15, 0.05
# Roads that are so far above the lowest one of their cell [m] are on bridges.
_BRIDGE: Final = 2.0
_FITTING, _LOWERING, _SMOOTHING = 16, 24, 40
# Rings of level land around it end so far away [m]; haze makes each a little paler.
_HORIZON: Final = (100.0, 250.0, 500.0, 900.0, 1500.0, 2500.0, 4000.0, 7000.0)
_GRASS: Final[tuple[Colour, Colour]] = (108, 132, 80), (102, 126, 76)

#: Hills: distances of their nodes and most height [m]. Class estimates.
_HILLS: Final = ((110.0, 7.0), (45.0, 2.0))
# They begin so far [m] from roads, from what stands on level ground and from the rim of the grid,
# and have their full height so far beyond.
_FROM_ROADS, _FROM_HOUSES, _FROM_RIM = (16.0, 80.0), (10.0, 40.0), (0.0, 60.0)


class Land(NamedTuple):
    """Heights of the land: of the nodes of a grid [m], in CARLA's frame.

    :ivar near: the nodes that lie around roads
    """

    low: Floats
    cell: float
    heights: Floats
    near: Flags

    def height(self, x: float, y: float) -> float:
        """How high the land is at a place, between the nodes around it [m]."""
        u, v = (x - float(self.low[0])) / self.cell, (y - float(self.low[1])) / self.cell
        nx, ny = self.heights.shape
        i, j = min(max(int(u), 0), nx - 2), min(max(int(v), 0), ny - 2)
        u, v = min(max(u - i, 0.0), 1.0), min(max(v - j, 0.0), 1.0)
        # Squares of the land are two triangles, divided from the lower corner to the upper one.
        a, c = float(self.heights[i, j]), float(self.heights[i + 1, j + 1])
        if u >= v:
            b = float(self.heights[i + 1, j])
            return a + u * (b - a) + v * (c - b)
        d = float(self.heights[i, j + 1])
        return a + v * (d - a) + u * (c - d)

    def add_to(self, builder: MeshBuilder) -> None:
        """Build its triangles, and those up to the horizon."""
        nx, ny = self.heights.shape
        x = self.low[0] + self.cell * np.arange(nx)
        y = self.low[1] + self.cell * np.arange(ny)
        nodes = np.empty((nx, ny, 3))
        nodes[..., 0], nodes[..., 1], nodes[..., 2] = x[:, None], y[None, :], self.heights
        quads = nodes[:-1, :-1], nodes[1:, :-1], nodes[1:, 1:], nodes[:-1, 1:]
        odd = (np.arange(nx - 1)[:, None] + np.arange(ny - 1)[None, :]) % 2 == 1
        for colour, chosen in zip(_GRASS, (odd, ~odd), strict=True):
            a, b, c, d = (quad[chosen] for quad in quads)
            builder.quads(a, b, c, d, TERRAIN, colour)
        x0, x1, y0, y1, level = x[0], x[-1], y[0], y[-1], self.heights[0, 0]
        inner = [(x0, y0), (x1, y0), (x1, y1), (x0, y1)]
        for far in _HORIZON:
            outer = [
                (x0 - far, y0 - far),
                (x1 + far, y0 - far),
                (x1 + far, y1 + far),
                (x0 - far, y1 + far),
            ]
            for i in range(4):
                j = (i + 1) % 4
                around = inner[i], inner[j], outer[j], outer[i]
                a, b, c, d = (np.array([[px, py, level]]) for px, py in around)
                builder.quads(a, b, c, d, TERRAIN, _GRASS[0])
            inner = outer

    def with_hills(self, seed: int, level: Floats) -> Land:
        """The land with hills, far from roads.

        :param level: points (n, 2) without hills
        """
        nx, ny = self.heights.shape
        houses = np.zeros((nx, ny), dtype=bool)
        i, j = ((level - self.low) / self.cell).astype(np.int64).T
        for di, dj in ((0, 0), (0, 1), (1, 0), (1, 1)):
            houses[np.clip(i + di, 0, nx - 1), np.clip(j + dj, 0, ny - 1)] = True
        rim = np.ones((nx, ny), dtype=bool)
        rim[1:-1, 1:-1] = False
        shares = np.ones((nx, ny))
        for away, begin in ((self.near, _FROM_ROADS), (houses, _FROM_HOUSES), (rim, _FROM_RIM)):
            most = int((begin[0] + begin[1]) / self.cell) + 1
            shares *= _smooth((distances(away, most) * self.cell - begin[0]) / begin[1])
        heights = self.heights.copy()
        for size, high in _HILLS:
            draws = Draws(seed, f"scenery hills {size:g}")
            heights += shares * (high * _noise(draws, (nx, ny), self.cell / size))
        return self._replace(heights=heights)


def land_of(paved: Floats) -> Land:
    """The land around roads.

    :param paved: (n, 3 corners, 3) their triangles [m], at least one
    """
    corners = paved.reshape(-1, 3)
    low = corners[:, :2].min(axis=0) - _MARGIN
    span = corners[:, :2].max(axis=0) + _MARGIN - low
    cell = max(_CELL, sqrt(float(span[0]) * float(span[1]) / _MOST_CELLS))
    size = int(span[0] / cell) + 2, int(span[1] / cell) + 2
    heights, near = _start(corners, low, cell, size)
    floor = np.where(near, heights, -np.inf)
    _fit(_Places(corners, low, cell, size), heights, near)
    rim = float(floor.min(where=near, initial=np.inf))
    fixed = near.copy()
    for edge in (np.s_[0], np.s_[-1], np.s_[:, 0], np.s_[:, -1]):
        heights[edge], fixed[edge] = rim, True
    heights = _filled(heights, fixed)
    a, b, c = (paved[:, n] for n in range(3))
    middles = 0.5 * (a + b), 0.5 * (b + c), 0.5 * (c + a), (a + b + c) / 3.0
    _lower(_Places(np.concatenate((corners, *middles)), low, cell, size), heights, floor)
    return Land(low, cell, heights, near)


class _Places:
    """Places (n, 3) on a grid of a size: the nodes of their triangles (3, n), and how much each
    counts there.
    """

    def __init__(self, points: Floats, low: Floats, cell: float, size: tuple[int, int]) -> None:
        u, v = ((points[:, n] - low[n]) / cell for n in range(2))
        i, j = u.astype(np.int64), v.astype(np.int64)
        u, v = u - i, v - j
        first = i * size[1] + j
        self.z = points[:, 2]
        self.cells = first
        self.nodes = first, first + np.where(u >= v, size[1], 1), first + (size[1] + 1)
        self.shares = 1.0 - np.maximum(u, v), np.abs(u - v), np.minimum(u, v)

    def take(self, which: Indices) -> _Places:
        """Some of them."""
        some = object.__new__(_Places)
        some.z, some.cells = self.z[which], self.cells[which]
        some.nodes = tuple(part[which] for part in self.nodes)
        some.shares = tuple(part[which] for part in self.shares)
        return some

    def heights(self, flat: Floats) -> Floats:
        """Heights of a grid there."""
        a, b, c = (
            share * flat.take(node) for node, share in zip(self.nodes, self.shares, strict=True)
        )
        return a + b + c

    def sums(self, values: Floats | float, size: int) -> Floats:
        """For each node the sum of values (n), each as much as it counts there."""
        total = np.zeros(size)
        for node, share in zip(self.nodes, self.shares, strict=True):
            total += np.bincount(node, share * values, size)
        return total


def _start(
    corners: Floats, low: Floats, cell: float, size: tuple[int, int]
) -> tuple[Floats, Flags]:
    """Heights of nodes below every road nearby, and which nodes have one."""
    nx, ny = size
    lowest = np.full((nx + 1, ny + 1), np.inf)
    ix = ((corners[:, 0] - low[0]) / cell).astype(np.int64)
    iy = ((corners[:, 1] - low[1]) / cell).astype(np.int64)
    np.minimum.at(lowest, (ix + 1, iy + 1), corners[:, 2])
    a, b = np.minimum(lowest[:-1], lowest[1:]), np.s_[:-1]
    nodes: Floats = np.minimum(a[:, b], a[:, 1:]) - _BELOW
    near: Flags = np.isfinite(nodes)
    nodes[~near] = 0.0
    return nodes, near


def _fit(places: _Places, heights: Floats, near: Flags) -> None:
    """Let heights near roads follow them; nodes that no road needs follow their neighbours."""
    lowest = np.full(heights.size, np.inf)
    np.minimum.at(lowest, places.cells, places.z)
    ground = places.take(np.flatnonzero(places.z < lowest[places.cells] + _BRIDGE))
    flat = heights.reshape(-1)
    counts = ground.sums(1.0, flat.size)
    known = counts > 0.0
    for _ in range(_FITTING):
        rest = ground.sums(ground.z - _BELOW - ground.heights(flat), flat.size)
        flat[known] += rest[known] / counts[known]
    follows = known.reshape(near.shape)
    total = _around(np.where(follows, heights, 0.0))
    count = _around(follows.astype(np.float64))
    beside = near & ~follows & (count > 0.0)
    heights[beside] = total[beside] / count[beside]


def _lower(places: _Places, heights: Floats, floor: Floats) -> None:
    """Lower the nodes of triangles in which a road lies, until it is above them.

    :param floor: below every road nearby: nodes need not be lowered farther
    """
    flat, least = heights.reshape(-1), np.minimum(floor, heights).reshape(-1)
    for last in range(_LOWERING):
        over = places.heights(flat) - (places.z - _LEAST_BELOW)
        which = np.flatnonzero(over > 0.0)
        if not len(which):
            return
        much = np.zeros(flat.size)
        for node in places.nodes:
            np.maximum.at(much, node[which], over[which])
        flat -= much
        if last < _LOWERING - 1:
            np.maximum(flat, least, out=flat)


def _filled(nodes: Floats, fixed: Flags) -> Floats:
    """Heights of all nodes: smooth between those that are fixed."""
    known = fixed.copy()
    while not known.all():
        total, count = _around(nodes), _around(known.astype(np.float64))
        reached = ~known & (count > 0.0)
        nodes[reached] = total[reached] / count[reached]
        known |= reached
    for _ in range(_SMOOTHING):
        nodes = np.where(fixed, nodes, 0.25 * _around(nodes))
    return nodes


def _around(values: Floats) -> Floats:
    """Sum of the four neighbours; beyond the rim there is nothing."""
    total = np.zeros_like(values)
    total[1:] += values[:-1]
    total[:-1] += values[1:]
    total[:, 1:] += values[:, :-1]
    total[:, :-1] += values[:, 1:]
    return total


def distances(marked: NDArray[np.bool_], most: int) -> Floats:
    """Distance of each square from the next marked one [squares]; those beyond ``most`` are more.

    Exact in whole squares.
    """
    far = most + 1
    numbers = np.arange(marked.shape[0])[:, None]
    before = np.maximum.accumulate(np.where(marked, numbers, -far), axis=0)
    after = np.minimum.accumulate(np.where(marked, numbers, 10**9)[::-1], axis=0)[::-1]
    along = np.minimum(np.minimum(numbers - before, after - numbers), far)
    square = (along * along).astype(np.int32)
    best = square.copy()
    for step in range(1, far):
        best[:, step:] = np.minimum(best[:, step:], square[:, :-step] + step * step)
        best[:, :-step] = np.minimum(best[:, :-step], square[:, step:] + step * step)
    return np.sqrt(best.astype(np.float64))


def _smooth(share: Floats) -> Floats:
    """From 0 to 1, level at both ends."""
    share = np.clip(share, 0.0, 1.0)
    return share * share * (3.0 - 2.0 * share)


def _noise(draws: Draws, size: tuple[int, int], step: float) -> Floats:
    """Numbers from 0 to 1 on a grid, smooth between nodes of noise.

    :param step: of the grid, in nodes of noise
    """
    nodes = [int(count * step) + 2 for count in size]
    drawn = draws.uniform(nodes[0] * nodes[1]).reshape(nodes)
    along, across = (np.arange(count).astype(np.float64) * step for count in size)
    i, j = along.astype(np.int64), across.astype(np.int64)
    u, v = _smooth(along - i)[:, None], _smooth(across - j)
    rows = drawn[i] + u * (drawn[i + 1] - drawn[i])
    return rows[:, j] + v * (rows[:, j + 1] - rows[:, j])
