# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What rain, fog and a low sun take from an object sensor: the share of detections that is left.

The range of a sensor is given for clear air (``CLEAR_VISIBILITY``). Beyond that, on the way d:

- *fog* extinguishes light with ln(20) / V, V being the meteorological optical range (WMO-No. 8,
  chapter 9: the way after which 5 % of the light are left). A radar of 77 GHz loses less than
  0.5 dB by a fog of 50 m on 150 m and back (ITU-R P.840), which is left out;
- *rain* of R [mm/h] extinguishes light with 1.076 R^0.67 dB/km (ITU-R P.1814, France) and waves of
  77 GHz with 1.132 R^0.7177 dB/km (ITU-R P.838-3, horizontal polarisation);
- a *radar* receives what falls with d^4, of a target that is smaller than its beam, a *lidar* what
  falls with d^2, of one that is larger; both lose by extinction on the way there and back. The
  power of the echo is distributed exponentially (Swerling 1 for radars, speckle for lidars), so
  that a signal S above the noise is detected with Pf^(1 / (1 + S)), Pf being the probability of a
  false alarm (M. I. Skolnik, "Introduction to Radar Systems", chapter 2). S is such that half of
  the objects at the end of the range are detected in clear air;
- a *camera* sees a contrast that falls exponentially with the way (Koschmieder). It detects half of
  the objects at the contrast 5 %; the share grows with the contrast like a normal distribution
  whose standard deviation is 0.48 of that threshold (H. R. Blackwell, J. Opt. Soc. Am. 36 (1946)),
  less what that distribution gives for no contrast (correction for guessing);
- the *sun* veils the contrast by stray light: 10 E / theta^2 cd/m^2 (Stiles-Holladay, CIE 146), E
  being its illuminance at the sensor and theta [deg] its angle from the line of sight. Illuminance
  and luminance of the sky are those of the IES Lighting Handbook (clear, partly cloudy).

docs/sensing.md says which of these sources were seen.
"""

from __future__ import annotations

from math import inf, sqrt
from typing import Final, Literal, NamedTuple

from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.exactmath import PI, acos, degrees, exp, log, radians, sin, sincos
from ros2_cosim.core.scene.air import (
    CLEAR_WAY,
    FULL_FOG,
    HEAVIEST_RAIN,
    PER_DB_KM,
    power,
    rain_extinction,
)
from ros2_cosim.core.scene.scene import SceneSettings
from ros2_cosim.core.scene.weather import PRESETS, SUN_AZIMUTH

Principle = Literal["radar", "lidar", "camera"]

#: Meteorological optical range of the air for which the range of a sensor is given [m]: that of
#: CARLA's ClearNoon as the cameras of this project show it.
CLEAR_VISIBILITY: Final = 4300.0
_LN_20: Final = log(20.0)
_LOG_FALSE_ALARM: Final = log(1e-6)
#: Signal to noise at the end of the range in clear air: half of the objects are detected.
_LEAST_SIGNAL: Final = _LOG_FALSE_ALARM / log(0.5) - 1.0
#: Nearer than that all is as if it were there [m].
_NEAREST: Final = 1.0

_CONTRAST: Final = 0.05
_SPREAD: Final = 0.48
#: The logistic function of this times z is the normal distribution within 0.01.
_LOGISTIC: Final = 1.702
_SUREST: Final = 40.0

#: Illuminance of the sun outside the atmosphere [lx].
_SUN: Final = 127_500.0
#: Up to these shares of clouds the sky is clear, or partly cloudy; above, no sun is seen.
_CLEAR_SKY: Final = 0.3
_PARTLY_CLOUDY: Final = 0.8
#: Angles at which the formula of the stray light holds [deg].
_LEAST_ANGLE: Final = 1.0
_LARGEST_ANGLE: Final = 30.0


class Conditions(NamedTuple):
    """The air and the sun.

    Rain [mm/h], meteorological optical range of the fog [m], height of the sun and its direction
    in the map, from x to y [rad], share of the sky that is cloudy [1].
    """

    rain: float = 0.0
    visibility: float = CLEAR_VISIBILITY
    sun_altitude: float = 0.25 * PI
    sun_azimuth: float = 0.0
    cloudiness: float = 0.0


def conditions_of(scene: SceneSettings) -> Conditions:
    """The conditions of a scene: those of its preset, where it does not say otherwise.

    :raises ConfigurationError: there is no such preset
    """
    preset = PRESETS.get(scene.weather)
    if preset is None:
        raise ConfigurationError(
            f"scene.weather: found {scene.weather!r}; allowed are {', '.join(sorted(PRESETS))}"
        )
    fog = 0.0 if preset.has_thin_fog else 0.01 * preset.fog_density
    given = scene.conditions
    return Conditions(
        0.01 * preset.precipitation * HEAVIEST_RAIN if given.rain is None else given.rain,
        _LN_20 * CLEAR_WAY / (1.0 + FULL_FOG * fog)
        if given.visibility is None
        else given.visibility,
        radians(preset.sun_altitude_angle) if given.sun_altitude is None else given.sun_altitude,
        0.0 - radians(SUN_AZIMUTH) if given.sun_azimuth is None else given.sun_azimuth,
        0.01 * preset.cloudiness if given.cloudiness is None else given.cloudiness,
    )


class Atmosphere:
    """Between one sensor and the objects.

    :param principle: of the sensor
    :param reach: its range in clear air [m]
    :param conditions: rain, fog and sun
    """

    def __init__(self, principle: Principle, reach: float, conditions: Conditions) -> None:
        self._principle = principle
        self._reach = reach
        rain = conditions.rain
        fog = max(0.0, _LN_20 / conditions.visibility - _LN_20 / CLEAR_VISIBILITY)
        if principle == "radar":
            self._extinction = 1.132 * power(rain, 0.7177) * PER_DB_KM
        else:
            self._extinction = fog + rain_extinction(rain)
        self._sun, self._sky = _light(conditions)
        sine, cosine = sincos(conditions.sun_azimuth)
        level = sincos(conditions.sun_altitude)[1]
        self._sun_x, self._sun_y = level * cosine, level * sine

    def share(self, x: float, y: float) -> float:
        """The probability of a detection, of that in clear air [1].

        :param x: from the sensor to the object, in the map [m]
        :param y: [m]
        """
        distance = max(_NEAREST, sqrt(x * x + y * y))
        if self._principle == "camera":
            contrast = exp(0.0 - self._extinction * distance) * self._unveiled(x, y, distance)
            return (_seen(contrast) - _GUESSED) / (1.0 - _GUESSED)
        if self._extinction == 0.0:
            return 1.0
        nearer = self._reach / distance
        signal = _LEAST_SIGNAL * nearer * nearer
        if self._principle == "radar":
            signal *= nearer * nearer
        left = signal * exp(-2.0 * self._extinction * distance)
        return exp(_LOG_FALSE_ALARM * (1.0 / (1.0 + left) - 1.0 / (1.0 + signal)))

    def _unveiled(self, x: float, y: float, distance: float) -> float:
        """What the stray light of the sun leaves of a contrast."""
        if self._sun == 0.0:
            return 1.0
        towards = (x * self._sun_x + y * self._sun_y) / distance
        if towards <= 0.0:
            return 1.0
        angle = max(_LEAST_ANGLE, degrees(acos(min(1.0, towards))))
        if angle > _LARGEST_ANGLE:
            return 1.0
        veil = 10.0 * self._sun * towards / (angle * angle)
        return self._sky / (self._sky + veil)


def _light(conditions: Conditions) -> tuple[float, float]:
    """Illuminance of the sun [lx] across its rays, 0 without sun; luminance of the sky [cd/m^2]."""
    altitude, clouds = conditions.sun_altitude, conditions.cloudiness
    if altitude <= 0.0 or clouds > _PARTLY_CLOUDY:
        return 0.0, inf
    height = sin(altitude)
    if clouds <= _CLEAR_SKY:
        extinction, sky = 0.21, 800.0 + 15_500.0 * sqrt(height)
    else:
        extinction, sky = 0.80, 300.0 + 45_000.0 * height
    return _SUN * exp(0.0 - extinction / height), sky / PI


def _seen(contrast: float) -> float:
    """The share of objects of a contrast that are seen, with those that are guessed."""
    turned = _LOGISTIC * (contrast / _CONTRAST - 1.0) / _SPREAD
    return 1.0 if turned > _SUREST else 1.0 / (1.0 + exp(0.0 - turned))


_GUESSED: Final = _seen(0.0)
