# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The navigation mesh of walkers as the file that CARLA's client loads.

The client steers its walkers with the library Detour. The file is one tile of a Detour
navigation mesh (data version 7, 32 bits for a polygon's number) behind the header of CARLA's mesh
sets. Detour's axes are CARLA's x, z (up), y.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

Point = tuple[float, float, float]

_SET_MAGIC: Final = 0x4D534554  # "MSET"
_SET_VERSION: Final = 1
_TILE_MAGIC: Final = 0x444E4156  # "DNAV"
_TILE_VERSION: Final = 7
#: Detour numbers the corners of a tile with 16 bits, and marks polygons without a neighbour.
MAX_CORNERS: Final = 0xFFFF
MAX_POLYGONS: Final = 0x7FFF
_MAX_SIDES: Final = 6
# Sizes of a walker, written into the file; the client's own are used for walking [m].
_WALKER_HEIGHT, _WALKER_RADIUS, _WALKER_CLIMB = 1.8, 0.3, 0.5
# Triangle flags of the surface of a polygon: which sides are sides of the polygon.
_FIRST_SIDE, _MIDDLE_SIDE, _LAST_SIDE = 1 << 0, 1 << 2, 1 << 4

# magic, version, tiles, then origin, width and height of tiles, most tiles, most polygons
_SET_HEADER = struct.Struct("<3i5f2i")
_TILE_ENTRY = struct.Struct("<Ii")
_TILE_HEADER = struct.Struct("<5iI9i10f")
_CORNER = struct.Struct("<3f")
# first link, corners, neighbours, flags, number of corners, area
_POLYGON = struct.Struct("<I6H6HHBB")
_LINK_SIZE: Final = 12
# first detail corner, first triangle, number of each
_SURFACE = struct.Struct("<IIBBxx")
_TRIANGLE = struct.Struct("<4B")


class Area(NamedTuple):
    """A kind of ground: its number and its flag in CARLA's navigation."""

    number: int
    flag: int


SIDEWALK: Final = Area(1, 0x02)
CROSSWALK: Final = Area(2, 0x04)
ROAD: Final = Area(3, 0x08)


class Polygon(NamedTuple):
    """A convex polygon of at most six corners (their numbers, in either direction)."""

    corners: tuple[int, ...]
    area: Area


def navmesh(corners: Sequence[Point], polygons: Iterable[Polygon]) -> bytes:
    """The file of a mesh.

    Polygons that share two corners in a row are neighbours: walkers step from one to the other.

    :param corners: CARLA's frame [m]
    :raises ValueError: more corners or polygons than a tile can hold
    """
    turned = [_clockwise(corners, polygon) for polygon in polygons]
    if len(corners) > MAX_CORNERS or len(turned) > MAX_POLYGONS:
        raise ValueError(f"{len(corners)} corners and {len(turned)} polygons are too many")
    low = [min(axis) for axis in zip(*corners, strict=True)]
    high = [max(axis) for axis in zip(*corners, strict=True)]
    tile = _tile(corners, turned, low, high)
    # One tile needs no bits for its number: a reference is a salt of 1 above the polygon's bits.
    reference = 1 << (max(len(turned), 1) - 1).bit_length()
    head = _SET_HEADER.pack(
        _SET_MAGIC,
        _SET_VERSION,
        1,
        *_swapped(low),
        high[0] - low[0] + 1.0,
        high[1] - low[1] + 1.0,
        1,
        reference,
    )
    return head + _TILE_ENTRY.pack(reference, len(tile)) + tile


def _tile(
    corners: Sequence[Point], polygons: Sequence[Polygon], low: list[float], high: list[float]
) -> bytes:
    neighbours, links = _neighbours(polygons)
    triangles = sum(len(polygon.corners) - 2 for polygon in polygons)
    parts = [
        _TILE_HEADER.pack(
            _TILE_MAGIC,
            _TILE_VERSION,
            *(0, 0, 0),  # place of the tile and its layer
            0,
            len(polygons),
            len(corners),
            max(links, 1),
            len(polygons),
            0,  # no corners beside those of the polygons
            triangles,
            0,  # no bounding volumes: the client looks through all polygons
            0,
            len(polygons),
            _WALKER_HEIGHT,
            _WALKER_RADIUS,
            _WALKER_CLIMB,
            *_swapped(low),
            *_swapped(high),
            1.0,
        )
    ]
    parts += [_CORNER.pack(*_swapped(corner)) for corner in corners]
    for polygon, beside in zip(polygons, neighbours, strict=True):
        count = len(polygon.corners)
        room = (0,) * (_MAX_SIDES - count)
        parts.append(
            _POLYGON.pack(
                0, *polygon.corners, *room, *beside, *room, polygon.area.flag, count,
                polygon.area.number,
            )
        )  # fmt: skip
    parts.append(bytes(_LINK_SIZE * max(links, 1)))
    first = 0
    for polygon in polygons:
        count = len(polygon.corners) - 2
        parts.append(_SURFACE.pack(0, first, 0, count))
        first += count
    for polygon in polygons:
        last = len(polygon.corners) - 1
        for corner in range(2, last + 1):
            flags = _MIDDLE_SIDE
            flags |= _FIRST_SIDE if corner == 2 else 0
            flags |= _LAST_SIDE if corner == last else 0
            parts.append(_TRIANGLE.pack(0, corner - 1, corner, flags))
    return b"".join(parts)


def _neighbours(polygons: Sequence[Polygon]) -> tuple[list[list[int]], int]:
    """For every side the number of the polygon beyond it plus one (0: none), and how many."""
    sides: dict[tuple[int, int], tuple[int, int]] = {}
    beside = [[0] * len(polygon.corners) for polygon in polygons]
    links = 0
    for index, polygon in enumerate(polygons):
        corners = polygon.corners
        for side, corner in enumerate(corners):
            following = corners[(side + 1) % len(corners)]
            # Neighbours run along their common side in opposite directions.
            other = sides.pop((following, corner), None)
            if other is None:
                sides.setdefault((corner, following), (index, side))
                continue
            beside[index][side] = other[0] + 1
            beside[other[0]][other[1]] = index + 1
            links += 2
    return beside, links


def _clockwise(corners: Sequence[Point], polygon: Polygon) -> Polygon:
    """The polygon in the direction in which Detour wants it."""
    around = polygon.corners
    twice = 0.0
    for index, corner in enumerate(around):
        x0, y0, _ = corners[corner]
        x1, y1, _ = corners[around[(index + 1) % len(around)]]
        twice += x0 * y1 - x1 * y0
    return polygon if twice < 0.0 else polygon._replace(corners=around[::-1])


def _swapped(point: Sequence[float]) -> tuple[float, float, float]:
    x, y, z = point
    return x, z, y
