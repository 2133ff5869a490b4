# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Sensors of the simulator as ROS messages: when they measure, what, and where it is."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import carla
import numpy as np
import pytest
from numpy.typing import NDArray
from support.sensor_scenario import SENSORS, sensor_data, sensor_scenario

from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.model import Repeatability
from ros2_cosim.core.kernel.participant import Step
from ros2_cosim.core.messages.catalogue import DEFAULT as CATALOGUE
from ros2_cosim.core.scenario.check import check_scenario
from ros2_cosim.core.scenario.declaration import declare
from ros2_cosim.core.scenario.schema import load_scenario, make_scenario
from ros2_cosim.core.scenario.system import build_graph, build_model, with_declared_outputs
from ros2_cosim.world.carla.dcp_world import check_slave
from ros2_cosim.world.carla.scene_settings import scene_parameters
from ros2_cosim.world.carla.weather import WEATHER
from ros2_cosim.world.map.frames import yaw_from_quaternion

PLATOON = Path(__file__).resolve().parents[2] / "config" / "platoon.yaml"

_STEP = 20_000_000


@pytest.fixture(scope="module")
def sent() -> Iterator[list[dict[str, Any]]]:
    """What the world sends in each activation of 300 ms."""
    world = build_model(sensor_scenario(), "world", "inproc")
    yield [dict(world.activate(Step(k * _STEP, {}, {}))) for k in range(16)]
    world.close()


def columns(cloud: Any) -> NDArray[np.float32]:
    """The points of a cloud whose fields are all floats."""
    values = np.frombuffer(bytes(cloud.data), dtype="<f4").reshape(cloud.width, -1)
    assert values.shape[1] * 4 == cloud.point_step
    assert [field.name for field in cloud.fields[:3]] == ["x", "y", "z"]
    return values


def pixels(image: Any, kind: str) -> NDArray[Any]:
    found = np.frombuffer(bytes(image.data), dtype=kind)
    return found.reshape(image.height, image.width, -1)


def test_each_measures_at_multiples_of_its_period(sent: list[dict[str, Any]]) -> None:
    def times(port: str) -> list[int]:
        return [20 * k for k, outputs in enumerate(sent) if port in outputs]

    assert times("imu/imu") == list(range(0, 301, 20))
    assert times("scan/scan") == times("points/scan") == [0, 100, 200, 300]
    assert times("image/front") == times("camera_info/front") == [0, 200]
    for name in SENSORS.keys() - {"imu", "scan"}:
        ports = [port for port in sent[0] if port.endswith(f"/{name}")]
        assert ports and all(times(port) == [0, 200] for port in ports), name


def test_messages_are_what_a_codec_takes(sent: list[dict[str, Any]]) -> None:
    """Each has the fields of its type, and comes back as it was sent."""
    scenario = sensor_scenario()
    for port, output in scenario.participants["world"].outputs.items():
        if port not in sent[0]:
            continue
        codec = CATALOGUE.codec(output.type, frame_id="x")
        assert codec.decode(codec.encode(0, 1, sent[0][port]))[2] is not None, port


def test_a_scan_shows_the_barrier_ahead_and_the_one_to_the_left(
    sent: list[dict[str, Any]],
) -> None:
    """The scanner is 2.4 m ahead of the vehicle, whose centre is at 700 m; barriers are 0.36 m."""
    scan = sent[0]["scan/scan"]
    assert len(scan.ranges) == 360 and scan.range_max == 50.0
    angles = scan.angle_min + scan.angle_increment * np.arange(360)
    assert angles[-1] == pytest.approx(scan.angle_max) == pytest.approx(math.pi)
    ranges = np.array(scan.ranges)
    ahead = ranges[np.argmin(abs(angles))]
    assert ahead == pytest.approx(20.0 - 2.4 - 0.18, abs=0.02)
    left = ranges[np.argmin(abs(angles - math.atan2(4.0, 12.0 - 2.4)))]
    assert left == pytest.approx(math.hypot(4.0, 12.0 - 2.4), abs=0.4)
    assert np.isinf(ranges).any(), "beams into the open have no return"
    cloud = columns(sent[0]["points/scan"])
    assert len(cloud) == np.isfinite(ranges).sum()
    assert np.sort(np.hypot(cloud[:, 0], cloud[:, 1])) == pytest.approx(
        np.sort(ranges[np.isfinite(ranges)]), abs=1e-4
    )


def test_the_lidar_sees_the_ground_below_it(sent: list[dict[str, Any]]) -> None:
    cloud = columns(sent[0]["points/lidar"])
    ground = cloud[np.hypot(cloud[:, 0], cloud[:, 1]) < 9.0]
    outside = ground[np.hypot(ground[:, 0], ground[:, 1]) > 3.5]
    assert len(outside) > 20
    assert np.median(outside[:, 2]) == pytest.approx(-2.0, abs=0.1)


def test_labels_name_objects_of_the_scene(sent: list[dict[str, Any]]) -> None:
    """The barriers are objects 101 and 102, whatever the simulator calls them; roads are 0."""
    cloud = sent[0]["points/labels"]
    whole = np.frombuffer(bytes(cloud.data), dtype="<u4").reshape(cloud.width, 6)
    place = columns(cloud)
    assert set(whole[:, 4].tolist()) <= {0, 1, 101, 102, 1001, 1002}
    left = place[whole[:, 4] == 102]
    assert len(left) and (abs(left[:, 1] - 4.0) < 0.8).all()
    road = whole[:, 5] == 1
    assert road.any() and set(whole[road, 4].tolist()) == {0}


def test_the_radar_sees_what_comes_nearer(sent: list[dict[str, Any]]) -> None:
    cloud = columns(sent[10]["points/radar"])
    x, y, z, distance, speed, azimuth, elevation = cloud.T
    assert x == pytest.approx(distance * np.cos(azimuth) * np.cos(elevation), abs=1e-3)
    assert y == pytest.approx(distance * np.sin(azimuth) * np.cos(elevation), abs=1e-3)
    assert z == pytest.approx(distance * np.sin(elevation), abs=1e-3)
    straight = abs(azimuth) < 0.05
    assert straight.any() and np.median(speed[straight]) == pytest.approx(-10.0, abs=0.5)


def test_a_pixel_has_the_depth_of_the_barrier(sent: list[dict[str, Any]]) -> None:
    image = sent[0]["image/depth"]
    assert (image.encoding, image.step) == ("32FC1", 4 * 64)
    depth = pixels(image, "<f4")[:, :, 0]
    # The barrier's middle, 0.53 m above the road, 18.82 m ahead of a camera at 2 m.
    focal = 32.0 / math.tan(math.radians(45.0))
    row = int(24.0 + focal * (2.0 - 0.53) / 18.82)
    assert depth[row, 32] == pytest.approx(20.0 - 1.0 - 0.18, abs=0.02)
    assert depth[0].min() == pytest.approx(1000.0), "the sky"


def test_pictures_and_intrinsics(sent: list[dict[str, Any]]) -> None:
    info, image = sent[0]["camera_info/front"], sent[0]["image/front"]
    assert (info.width, info.height, image.encoding) == (64, 48, "bgra8")
    assert list(info.k) == pytest.approx([32.0, 0.0, 32.0, 0.0, 32.0, 24.0, 0.0, 0.0, 1.0])
    assert len(np.unique(pixels(image, np.uint8).reshape(-1, 4), axis=0)) > 10
    tags = pixels(sent[0]["image/tags"], np.uint8)
    assert sent[0]["image/tags"].encoding == "mono8" and {1, 11} <= set(tags.flat)
    behind = pixels(sent[0]["image/instances"], np.uint8)
    own = (behind[:, :, 1] == 1) & (behind[:, :, 0] == 0)
    assert own[:, 20:44].any(), "the camera behind the vehicle sees it as object 1"
    flow = pixels(sent[10]["image/flow"], "<f4")
    assert sent[10]["image/flow"].encoding == "32FC2" and abs(flow).max() > 0.01


def test_motion_sensors_agree_with_the_odometry(sent: list[dict[str, Any]]) -> None:
    imu, odometry = sent[0]["imu/imu"], sent[0]["odometry/ego"]
    assert imu.linear_acceleration.z == pytest.approx(9.81, abs=0.05)
    q = imu.orientation
    assert yaw_from_quaternion(q.x, q.y, q.z, q.w) == pytest.approx(
        yaw_from_quaternion(odometry.qx, odometry.qy, odometry.qz, odometry.qw), abs=1e-3
    )
    assert imu.orientation_covariance[0] > 1000.0, "roll is not measured"
    first, later = sent[0]["fix/gnss"], sent[10]["fix/gnss"]
    moved = math.radians(later.longitude - first.longitude) * 6378137.0
    moved *= math.cos(math.radians(first.latitude))
    assert moved == pytest.approx(sent[10]["odometry/ego"].x - odometry.x, rel=0.01)
    north = math.radians(0.00001) * 6378137.0
    assert first.position_covariance[4] == pytest.approx(north * north)
    assert first.position_covariance[0] == 0.0


def test_frames_and_schedules_follow_from_the_sensor() -> None:
    scenario = with_declared_outputs(sensor_scenario("lidar", "front", "imu"))
    outputs = scenario.participants["world"].outputs
    assert outputs["points/lidar"].frame_id == "ego/lidar"
    assert outputs["image/front"].frame_id == "ego/front_optical"
    assert outputs["odometry/ego"].frame_id == "map"
    data = sensor_data(("imu",))
    data["participants"]["world"]["outputs"]["imu/imu"]["frame_id"] = "own"
    kept = with_declared_outputs(make_scenario(data, "own"))
    assert kept.participants["world"].outputs["imu/imu"].frame_id == "own"
    assert build_graph(scenario).order == ("world",)


def test_noise_has_the_seed_of_the_run_and_of_the_sensor() -> None:
    def seeds(run: int) -> list[str]:
        scenario = sensor_scenario("gnss", "imu", "radar", seed=run)
        declared = declare(scenario, "world", "inproc")
        scene = scene_parameters(declared.context, declared.parameters)
        return [sensor.attributes["noise_seed"] for sensor in scene.sensors]

    assert len(set(seeds(7) + seeds(8))) == 6 and seeds(7) == seeds(7)
    data = sensor_data(("radar",))
    data["scene"]["sensors"]["radar"]["attributes"] = {"noise_seed": 5}
    declared = declare(make_scenario(data, "own"), "world", "inproc")
    (radar,) = scene_parameters(declared.context, declared.parameters).sensors
    assert radar.attributes["noise_seed"] == "5"


def test_the_weather_is_that_of_the_client() -> None:
    """CARLA calls one of its presets otherwise."""
    for name, weather in WEATHER.items():
        theirs = getattr(carla.WeatherParameters, name.replace("RainySunset", "RainSunset"))
        assert carla.WeatherParameters(*weather) == theirs, name


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        ("vehicle", "other", r"scene.sensors.scan.vehicle: found vehicle 'other'; allowed are ego"),
        ("blueprint", "sensor.other.rss", r"scene.sensors.scan.blueprint: found .*lidar"),
        ("period", "30ms", r"scene.sensors.scan.period: found 30ms; allowed are multiples of"),
        ("attributes", {"chanels": 1}, r"attributes: .* has no attribute 'chanels'; it has"),
        ("attributes", {"range": -1.0}, r"'range' of 'sensor.lidar.ray_cast': found -1"),
        ("attributes", {"sensor_tick": 1.0}, r"sensor_tick: found one; allowed is .*'period'"),
        ("attributes", {"channels": 4}, r"attributes.channels: found 4; allowed for a scan is 1"),
        ("roll", 4.0, r"scene.sensors.scan.roll: found 4.0; allowed is a number of at most"),
    ],
)
def test_what_is_wrong_with_a_sensor(place: str, value: object, message: str) -> None:
    data = sensor_data(("scan",))
    data["scene"]["sensors"]["scan"][place] = value
    with pytest.raises(ConfigurationError, match=message):
        check_scenario(make_scenario(data, "wrong"), "inproc")


def test_a_sensor_without_output_and_a_message_too_long() -> None:
    data = sensor_data(("imu",))
    del data["participants"]["world"]["outputs"]["imu/imu"]
    with pytest.raises(ConfigurationError, match=r"scene.sensors.imu: .*allowed is an output imu/"):
        check_scenario(make_scenario(data, "silent"), "inproc")
    data = sensor_data(("front",))
    data["scene"]["sensors"]["front"]["attributes"] = {"image_size_x": 2000, "image_size_y": 2000}
    check_scenario(make_scenario(data, "large"))
    data["participants"]["world"]["parameters"]["dcp"] = {"transport": "udp"}
    declared = declare(make_scenario(data, "large"), "world")
    scene = scene_parameters(declared.context, declared.parameters)
    with pytest.raises(ConfigurationError, match=r"of up to 16000000 bytes; allowed .* udp are 65"):
        check_slave(declared.context, declared.parameters, scene)


def test_a_simulator_without_sensors_is_refused(tmp_path: Path) -> None:
    data = sensor_data(("imu",), simulator={"kind": "interfaces.test_named_simulator:Still"})
    with pytest.raises(ConfigurationError, match=r"Still has no sensors, allowed are headless"):
        check_scenario(make_scenario(data, "still"), "inproc")


def test_how_far_runs_agree() -> None:
    """The headless server's arithmetic is exact; CARLA's renderer promises nothing.

    CARLA's physics promises nothing for another machine.
    """
    for kind, expected in (("headless", Repeatability.EVERYWHERE), ("carla", Repeatability.NO)):
        scenario = sensor_scenario("lidar", simulator={"kind": kind, "port": 2000})
        assert declare(scenario, "world").repeatability is expected
    without = load_scenario(PLATOON, ["simulator={kind: carla, port: 2000}"])
    assert declare(without, "world").repeatability is Repeatability.SAME_MACHINE
