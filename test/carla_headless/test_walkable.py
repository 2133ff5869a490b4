# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The mesh that walkers walk on."""

from __future__ import annotations

import struct
from itertools import pairwise

import pytest
from support.headless_process import HIGHWAY, TOWN

from ros2_cosim.world.headless.navmesh_file import CROSSWALK, ROAD, SIDEWALK, Polygon, navmesh
from ros2_cosim.world.headless.walkable import navigation_file, walkable
from ros2_cosim.world.map import RoadNetwork


def test_the_town_is_one_walk_without_stepping_on_a_carriageway() -> None:
    corners, polygons = walkable(RoadNetwork.from_file(TOWN))
    walk = [p for p in polygons if p.area in (SIDEWALK, CROSSWALK)]
    assert len(walk) > 500 and sum(p.area is ROAD for p in polygons) > 500
    by_side: dict[frozenset[int], list[int]] = {}
    for index, polygon in enumerate(walk):
        ring = polygon.corners
        for a, b in pairwise((*ring, ring[0])):
            by_side.setdefault(frozenset((a, b)), []).append(index)
    reached, todo = {0}, [0]
    while todo:
        ring = walk[todo.pop()].corners
        for a, b in pairwise((*ring, ring[0])):
            for other in by_side[frozenset((a, b))]:
                if other not in reached:
                    reached.add(other)
                    todo.append(other)
    assert len(reached) == len(walk)
    for polygon in polygons:
        turns = []
        ring = polygon.corners
        for i in range(len(ring)):
            (ax, ay, _), (bx, by, _), (cx, cy, _) = (
                corners[ring[(i + step) % len(ring)]] for step in range(3)
            )
            turns.append((bx - ax) * (cy - by) - (by - ay) * (cx - bx))
        assert min(turns) > 0.0 or max(turns) < 0.0  # convex


def test_a_map_without_sidewalks_has_no_mesh() -> None:
    assert navigation_file(RoadNetwork.from_file(HIGHWAY), "highway") is None


def test_neighbours_and_sizes_stand_in_the_file() -> None:
    corners = [(0.0, 0.0, 1.0), (2.0, 0.0, 1.0), (2.0, 2.0, 1.0), (0.0, 2.0, 1.0), (4.0, 1.0, 1.0)]
    squares = [Polygon((0, 1, 2, 3), SIDEWALK), Polygon((1, 4, 2), ROAD)]
    data = navmesh(corners, squares)
    magic, version, tiles = struct.unpack_from("<3i", data)
    assert (magic.to_bytes(4, "big"), version, tiles) == (b"MSET", 1, 1)
    reference, size = struct.unpack_from("<Ii", data, 40)
    tile = data[48:]
    assert len(tile) == size and reference == 2
    polygons, points = struct.unpack_from("<2i", tile, 24)
    assert (polygons, points) == (2, 5)
    assert struct.unpack_from("<3f", tile, 100 + 12 * 4) == (4.0, 1.0, 1.0)  # x, up, y
    first = struct.unpack_from("<I6H6HHBB", tile, 100 + 12 * 5)
    second = struct.unpack_from("<I6H6HHBB", tile, 100 + 12 * 5 + 32)
    assert sorted(first[7:11]) == [0, 0, 0, 2] and sorted(second[7:10]) == [0, 0, 1]
    assert (first[-3:], second[-3:]) == ((0x02, 4, 1), (0x08, 3, 3))


def test_what_a_tile_cannot_hold_is_refused() -> None:
    with pytest.raises(ValueError, match="too many"):
        navmesh([(0.0, 0.0, 0.0)] * 65536, [Polygon((0, 1, 2), SIDEWALK)])
