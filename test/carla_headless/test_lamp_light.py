# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Lamps light places, not triangles: a picture at night against the law of distance and slant."""

from __future__ import annotations

import numpy as np
import pytest

from ros2_cosim.world.headless.sensing.axes import axes_of
from ros2_cosim.world.headless.sensing.lamp_light import LightSource, add_lamps
from ros2_cosim.world.headless.sensing.mesh import MeshBuilder
from ros2_cosim.world.headless.sensing.raster import Lens, View, depths, pixel_centres, render
from ros2_cosim.world.headless.sensing.scene import TriangleScene
from ros2_cosim.world.headless.wire_types import Rotation, Transform, Vector

LENS = Lens(320, 200, 160.0)
EYE = axes_of(Transform(Vector(-12.0, 1.0, 6.0), Rotation(-25.0, 5.0)))
GREY = 200


def wall_and_street() -> View:
    """One street of two triangles, and a wall of two across it."""
    builder = MeshBuilder()
    street = [(-30.0, -30.0, 0.0), (-30.0, 30.0, 0.0), (30.0, 30.0, 0.0), (30.0, -30.0, 0.0)]
    wall = [(14.0, -20.0, 0.0), (14.0, -20.0, 12.0), (14.0, 20.0, 12.0), (14.0, 20.0, 0.0)]
    for corners in (street[::-1], wall):
        a, b, c, d = (np.array([corner]) for corner in corners)
        builder.quads(a, b, c, d, 1, (GREY, GREY, GREY))
    mesh = builder.build()
    none = mesh.take(np.zeros(len(mesh), dtype=bool))
    view = render(TriangleScene(mesh, none), EYE, LENS)
    assert len(np.unique(view.seen)) == 5
    return view


def lit(view: View, sources: list[LightSource]) -> np.ndarray:
    """What lamps add to the green of each pixel (rows, columns)."""
    pixels = np.full(len(view.seen), 0xFF000000, dtype=np.uint32)
    back = np.full(len(view.mesh), 0xFF000000 | GREY << 8, dtype=np.uint32)
    add_lamps(pixels, view, LENS, EYE, sources, back)
    assert not (pixels & 0x00FF00FF).any()
    return (pixels >> 8 & 0xFF).astype(int).reshape(LENS.height, LENS.width)


def places(view: View) -> tuple[np.ndarray, np.ndarray]:
    """Place and normal (n, 3) of what each pixel shows, zeros for the sky."""
    x, y = pixel_centres(LENS)
    depth = depths(view, LENS)
    sky = np.isinf(depth)
    depth = np.where(sky, 0.0, depth)
    across, down = np.tile(x, LENS.height), np.repeat(y, LENS.width)
    local = np.stack((depth, depth * across / LENS.focal, -depth * down / LENS.focal), axis=1)
    normals = np.append(view.mesh.normals, [[0.0, 0.0, 0.0]], axis=0)[view.seen]
    return EYE.outside(local), normals


def test_a_lamp_lights_each_place_by_its_own_distance_and_slant() -> None:
    view = wall_and_street()
    lamp = LightSource(Vector(8.0, 2.0, 5.0), 40.0, 30.0, (0.0, 1.0, 0.0))
    seen = lit(view, [lamp])
    points, normals = places(view)
    way = np.array(lamp.place) - points
    square = (way * way).sum(axis=1)
    above = np.maximum((way * normals).sum(axis=1), 0.0)
    bright = lamp.strength * above / (np.maximum(square, 1.0) * np.sqrt(square))
    bright *= np.maximum(1.0 - square / lamp.reach**2, 0.0)
    wanted = GREY * bright / (1.0 + bright)
    assert np.abs(seen.reshape(-1) - wanted).max() < 3.0
    # Within one triangle the light falls off: it has no facets.
    for triangle in np.unique(view.seen[view.seen >= 0]):
        own = seen.reshape(-1)[view.seen == triangle]
        assert len(np.unique(own)) > 20
    # Twice the same bytes; what is behind a wall, and the sky, stay dark.
    assert np.array_equal(seen, lit(view, [lamp]))
    behind = lamp._replace(place=Vector(20.0, 0.0, 5.0))
    on_wall = np.abs(normals[:, 0]) > 0.9
    assert not lit(view, [behind]).reshape(-1)[on_wall].any()
    assert not seen.reshape(-1)[view.seen < 0].any()


def test_lamps_add_up_and_a_beam_keeps_to_its_cone() -> None:
    view = wall_and_street()
    one = LightSource(Vector(0.0, -6.0, 5.0), 10.0, 30.0, (0.0, 1.0, 0.0))
    two = one._replace(place=Vector(0.0, 6.0, 5.0))
    both, alone, other = (lit(view, each) for each in ([one, two], [one], [two]))
    assert (both >= np.maximum(alone, other)).all() and (both > alone).sum() > 5000
    beam = LightSource(Vector(-6.0, 0.0, 0.7), 60.0, 45.0, (0.0, 1.0, 0.0), Vector(1.0, 0.0, 0.0))
    points, _ = places(view)
    seen = lit(view, [beam]).reshape(-1)
    way = points - np.array(beam.place)
    along, aside = way[:, 0], np.sqrt((way[:, 1:] ** 2).sum(axis=1))
    # A pixel beside the cone may have the light of its neighbour.
    assert not seen[(aside > 0.65 * along) & (view.seen >= 0)].any()
    assert (seen[(aside < 0.3 * along) & (view.seen >= 0)] > 0).mean() > 0.95


@pytest.mark.parametrize("away", [0.0, 29.0, 200.0])
def test_a_lamp_that_is_not_in_the_picture_costs_nothing_and_changes_nothing(away: float) -> None:
    view = wall_and_street()
    back = EYE.outside(np.array((-31.0 - away, 0.0, 0.0))).tolist()
    lamp = LightSource(Vector(*back), 1.0e4, 30.0, (0.0, 1.0, 0.0))
    assert not lit(view, [lamp]).any()
