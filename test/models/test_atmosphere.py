# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Rain, fog and a low sun before object sensors, against the published formulas."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import pytest
from models.test_sensor import EXACT, VEHICLES, block, look, on_road
from support.models import made, scene_of

from buildtools.highway import make_highway
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.scene.scene import read_scene
from ros2_cosim.core.scene.weather import PRESETS
from ros2_cosim.driving.sensors.atmosphere import (
    CLEAR_VISIBILITY,
    Atmosphere,
    Conditions,
    Principle,
    conditions_of,
)
from ros2_cosim.driving.sensors.object_sensor import ObjectSensor
from ros2_cosim.world.map import RoadNetwork
from ros2_cosim.world.map.lane_boxes import LaneBoxes

REACH = 150.0
ROAD = RoadNetwork.from_xodr(make_highway())


def radar_loss(rain: float) -> float:
    """ITU-R P.838-3 at 77 GHz, horizontal polarisation, out of its tables 1 and 3 [dB/km]."""
    f = math.log10(77.0)

    def bells(rows: list[tuple[float, float, float]]) -> float:
        return sum(a * math.exp(-(((f - b) / c) ** 2)) for a, b, c in rows)

    k = 10.0 ** (
        bells(
            [
                (-5.33980, -0.10008, 1.13098),
                (-0.35351, 1.26970, 0.45400),
                (-0.23789, 0.86036, 0.15354),
                (-0.94158, 0.64552, 0.16817),
            ]
        )
        - 0.18961 * f
        + 0.71147
    )
    alpha = (
        bells(
            [
                (-0.14318, 1.82442, -0.55187),
                (0.29591, 0.77564, 0.19822),
                (0.32177, 0.63773, 0.13164),
                (-5.37610, -0.96230, 1.47828),
                (16.1721, -3.29980, 3.43990),
            ]
        )
        + 0.67849 * f
        - 1.95537
    )
    return float(k * rain**alpha)


def detected(signal: float) -> float:
    return float((1e-6) ** (1.0 / (1.0 + signal)))


def normal(z: float) -> float:
    return 0.5 * (1.0 + math.erf(z / math.sqrt(2.0)))


@pytest.mark.parametrize("rain", [2.0, 15.0, 50.0, 100.0])
@pytest.mark.parametrize("distance", [20.0, 80.0, 150.0])
def test_a_radar_loses_what_rain_takes_on_both_ways(rain: float, distance: float) -> None:
    half = math.log(1e-6) / math.log(0.5) - 1.0
    assert detected(half) == pytest.approx(0.5)
    signal = half * (REACH / distance) ** 4
    left = signal * 10.0 ** (-0.1 * radar_loss(rain) * 2.0 * distance / 1000.0)
    air = Atmosphere("radar", REACH, Conditions(rain=rain))
    expected = detected(left) / detected(signal)
    assert air.share(0.6 * distance, 0.8 * distance) == pytest.approx(expected, rel=2e-3)


@pytest.mark.parametrize(("rain", "visibility"), [(20.0, 4300.0), (0.0, 200.0), (50.0, 100.0)])
def test_a_lidar_loses_by_rain_and_fog(rain: float, visibility: float) -> None:
    distance = 60.0
    extinction = math.log(20.0) / visibility - math.log(20.0) / CLEAR_VISIBILITY
    extinction += 1.076 * rain**0.67 / (10.0 * math.log10(math.e)) / 1000.0
    signal = (math.log(1e-6) / math.log(0.5) - 1.0) * (REACH / distance) ** 2
    left = signal * math.exp(-2.0 * extinction * distance)
    air = Atmosphere("lidar", REACH, Conditions(rain=rain, visibility=visibility))
    assert air.share(-distance, 0.0) == pytest.approx(detected(left) / detected(signal), rel=1e-9)


def test_a_camera_sees_as_far_as_the_fog_lets_people_see() -> None:
    """Half of the objects at the meteorological optical range, by its definition."""
    air = Atmosphere("camera", REACH, Conditions(visibility=100.0))
    assert air.share(100.0 / (1.0 - 100.0 / CLEAR_VISIBILITY), 0.0) == pytest.approx(0.5, abs=0.02)
    assert air.share(50.0, 0.0) > 0.99
    assert air.share(400.0, 0.0) < 0.01


def test_a_low_sun_veils_what_is_before_it_and_nothing_else() -> None:
    fog = Conditions(visibility=150.0, sun_altitude=math.radians(4.0), sun_azimuth=1.0)
    air = Atmosphere("camera", REACH, fog)
    x, y = 110.0 * math.cos(1.0), 110.0 * math.sin(1.0)
    dark = Atmosphere("camera", REACH, fog._replace(sun_altitude=-0.1))
    assert air.share(x, y) < 0.8 * dark.share(x, y)
    assert air.share(-x, -y) == dark.share(-x, -y)
    # CIE 146: 10 E / theta^2, illuminance across the rays by the IES: 127,500 exp(-0.21 / sin a).
    illuminance = 127_500.0 * math.exp(-0.21 / math.sin(math.radians(4.0)))
    veil = 10.0 * illuminance * math.cos(math.radians(4.0)) / 16.0
    sky = (800.0 + 15_500.0 * math.sin(math.radians(4.0)) ** 0.5) / math.pi
    contrast = math.exp(-math.log(20.0) * 110.0 * (1.0 / 150.0 - 1.0 / CLEAR_VISIBILITY))
    seen = normal((contrast * sky / (sky + veil) / 0.05 - 1.0) / 0.48)
    guessed = normal(-1.0 / 0.48)
    assert air.share(x, y) == pytest.approx((seen - guessed) / (1.0 - guessed), abs=0.02)
    overcast = Atmosphere("camera", REACH, fog._replace(cloudiness=0.9))
    assert overcast.share(x, y) == dark.share(x, y)
    hazy = Atmosphere("camera", REACH, fog._replace(cloudiness=0.5))
    assert air.share(x, y) < hazy.share(x, y) < dark.share(x, y)


@pytest.mark.parametrize("principle", ["radar", "lidar", "camera"])
def test_more_rain_is_never_better_and_a_clear_day_takes_nothing(principle: Principle) -> None:
    shares = [
        Atmosphere(principle, REACH, Conditions(rain=rain, visibility=500.0)).share(120.0, 9.0)
        for rain in (0.0, 1.0, 10.0, 50.0, 150.0)
    ]
    assert all(0.0 <= worse <= better <= 1.0 for better, worse in pairwise(shares))
    noon = Atmosphere(principle, REACH, conditions_of(read_scene({})))
    assert noon.share(REACH, 0.0) == pytest.approx(1.0, abs=1e-3)


def test_conditions_are_those_of_the_preset_where_the_scene_does_not_say_otherwise() -> None:
    for name in PRESETS:
        conditions_of(read_scene({"weather": name}))
    rain = conditions_of(read_scene({"weather": "HardRainSunset"}))
    assert rain.rain == 50.0 and rain.cloudiness == 1.0
    assert rain.sun_altitude == pytest.approx(math.radians(15.0))
    mixed = conditions_of(read_scene({"weather": "HardRainNoon", "conditions": {"rain": 3.0}}))
    assert mixed.rain == 3.0 and mixed.visibility == rain.visibility < CLEAR_VISIBILITY
    assert conditions_of(read_scene({"weather": "ClearNight"})).visibility > CLEAR_VISIBILITY
    with pytest.raises(ConfigurationError, match=r"scene.weather: found 'Fog'; allowed are Clear"):
        conditions_of(read_scene({"weather": "Fog"}))
    with pytest.raises(ConfigurationError, match=r"scene.conditions.visibility: found 1"):
        read_scene({"conditions": {"visibility": 1.0}})


def sensor(conditions: dict[str, float], **parameters: Any) -> ObjectSensor:
    scene = {**scene_of(VEHICLES), "conditions": conditions}
    given = {"ego": "follower1", "field_of_view": 1.0, **EXACT, **parameters}
    context = {"scene": scene, "run_seed": 1}
    return made(ObjectSensor, given, name="sensor", context=context, boxes=LaneBoxes(ROAD))


def seen_share(model: ObjectSensor, looks: int = 300) -> float:
    states = {"follower1": on_road(100.0)}
    static = (block(100.0 + 2.35 + 0.5 + 90.0),)
    return sum(len(look(model, states, static).objects) for _ in range(looks)) / looks


def test_an_object_sensor_misses_more_in_fog_if_it_says_how_it_measures() -> None:
    fog = {"visibility": 300.0}
    assert seen_share(sensor(fog)) == 1.0
    assert seen_share(sensor(fog, principle="radar")) == 1.0
    expected = Atmosphere("lidar", REACH, Conditions(visibility=300.0)).share(90.5, 0.0)
    assert 0.02 < expected < 0.9
    assert seen_share(sensor(fog, principle="lidar")) == pytest.approx(expected, abs=0.08)
    thick = sensor({"visibility": 80.0}, principle="camera")
    found = look(thick, {"follower1": on_road(100.0)}, (block(150.0),))
    assert 0.5 < found.objects[0].existence_probability < 1.0


def test_a_sensor_in_fog_goes_on_from_its_saved_state() -> None:
    first, second = (sensor({"visibility": 300.0}, principle="lidar") for _ in range(2))
    seen_share(first, 20)
    second.restore_state(first.save_state())
    assert seen_share(first, 50) == seen_share(second, 50) < 1.0
