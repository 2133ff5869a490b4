# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Rays against the scene in process: lidars, radar, and the calls that cast rays."""

from __future__ import annotations

import math
import struct
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.sensor_bench import CAR, HEADER, Bench

from ros2_cosim.core.kernel import exactmath
from ros2_cosim.world.headless.labels import ROADS, TERRAIN
from ros2_cosim.world.headless.maps import own_maps
from ros2_cosim.world.headless.sensing import lidar
from ros2_cosim.world.headless.sensing.axes import axes_of
from ros2_cosim.world.headless.sensing.exact_arrays import exp, sincos
from ros2_cosim.world.headless.sensing.probes import all_between, first_on
from ros2_cosim.world.headless.sensing.rays import Grid, cast, cast_grid, nearby
from ros2_cosim.world.headless.sensing.scene import SceneBuilder, TriangleScene
from ros2_cosim.world.headless.wire_types import Rotation, Transform, Vector
from ros2_cosim.world.headless.world import World

LABELLED = np.dtype([("point", "<f4", 3), ("cos", "<f4"), ("actor", "<u4"), ("tag", "<u4")])


@cache
def _town() -> tuple[World, TriangleScene]:
    world = World(own_maps()[0].read_text(encoding="utf-8"), 0.05)
    for pose in world.spawn_points()[:40]:
        world.spawn(CAR, pose)
    return world, SceneBuilder().scene(world)


def test_functions_of_arrays_are_those_of_single_numbers() -> None:
    values = np.linspace(-20.0, 20.0, 4001)
    sines, cosines = sincos(values)
    assert sines == pytest.approx([exactmath.sin(x) for x in values.tolist()], abs=4e-16)
    assert cosines == pytest.approx([exactmath.cos(x) for x in values.tolist()], abs=4e-16)
    assert exp(values) == pytest.approx([exactmath.exp(x) for x in values.tolist()], rel=1e-15)
    assert exp(np.array([-1e6]))[0] < 1e-300


@settings(max_examples=30)
@given(
    point=st.integers(0, 200),
    turn=st.tuples(*[st.floats(-180.0, 180.0)] * 3),
    height=st.floats(0.1, 8.0),
    sweep=st.floats(0.05, 9.0),
)
def test_the_choice_of_pairs_loses_no_hit(
    point: int, turn: tuple[float, float, float], height: float, sweep: float
) -> None:
    world, scene = _town()
    place = world.spawn_points()[point].location
    eye = axes_of(Transform(place._replace(z=place.z + height), Rotation(*turn)))
    azimuths = np.linspace(-3.0, -3.0 + sweep, 23)
    pitches = np.radians(np.linspace(-60.0, 30.0, 7))
    level, up = np.cos(pitches)[:, None], np.sin(pitches)[:, None]
    directions = np.stack(
        (level * np.cos(azimuths), level * np.sin(azimuths), up * np.ones(23)), axis=-1
    ).reshape(-1, 3)
    mesh = nearby(scene, eye, 40.0)
    every = cast(mesh, eye, directions, 40.0)
    chosen = cast_grid(mesh, eye, Grid(azimuths, np.tan(pitches)), directions, 40.0)
    assert np.array_equal(every.distances, chosen.distances)
    assert np.array_equal(every.triangles, chosen.triangles)


def test_the_semantic_lidar_measures_boxes_and_ground() -> None:
    bench = Bench(0.1)
    own, other = bench.car(100.0), bench.car(115.0, yaw=20.0)
    sensor = bench.sensor(
        "sensor.lidar.ray_cast_semantic", Transform(Vector(0.0, 0.0, 1.8)), own,
        range=60, points_per_second=100_000, rotation_frequency=10, channels=32,
    )  # fmt: skip
    bench.run(1)
    (message,) = bench.messages[sensor]
    angle, channels = struct.unpack_from("<fI", message, HEADER)
    counts = struct.unpack_from("<32I", message, HEADER + 8)
    points = np.frombuffer(message, LABELLED, offset=HEADER + 8 + 4 * channels)
    assert (channels, sum(counts), len(counts)) == (32, len(points), 32)
    assert angle == pytest.approx(0.0, abs=1e-5) or angle == pytest.approx(2.0 * math.pi)
    assert counts[0] < counts[-1] == 313  # the upper channels see the sky
    road = points[points["tag"] == ROADS]["point"]
    assert len(road) > 500 and np.abs(road[:, 2] + 1.8).max() < 1e-4
    roof = points[points["actor"] == own]["point"]
    assert len(roof) > 100 and abs(roof[:, 2].max() + 1.8 - 2.0 * 0.744) < 1e-3
    on_box = points[points["actor"] == other]
    assert len(on_box) > 10 and set(on_box["tag"]) == {14}
    box = axes_of(Transform(Vector(15.0, 0.0, -1.8), Rotation(yaw=20.0)))
    inside = np.abs(box.inside(on_box["point"].astype(float)) - (0.0, 0.0, 0.744))
    half = np.array(bench.simulation.world.require(other).blueprint.extent)
    beyond = np.max(inside - half, axis=1)  # of the box, whose rear the body reaches
    assert beyond.max() < 1e-3 and np.median(beyond) > -0.3
    assert (points["cos"] > 0.0).all() and points["cos"].max() <= 1.0


def test_a_lidar_turns_on_from_frame_to_frame() -> None:
    bench = Bench(0.02)
    sensor = bench.sensor(
        "sensor.lidar.ray_cast_semantic", Transform(Vector(100.0, 5.25, 2.0)),
        range=50, points_per_second=50_000, rotation_frequency=10, channels=4,
        upper_fov=-10, lower_fov=-30,
    )  # fmt: skip
    bench.run(10)
    sectors = []
    for message in bench.messages[sensor]:
        points = np.frombuffer(message, LABELLED, offset=HEADER + 8 + 16)["point"].astype(float)
        angles = np.degrees(np.arctan2(points[:, 1], points[:, 0]))
        sectors.append((round(float(angles.min())), round(float(angles.max()))))
    assert sectors[:5] == [(-180, -108), (-108, -36), (-36, 36), (36, 108), (108, 180)]
    assert sectors[5:] == sectors[:5]


def test_the_rays_of_a_message_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lidar, "_MOST_RAYS", 4001)
    bench = Bench(1.0)
    sensor = bench.sensor(
        "sensor.lidar.ray_cast_semantic", Transform(Vector(100.0, 5.25, 2.0)), range=50,
        points_per_second=20_000_000, sensor_tick=100, channels=2, upper_fov=-10, lower_fov=-20,
    )  # fmt: skip
    bench.run(1)
    assert struct.unpack_from("<2I", bench.messages[sensor][0], HEADER + 8) == (2000, 2000)


def _ray_cast(**attributes: float) -> list[np.ndarray]:
    bench = Bench(0.1)
    sensor = bench.sensor(
        "sensor.lidar.ray_cast", Transform(Vector(100.0, 5.25, 2.0)),
        **{"range": 50, "points_per_second": 20_000, "upper_fov": -5} | attributes,
    )  # fmt: skip
    bench.run(3)
    start = HEADER + 8 + 4 * 32
    return [np.frombuffer(m, "<f4", offset=start).reshape(-1, 4) for m in bench.messages[sensor]]


def test_losses_of_the_lidar_have_their_rates_and_seeds() -> None:
    none = {"dropoff_general_rate": 0.0, "dropoff_zero_intensity": 0.0}
    whole = _ray_cast(**none, atmosphere_attenuation_rate=0.01)[0].astype(float)
    assert len(whole) == 32 * 63
    distance = np.sqrt((whole[:, :3] ** 2).sum(axis=1))
    assert whole[:, 3] == pytest.approx(np.exp(-0.01 * distance), abs=1e-6)
    usual = _ray_cast(dropoff_zero_intensity=0.0)
    assert sum(map(len, usual)) == pytest.approx(3 * 2016 * 0.55, rel=0.05)
    weak = _ray_cast(
        dropoff_general_rate=0.0, dropoff_zero_intensity=0.4, atmosphere_attenuation_rate=100.0
    )
    assert sum(map(len, weak)) == pytest.approx(3 * 2016 * 0.6, rel=0.05)
    noisy = _ray_cast(**none, noise_stddev=0.1)[0].astype(float)
    error = np.sqrt((noisy[:, :3] ** 2).sum(axis=1)) - distance
    assert error.std() == pytest.approx(0.1, rel=0.1)
    assert [a.tobytes() for a in usual] == [
        a.tobytes() for a in _ray_cast(dropoff_zero_intensity=0)
    ]
    assert usual[0].tobytes() != _ray_cast(dropoff_zero_intensity=0, noise_seed=1)[0].tobytes()


def test_weak_echoes_of_the_lidar_are_lost_and_strong_ones_are_not() -> None:
    """All above the limit stay; below it the share falls to ``1 - dropoff_zero_intensity`` at 0."""
    options = {"dropoff_general_rate": 0.0, "atmosphere_attenuation_rate": 0.15, "range": 100}
    whole = np.concatenate(_ray_cast(**options, dropoff_zero_intensity=0.0))[:, 3]
    seen = [
        message[:, 3]
        for seed in range(8)
        for message in _ray_cast(
            **options, dropoff_intensity_limit=0.5, dropoff_zero_intensity=0.8, noise_seed=seed
        )
    ]
    kept = np.concatenate(seen)

    def share(least: float, most: float) -> float:
        within = [((part >= least) & (part < most)).sum() for part in (kept, whole)]
        assert within[1] > 150
        return float(within[0] / within[1] / 8)

    assert share(0.5, 1.0) == 1.0
    for least, most in ((0.0, 0.1), (0.1, 0.2), (0.2, 0.3), (0.3, 0.4)):
        part = whole[(whole >= least) & (whole < most)]
        assert share(least, most) == pytest.approx(0.2 + 1.6 * part.mean(), abs=0.03)


def test_a_radar_sees_the_speed_of_what_it_meets() -> None:
    bench = Bench(0.05)
    own, other = bench.car(100.0), bench.car(130.0)
    world = bench.simulation.world
    world.hold_velocity(own, Vector(20.0, 0.0, 0.0))
    world.hold_velocity(other, Vector(15.0, 0.0, 0.0))
    sensor = bench.sensor(
        "sensor.other.radar", Transform(Vector(2.5, 0.0, 0.7)), own,
        horizontal_fov=20, vertical_fov=6, points_per_second=4000, range=80,
    )  # fmt: skip
    bench.run(20)
    found = np.frombuffer(bench.messages[sensor][-1], "<f4", offset=HEADER).reshape(-1, 4)
    gap = world.pose(world.require(other)).location.x - world.pose(world.require(own)).location.x
    ahead = found[np.abs(found[:, 3] * np.cos(found[:, 1]) - (gap - 2.5 - 2.396)) < 0.05]
    assert len(ahead) > 5
    assert ahead[:, 0] == pytest.approx(-5.0 * np.cos(ahead[:, 1].astype(float)), abs=0.1)
    ground = found[found[:, 3] < 19.0]
    assert len(ground) > 5
    assert ground[:, 3] == pytest.approx(-0.7 / np.sin(ground[:, 2].astype(float)), rel=1e-3)
    assert ground[:, 0] == pytest.approx(-20.0 * np.cos(ground[:, 1].astype(float)), abs=0.5)
    assert np.abs(found[:, 1]).max() <= math.radians(10.0) + 1e-6


def test_the_rays_of_a_radar_fill_its_elliptic_cone() -> None:
    """Looking down, each ray meets the road: the share of the radius is uniform, all sides equal.

    The bounds are five standard deviations of a count or a mean.
    """
    bench = Bench(1.0)
    sensor = bench.sensor(
        "sensor.other.radar", Transform(Vector(300.0, 5.25, 12.0), Rotation(pitch=-90.0)),
        horizontal_fov=30, vertical_fov=20, points_per_second=4000, range=50,
    )  # fmt: skip
    bench.run(1)
    _, azimuth, altitude, way = (
        np.frombuffer(bench.messages[sensor][0], "<f4", offset=HEADER).reshape(-1, 4).T
    )
    count = len(way)
    assert count == 4000
    wide = np.tan(azimuth) / math.tan(math.radians(15.0))
    high = np.tan(altitude) / np.cos(azimuth) / math.tan(math.radians(10.0))
    radius = np.hypot(wide, high)
    assert radius.max() <= 1.0 + 1e-5, "radar: a ray is outside of its cone"
    assert abs(radius.mean() - 0.5) < 5.0 * math.sqrt(1.0 / 12.0 / count), "radar: mean radius"
    assert abs((radius**2).mean() - 1.0 / 3.0) < 5.0 * math.sqrt(4.0 / 45.0 / count)
    for side in (wide > 0.0, high > 0.0, np.abs(wide) > np.abs(high)):
        assert abs(side.sum() - count / 2) < 2.5 * math.sqrt(count), "radar: a side has more rays"
    depth = way * np.cos(altitude) * np.cos(azimuth)
    assert depth == pytest.approx(12.0, abs=2e-3), "radar: the road is 12 m below"


def test_rays_of_clients_meet_everything_in_any_direction() -> None:
    world, scene = _town()
    network = world.network
    for pose in world.spawn_points()[45:90:5]:
        start = pose.location._replace(z=pose.location.z + 3.0)
        down = first_on(scene, start, Vector(0.0, 0.0, -2.0), 10.0)
        assert down is not None and down.label in (ROADS, 24)
        place = network.project(start.x, -start.y, z=start.z)
        surface = network.pose(place.road_id, place.s, place.t)[2]
        assert down.location.z == pytest.approx(surface, abs=0.02)
        slanted = first_on(scene, start, Vector(0.6, 0.2, -0.4), 30.0)
        assert slanted is not None and slanted.location.z < start.z - 1.0
        below = start._replace(z=start.z - 30.0)
        assert first_on(scene, below, Vector(0.0, 0.0, 1.0), 60.0) is not None
    assert first_on(scene, start, Vector(0.0, 0.0, 1.0), 1000.0) is None
    assert first_on(scene, start, Vector(), 10.0) is None
    assert first_on(scene, start, Vector(0.0, 0.0, -1.0), 1.0) is None
    off = first_on(scene, Vector(-900.0, -900.0, 100.0), Vector(0.0, 0.0, -1.0), 200.0)
    assert off is not None and off.label == TERRAIN


def test_a_ray_through_two_cars_meets_both_in_order() -> None:
    bench = Bench()
    bench.car(110.0)
    bench.car(120.0)
    prop = Transform(Vector(105.0, 5.25, 0.0))
    bench.simulation.world.spawn("static.prop.streetbarrier", prop)
    scene = bench.simulation.sensors.scene(bench.simulation.world)
    hits = all_between(scene, Vector(100.0, 5.25, 0.5), Vector(140.0, 5.25, 0.5))
    assert [hit.label for hit in hits] == [20, 14, 14]
    # A millimetre behind the surface.
    assert [hit.location.x for hit in hits] == pytest.approx([104.821, 107.605, 117.605])
    assert [
        h.label for h in all_between(scene, Vector(110.0, 5.0, 5.0), Vector(110.0, 5.0, -5.0))
    ] == [14, ROADS]


@pytest.mark.parametrize("kind", ["sensor.lidar.ray_cast", "sensor.lidar.ray_cast_semantic"])
def test_a_lidar_looks_straight_down(kind: str) -> None:
    """As ``check_lidar_bb.py`` of CARLA wants it: channels from -90 to 90 degrees."""
    bench = Bench()
    pose = Transform(Vector(300.0, 5.25, 12.0), Rotation())
    options = {"channels": 19, "upper_fov": 90, "lower_fov": -90, "points_per_second": 19_000}
    if kind == "sensor.lidar.ray_cast":
        options["dropoff_general_rate"] = 0
    sensor = bench.sensor(kind, pose, range=50, **options)
    bench.run(1)
    payload = bench.messages[sensor][0][HEADER:]
    counts = np.frombuffer(payload[8 : 8 + 4 * 19], "<u4")
    assert counts[18] == 20 and counts[0] == 0, "the lowest meets the road"
    size = 16 if kind == "sensor.lidar.ray_cast" else 24
    last = np.frombuffer(payload[-size:], "<f4")
    assert abs(last[2] + 12.0) < 0.05 and abs(last[0]) < 0.1 and abs(last[1]) < 0.1
