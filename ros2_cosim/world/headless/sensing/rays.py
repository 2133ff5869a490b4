# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Where rays from one point meet triangles: exact, and the same bits on every machine.

A ray is tested against a triangle by the volumes that it spans with the triangle's edges (three
scalar products with vectors made once for each triangle), so that two triangles that share an
edge leave no gap. Everything that only chooses which pairs are tested is wide enough for any
rounding.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ros2_cosim.world.headless.sensing import native
from ros2_cosim.world.headless.sensing.axes import BodyAxes, Floats
from ros2_cosim.world.headless.sensing.mesh import (
    LEVEL_STEP,
    Bytes,
    Flags,
    Indices,
    Mesh,
    cross,
    dot,
    joined,
    portions,
    ranges,
    taken,
)
from ros2_cosim.world.headless.sensing.occluders import Hiding
from ros2_cosim.world.headless.sensing.scene import BallTest, TriangleScene

# Pairs of ray and triangle that are tested at once: what they need stays in a processor's cache.
_MOST_PAIRS = 32_768
# Rounding of the angles that choose pairs [rad].
_SLACK = 1.0e-6
# Nearer than this [m] nothing is met: the surface from which a ray starts.
_NEAREST = 1.0e-6


class Hits(NamedTuple):
    """What rays have met: distances [m], infinite where nothing, and triangles of ``mesh``."""

    distances: Floats
    triangles: Indices
    mesh: Mesh


class Grid(NamedTuple):
    """Rays by rows and columns, row after row, in the frame of the eye.

    :ivar azimuths: (columns) [rad] from forward to the right
    :ivar slopes: (rows) tangents of the angles above the horizon, in increasing order
    """

    azimuths: Floats
    slopes: Floats


def nearby(scene: TriangleScene, eye: BodyAxes, reach: float) -> Mesh:
    """The triangles that a ray of a length [m] can meet."""
    may_be_met = _ball_test(eye, reach)
    return joined(
        [
            mesh.take(which[may_be_met(mesh.centres.take(which, 0), mesh.radii.take(which))])
            for mesh, which in _around(scene, eye, reach)
        ]
    )


def _around(scene: TriangleScene, eye: BodyAxes, reach: float) -> list[tuple[Mesh, Indices]]:
    """Triangles among which are those that a ray can meet."""
    hidden = None if scene.walls is None else Hiding(scene.walls, eye.origin).hidden
    return scene.near(_ball_test(eye, reach), hidden=hidden)


def _ball_test(eye: BodyAxes, reach: float) -> BallTest:
    def may_be_met(centres: Floats, radii: Floats) -> Flags:
        x, y, z = (centres[:, i] - eye.origin[i] for i in range(3))
        # A little more than enough, so that rounding leaves nothing out.
        limit = (radii + reach) * 1.000001
        near: Flags = x * x + y * y + z * z <= limit * limit
        return near

    return may_be_met


class _Target:
    """Triangles prepared for rays from one eye."""

    def __init__(self, points: Floats, normals: Floats, levels: Bytes) -> None:
        a, b, c = (points[:, i] for i in range(3))
        self.normals = _columns(normals)
        self.offsets = dot(a, normals)  # below zero where the eye is in front
        self.edges = tuple(_columns(cross(*two)) for two in ((a, b), (b, c), (c, a)))
        self.factors = 1.0 - LEVEL_STEP * levels.astype(np.float64)


def cast(
    mesh: Mesh, eye: BodyAxes, directions: Floats, reach: float, both_sides: bool = False
) -> Hits:
    """Cast rays in any directions: every one is tested against every triangle.

    :param directions: unit vectors (n, 3) in the eye's frame
    :param both_sides: meet triangles from behind, too
    """
    target = _Target(
        eye.inside(mesh.points), eye.directions_inside(mesh.normals), mesh.levels
    )  # fmt: skip
    best = _Best(len(directions))
    step = max(1, _MOST_PAIRS // max(1, len(mesh)))
    columns = _columns(directions)
    for start in range(0, len(directions), step):
        rays = np.arange(start, min(start + step, len(directions)))
        pairs = np.repeat(rays, len(mesh)), np.tile(np.arange(len(mesh)), len(rays))
        best.take(target, columns, *pairs, both_sides)
    return best.hits(reach, mesh, np.arange(len(mesh)))


def cast_grid(mesh: Mesh, eye: BodyAxes, grid: Grid, directions: Floats, reach: float) -> Hits:
    """Cast the rays of a grid; each triangle is tested against the rays that come near it.

    :param directions: unit vectors (rows * columns, 3) in the eye's frame
    """
    columns = len(grid.azimuths)
    ring, order = _ring(grid.azimuths)
    # Triangles whose front the eye sees, and that some ray comes near.
    points, normals = eye.inside(mesh.points), eye.directions_inside(mesh.normals)
    near = np.flatnonzero(dot(points[:, 0], normals) < 0.0)
    found = np.stack(_windows(points.take(near, 0), ring, grid.slopes, columns), axis=1)
    kept = np.flatnonzero((found[:, 0] < found[:, 1]) & (found[:, 2] < found[:, 3]))
    near, windows = near.take(kept), found.take(kept, 0)
    target = _Target(points.take(near, 0), normals.take(near, 0), mesh.levels.take(near))
    best = _Best(len(directions))
    first, last, low, high = windows.T
    owners, rows = np.repeat(np.arange(len(near)), high - low), ranges(low, high - low) * columns
    first, widths = first[owners], (last - first)[owners]
    ways = _columns(directions)
    for part in portions(widths, _MOST_PAIRS):
        counts = widths[part]
        rays = np.repeat(rows[part], counts) + order.take(ranges(first[part], counts))
        best.take(target, ways, rays, np.repeat(owners[part], counts), False)
    return best.hits(reach, mesh, near)


def scan(scene: TriangleScene, eye: BodyAxes, grid: Grid, directions: Floats, reach: float) -> Hits:
    """What the rays of a grid meet.

    :param directions: unit vectors (rows * columns, 3) in the eye's frame
    :param reach: their length [m]
    """
    if native.LIBRARY is None:
        return cast_grid(nearby(scene, eye, reach), eye, grid, directions, reach)
    ring, order = _ring(grid.azimuths)
    rays = native.Rays(eye, ring, grid.slopes, order, reach, _SLACK, _NEAREST, LEVEL_STEP)
    around = _around(scene, eye, reach)
    distances, found, within = native.cast_in_c(around, rays, directions)
    distances[distances > reach] = np.inf
    met = np.isfinite(distances)
    shown = np.zeros(sum(len(which) for _, which in around), dtype=bool)
    shown[found[met]] = True
    shown[:1] |= within > 0  # drops of rain have the number of some triangle
    numbers = np.append(np.cumsum(shown) - 1, -1)
    return Hits(distances, numbers[np.where(met, found, -1)], taken(around, shown))


def _ring(azimuths: Floats) -> tuple[Floats, Indices]:
    """The azimuths in their order on the ring, twice, and their columns."""
    azimuths = _turned(azimuths)
    order = np.argsort(azimuths, kind="stable")
    ring = azimuths[order]
    return np.concatenate((ring, ring + 2.0 * np.pi)), np.concatenate((order, order))


def _columns(vectors: Floats) -> tuple[Floats, ...]:
    """Coordinates of vectors (n, 3), each in a row: what is taken from them comes quicker."""
    return tuple(np.ascontiguousarray(vectors[:, i]) for i in range(3))


class _Best:
    """The nearest hit of each ray so far."""

    def __init__(self, rays: int) -> None:
        self._ranks = np.full(rays, np.inf)
        self._distances = np.full(rays, np.inf)
        self._triangles = np.full(rays, -1)

    def take(
        self,
        target: _Target,
        directions: tuple[Floats, ...],
        rays: Indices,
        triangles: Indices,
        both_sides: bool,
    ) -> None:
        """Test pairs of a ray and a triangle."""

        def span(vectors: tuple[Floats, ...]) -> Floats:
            x, y, z = (
                way.take(rays) * part.take(triangles)
                for way, part in zip(directions, vectors, strict=True)
            )
            return x + y + z

        # In front of a triangle all three volumes have one sign.
        if both_sides:
            one, two, three = (span(edge) for edge in target.edges)
            inside = (one <= 0.0) & (two <= 0.0) & (three <= 0.0)
            inside |= (one >= 0.0) & (two >= 0.0) & (three >= 0.0)
            rays, triangles = rays[inside], triangles[inside]
        else:
            for edge in target.edges:
                left = np.flatnonzero(span(edge) <= 0.0)
                rays, triangles = rays.take(left), triangles.take(left)
        facing = span(target.normals)
        offsets = target.offsets.take(triangles)
        meets = facing != 0.0 if both_sides else (facing < 0.0) & (offsets < 0.0)
        rays, triangles = rays[meets], triangles[meets]
        distances = offsets[meets] / facing[meets]
        ahead = distances > _NEAREST
        rays, triangles, distances = rays[ahead], triangles[ahead], distances[ahead]
        ranks = distances * target.factors[triangles]
        np.minimum.at(self._ranks, rays, ranks)
        won = ranks == self._ranks[rays]
        self._distances[rays[won]] = distances[won]
        self._triangles[rays[won]] = triangles[won]

    def hits(self, reach: float, mesh: Mesh, which: Indices) -> Hits:
        """The hits within a distance.

        :param which: the triangles of the mesh that were tested
        """
        near = self._distances <= reach
        triangles = np.append(which, -1)[np.where(near, self._triangles, -1)]
        return Hits(np.where(near, self._distances, np.inf), triangles, mesh)


def _turned(azimuths: Floats) -> Floats:
    """Angles moved into [-pi, pi)."""
    result: Floats = azimuths - 2.0 * np.pi * np.floor((azimuths + np.pi) / (2.0 * np.pi))
    return result


def _windows(
    points: Floats, ring: Floats, slopes: Floats, columns: int
) -> tuple[Indices, Indices, Indices, Indices]:
    """Places on the ring and rows of the rays that may meet each triangle: [first, last) each."""
    x, y, z = points[..., 0], points[..., 1], points[..., 2]
    angles = np.arctan2(y, x)
    one, two = (_turned(angles[:, i] - angles[:, 0]) for i in (1, 2))
    # A triangle that the vertical through the eye meets, or almost, lies all around it.
    edge = np.pi - 1.0e-3
    around = (np.abs(one) > edge) | (np.abs(two) > edge) | (np.abs(one - two) > edge)
    start = angles[:, 0] + np.minimum(0.0, np.minimum(one, two)) - _SLACK
    span = np.maximum(0.0, np.maximum(one, two)) - np.minimum(0.0, np.minimum(one, two))
    start = _turned(start)
    first = np.searchsorted(ring, start, "left")
    last = np.searchsorted(ring, start + span + 2.0 * _SLACK, "right")
    first = np.where(around, 0, first)
    last = np.where(around, columns, np.minimum(last, first + columns))
    far = np.sqrt(x * x + y * y)
    outer, inner = far.max(axis=1), np.where(around, 0.0, _nearest(x, y))
    highest, lowest = z.max(axis=1), z.min(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        top = highest / np.where(highest > 0.0, inner, outer)
        bottom = lowest / np.where(lowest < 0.0, inner, outer)
    top = np.where(np.isnan(top), np.inf, top)
    bottom = np.where(np.isnan(bottom), -np.inf, bottom)
    steepest = np.abs(slopes).max(initial=0.0)
    slack = _SLACK * (1.0 + steepest * steepest)
    low = np.searchsorted(slopes, bottom - slack, "left")
    high = np.searchsorted(slopes, top + slack, "right")
    return first, last, low, np.maximum(low, high)


def _nearest(x: Floats, y: Floats) -> Floats:
    """The least distance of triangles (n, 3 corners) from the vertical axis, a little less."""
    best = np.full(len(x), np.inf)
    for i, j in ((0, 1), (1, 2), (2, 0)):
        dx, dy = x[:, j] - x[:, i], y[:, j] - y[:, i]
        square = dx * dx + dy * dy
        along = np.divide(
            0.0 - (x[:, i] * dx + y[:, i] * dy), square, out=np.zeros(len(x)), where=square > 0.0
        )
        along = np.clip(along, 0.0, 1.0)
        px, py = x[:, i] + along * dx, y[:, i] + along * dy
        best = np.minimum(best, np.sqrt(px * px + py * py))
    return best * (1.0 - _SLACK)
