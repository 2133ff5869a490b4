# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The weather presets of CARLA 0.9.16, so that pictures show the same in every world."""

from __future__ import annotations

from struct import pack, unpack
from typing import Final

from ros2_cosim.core.scene.weather import PRESETS, SUN_AZIMUTH, WeatherPreset
from ros2_cosim.world.headless.wire_types import Weather


def _weather(preset: WeatherPreset) -> Weather:
    *shares, has_thin_fog = preset
    numbers = dict(zip(WeatherPreset._fields, shares, strict=False))
    found = Weather(**numbers, sun_azimuth_angle=SUN_AZIMUTH)
    if has_thin_fog:
        found = found._replace(fog_distance=75.0, fog_falloff=1.0)
    # A client sends numbers of 32 bits.
    return Weather(*(unpack("f", pack("f", number))[0] for number in found))


WEATHER: Final = {name: _weather(preset) for name, preset in PRESETS.items()}
"""Weather by the name of its preset."""
