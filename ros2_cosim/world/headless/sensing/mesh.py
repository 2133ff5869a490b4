# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Triangles that rays and cameras see, each with its label, its actor and its colour."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ros2_cosim.world.headless.materials import Colour
from ros2_cosim.world.headless.sensing.axes import Floats

Bytes = NDArray[np.uint8]
Ids = NDArray[np.uint32]
Indices = NDArray[np.int64]
Flags = NDArray[np.bool_]

# Triangles of a higher level win where several lie in one surface: what is painted on a road over
# the road. A level moves a triangle by this share of its distance towards the eye, in the
# comparison only: what is measured is the surface itself.
SURFACE, LANE, PAINT = 0, 1, 2
LEVEL_STEP = 2.0e-3
# Triangles with less than twice this area [m^2] cannot be hit, and have no normal.
_LEAST_AREA = 1.0e-9


class Mesh(NamedTuple):
    """Triangles in the world, in CARLA's frame.

    :ivar points: (n, 3 corners, 3) [m]; seen from the front the corners turn so that ``normal``,
        their vector product by the usual formula, points to the eye
    :ivar normals: (n, 3) unit vectors
    :ivar centres: (n, 3) [m], and ``radii`` (n): a ball around each triangle
    :ivar tags: (n) labels of the protocol
    :ivar actors: (n) ids of actors, 0 for the map
    :ivar colours: (n, 3) red, green, blue
    :ivar levels: (n) SURFACE, LANE or PAINT
    :ivar shades: (n, 3) normals by which they are lit, which a texture may have turned
    :ivar glow: (n, 3) red, green, blue of what shines by itself
    :ivar things: (n) ids of things that stand beside roads, 0 for others
    """

    points: Floats
    normals: Floats
    centres: Floats
    radii: Floats
    tags: Bytes
    actors: Ids
    colours: Bytes
    levels: Bytes
    shades: Floats
    glow: Bytes
    things: Ids

    def __len__(self) -> int:
        """The number of triangles."""
        return len(self.tags)

    def changed(
        self,
        *,
        actors: Ids | None = None,
        colours: Bytes | None = None,
        shades: Floats | None = None,
        glow: Bytes | None = None,
        things: Ids | None = None,
    ) -> Mesh:
        """The same triangles with another look (a mesh is as long as it has triangles)."""
        return Mesh(
            self.points, self.normals, self.centres, self.radii, self.tags,
            self.actors if actors is None else actors,
            self.colours if colours is None else colours, self.levels,
            self.shades if shades is None else shades, self.glow if glow is None else glow,
            self.things if things is None else things,
        )  # fmt: skip

    def take(self, which: Flags | Indices) -> Mesh:
        """Some of the triangles."""
        # "take" needs a fourth of the time of an index in brackets.
        w = np.flatnonzero(which) if which.dtype == np.bool_ else which
        return Mesh(
            self.points.take(w, 0), self.normals.take(w, 0), self.centres.take(w, 0),
            self.radii.take(w), self.tags.take(w), self.actors.take(w), self.colours.take(w, 0),
            self.levels.take(w), self.shades.take(w, 0), self.glow.take(w, 0), self.things.take(w),
        )  # fmt: skip


def joined(meshes: list[Mesh]) -> Mesh:
    """Several meshes as one."""
    return Mesh(*(np.concatenate(parts) for parts in zip(*meshes, strict=True)))


def taken(chosen: list[tuple[Mesh, Indices]], which: Flags) -> Mesh:
    """Some of the triangles that are chosen of several meshes, as one mesh."""
    parts, begin = [], 0
    for mesh, numbers in chosen:
        parts.append(mesh.take(numbers[which[begin : begin + len(numbers)]]))
        begin += len(numbers)
    return joined(parts)


def ranges(begins: Indices, counts: Indices) -> Indices:
    """Ranges of numbers, one after the other."""
    ends = np.cumsum(counts)
    return np.arange(int(counts.sum())) + np.repeat(begins - (ends - counts), counts)


def portions(counts: Indices, most: int) -> Iterator[slice]:
    """Parts with so many together at most, or with one member."""
    ends = np.cumsum(counts)
    begin, done = 0, 0
    while begin < len(counts):
        end = max(begin + 1, int(np.searchsorted(ends, done + most, "right")))
        yield slice(begin, end)
        begin, done = end, int(ends[end - 1])


def cross(a: Floats, b: Floats) -> Floats:
    """Vector product (..., 3), by the usual formula."""
    product = np.empty_like(a)
    product[..., 0] = a[..., 1] * b[..., 2] - a[..., 2] * b[..., 1]
    product[..., 1] = a[..., 2] * b[..., 0] - a[..., 0] * b[..., 2]
    product[..., 2] = a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]
    return product


def dot(a: Floats, b: Floats) -> Floats:
    """Scalar product (...), one operation after the other."""
    result: Floats = a[..., 0] * b[..., 0] + a[..., 1] * b[..., 1] + a[..., 2] * b[..., 2]
    return result


def length(a: Floats) -> Floats:
    """Length of vectors (..., 3)."""
    return np.sqrt(dot(a, a))


def mesh_of(
    points: Floats,
    tags: Bytes,
    actors: Ids,
    colours: Bytes,
    levels: Bytes,
    shades: Floats | None = None,
    glow: Bytes | None = None,
    things: Ids | None = None,
) -> Mesh:
    """A mesh with normals and balls worked out; triangles without area are left out.

    :param shades: (n, 3) normals by which triangles are lit, zeros for their own
    :param glow: (n, 3) what shines by itself
    :param things: (n) ids of what stands beside roads
    """
    normals = cross(points[:, 1] - points[:, 0], points[:, 2] - points[:, 0])
    sizes = length(normals)
    good = sizes > _LEAST_AREA
    points, normals, sizes = points[good], normals[good], sizes[good]
    centres = (points[:, 0] + points[:, 1] + points[:, 2]) / 3.0
    radii = np.zeros(len(points))
    for corner in range(3):
        radii = np.maximum(radii, length(points[:, corner] - centres))
    normals = normals / sizes[:, None]
    return Mesh(
        points, normals, centres, radii,
        tags[good], actors[good], colours[good], levels[good],
        normals if shades is None else _shading(shades[good], normals),
        np.zeros((len(points), 3), np.uint8) if glow is None else glow[good],
        np.zeros(len(points), np.uint32) if things is None else things[good],
    )  # fmt: skip


def _shading(shades: Floats, normals: Floats) -> Floats:
    """Unit vectors, and normals where there are none."""
    sizes = length(shades)
    own = sizes <= 0.0
    turned: Floats = shades / np.where(own, 1.0, sizes)[:, None]
    return np.where(own[:, None], normals, turned)


class MeshBuilder:
    """Collects triangles."""

    def __init__(self) -> None:
        self._points: list[Floats] = []
        self._marks: list[tuple[int, ...]] = []
        self._shades: list[Floats] = []

    def add(
        self,
        points: Floats,
        tag: int,
        colour: Colour,
        level: int = SURFACE,
        actor: int = 0,
        glow: Colour = (0, 0, 0),
        shade: tuple[float, float, float] = (0.0, 0.0, 0.0),
        thing: int = 0,
    ) -> None:
        """Triangles (n, 3, 3) of one look."""
        self._points.append(points)
        self._marks.append((len(points), tag, actor, *colour, level, *glow, thing))
        self._shades.append(np.broadcast_to(np.array(shade), (len(points), 3)))

    def quads(
        self,
        a: Floats,
        b: Floats,
        c: Floats,
        d: Floats,
        tag: int,
        colour: Colour,
        level: int = SURFACE,
        owner: int = 0,
    ) -> None:
        """Quadrilaterals from rows of corners (n, 3), in their order around."""
        first, second = np.stack((a, b, c), axis=1), np.stack((a, c, d), axis=1)
        self.add(np.concatenate((first, second)), tag, colour, level, owner)

    def corners(self) -> Floats:
        """All corners so far (n, 3)."""
        return np.concatenate([p.reshape(-1, 3) for p in self._points or [np.zeros((0, 3, 3))]])

    def build(self, upwards: bool = False) -> Mesh:
        """The mesh.

        :param upwards: turn every triangle so that it is seen from above
        """
        points = np.concatenate(self._points or [np.zeros((0, 3, 3))])
        if upwards:
            e, f = points[:, 1] - points[:, 0], points[:, 2] - points[:, 0]
            down = e[:, 0] * f[:, 1] - e[:, 1] * f[:, 0] < 0.0
            points[down] = points[down][:, ::-1]
        marks = np.array(self._marks, dtype=np.int64).reshape(-1, 11)
        marks = np.repeat(marks, marks[:, 0], axis=0)
        return mesh_of(
            points,
            marks[:, 1].astype(np.uint8),
            marks[:, 2].astype(np.uint32),
            marks[:, 3:6].astype(np.uint8),
            marks[:, 6].astype(np.uint8),
            np.concatenate(self._shades or [np.zeros((0, 3))]),
            marks[:, 7:10].astype(np.uint8),
            marks[:, 10].astype(np.uint32),
        )
