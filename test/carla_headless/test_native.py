# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What is computed in C for pictures and rays has the bits that numpy gives."""

from __future__ import annotations

import importlib.util
import os
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.sensor_bench import CAR

from ros2_cosim.world.headless.maps import own_maps
from ros2_cosim.world.headless.sensing import native
from ros2_cosim.world.headless.sensing.axes import Floats, axes_of
from ros2_cosim.world.headless.sensing.cameras import coloured
from ros2_cosim.world.headless.sensing.coarse import cell_size
from ros2_cosim.world.headless.sensing.mesh import Indices, cross, dot
from ros2_cosim.world.headless.sensing.raster import Lens, View, picture, render
from ros2_cosim.world.headless.sensing.rays import Grid, scan
from ros2_cosim.world.headless.sensing.scene import SceneBuilder
from ros2_cosim.world.headless.sensing.shadows import ShadowMaps
from ros2_cosim.world.headless.wire_types import Rotation, Transform, Vector, Weather
from ros2_cosim.world.headless.world import World

ROOT = Path(__file__).resolve().parents[2]
WORLD = World(own_maps()[0].read_text(encoding="utf-8"), 0.05)
for pose in WORLD.spawn_points()[:40]:
    WORLD.spawn(CAR, pose)
SCENE = SceneBuilder().scene(WORLD)
MAPS = ShadowMaps()


@pytest.fixture(scope="module", autouse=True)
def in_c(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The functions in C, made of the present source."""
    compiler = shlex.split(os.environ.get("CC", "cc"))
    if shutil.which(compiler[0]) is None:
        pytest.skip(f"no compiler {compiler[0]}")
    path = ROOT / "buildtools" / "compile_modules.py"
    spec = importlib.util.spec_from_file_location("compile_modules", path)
    assert spec is not None and spec.loader is not None
    build = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(build)
    made = tmp_path_factory.mktemp("native") / "pixels.so"
    sources = [str(build.PACKAGE / name) for name in build.IN_C]
    flags = [*build.LOOPS.split(), *build.FLAGS.split(), "-shared", "-o", str(made)]
    subprocess.run([*compiler, *flags, *sources, "-lm"], check=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(native, "LIBRARY", native.opened(made))
        yield


@contextmanager
def with_numpy() -> Iterator[None]:
    """Without C."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(native, "LIBRARY", None)
        yield


Made = tuple[Indices, Indices, Indices, Indices]


def _seen(made: Made, triangles: int) -> list[int]:
    """Of each pixel."""
    view = View(SCENE.map.take(np.arange(triangles)), np.zeros((triangles, 3)), *made)
    return view.seen.tolist()


@settings(max_examples=60)
@given(st.integers(0, 2**32 - 1), st.integers(0, 40), st.sampled_from([0.0, 1e-9, 3.0, 60.0]))
def test_pixels_have_the_triangles_that_numpy_finds(seed: int, count: int, spread: float) -> None:
    draws, lens = np.random.default_rng(seed), Lens(37, 23, 20.0)
    centres = draws.uniform((-2.0, -20.0, -15.0), (30.0, 20.0, 15.0), (count, 1, 3))
    corners: Floats = centres + draws.uniform(-1.0, 1.0, (count, 3, 3)) * spread
    # Some lie in each other, some have corners or edges in common, some on the centres of pixels.
    for one in range(1, count, 3):
        corners[one, : one % 4] = corners[one - 1, : one % 4]
    corners[::5] = np.round(corners[::5])
    normals = cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    offsets = dot(corners[:, 0], normals)
    planes = normals / np.where(offsets == 0.0, -1.0, offsets)[:, None]
    planes[:, 1:] /= (lens.focal, -lens.focal)
    scales: Floats = 1.0 + 2.0e-3 * draws.integers(0, 3, count).astype(np.float64)
    expected = picture(corners, planes, scales, lens)
    found = native.picture_in_c(corners, planes, scales, lens)
    assert _seen(found, count) == _seen(expected, count)
    assert found[1].sum() == lens.width * lens.height


@settings(max_examples=10, deadline=None)
@given(
    point=st.integers(0, 200),
    turn=st.tuples(st.floats(-80.0, 40.0), st.floats(-180.0, 180.0), st.floats(-180.0, 180.0)),
    height=st.floats(0.3, 30.0),
)
def test_the_town_looks_the_same(
    point: int, turn: tuple[float, float, float], height: float
) -> None:
    place = WORLD.spawn_points()[point].location
    eye = axes_of(Transform(place._replace(z=place.z + height), Rotation(*turn)))
    lens, steps = Lens(320, 200, 150.0), np.arange(24)
    azimuths, slopes = steps / 24.0 * 2.0 * np.pi - 3.0, np.linspace(-0.4, 0.2, 9)
    rays = np.ones((9, 24, 3))
    rays[..., 0], rays[..., 1] = np.cos(azimuths), np.sin(azimuths)
    rays[..., 2] = slopes[:, None]
    directions: Floats = (rays / np.sqrt((rays**2).sum(-1))[..., None]).reshape(-1, 3)

    def look() -> list[Any]:
        hits = scan(SCENE, eye, Grid(azimuths, slopes), directions, 90.0)
        view = render(SCENE, eye, lens)
        shown, met = view.seen >= 0, hits.triangles >= 0
        return [shown.tolist(), view.mesh.points[view.seen[shown]].tobytes(),
                met.tolist(), hits.mesh.points[hits.triangles[met]].tobytes(),
                hits.distances.tobytes(), bool(len(hits.mesh))]  # fmt: skip

    in_c = look()
    with with_numpy():
        assert look() == in_c


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    turn=st.tuples(st.floats(-90.0, 60.0), st.floats(-180.0, 180.0), st.floats(-180.0, 180.0)),
    height=st.sampled_from([0.0, 1.0e-7, 0.3, 1.9, 40.0]),
    size=st.sampled_from([(1, 1), (7, 300), (160, 90), (961, 50), (1921, 37), (2881, 4)]),
    sun=st.tuples(st.floats(5.0, 90.0), st.floats(-180.0, 180.0)),
    shaded=st.booleans(),
    has_grain=st.booleans(),
)
def test_colours_are_those_of_numpy(
    seed: int,
    turn: tuple[float, float, float],
    height: float,
    size: tuple[int, int],
    sun: tuple[float, float],
    shaded: bool,
    has_grain: bool,
) -> None:
    draws, points = np.random.default_rng(seed), WORLD.spawn_points()
    place = points[seed % len(points)].location
    pose = Transform(place._replace(z=place.z + height), Rotation(*turn))
    eye, lens = axes_of(pose), Lens(*size, 0.6 * size[0])
    weather = Weather(sun_altitude_angle=sun[0], sun_azimuth_angle=sun[1])
    shade = MAPS.around(SCENE, eye.origin, weather) if shaded else None
    with with_numpy():
        view = render(SCENE, eye, lens)
        palettes = draws.integers(0, 2**24 - 1, (2, len(view.mesh) + 1), np.uint32) | 0xFF000000
        palettes[:, -1] = palettes[0, -1]  # the sky has no shadow
        sky = draws.integers(0, 2**24, 64, np.uint32)
        given = lens, eye, (palettes[0], palettes[1]), shade, has_grain, sky
        expected = coloured(view, *given)
        brighter = coloured(view, *given, lambda pixels: pixels + np.uint32(1))
    assert np.array_equal(coloured(view, *given), expected)
    found = coloured(view, *given, lambda pixels: pixels + np.uint32(1))
    assert np.array_equal(found, brighter)
    # The cells of shadows are larger than a pixel in wide pictures.
    assert cell_size(lens) == {961: 2, 1921: 3, 2881: 4}.get(size[0], 1)


@settings(max_examples=4, deadline=None)
@given(st.integers(0, 200), st.floats(6.0, 88.0), st.floats(-180.0, 180.0))
def test_shadows_have_the_heights_of_numpy(point: int, altitude: float, azimuth: float) -> None:
    place = WORLD.spawn_points()[point].location
    weather = Weather(sun_altitude_angle=altitude, sun_azimuth_angle=azimuth)

    def heights() -> list[bytes]:
        shade = ShadowMaps().around(SCENE, place, weather)
        assert shade is not None
        return [window.heights.tobytes() for window in shade.windows]

    in_c = heights()
    with with_numpy():
        assert heights() == in_c


def test_a_picture_of_nothing_is_sky() -> None:
    eye = axes_of(Transform(Vector(0.0, 0.0, 5000.0), Rotation(80.0)))
    forward = np.array([[1.0, 0.0, 0.0]])
    hits = scan(SCENE, eye, Grid(np.zeros(1), np.zeros(1)), forward, 100.0)
    assert hits.triangles.tolist() == [-1]
    assert set(render(SCENE, eye, Lens(16, 12, 10.0)).seen.tolist()) == {-1}
