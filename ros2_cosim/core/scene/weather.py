# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The weather presets of CARLA 0.9.16, by name, as numbers that every room understands."""

from __future__ import annotations

from typing import Final, NamedTuple

from ros2_cosim.core.scene.simulator import WEATHER_PRESETS


class WeatherPreset(NamedTuple):
    """Shares in percent, height of the sun in degrees, as CARLA has them."""

    cloudiness: float
    precipitation: float
    precipitation_deposits: float
    wind_intensity: float
    sun_altitude_angle: float
    fog_density: float
    wetness: float
    has_thin_fog: bool


#: Azimuth of the sun in all of them, in CARLA's left-handed frame [deg].
SUN_AZIMUTH: Final = -1.0

#: Cloudiness, precipitation, deposits, wind; then fog and wetness at noon, sunset and night [%].
_SKIES: Final = {
    "Clear": ((5, 0, 0, 10), (2, 0), (2, 0), (60, 0)),
    "Cloudy": ((60, 0, 0, 10), (3, 0), (3, 0), (60, 0)),
    "Wet": ((5, 0, 50, 10), (3, 0), (2, 0), (60, 60)),
    "WetCloudy": ((60, 0, 50, 10), (3, 0), (2, 0), (60, 60)),
    "SoftRain": ((20, 30, 50, 30), (3, 0), (2, 0), (60, 60)),
    "MidRainy": ((60, 60, 60, 60), (3, 0), (3, 0), (60, 80)),
    "HardRain": ((100, 100, 90, 100), (7, 0), (7, 0), (100, 100)),
}
_SUN: Final = {"Noon": 45.0, "Sunset": 15.0, "Night": -90.0}  # height [deg]
#: Rain at night has more clouds, clear nights fog of another kind.
_NIGHT_CLOUDS: Final = {"SoftRain": 60, "MidRainy": 80}
_THIN_FOG: Final = ("ClearNight", "WetNight")


def _preset(name: str) -> WeatherPreset:
    sky, time = next((name.removesuffix(time), time) for time in _SUN if name.endswith(time))
    (clouds, rain, deposits, wind), *hours = _SKIES[sky]
    fog, wetness = hours[list(_SUN).index(time)]
    if time == "Night":
        clouds = _NIGHT_CLOUDS.get(sky, clouds)
    return WeatherPreset(
        cloudiness=float(clouds),
        precipitation=float(rain),
        precipitation_deposits=float(deposits),
        wind_intensity=float(wind),
        sun_altitude_angle=_SUN[time],
        fog_density=float(fog),
        wetness=float(wetness),
        has_thin_fog=name in _THIN_FOG,
    )


PRESETS: Final = {name: _preset(name) for name in WEATHER_PRESETS}
"""Weather by the name of its preset."""
