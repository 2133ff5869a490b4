# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Fog, rain, wet roads and the sun's shadows in pictures and in the echoes of a lidar."""

from __future__ import annotations

import math
import struct
from functools import cache
from hashlib import sha256
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from support.headless_process import HIGHWAY
from support.sensor_bench import CAR, HEADER, Bench

from ros2_cosim.core.scene.air import fog_extinction, rain_extinction
from ros2_cosim.world.headless.labels import CARS
from ros2_cosim.world.headless.sensing.air import WeatherAir
from ros2_cosim.world.headless.sensing.axes import axes_of
from ros2_cosim.world.headless.sensing.mesh import dot
from ros2_cosim.world.headless.sensing.raster import Lens, depths, pixel_centres, render
from ros2_cosim.world.headless.sensing.rays import cast
from ros2_cosim.world.headless.sensing.scene import SceneBuilder
from ros2_cosim.world.headless.sensing.shadows import ShadowMaps, shaded_pixels, sun_of
from ros2_cosim.world.headless.sensing.veil import blended
from ros2_cosim.world.headless.wire_types import Rotation, Transform, Vector, Weather
from ros2_cosim.world.headless.world import World

CLEAR = Weather()
FOG = Weather(fog_density=60.0, fog_distance=0.0, fog_falloff=0.0)
RAIN = Weather(precipitation=100.0, precipitation_deposits=90.0, wetness=100.0, cloudiness=100.0)
SIZE = {"image_size_x": 160, "image_size_y": 120}
#: Behind a car that stands on the road, above it.
BEHIND = Transform(Vector(90.0, 5.25, 4.0), Rotation(-15.0))
LENS = Lens(160, 120, 80.0)
Image = NDArray[np.float64]


def picture_of(message: bytes) -> Image:
    """Red, green and blue of a camera's message."""
    width, height, _ = struct.unpack_from("<IIf", message, HEADER)
    pixels = np.frombuffer(message, np.uint8, offset=HEADER + 12).reshape(height, width, 4)
    return pixels[..., 2::-1].astype(np.float64)


LIDAR: dict[str, Any] = {
    "channels": 32, "range": 40.0, "points_per_second": 100_000, "rotation_frequency": 10.0,
    "dropoff_general_rate": 0.0, "dropoff_zero_intensity": 0.0,
}  # fmt: skip
#: On the road behind a car, above it, and far above.
ABOVE, OVER = Transform(Vector(80.0, 5.25, 3.0)), Transform(Vector(90.0, 5.25, 30.0), BEHIND[1])


@cache
def stage() -> tuple[Bench, list[int], list[int]]:
    """A car on the highway, two cameras and two lidars; each takes its turns by the weather."""
    bench = Bench(0.1)
    bench.car(100.0)
    cameras = [bench.sensor("sensor.camera.rgb", place, **SIZE) for place in (BEHIND, OVER)]
    lidars = [bench.sensor("sensor.lidar.ray_cast", ABOVE, **LIDAR, noise_seed=n) for n in (0, 1)]
    lidars.append(bench.sensor("sensor.lidar.ray_cast", ABOVE, **LIDAR, noise_seed=0))
    lidars.append(bench.sensor("sensor.lidar.ray_cast_semantic", ABOVE, points_per_second=20_000))
    return bench, cameras, lidars


def measured(weather: Weather, turns: int = 1) -> tuple[list[Image], list[Image], bytes]:
    """Pictures of the cameras, points (n, 4) of the lidars over whole turns, labelled points."""
    bench, cameras, lidars = stage()
    bench.messages.clear()
    bench.simulation.weather = weather
    bench.run(turns)
    clouds = [
        np.concatenate([
            np.frombuffer(message, "<f4", offset=HEADER + 8 + 4 * 32).reshape(-1, 4)
            for message in bench.messages[number]
        ]).astype(np.float64)
        for number in lidars[:3]
    ]  # fmt: skip
    pictures = [picture_of(bench.messages[number][-1]) for number in cameras]
    return pictures, clouds, bench.messages[lidars[3]][0][HEADER + 4 :]


@cache
def picture(weather: Weather, number: int = 0) -> Image:
    return measured(weather)[0][number]


@cache
def clouds(weather: Weather) -> list[Image]:
    return measured(weather, 4)[1]


def far(points: Image) -> Image:
    distances: Image = np.sqrt((points[:, :3] ** 2).sum(axis=1))
    return distances


# Air -------------------------------------------------------------------------------------


@settings(max_examples=25)
@given(
    st.floats(2.5, 100.0), st.floats(0.0, 200.0), st.floats(0.0, 6.0),
    st.floats(-5.0, 80.0), st.floats(-5.0, 80.0), st.floats(0.5, 500.0),
)  # fmt: skip
def test_fog_adds_up_along_the_way(
    density: float, begin: float, falloff: float, eye: float, there: float, way: float
) -> None:
    air = WeatherAir(Weather(fog_density=density, fog_distance=begin, fog_falloff=falloff))
    found = float(air.thickness(eye, np.array([there]), np.array([way]))[0])
    # The mean of the fog at many heights between both ends, over the way that lies in it.
    low, high = max(eye, 0.0), max(there, 0.0)
    heights = np.linspace(low, high, 4001)
    mean = np.trapezoid(np.exp(-math.log(2.0) / 10.0 * falloff * heights)) / 4000.0
    expected = fog_extinction(density / 100.0) * max(way - begin, 0.0) * mean
    assert found == pytest.approx(min(expected, 60.0), rel=2e-3, abs=1e-9)


def test_clear_weather_and_haze_take_nothing() -> None:
    assert WeatherAir(CLEAR).is_clear and WeatherAir(Weather(fog_density=0.0)).is_clear
    assert not WeatherAir(FOG).is_clear and not WeatherAir(RAIN).is_clear
    # 100 % is a visibility of about 200 m beyond that of clear weather; 5 % of the light are left.
    assert math.log(20.0) / fog_extinction(1.0) == pytest.approx(199.0, abs=1.0)
    assert rain_extinction(50.0) == pytest.approx(1.076 * 50.0**0.67 * math.log(10.0) / 1e4)


# Lidar -----------------------------------------------------------------------------------


def test_fog_shortens_a_lidar_and_weakens_what_is_left() -> None:
    """The share of echoes is that of the object sensors, which is worked out here anew."""
    clear, fog = (clouds(weather)[0] for weather in (CLEAR, FOG))
    for low, high in ((4.0, 9.0), (12.0, 18.0), (30.0, 35.0)):
        counts = [((far(p) > low) & (far(p) < high)).sum() for p in (fog, clear)]
        distance, pf = 0.5 * (low + high), 1e-6
        signal = (math.log(pf) / math.log(0.5) - 1.0) * (40.0 / distance) ** 2
        weak = signal * math.exp(-2.0 * fog_extinction(0.6) * distance)
        expected = pf ** (1.0 / (1.0 + weak) - 1.0 / (1.0 + signal))
        assert counts[1] > 500
        assert counts[0] / counts[1] == pytest.approx(expected, abs=0.06)
    assert expected < 0.85
    # Intensities: exp(-a d), in fog with its extinction on both ways.
    for points, rate in ((clear, 0.004), (fog, 0.004 + 2.0 * fog_extinction(0.6))):
        assert np.abs(points[:, 3] - np.exp(-rate * far(points))).max() < 1e-4


def test_rain_has_drops_and_noise_by_the_seed() -> None:
    clear, (rain, other, again) = clouds(CLEAR)[0], clouds(RAIN)
    # No surface is so near; the sensor stands 3 m above the road.
    assert (far(clear) > 2.9).all() and (far(rain) < 2.9).sum() > 3
    assert np.array_equal(rain, again) and not np.array_equal(rain[:50], other[:50])
    assert all(np.array_equal(clear, points) for points in clouds(CLEAR))


def test_a_lidar_with_labels_shows_the_truth_in_any_weather() -> None:
    for weather in (CLEAR, RAIN._replace(fog_density=80.0)):
        labelled = measured(weather)[2]
        points = np.frombuffer(labelled[4 + 4 * 32 :], "<f4").reshape(-1, 6)[:, :3]
        # Each of the rays that point down meets the road, the land below it, or the car.
        assert len(points) > 600 and (points[:, 2] < -1.3).all()


# Pictures --------------------------------------------------------------------------------


def test_fog_hides_what_is_far_behind_the_colour_of_the_sky() -> None:
    def contrast(density: float, row: int) -> float:
        """Of a row with the sky, at the horizon (39) or below it."""
        shown = picture(FOG._replace(fog_density=density))
        return float(np.abs(shown[row, 40:120] - shown[0, 0]).mean())

    assert contrast(100.0, 41) < 18.0
    for row in (45, 60):
        found = [contrast(density, row) for density in (10.0, 30.0, 60.0, 100.0)]
        assert found == sorted(found, reverse=True) and found[0] > 1.2 * found[-1]
    # Fog that begins behind all that is near leaves it as it is.
    late = picture(FOG._replace(fog_distance=200.0))
    assert np.abs(late[100:] - picture(CLEAR)[100:]).max() <= 2.0
    # Low fog is thinner around an eye that is high above it.
    assert picture(FOG._replace(fog_falloff=5.0), 1)[80:].std() > 1.1 * picture(FOG, 1)[80:].std()


def test_rain_makes_roads_dark_and_shining_and_strokes_that_fall() -> None:
    dry, wet = (picture(Weather(cloudiness=100.0, wetness=share)) for share in (0.0, 100.0))
    below = np.s_[-5:, 70:90]
    assert wet[below].mean() < 0.9 * dry[below].mean()
    # Strokes are brighter than what is beside them, and others in the next frame.
    one, two = (measured(RAIN)[0][0] for _ in range(2))
    assert (one[-30:] > wet[-30:] + 15.0).any(axis=2).sum() > 5
    assert not np.array_equal(one, two)


def test_night_is_dark_but_for_the_beams_of_vehicles() -> None:
    night = Weather(sun_altitude_angle=-20.0)
    bench, lit = Bench(0.1), []
    car = bench.car(100.0)
    camera = bench.sensor("sensor.camera.rgb", BEHIND, **SIZE)
    for weather in (CLEAR, night):
        bench.simulation.weather = weather
        for lights in (0, 0x2):
            bench.simulation.world.require_vehicle(car).lights = lights
            bench.run(1)
            lit.append(picture_of(bench.messages[camera][-1]))
    # By day its lamps are seen to be on, and light nothing.
    assert 0 < (lit[0] != lit[1]).any(axis=2).sum() < 60
    assert lit[2].mean() < 0.4 * lit[0].mean()
    brighter = (lit[3] - lit[2]).min(axis=2) > 10.0
    # The road ahead of the car, and nothing behind it or beside the beams.
    assert brighter[40:60, 60:100].sum() > 50
    assert not brighter[90:].any() and not brighter[:38].any()


@given(st.integers(0, 0xFFFFFF), st.integers(0, 0xFFFFFF), st.integers(0, 256))
def test_a_blend_goes_from_one_colour_to_the_other(one: int, two: int, share: int) -> None:
    pixel, shares = np.array([one | 0xFF000000], np.uint32), np.array([share], np.uint32)
    found = int(blended(pixel, two, shares)[0])
    assert found >> 24 == 0xFF
    for shift in (0, 8, 16):
        a, b = one >> shift & 0xFF, two >> shift & 0xFF
        assert (found >> shift & 0xFF) == (a * (256 - share) + b * share) // 256


# Shadows ---------------------------------------------------------------------------------

WORLD = World(HIGHWAY.read_text(encoding="utf-8"), 0.05)
for x in (100.0, 112.0, 130.0):
    WORLD.spawn(CAR, Transform(Vector(x, 5.25, 0.0)))
SCENE = SceneBuilder().scene(WORLD)


@settings(max_examples=6, deadline=None)
@given(
    st.floats(12.0, 85.0), st.floats(-179.0, 179.0), st.floats(95.0, 140.0), st.floats(-60.0, 60.0)
)
def test_shadows_are_where_rays_to_the_sun_meet_something(
    altitude: float, azimuth: float, x: float, yaw: float
) -> None:
    weather = Weather(sun_altitude_angle=altitude, sun_azimuth_angle=azimuth)
    eye = axes_of(Transform(Vector(x, 9.0, 5.0), Rotation(-40.0, yaw)))
    lens = Lens(40, 30, 20.0)
    view = render(SCENE, eye, lens)
    shade = ShadowMaps().around(SCENE, eye.origin, weather)
    assert shade is not None
    pixels, triangles = shaded_pixels(view, lens, eye, shade)
    assert np.array_equal(triangles, view.seen[pixels])
    dark = np.zeros(len(view.seen), dtype=bool)
    dark[pixels] = True
    # Every pixel by a ray from what it shows to the sun, through the bodies of the cars.
    sun = np.array(sun_of(weather))
    bodies = SCENE.actors.take(SCENE.actors.tags == CARS)
    depth = depths(view, lens)
    across, down = pixel_centres(lens)
    wrong = checked = 0
    for pixel in np.flatnonzero(np.isfinite(depth))[::4].tolist():
        normal = view.mesh.normals[view.seen[pixel]]
        if float(dot(normal, sun)) < 0.05:
            continue
        row, column = divmod(pixel, lens.width)
        local = depth[pixel] * np.array(
            (1.0, across[column] / lens.focal, 0.0 - down[row] / lens.focal)
        )
        place = Vector(*(eye.outside(local) + 0.01 * normal).tolist())
        start = axes_of(Transform(place))
        met = cast(bodies, start, start.directions_inside(sun)[None], 200.0, both_sides=True)
        checked += 1
        wrong += bool(np.isfinite(met.distances[0])) != bool(dark[pixel])
    # Only at the edges of shadows a texel decides otherwise.
    assert checked > 50 and wrong <= 0.05 * checked + 3


def test_shadows_turn_with_the_sun_and_end_with_it() -> None:
    eye = axes_of(Transform(Vector(106.0, 5.25, 12.0), Rotation(-89.0)))
    maps, found = ShadowMaps(), []
    view = render(SCENE, eye, LENS)
    for weather in (Weather(), Weather(sun_azimuth_angle=179.0), Weather(sun_altitude_angle=85.0)):
        shade = maps.around(SCENE, eye.origin, weather)
        assert shade is not None
        found.append(shaded_pixels(view, LENS, eye, shade)[0])
    assert len(found[0]) > 60 and len(found[2]) < 0.5 * len(found[0])
    assert len(np.intersect1d(found[0], found[1])) < 0.6 * len(found[0])
    for none in (Weather(cloudiness=90.0), Weather(sun_altitude_angle=2.0)):
        assert maps.around(SCENE, eye.origin, none) is None


@pytest.mark.parametrize("is_plain", [False, True])
def test_the_shadow_of_a_car_goes_with_it_unless_pictures_are_plain(is_plain: bool) -> None:
    bench = Bench(0.05)
    bench.simulation.world.is_plain = is_plain
    car = bench.car(100.0)
    above = Transform(Vector(106.0, 5.25, 15.0), Rotation(-89.0))
    camera = bench.sensor("sensor.camera.rgb", above, **SIZE)
    bench.run(1)
    bench.simulation.world.set_transform(car, Transform(Vector(170.0, 5.25, 0.0)))
    bench.run(1)
    before, after = (picture_of(message) for message in bench.messages[camera])
    # Beside the place of the car itself.
    darker = before.sum(axis=2) < after.sum(axis=2) - 20.0
    assert (darker.sum() > 100) is not is_plain


# Twice the same drive --------------------------------------------------------------------

SENSORS = (
    "sensor.camera.rgb", "sensor.camera.depth", "sensor.camera.semantic_segmentation",
    "sensor.camera.instance_segmentation", "sensor.camera.normals", "sensor.camera.optical_flow",
    "sensor.camera.dvs", "sensor.lidar.ray_cast", "sensor.lidar.ray_cast_semantic",
    "sensor.other.radar", "sensor.other.gnss", "sensor.other.imu", "sensor.other.obstacle",
    "sensor.other.collision", "sensor.other.v2x",
)  # fmt: skip


def drive(weather: Weather) -> dict[str, str]:
    """What every sensor of a car tells on a short drive into another one, by its digest."""
    bench = Bench(0.05)
    bench.car(112.0)
    own = bench.car(100.0)
    roof = Transform(Vector(0.5, 0.0, 1.8))
    small = {**SIZE, "image_size_x": 64, "image_size_y": 48}
    noisy = {"noise_alt_stddev": 0.1} | {f"noise_gyro_stddev_{axis}": 0.01 for axis in "xyz"}
    ids = {}
    for kind in SENSORS:
        wanted: dict[str, Any] = small if "camera" in kind else {}
        if kind.endswith("gnss"):
            wanted = {"noise_alt_stddev": 0.1}
        elif kind.endswith("imu"):
            wanted = {k: v for k, v in noisy.items() if "gyro" in k}
        elif "lidar" in kind:
            wanted = {"points_per_second": 20_000}
        ids[kind] = bench.sensor(kind, roof, own, **wanted)
    bench.simulation.weather = weather
    bench.simulation.world.set_target_velocity(own, Vector(12.0, 0.0, 0.0))
    bench.run(13)
    return {
        kind: sha256(b"".join(bench.messages.get(number, []))).hexdigest()
        for kind, number in ids.items()
    }


@pytest.mark.parametrize("weather", [CLEAR, RAIN._replace(fog_density=40.0)], ids=["clear", "rain"])
def test_twice_the_same_drive_has_the_same_bytes_of_every_sensor(weather: Weather) -> None:
    first = drive(weather)
    assert first == drive(weather)
    nothing = sha256(b"").hexdigest()
    silent = {kind for kind, digest in first.items() if digest == nothing}
    assert silent <= {"sensor.other.v2x"}, "these sensors told nothing"
