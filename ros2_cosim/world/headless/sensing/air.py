# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Fog and rain between a sensor and what it sees, as the parameters of the weather say.

Fog begins at ``fog_distance`` and is thinner the higher it is: ``fog_falloff`` of 1 halves it each
10 m above the height 0, as Unreal's height fog does (class estimate), one of 0 leaves it the same
at all heights. Fog of up to 2 % is the haze of clear weather, which is not counted here.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from ros2_cosim.core.kernel.exactmath import log
from ros2_cosim.core.scene.air import HEAVIEST_RAIN, fog_extinction, rain_extinction
from ros2_cosim.world.headless.sensing.axes import Floats
from ros2_cosim.world.headless.sensing.exact_arrays import exp
from ros2_cosim.world.headless.wire_types import Weather

_HALF_HEIGHT: Final = 10.0  # m
# Between heights that differ by less the fog is the same: in units in which it falls by e.
_LEVEL: Final = 1.0e-3
# Beyond so much nothing is left.
_THICKEST: Final = 60.0


class WeatherAir:
    """The air of a weather.

    :ivar rain: [mm/h]
    :ivar in_rain: extinction by rain [1/m], and ``in_fog``: by fog at the height 0
    :ivar begin: where fog begins [m]
    :ivar is_clear: whether it takes nothing that a sensor would see
    """

    def __init__(self, weather: Weather) -> None:
        self.rain = HEAVIEST_RAIN * share_of(weather.precipitation)
        self.in_rain = rain_extinction(self.rain)
        self.in_fog = fog_extinction(share_of(weather.fog_density))
        self.begin = max(0.0, weather.fog_distance)
        self._decay = log(2.0) / _HALF_HEIGHT * max(0.0, weather.fog_falloff)
        self.is_clear = self.in_fog == 0.0 and self.rain == 0.0

    def thickness(self, eye: float, heights: Floats, distances: Floats) -> Floats:
        """Extinction times way (n) from an eye to places: of the light exp(-thickness) is left.

        :param eye: height of the eye [m], and ``heights`` of the places
        :param distances: of the places from the eye [m]
        """
        total = self.in_rain * distances
        if self.in_fog > 0.0:
            total += self.in_fog * np.maximum(distances - self.begin, 0.0) * self.mean(eye, heights)
        return np.minimum(total, _THICKEST)

    def mean(self, eye: float, heights: Floats) -> Floats:
        """The mean of the fog between the height of the eye and others [m], as shares (n)."""
        low = np.full_like(heights, self._decay * max(eye, 0.0))
        high = self._decay * np.maximum(heights, 0.0)
        rise = high - low
        level = np.abs(rise) < _LEVEL
        mean = (exp(0.0 - low) - exp(0.0 - high)) / np.where(level, 1.0, rise)
        return np.where(level, exp(-0.5 * (low + high)), mean)


def share_of(percent: float) -> float:
    """A percentage as a number from 0 to 1."""
    return min(1.0, max(0.0, percent / 100.0))
