# SPDX-License-Identifier: Apache-2.0
"""Sensors in process: when they measure, motion, events and their noise."""

from __future__ import annotations

import math
from hashlib import sha256
from statistics import fmean, pstdev

import pytest
from support.sensor_bench import Bench

from ros2_cosim.carla_headless.sensing import scene
from ros2_cosim.carla_headless.sensing.hub import DEVICES, is_due
from ros2_cosim.carla_headless.sensor_attributes import CLIENT_SIDE, SENSORS, UNSUPPORTED
from ros2_cosim.carla_headless.wire_types import (
    ActorDescription,
    Rotation,
    Transform,
    Vector,
)
from ros2_cosim.carla_headless.world import CallError


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
    noise = {"noise_alt_bias": 2.0, "noise_alt_stddev": 0.5, "noise_lat_bias": 1.0}
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
    kinds = {kind.id for kind in SENSORS}
    assert len(kinds) == len(SENSORS)
    assert set(DEVICES) | set(UNSUPPORTED) | {CLIENT_SIDE} == kinds
    assert not set(DEVICES) & set(UNSUPPORTED)
    bench = Bench()
    before = set(bench.simulation.world.actors)
    for kind in UNSUPPORTED:
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
        ("sensor.camera.depth", "9caeb85ae81cacab"),
        ("sensor.camera.rgb", "3cce214ef96a7b54"),
        ("sensor.camera.normals", "27e33d44d08444fb"),
        ("sensor.lidar.ray_cast", "8992b6e6b6b72fa2"),
        ("sensor.lidar.ray_cast_semantic", "1f7258b3c5f26a44"),
        ("sensor.other.radar", "2c378a045924cbac"),
    ],
)
def test_data_have_the_same_bits_on_every_machine(kind: str, digest: str) -> None:
    bench = Bench(0.05)
    for x in (18.0, 31.0):
        prop = Transform(Vector(x, 4.0, 0.0), Rotation(yaw=x))
        bench.simulation.spawn(ActorDescription(0, "static.prop.container"), prop)
    small = {"image_size_x": 320, "image_size_y": 200} if "camera" in kind else {"range": 80}
    eye = Transform(Vector(4.0, 2.0, 1.7), Rotation(pitch=-4.0, yaw=3.0, roll=1.0))
    sensor = bench.sensor(kind, eye, **small)
    bench.run(2)
    assert sha256(b"".join(bench.messages[sensor])).hexdigest()[:16] == digest
