# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The grain of surfaces: it is on them, whoever looks from where, and only on them."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from numpy.typing import NDArray
from support.sensor_bench import Bench

from ros2_cosim.world.headless.sensing.axes import BodyAxes, axes_of
from ros2_cosim.world.headless.sensing.grain import grained
from ros2_cosim.world.headless.sensing.mesh import Mesh, mesh_of
from ros2_cosim.world.headless.sensing.raster import Lens, View, depths, pixel_centres, render
from ros2_cosim.world.headless.sensing.scene import TriangleScene
from ros2_cosim.world.headless.wire_types import Rotation, Transform, Vector

LENS = Lens(200, 120, 100.0)
GREY = 0xFF808080
ROADS, CARS = 1, 14
Floats = NDArray[np.float64]


def _plane(actor: int = 0, forward: float = 0.0, tag: int = ROADS) -> Mesh:
    """A level square of 400 m, that an actor has moved."""
    ends = np.array([(-200.0, -200.0, 0.0), (200.0, -200.0, 0.0), (200.0, 200.0, 0.0)])
    points = np.stack((ends, -ends)) + (forward, 0.0, 0.0)
    return mesh_of(
        points, np.full(2, tag, np.uint8), np.full(2, actor, np.uint32),
        np.full((2, 3), 128, np.uint8), np.zeros(2, np.uint8),
    )  # fmt: skip


def _eye(x: float = 3.0, y: float = -2.0, z: float = 1.5, pitch: float = -8.0) -> BodyAxes:
    return axes_of(Transform(Vector(x, y, z), Rotation(pitch, 20.0, 0.0)))


def _seen(mesh: Mesh, eye: BodyAxes) -> tuple[View, Floats]:
    """A view, and the brightness (height * width) of its pixels as grained, 1 without grain."""
    view = render(TriangleScene(mesh, mesh.take(np.zeros(len(mesh), dtype=bool))), eye, LENS)
    flat = np.full(LENS.width * LENS.height, GREY, dtype=np.uint32)
    shown = grained(flat, view, eye, LENS)
    blue, green, red, alpha = shown.view(np.uint8).reshape(-1, 4).T
    assert (blue == green).all() and (green == red).all() and (alpha == 255).all()
    return view, blue / 128.0


@cache
def _road() -> tuple[View, Floats]:
    return _seen(_plane(), _eye())


def test_it_keeps_the_brightness_and_leaves_the_sky_alone() -> None:
    view, bright = _road()
    sky = view.seen < 0
    assert sky.any() and (bright[sky] == 1.0).all()
    assert bright[~sky].mean() == pytest.approx(1.0, abs=0.03)
    assert 0.04 < bright[~sky].std() < 0.14


def test_the_nearer_the_surface_the_more_contrast() -> None:
    view, bright = _road()
    depth = depths(view, LENS)
    near, far = (bright[(depth > low) & (depth < 2.0 * low)].std() for low in (2.5, 40.0))
    assert near > 1.2 * far > 0.01


def test_a_place_looks_the_same_from_another_one() -> None:
    """Its grain in one picture is that in the other one where the same place is seen."""
    one, two = _eye(), _eye(x=3.15, y=-1.9)
    (view, bright), (_, other) = _road(), _seen(_plane(), two)
    depth = depths(view, LENS)
    columns, rows = pixel_centres(LENS)
    x, y = np.tile(columns, LENS.height), np.repeat(rows, LENS.width)
    near = (depth > 2.0) & (depth < 8.0)
    depth, x, y = depth[near], x[near], y[near]
    places = one.outside(np.stack((depth, depth * x / 100.0, -depth * y / 100.0), axis=1))
    seen = two.inside(places)
    column = np.floor(100.0 * seen[:, 1] / seen[:, 0] + 100.0).astype(int)
    row = np.floor(60.0 - 100.0 * seen[:, 2] / seen[:, 0]).astype(int)
    inside = (column >= 0) & (column < 200) & (row >= 0) & (row < 120)
    there = other[row[inside] * 200 + column[inside]]
    assert np.corrcoef(bright[near][inside], there)[0, 1] > 0.7
    assert abs(np.corrcoef(bright[near][inside], np.roll(there, 1700))[0, 1]) < 0.2


def test_it_moves_with_actors_and_not_with_the_eye() -> None:
    _, still = _seen(_plane(actor=5), _eye())
    _, moved = _seen(_plane(actor=5, forward=7.125), _eye(x=10.125))
    assert np.corrcoef(still, moved)[0, 1] > 0.99
    _, stands = _seen(_plane(), _eye(x=10.125))
    assert np.corrcoef(_road()[1], stands)[0, 1] < 0.9


def test_what_is_seen_edge_on_does_no_harm() -> None:
    for z in (1.0e-3, 1.0e-7):
        _, bright = _seen(_plane(), _eye(z=z, pitch=0.0))
        assert (bright > 0.0).all()


def test_labels_differ() -> None:
    assert _seen(_plane(tag=CARS), _eye())[1].std() < 0.5 * _road()[1].std()


def test_there_is_none_without_scenery_or_in_plain_pictures() -> None:
    colours = {}
    for has_scenery, is_plain in ((False, False), (True, False), (True, True)):
        bench = Bench()
        bench.simulation.world.has_scenery = has_scenery
        bench.simulation.world.is_plain = is_plain
        place = Transform(Vector(100.0, 5.25, 2.0), Rotation(-30.0, 0.0, 0.0))
        size = {"image_size_x": LENS.width, "image_size_y": LENS.height}
        sensor = bench.sensor("sensor.camera.rgb", place, **size)
        bench.run(1)
        pixels = bench.messages[sensor][0][-4 * LENS.width * LENS.height :]
        colours[has_scenery, is_plain] = len(np.unique(np.frombuffer(pixels, np.uint32)))
    assert colours[True, False] > 3 * max(colours[False, False], colours[True, True])
