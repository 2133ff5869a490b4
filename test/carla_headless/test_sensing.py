# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Sensors in process: when they measure, motion, events and their noise."""

from __future__ import annotations

import math
from functools import cache
from hashlib import sha256
from statistics import fmean, pstdev
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from support.sensor_bench import HEADER, Bench

from ros2_cosim.world.headless.blueprints import CLIENT_SIDE, LIBRARY
from ros2_cosim.world.headless.sensing import scene
from ros2_cosim.world.headless.sensing.hub import DEVICES, is_due
from ros2_cosim.world.headless.wire_types import (
    ActorDescription,
    Rotation,
    Transform,
    Vector,
    VehicleControl,
)
from ros2_cosim.world.headless.world import CallError

Floats = NDArray[np.float64]


def test_sensor_tick_is_exact() -> None:
    bench = Bench(0.02)
    bench.run(3)
    sensor = bench.sensor("sensor.other.imu", Transform(), sensor_tick=0.1)
    first = bench.simulation.world.frame + 1
    bench.run(100)
    frames = [int.from_bytes(m[8:16], "little") for m in bench.messages[sensor]]
    assert len(frames) == 20 and frames[0] == first
    assert {b - a for a, b in zip(frames, frames[1:], strict=False)} == {5}


@pytest.mark.parametrize(
    ("step", "period", "count"), [(0.03, 0.1, 300), (0.05, 0.05, 600), (0.1, 0.05, 300)]
)
def test_sensor_tick_over_a_long_time(step: float, period: float, count: int) -> None:
    step_ns, period_ns = round(step * 1e9), round(period * 1e9)
    total = 30_000_000_000
    due = [is_due(now, step_ns, period_ns) for now in range(step_ns, total + 1, step_ns)]
    assert sum(due) == count


def test_noise_has_bias_deviation_and_seed() -> None:
    bench = Bench()
    noise: dict[str, Any] = {"noise_alt_bias": 2.0, "noise_alt_stddev": 0.5, "noise_lat_bias": 1.0}
    first = bench.sensor("sensor.other.gnss", Transform(), noise_seed=7, **noise)
    same = bench.sensor("sensor.other.gnss", Transform(), noise_seed=7, **noise)
    other = bench.sensor("sensor.other.gnss", Transform(), noise_seed=8, **noise)
    plain = bench.sensor("sensor.other.gnss", Transform())
    bench.run(400)
    altitudes = [payload[2] for payload in bench.payloads(first)]
    assert fmean(altitudes) == pytest.approx(2.0, abs=0.1)
    assert pstdev(altitudes) == pytest.approx(0.5, abs=0.06)
    assert bench.payloads(first) == bench.payloads(same) != bench.payloads(other)
    assert {payload[2] for payload in bench.payloads(plain)} == {0.0}
    assert bench.payloads(first)[0][0] == bench.payloads(plain)[0][0] + 1.0


def test_imu_noise_belongs_to_its_axes() -> None:
    bench = Bench()
    sensor = bench.sensor(
        "sensor.other.imu", Transform(),
        noise_accel_stddev_y=0.2, noise_gyro_bias_z=0.03, noise_gyro_stddev_x=0.01,
    )  # fmt: skip
    bench.run(300)
    payloads = bench.payloads(sensor)
    assert {p[0][0] for p in payloads} == {0.0}
    assert pstdev(p[0][1] for p in payloads) == pytest.approx(0.2, abs=0.03)
    assert pstdev(p[1][0] for p in payloads) == pytest.approx(0.01, abs=0.002)
    assert {p[1][2] for p in payloads} == {0.03}


def test_a_gnss_is_as_far_from_the_origin_as_it_stands() -> None:
    """Sphere and scale of the client's projection; a kilometre is as good as flat."""
    bench = Bench()
    sensor = bench.sensor("sensor.other.gnss", Transform(Vector(1000.0, 500.0, 3.0)))
    bench.run(1)
    latitude, longitude, altitude = bench.payloads(sensor)[0]
    metres = 0.9996 * 6_378_137.0 * math.pi / 180.0  # per degree of latitude
    # As in the client, latitude grows with y, which points to the right.
    north = (latitude - 49.0) * metres
    east = (longitude - 8.0) * metres * math.cos(math.radians(49.0))
    found = f"gnss: 1000 m along x and 500 m along y are {east:.1f} m and {north:.1f} m"
    assert (east, north) == (pytest.approx(1000.0, abs=0.2), pytest.approx(500.0, abs=0.2)), found
    assert altitude == 3.0


@pytest.mark.parametrize("turn", [(10.0, 0.0, 0.0), (0.0, 0.0, 15.0), (-8.0, 70.0, 5.0)])
def test_an_imu_at_rest_feels_its_weight_along_its_axes(turn: tuple[float, float, float]) -> None:
    bench = Bench()
    sensor = bench.sensor("sensor.other.imu", Transform(Vector(0.0, 0.0, 1.0), Rotation(*turn)))
    bench.run(2)
    felt, rates, _ = bench.payloads(sensor)[-1]
    expected = _turned(*turn).T @ (0.0, 0.0, 9.81)
    assert felt == pytest.approx(expected, abs=1e-5), f"imu: at rest, turned by {turn}, it feels"
    assert rates == [0.0, 0.0, 0.0]


def test_an_imu_in_a_bend_feels_speed_times_yaw_rate() -> None:
    """The oracle is the motion of the vehicle, by differences of its poses."""
    bench = Bench(0.01)
    car, world = bench.car(100.0), bench.simulation.world
    sensor = bench.sensor("sensor.other.imu", Transform(), car)
    world.set_target_velocity(car, Vector(12.0, 0.0, 0.0))
    world.apply_control(car, VehicleControl(throttle=0.35, steer=0.15))
    poses = []
    for _ in range(300):
        bench.run(1)
        poses.append(world.pose(world.require(car)))
    earlier, before, now = poses[-3:]
    way = math.dist(before.location[:2], now.location[:2])
    heading = math.radians(before.rotation.yaw)
    places = zip(earlier.location, before.location, now.location, strict=True)
    x, y, _ = ((a - 2.0 * b + c) / 0.01**2 for a, b, c in places)
    ahead = x * math.cos(heading) + y * math.sin(heading)
    aside = y * math.cos(heading) - x * math.sin(heading)
    yaw_rate = math.radians(now.rotation.yaw - before.rotation.yaw) / 0.01
    felt, rates, _ = bench.payloads(sensor)[-1]
    assert rates[2] == pytest.approx(yaw_rate, rel=0.002), "imu: turn rate [rad/s]"
    assert felt[1] == pytest.approx(aside, abs=0.1), "imu: to the right [m/s^2]"
    # It still turns in, so that a small part is a slip that changes.
    assert felt[1] == pytest.approx(way / 0.01 * yaw_rate, rel=0.03), "imu: in a bend [m/s^2]"
    assert felt[0] == pytest.approx(ahead, abs=0.1), "imu: ahead [m/s^2]"
    assert felt[1] > 5.0


def test_an_imu_off_the_turning_centre_feels_its_own_place() -> None:
    bench = Bench(0.001)
    frame = bench.sensor("sensor.other.gnss", Transform())  # any body that may be turned freely
    world = bench.simulation.world
    sensor = bench.sensor("sensor.other.imu", Transform(Vector(2.0, 0.0, 0.0)), frame)
    rate, radians_per_s = 90.0, math.radians(90.0)
    for tick in range(400):
        world.set_transform(frame, Transform(Vector(), Rotation(yaw=tick * 0.001 * rate)))
        world.set_target_angular_velocity(frame, Vector(0.0, 0.0, rate))
        bench.run(1)
    accelerometer, gyroscope, _ = bench.payloads(sensor)[-1]
    assert accelerometer[0] == pytest.approx(-2.0 * radians_per_s**2, rel=1e-3)
    assert accelerometer[1] == pytest.approx(0.0, abs=0.01)
    assert gyroscope[2] == pytest.approx(radians_per_s)


@pytest.mark.parametrize(
    ("yaw", "compass"), [(0, 0.5), (-90, 0.0), (90, 1.0), (180, 1.5), (700, 0.388888888)]
)
def test_compass(yaw: float, compass: float) -> None:
    bench = Bench()
    sensor = bench.sensor("sensor.other.imu", Transform(Vector(), Rotation(yaw=yaw)))
    bench.run(1)
    assert bench.payloads(sensor)[0][2] == pytest.approx(compass * math.pi, abs=1e-6)


def test_obstacle_is_where_a_ball_touches_first() -> None:
    bench = Bench()
    own = bench.car(100.0)
    other = bench.car(115.0)
    ahead = Transform(Vector(0.0, 0.0, 0.5))
    hits = bench.sensor("sensor.other.obstacle", ahead, own, distance=30, hit_radius=0.3)
    short = bench.sensor("sensor.other.obstacle", ahead, own, distance=12)
    above = bench.sensor(
        "sensor.other.obstacle", Transform(Vector(), Rotation(pitch=30.0)), own, distance=30
    )
    bench.run(1)
    (found,) = bench.payloads(hits)
    assert (found[0][0], found[1][0]) == (own, other)
    rear = 15.0 - bench.simulation.world.require(other).blueprint.extent.x
    assert found[2] == pytest.approx(rear - 0.3, abs=1e-3)
    assert not bench.payloads(short) and not bench.payloads(above)


def test_only_dynamics_passes_props_over() -> None:
    bench = Bench()
    barrier = Transform(Vector(103.0, 5.25, 0.0))
    bench.simulation.spawn(ActorDescription(0, "static.prop.streetbarrier"), barrier)
    car = bench.car(108.0)
    eye = Transform(Vector(100.0, 5.25, 0.6))
    every = bench.sensor("sensor.other.obstacle", eye, distance=20)
    moving = bench.sensor("sensor.other.obstacle", eye, distance=20, only_dynamics="true")
    bench.run(1)
    assert bench.payloads(every)[0][1][2][1] == "static.prop.streetbarrier"
    assert bench.payloads(moving)[0][1][0] == car


def test_every_sensor_is_streamed_refused_or_the_clients() -> None:
    kinds = {kind.id for kind in LIBRARY.values() if kind.kind == "sensor"}
    unsupported = {kind for kind in kinds if LIBRARY[kind].unsupported}
    assert set(DEVICES) | unsupported | {CLIENT_SIDE} == kinds
    assert not set(DEVICES) & unsupported
    bench = Bench()
    before = set(bench.simulation.world.actors)
    for kind in sorted(unsupported):
        with pytest.raises(CallError, match=f"'{kind}' is not supported: "):
            bench.sensor(kind, Transform())
    assert set(bench.simulation.world.actors) == before


def test_wrong_attributes_are_refused_at_the_spawn() -> None:
    bench = Bench()
    with pytest.raises(CallError, match=r"'distance' .* found -1; allowed is 0 to 10000"):
        bench.sensor("sensor.other.obstacle", Transform(), distance=-1)


def test_a_sensor_that_nothing_listens_to_costs_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: object) -> None:
        raise AssertionError("the map was built")

    monkeypatch.setattr(scene, "ground_of", fail)
    bench = Bench(listening=False)
    for kind in ("camera.rgb", "lidar.ray_cast", "other.radar"):
        bench.sensor(f"sensor.{kind}", Transform())
    bench.run(3)
    assert not bench.messages


@pytest.mark.parametrize(
    ("kind", "digest"),
    [
        ("sensor.camera.depth", "621195de8c84beee"),
        ("sensor.camera.rgb", "121600bb3d0f00ad"),
        ("sensor.camera.normals", "178284c9690d93ad"),
        ("sensor.lidar.ray_cast", "8992b6e6b6b72fa2"),
        ("sensor.lidar.ray_cast_semantic", "1f7258b3c5f26a44"),
        ("sensor.other.radar", "2c378a045924cbac"),
    ],
)
def test_data_have_the_same_bits_on_every_machine(kind: str, digest: str) -> None:
    assert sha256(b"".join(_between_containers(kind))).hexdigest()[:16] == digest


EYE, PITCH, YAW, ROLL = (4.0, 2.0, 1.7), -4.0, 3.0, 1.0
#: Half sizes of a container; where two of them stand, each turned by its x in degrees.
CONTAINER, CONTAINERS = (0.966, 0.506, 0.857), (18.0, 31.0)
#: Heights of the road, and of what lies beside it.
GROUND = (0.0, -0.15)


@cache
def _between_containers(kind: str) -> list[bytes]:
    """Two messages of a sensor before two containers; the axes of the sensor are tilted."""
    bench = Bench(0.05)
    for x in CONTAINERS:
        prop = Transform(Vector(x, 4.0, 0.0), Rotation(yaw=x))
        bench.simulation.spawn(ActorDescription(0, "static.prop.container"), prop)
    small = {"image_size_x": 320, "image_size_y": 200} if "camera" in kind else {"range": 80}
    eye = Transform(Vector(*EYE), Rotation(pitch=PITCH, yaw=YAW, roll=ROLL))
    sensor = bench.sensor(kind, eye, **small)
    bench.run(2)
    return bench.messages[sensor]


def _turned(x: float, y: float, z: float) -> Floats:
    """Columns: forward, right and up of a body turned by yaw, pitch and roll [deg]."""
    (sp, cp), (sy, cy), (sr, cr) = (
        (math.sin(a), math.cos(a)) for a in map(math.radians, (x, y, z))
    )
    yaw = np.array([[cy, -sy, 0.0], [sy, cy, 0.0], [0.0, 0.0, 1.0]])
    pitch = np.array([[cp, 0.0, -sp], [0.0, 1.0, 0.0], [sp, 0.0, cp]])
    roll = np.array([[1.0, 0.0, 0.0], [0.0, cr, sr], [0.0, -sr, cr]])
    found: Floats = yaw @ pitch @ roll
    return found


def _first(rays: Floats) -> tuple[Floats, Floats]:
    """Of rays (n, 3) of the sensor: the ways to what they meet first [m], and its normals (n, 3).

    In closed form: slabs of the containers, the two planes of the ground; inf where none is.
    """
    world = rays @ _turned(PITCH, YAW, ROLL).T
    ways, normals = np.full(len(rays), np.inf), np.zeros((len(rays), 3))
    with np.errstate(divide="ignore"):
        for x in CONTAINERS:
            axes = _turned(0.0, x, 0.0)
            start = (np.array(EYE) - (x, 4.0, CONTAINER[2])) @ axes
            along = world @ axes
            near = (-np.sign(along) * CONTAINER - start) / along
            far = (np.sign(along) * CONTAINER - start) / along
            face = near.argmax(axis=1)
            met = (near.max(axis=1) < far.min(axis=1)) & (near.max(axis=1) > 0.0)
            met &= near.max(axis=1) < ways
            ways[met] = near.max(axis=1)[met]
            sides = -np.sign(along)[np.arange(len(rays)), face][:, None] * axes.T[face]
            normals[met] = sides[met]
    return ways, normals


def _up(rays: Floats) -> Floats:
    """How far rays (n, 3) of the sensor go up."""
    found: Floats = (rays @ _turned(PITCH, YAW, ROLL).T)[:, 2]
    return found


def _ground(rays: Floats) -> Floats:
    """Ways to the two heights of the ground (n, 2) [m], inf where a ray looks up."""
    down = _up(rays)
    with np.errstate(divide="ignore"):
        ways = (np.array(GROUND) - EYE[2]) / down[:, None]
    return np.where(ways > 0.0, ways, np.inf)


def _pixels() -> Floats:
    """Rays (64000, 3) of the pixels of an image; its view is 90 degrees wide."""
    x, y = np.meshgrid(np.arange(320) + 0.5 - 160.0, np.arange(200) + 0.5 - 100.0)
    return np.stack((np.full(x.size, 160.0), x.ravel(), -y.ravel()), axis=1) / 160.0


def _agree(kind: str, what: str, rays: Floats, found: Floats, expected: Floats, off: float) -> None:
    """Fail with the ray that is farthest from one of the expected values (n, ...)."""
    away = np.abs(found[:, None] - expected).min(axis=1)
    wrong = away > off
    worst = int(np.where(wrong, away, -1.0).argmax())
    x, y, z = rays[worst]
    assert wrong.mean() < 0.001, (
        f"{kind}: {what} at azimuth {math.degrees(math.atan2(y, x)):.1f} deg, altitude "
        f"{math.degrees(math.atan2(z, math.hypot(x, y))):.1f} deg is {found[worst]:.3f}; the scene "
        f"says {' or '.join(f'{value:.3f}' for value in expected[worst])}; so are "
        f"{int(wrong.sum())} of {len(rays)}"
    )


def _points(kind: str) -> tuple[Floats, Floats]:
    """Rays of unit length (n, 3) of a sensor, and the ways that it measures [m]."""
    message = _between_containers(kind)[-1][HEADER:]
    if kind == "sensor.other.radar":
        _, azimuth, altitude, way = np.frombuffer(message, "<f4").reshape(-1, 4).astype(float).T
        level = np.cos(altitude)
        rays = level * np.cos(azimuth), level * np.sin(azimuth), np.sin(altitude)
        return np.stack(rays, axis=1), way
    size = 4 if kind == "sensor.lidar.ray_cast" else 6
    points = np.frombuffer(message[8 + 4 * 32 :], "<f4").reshape(-1, size)[:, :3].astype(float)
    way = np.linalg.norm(points, axis=1)
    return points / way[:, None], way


@pytest.mark.parametrize(
    "kind", ["sensor.lidar.ray_cast", "sensor.lidar.ray_cast_semantic", "sensor.other.radar"]
)
def test_ranges_are_those_of_the_scene_in_closed_form(kind: str) -> None:
    rays, found = _points(kind)
    ways, normals = _first(rays)
    assert len(found) > 40
    expected = np.minimum(ways[:, None], _ground(rays))
    _agree(kind, "range [m]", rays, found, expected, 2e-3)
    if kind == "sensor.other.radar":
        speeds = np.frombuffer(_between_containers(kind)[-1][HEADER:], "<f4").reshape(-1, 4)[:, 0]
        _agree(kind, "speed [m/s] of what stands", rays, speeds.astype(float), 0.0 * expected, 1e-6)
        return
    assert np.isfinite(ways).sum() >= 5, f"{kind}: sees no container"
    last = np.frombuffer(_between_containers(kind)[-1][HEADER + 8 + 4 * 32 :], "<f4")
    last = last.reshape(len(rays), -1)[:, 3].astype(float)
    if kind == "sensor.lidar.ray_cast":
        loss = np.exp(-0.004 * found)[:, None]
        _agree(kind, "intensity", rays, last, loss, 1e-5)
    else:
        world = rays @ _turned(PITCH, YAW, ROLL).T
        cosine = np.where(np.isfinite(ways), -(normals * world).sum(axis=1), -world[:, 2])
        _agree(kind, "cosine of the angle", rays, last, cosine[:, None], 1e-4)


def test_a_depth_image_is_that_of_the_scene_in_closed_form() -> None:
    kind, rays = "sensor.camera.depth", _pixels()
    pixels = np.frombuffer(_between_containers(kind)[-1][HEADER + 12 :], np.uint8).reshape(-1, 4)
    found = pixels[:, :3].astype(float) @ (65536.0, 256.0, 1.0) / (256.0**3 - 1.0) * 1000.0
    # The rays have a length of 1 ahead: what their ways count is the depth.
    expected = np.minimum(_first(rays)[0][:, None], _ground(rays))
    expected = np.concatenate((expected, np.full((len(rays), 1), 1000.0)), axis=1)
    sky = found == 1000.0
    _agree(kind, "depth [m]", rays[~sky], found[~sky], expected[~sky], 5e-3)
    up = _up(rays)
    free = ((up > 0.0) & np.isinf(_first(rays)[0])).astype(float)
    clear = np.abs(up) > 0.01  # the world ends before the horizon
    _agree(kind, "sky", rays[clear], sky[clear].astype(float), free[clear, None], 0.5)


def test_normals_are_those_of_the_scene_in_closed_form() -> None:
    kind, rays = "sensor.camera.normals", _pixels()
    pixels = np.frombuffer(_between_containers(kind)[-1][HEADER + 12 :], np.uint8).reshape(-1, 4)
    ways, normals = _first(rays)
    box = np.isfinite(ways)
    for place, axis in enumerate("xyz"):
        found = pixels[:, 2 - place].astype(float) / 127.5 - 1.0
        _agree(
            kind,
            f"{axis} of the normal",
            rays[box],
            found[box],
            normals[box, place : place + 1],
            0.01,
        )
    assert box.sum() > 300
    below = _up(rays) < -0.1
    upright = below & ~box
    found = pixels[:, 0].astype(float) / 127.5 - 1.0
    _agree(
        kind,
        "z of the ground's normal",
        rays[upright],
        found[upright],
        np.ones((upright.sum(), 1)),
        0.02,
    )


def test_colours_show_the_scene_in_closed_form() -> None:
    """The sky is blue, the road grey, a container reddish, and each is where it belongs."""
    kind, rays = "sensor.camera.rgb", _pixels()
    pixels = np.frombuffer(_between_containers(kind)[-1][HEADER + 12 :], np.uint8).reshape(-1, 4)
    blue, green, red = pixels[:, :3].astype(float).T
    box = np.isfinite(_first(rays)[0])
    up = _up(rays)
    _agree(
        kind,
        "a container's red",
        rays,
        ((red > blue + 15) & (red > green)).astype(float),
        box[:, None],
        0.5,
    )
    sky = (up > 0.01) & ~box
    _agree(
        kind,
        "the sky's blue",
        rays[sky],
        (blue > red + 20)[sky].astype(float),
        np.ones((sky.sum(), 1)),
        0.5,
    )
