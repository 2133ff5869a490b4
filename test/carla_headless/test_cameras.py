# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Cameras in process: every pixel is checked against the rays of the other sensors."""

from __future__ import annotations

import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from support.headless_process import HIGHWAY
from support.sensor_bench import CAR, HEADER, Bench

from ros2_cosim.world.headless.blueprints import LIBRARY
from ros2_cosim.world.headless.labels import BUILDINGS, RIDERS, ROAD_LINES, ROADS, TERRAIN
from ros2_cosim.world.headless.maps import own_maps
from ros2_cosim.world.headless.sensing.axes import axes_of
from ros2_cosim.world.headless.sensing.cameras import heaven
from ros2_cosim.world.headless.sensing.mesh import cross
from ros2_cosim.world.headless.sensing.raster import (
    Lens,
    View,
    depths,
    pixel_centres,
    render,
    visible,
)
from ros2_cosim.world.headless.sensing.rays import cast, nearby
from ros2_cosim.world.headless.sensing.scene import SceneBuilder
from ros2_cosim.world.headless.sensing.shapes import shape_of
from ros2_cosim.world.headless.wire_types import Rotation, Transform, Vector
from ros2_cosim.world.headless.world import CallError, World

SIZE = {"image_size_x": 160, "image_size_y": 120}
LENS = Lens(160, 120, 80.0)
SKY, VEHICLE = 11, 14
Image = NDArray[np.uint8]


def _image(message: bytes) -> Image:
    width, height, _ = struct.unpack_from("<IIf", message, HEADER)
    pixels = np.frombuffer(message, np.uint8, offset=HEADER + 12)
    return pixels.reshape(height, width, 4)


def _metres(image: Image) -> NDArray[np.float64]:
    blue, green, red = (image[..., i].astype(np.float64) for i in range(3))
    return (red + 256.0 * green + 65536.0 * blue) / (256.0**3 - 1.0) * 1000.0


WORLD = World(own_maps()[0].read_text(encoding="utf-8"), 0.05)
for pose in WORLD.spawn_points()[:40]:
    WORLD.spawn(CAR, pose)
SCENE = SceneBuilder().scene(WORLD)


@settings(max_examples=30)
@given(st.integers(0, 2**32 - 1), st.booleans())
def test_a_piece_shows_what_each_of_its_pixels_would(seed: int, flat: bool) -> None:
    draws, lens = np.random.default_rng(seed), Lens(40, 6, 20.0)
    rows, starts = draws.integers(0, 6, 60), draws.integers(0, 39, 60)
    sizes = np.minimum(draws.integers(1, 40, 60), 40 - starts)
    # Some equal each other, cross, or differ by rounding; some are behind the camera.
    a, b = draws.integers(-1, 4, 60) / 7.0, draws.integers(-2, 3, 60) * (0.0 if flat else 0.01)
    a += draws.integers(0, 2, 60) * 1.0e-16
    nearest, seen = np.zeros(240), np.full(240, -1)
    for span in range(60):
        for column in range(starts[span], starts[span] + sizes[span]):
            value, pixel = a[span] + b[span] * column, 40 * rows[span] + column
            if value >= nearest[pixel]:
                nearest[pixel], seen[pixel] = value, span
    begins, mesh = 40 * rows + starts, SCENE.map.take(np.arange(60))
    view = View(
        mesh, np.zeros((60, 3)), *visible(begins, begins + sizes, a, b, np.arange(60), lens)
    )
    assert view.seen.tolist() == seen.tolist()


@settings(max_examples=60)
@given(
    turn=st.tuples(st.floats(-90.0, 90.0), st.floats(-180.0, 180.0), st.floats(-180.0, 180.0)),
    level=st.booleans(),
    size=st.tuples(st.integers(1, 120), st.integers(1, 90)),
    half=st.floats(0.01, 10.0),
)
def test_a_piece_of_sky_has_the_shade_of_each_of_its_pixels(
    turn: tuple[float, float, float], level: bool, size: tuple[int, int], half: float
) -> None:
    lens = Lens(*size, 0.5 * size[0] / half)
    eye = axes_of(Transform(Vector(), Rotation(*turn) if not level else Rotation(0.0, turn[1])))
    first = size[1] // 3
    x, y = pixel_centres(lens)
    dx, dy = x / lens.focal, y[first:, None] / lens.focal
    rise = (eye.forward.z + dx * eye.right.z) - dy * eye.up.z
    rise /= np.sqrt((1.0 + dx * dx) + dy * dy)
    shades = (np.clip(rise, 0.0, 1.0) * 63).astype(np.uint32).reshape(-1)
    assert np.array_equal(heaven(lens, eye, np.arange(64, dtype=np.uint32), first, size[1]), shades)


@settings(max_examples=15)
@given(
    point=st.integers(0, 200),
    turn=st.tuples(st.floats(-80.0, 40.0), st.floats(-180.0, 180.0), st.floats(-180.0, 180.0)),
    height=st.floats(0.3, 30.0),
)
def test_a_pixel_sees_what_its_ray_meets(
    point: int, turn: tuple[float, float, float], height: float
) -> None:
    place = WORLD.spawn_points()[point].location
    eye = axes_of(Transform(place._replace(z=place.z + height), Rotation(*turn)))
    lens = Lens(16, 12, 10.0)
    view = render(SCENE, eye, lens)
    x, y = pixel_centres(lens)
    rays = np.ones((12, 16, 3))
    rays[..., 1], rays[..., 2] = x / lens.focal, -y[:, None] / lens.focal
    sizes = np.sqrt((rays**2).sum(axis=-1)).reshape(-1)
    way = depths(view, lens) * sizes
    hits = cast(nearby(SCENE, eye, 120.0), eye, rays.reshape(-1, 3) / sizes[:, None], 120.0)
    met = hits.triangles >= 0
    assert (met == (way <= 120.0)).mean() > 0.98
    both = met & (way <= 120.0)
    same = view.mesh.tags[view.seen[both]] == hits.mesh.tags[hits.triangles[both]]
    # Where an edge passes within rounding of a pixel's centre, either side is right.
    assert np.count_nonzero(~same) <= 1
    away = np.abs(way[both] / hits.distances[both] - 1.0)
    assert np.count_nonzero(away > 1e-6) <= 1


def test_depth_labels_and_instances_agree_with_the_scene() -> None:
    bench = Bench()
    own, other = bench.car(100.0), bench.car(118.0)
    mount = Transform(Vector(2.5, 0.0, 1.2))
    kinds = ("depth", "semantic_segmentation", "instance_segmentation", "rgb", "normals")
    sensors = {k: bench.sensor(f"sensor.camera.{k}", mount, own, **SIZE) for k in kinds}
    bench.run(2)
    images = {kind: _image(bench.messages[sensor][-1]) for kind, sensor in sensors.items()}
    assert all(image.shape == (120, 160, 4) for image in images.values())
    assert all((image[..., 3] == 255).all() for image in images.values())
    depth, labels = _metres(images["depth"]), images["semantic_segmentation"][..., 2]
    gap = 18.0 - 2.5 - 2.396
    # The rear bumper, by the pinhole: half sizes 1.082 and 0.744, focal length 80 pixels.
    rows, columns = np.nonzero(labels == VEHICLE)
    half = 1.082 * 80.0 / gap
    assert 80 - half - 1 < columns.min() < 82 - half and 78 + half < columns.max() < 80 + half
    top, bottom = ((1.2 - z) * 80.0 / gap + 60.0 for z in (1.488, 0.0))
    assert top - 1 < rows.min() < top + 2 and bottom - 2 < rows.max() < bottom + 1
    seen = depth[labels == VEHICLE]
    assert seen.min() == pytest.approx(gap, abs=1e-3) and seen.max() < gap + 2.0 * 2.396
    instances = images["instance_segmentation"]
    ids = instances[..., 1].astype(int) + 256 * instances[..., 0].astype(int)
    assert set(ids[labels == VEHICLE]) == {other} and not ids[labels != VEHICLE].any()
    assert (instances[..., 2] == labels).all()
    # The road lies 1.2 m below the camera: its depth follows from the row alone.
    row = np.arange(61, 120)
    ground = 1.2 * 80.0 / (row + 0.5 - 60.0)
    for line in (ROADS, ROAD_LINES):
        at, column = np.nonzero(labels[61:] == line)
        assert len(at) > 50
        assert depth[61 + at, column] == pytest.approx(ground[at], rel=1e-4)
    assert (labels[:58] == SKY).mean() > 0.9
    assert (depth[labels == SKY] == 1000.0).all()
    assert {tuple(pixel) for pixel in images["normals"][labels == ROADS][:, :3]} == {
        (255, 128, 128)
    }
    assert len(np.unique(images["rgb"].reshape(-1, 4), axis=0)) > 20


def test_the_flow_is_the_motion_of_points_in_the_image() -> None:
    bench = Bench(0.1)
    own, other = bench.car(100.0), bench.car(120.0)
    world = bench.simulation.world
    world.hold_velocity(own, Vector(10.0, 0.0, 0.0))
    world.hold_velocity(other, Vector(16.0, 0.0, 0.0))
    mount = Transform(Vector(2.5, 0.0, 1.2))
    sensor = bench.sensor("sensor.camera.optical_flow", mount, own, **SIZE)
    labels = bench.sensor("sensor.camera.semantic_segmentation", mount, own, **SIZE)
    bench.run(3)
    first, *_, flow = (
        np.frombuffer(m, "<f4", offset=HEADER + 12).reshape(120, 160, 2)
        for m in bench.messages[sensor]
    )
    assert not first.any()
    tags = _image(bench.messages[labels][-1])[..., 2]
    x, y = pixel_centres(LENS)
    # A point of the road at depth d was 1 m farther away: its row was nearer to the middle.
    for row in (80, 100, 115):
        depth = 1.2 * 80.0 / y[row]
        before = y[row] * depth / (depth + 1.0)
        road = np.isin(tags[row], (ROADS, ROAD_LINES))
        assert road.sum() > 20
        assert flow[row, road, 1] == pytest.approx(-(y[row] - before) / 60.0, rel=5e-3)
        moved = (x - x * depth / (depth + 1.0)) / 80.0
        assert flow[row, road, 0] == pytest.approx(moved[road], rel=5e-3, abs=1e-6)
    # The car ahead gains 0.6 m in each frame: its rear shrinks towards the middle.
    place = [world.pose(world.require(car)).location.x for car in (own, other)]
    gap = place[1] - 2.396 - place[0] - 2.5
    # Its upright part: between 0.45 and 0.75 m above the road, in its middle.
    upright = (y > 0.45 * 80.0 / gap) & (y < 0.75 * 80.0 / gap)
    rows, columns = np.nonzero((tags == VEHICLE) & upright[:, None] & (abs(x) < 0.8 * 80.0 / gap))
    assert len(rows) > 10
    assert flow[rows, columns, 0] == pytest.approx(
        (x[columns] - x[columns] * gap / (gap - 0.6)) / 80.0, rel=1e-2, abs=1e-5
    )
    assert np.abs(flow[tags == SKY]).max() < 1e-6


def test_a_turning_camera_moves_the_sky() -> None:
    bench = Bench(0.1)
    mount = bench.sensor("sensor.other.gnss", Transform(Vector(100.0, 5.25, 2.0)))
    sensor = bench.sensor("sensor.camera.optical_flow", Transform(), mount, **SIZE)
    bench.run(1)
    turned = Transform(Vector(100.0, 5.25, 2.0), Rotation(yaw=1.0))
    bench.simulation.world.set_transform(mount, turned)
    bench.run(1)
    flow = np.frombuffer(bench.messages[sensor][-1], "<f4", offset=HEADER + 12)
    # Turning to the right moves the picture to the left: one degree at the middle.
    middle = flow.reshape(120, 160, 2)[60, 79:81, 0]
    assert middle == pytest.approx(-np.tan(np.radians(1.0)), rel=0.01)


def test_a_camera_at_a_bumper_sees_no_part_of_its_car() -> None:
    bench = Bench()
    own = bench.car(100.0)
    mount = Transform(Vector(2.45, 0.0, 0.8))
    sensor = bench.sensor("sensor.camera.semantic_segmentation", mount, own, **SIZE)
    bench.run(1)
    assert set(np.unique(_image(bench.messages[sensor][0])[..., 2])) >= {ROADS, ROAD_LINES, SKY}
    assert VEHICLE not in _image(bench.messages[sensor][0])[..., 2]


def test_exposure_and_gamma_change_the_picture() -> None:
    bench = Bench()
    place = Transform(Vector(100.0, 5.25, 2.0))
    plain, dark, gamma = (
        bench.sensor("sensor.camera.rgb", place, **SIZE, **more)
        for more in ({}, {"exposure_compensation": -1.0}, {"gamma": 1.1})
    )
    bench.run(1)
    means = [float(_image(bench.messages[s][0])[..., :3].mean()) for s in (plain, dark, gamma)]
    assert means[1] == pytest.approx(0.5 * means[0], rel=0.02)
    assert means[2] < 0.9 * means[0]


def test_wrong_sizes_are_refused_at_the_spawn() -> None:
    bench = Bench()
    with pytest.raises(CallError, match=r"'image_size_x' .* found 0; allowed is 1 to 4096"):
        bench.sensor("sensor.camera.rgb", Transform(), image_size_x=0)
    with pytest.raises(CallError, match=r"found 4096 x 4096; allowed are 9437184 pixels"):
        bench.sensor("sensor.camera.rgb", Transform(), image_size_x=4096, image_size_y=4096)
    with pytest.raises(CallError, match=r"'fov' .* found 180; allowed is 1 to 170"):
        bench.sensor("sensor.camera.depth", Transform(), fov=180)


def test_land_lies_below_every_road() -> None:
    corners = SCENE.map.points[SCENE.map.tags != TERRAIN].reshape(-1, 3)[::2003]
    land = SCENE.map.take(SCENE.map.tags == TERRAIN)
    eye = axes_of(Transform(Vector()))
    for corner in corners:
        above = eye._replace(origin=Vector(*(corner + (0.0, 0.0, 50.0)).tolist()))
        below = land.take((np.abs(land.centres[:, :2] - corner[:2]).max(axis=1)) < 20.0)
        hits = cast(below, above, np.array([[0.0, 0.0, -1.0]]), 200.0)
        assert hits.distances[0] > 50.0


OBJECTS = """
      <object id="9" name="Walk" type="crosswalk" s="50" t="0" zOffset="0" hdg="0.3">
        <outline>
          <cornerLocal u="-1.5" v="-4" z="0"/><cornerLocal u="1.5" v="-4" z="0"/>
          <cornerLocal u="1.5" v="4" z="0"/><cornerLocal u="-1.5" v="4" z="0"/>
        </outline>
      </object>
      <object id="10" name="House" type="building" s="80" t="-30" zOffset="0.5" hdg="0"
        length="10" width="6" height="8"/>
"""


def test_things_of_the_map_are_seen() -> None:
    text = HIGHWAY.read_text(encoding="utf-8").replace(
        "<objects/>", f"<objects>{OBJECTS}</objects>", 1
    )
    world = World(text, 0.05)
    mesh = SceneBuilder().scene(world).map
    house = mesh.take(mesh.tags == BUILDINGS)
    place = world.network.pose(1, 80.0, -30.0)
    low, high = house.points.min(axis=(0, 1)), house.points.max(axis=(0, 1))
    assert (len(house), high[2] - low[2], low[2] - place[2]) == (12, 8.0, 0.5)
    middle = 0.5 * (low + high)
    assert middle[:2] == pytest.approx((place[0], -place[1]))
    outwards = ((house.centres - middle) * house.normals).sum(axis=1)
    assert outwards.min() > 2.0
    before = SceneBuilder().scene(World(HIGHWAY.read_text(encoding="utf-8"), 0.05)).map
    bars = np.count_nonzero(mesh.tags == ROAD_LINES) - np.count_nonzero(before.tags == ROAD_LINES)
    assert bars == 2 * 8  # eight bars of half a metre on eight metres


def test_every_body_fills_its_box_and_turns_its_faces_outwards() -> None:
    world = World(HIGHWAY.read_text(encoding="utf-8"), 0.05)
    seen = 0
    for blueprint in LIBRARY.values():
        if blueprint.extent.x <= 0.0:
            continue
        actor = world.spawn(blueprint.id, Transform(Vector(20.0 + 15.0 * seen, 5.25, 1.0)))
        shape = shape_of(actor)
        assert shape is not None, blueprint.id
        box = actor.bounding_box
        low, high = shape.points.min(axis=(0, 1)), shape.points.max(axis=(0, 1))
        ends = np.array((low, high)) - box.location
        whole = np.array((-1.0, 1.0))[:, None] * box.extent
        assert (np.abs(ends) < np.abs(whole) + 1e-3).all(), blueprint.id
        assert ends == pytest.approx(whole, rel=0.12), blueprint.id
        # By the divergence theorem a closed surface seen from outside has a volume above 0.
        a, b, c = (shape.points[:, i] for i in range(3))
        volume = float((cross(a - box.location, b - box.location) * (c - box.location)).sum()) / 6.0
        assert 0.05 < volume / float(8.0 * np.prod(box.extent)) < 1.01, blueprint.id
        # Riders of bicycles and motorcycles have a label of their own.
        riders = {RIDERS} if blueprint.default("number_of_wheels") == "2" else set()
        assert set(shape.tags) == {blueprint.semantic_tag} | riders
        seen += 1
    assert seen > 60
