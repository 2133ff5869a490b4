# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The land follows the roads, lies below them, and has hills where nothing else is."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.headless_process import HIGHWAY, TOWN

from ros2_cosim.world.headless.labels import (
    BUILDINGS,
    GROUND,
    ROADS,
    SIDEWALKS,
    TERRAIN,
    VEGETATION,
)
from ros2_cosim.world.headless.sensing.axes import Floats
from ros2_cosim.world.headless.sensing.ground import MapGround, ground_of
from ros2_cosim.world.headless.sensing.land import Land, distances, land_of
from ros2_cosim.world.headless.sensing.probes import first_on
from ros2_cosim.world.headless.sensing.scene import TriangleScene
from ros2_cosim.world.headless.sensing.scenery.parts import scenery_of
from ros2_cosim.world.headless.wire_types import Vector
from ros2_cosim.world.headless.world import World

CIRCUIT, HILL = TOWN.with_name("circuit.xodr"), TOWN.with_name("hill.xodr")
MAPS = TOWN, HIGHWAY, CIRCUIT, HILL


@cache
def world_of(path: Path) -> World:
    world = World(path.read_text(encoding="utf-8"), 0.05, has_scenery=True)
    world.lamps.complete()
    return world


@cache
def grounds_of(path: Path) -> tuple[MapGround, MapGround]:
    """The ground of a map without hills and with them."""
    world = world_of(path)
    ground = ground_of(world.network)
    scenery = scenery_of(world.network, world.opendrive, ground, world.things)
    world.things.take_parts([*scenery.ground.parts, *scenery.parts])
    return ground, scenery.ground


def land_under(land: Land, points: Floats) -> Floats:
    return np.array([land.height(x, y) for x, y in points[:, :2].tolist()])


def inside(triangles: Floats, count: int) -> Floats:
    """Points (n, 3) drawn in triangles (n, 3, 3)."""
    draws = np.random.default_rng(1)
    chosen = triangles[draws.integers(0, len(triangles), count)]
    u, v = draws.uniform(size=(2, count, 1))
    folded = u + v > 1.0
    u, v = np.where(folded, 1.0 - u, u), np.where(folded, 1.0 - v, v)
    a, b, c = (chosen[:, n] for n in range(3))
    return a + u * (b - a) + v * (c - a)


@pytest.mark.parametrize("path", MAPS, ids=lambda path: path.stem)
def test_roads_lie_on_the_land_and_nowhere_in_it(path: Path) -> None:
    level, hilly = grounds_of(path)
    paved = level.paved.points[np.isin(level.paved.tags, (ROADS, SIDEWALKS, GROUND))]
    points = inside(paved, 20_000)
    for ground in (level, hilly):
        assert ground.land is not None
        above = points[:, 2] - land_under(ground.land, points)
        assert above.min() > 0.0
        # Roads that cross others on bridges apart, it is as near below them as on level land.
        assert np.quantile(above, 0.95) < 0.6


@pytest.mark.parametrize("path", MAPS, ids=lambda path: path.stem)
def test_hills_rise_away_from_roads_and_houses_and_carry_trees(path: Path) -> None:
    world, grounds = world_of(path), grounds_of(path)
    level, hilly = (ground.land for ground in grounds)
    assert level is not None and hilly is not None
    rise = hilly.heights - level.heights
    assert rise.min() >= 0.0 and 3.0 < rise.max() < 9.0
    assert not rise[level.near].any() and not rise[0].any() and not rise[:, -1].any()
    away = distances(level.near, 3) * level.cell
    assert not rise[away <= 16.0].any()
    slopes = np.abs(np.diff(rise, axis=0)).max() / level.cell
    assert slopes < 0.35
    for thing in world.things.labelled(BUILDINGS):
        place = np.array([thing.pose.location[:2]])
        assert land_under(hilly, place) == land_under(level, place)
    risen = 0
    for tree in world.things.labelled(VEGETATION):
        x, y, z = tree.pose.location
        if max(tree.half.x, tree.half.y) < 6.0 and "Hedge" not in tree.name:
            assert abs(z - hilly.height(x, y)) < 0.75
            risen += hilly.height(x, y) > level.height(x, y) + 0.5
    assert risen > 2
    # Rays of clients meet the land where it is.
    i, j = np.unravel_index(rise.argmax(), rise.shape)
    x, y = hilly.low + hilly.cell * (np.array((i, j)) + 0.25)
    height = hilly.height(float(x), float(y))
    start = Vector(float(x), float(y), height + 50.0)
    mesh = grounds[1].mesh
    scene = TriangleScene(mesh, mesh.take(np.zeros(len(mesh), dtype=bool)))
    found = first_on(scene, start, Vector(0.0, 0.0, -1.0), 100.0)
    assert found is not None and found.label == TERRAIN
    assert found.location.z == pytest.approx(height, abs=1e-6)


@settings(max_examples=30, deadline=None)
@given(
    st.floats(-0.15, 0.15), st.floats(-0.15, 0.15), st.floats(-100.0, 100.0),
    st.floats(0.0, 6.283), st.floats(40.0, 400.0),
)  # fmt: skip
def test_the_land_follows_a_road_on_any_plane(
    slope_x: float, slope_y: float, high: float, turn: float, long: float
) -> None:
    along = np.linspace(0.0, long, int(long / 4.0) + 2)[:, None]
    ahead = np.array((np.cos(turn), np.sin(turn)))
    left, right = along * ahead, along * ahead + 7.0 * np.array((-ahead[1], ahead[0]))
    sides = [
        np.append(part, (high + part @ (slope_x, slope_y))[:, None], axis=1)
        for part in (left, right)
    ]
    a, b = sides
    first = np.stack((a[:-1], b[:-1], b[1:]), axis=1)
    second = np.stack((a[:-1], b[1:], a[1:]), axis=1)
    triangles = np.concatenate((first, second))
    land = land_of(triangles)
    points = inside(triangles, 300)
    above = points[:, 2] - land_under(land, points)
    assert above.min() > 0.0 and np.median(above) < 0.3


def test_a_level_map_has_level_land() -> None:
    ground, _ = grounds_of(CIRCUIT)
    assert ground.land is not None
    assert np.abs(ground.land.heights + 0.15).max() < 1e-12
