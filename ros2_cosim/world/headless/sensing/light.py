# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The light of the weather and of street lamps, as far as colours show it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ros2_cosim.core.scene.air import CLEAR_WAY, FULL_FOG, HAZE
from ros2_cosim.world.headless.sensing.air import WeatherAir, share_of
from ros2_cosim.world.headless.sensing.axes import Floats, axes_of
from ros2_cosim.world.headless.sensing.exact_arrays import exp
from ros2_cosim.world.headless.sensing.lamp_light import LightSource
from ros2_cosim.world.headless.sensing.mesh import Mesh, dot
from ros2_cosim.world.headless.street_lights import LightState
from ros2_cosim.world.headless.wire_types import Rotation, Transform, Vector, Weather

if TYPE_CHECKING:
    from ros2_cosim.world.headless.world import World

_DAWN, _DAY = -6.0, 12.0  # deg, of the sun's height, between which night becomes day
_NIGHT = 0.26  # share of the light of day: the sky of a town and its moon (class estimate)
_SHADE = 0.62  # share of the light that comes from everywhere, under a clear sky
_SKY_SHADES = 64
_HORIZON_CLEAR, _ZENITH_CLEAR = (0.76, 0.83, 0.90), (0.26, 0.46, 0.78)
_HORIZON_GREY, _ZENITH_GREY = (0.70, 0.72, 0.74), (0.54, 0.57, 0.61)
_WET = 0.7  # brightness of wet roads
_SKY_FOG = 3000.0  # m; so far the fog before the sky reaches at most
# Brightness by a lamp of 1 lm in 1 m: on a street below a usual lamp it is about half that of day.
_LAMP = 0.008
# A lamp lights what is so near to it [m], and lamps so near to the camera are seen to do so.
_LAMP_REACH, _LAMPS_NEAR = 25.0, 160.0

#: Dipped and full beams of vehicles in the protocol (``VehicleLightState``).
_BEAMS = 0x2 | 0x4
# A vehicle's beams have this brightness in 1 m, and reach so far [m].
_BEAM, _BEAM_REACH = 60.0, 45.0
_BEAM_HEIGHT = 0.65  # m


class Beam(NamedTuple):
    """The headlamps of a vehicle: where they are, and where they shine."""

    place: Vector
    ahead: Vector


def beams_of(world: World) -> list[Beam]:
    """The headlamps that are on."""
    found = []
    for vehicle in world.vehicles():
        if vehicle.lights & _BEAMS:
            axes, front = axes_of(world.pose(vehicle)), vehicle.blueprint.front
            x, y, z = (
                o + front * f + _BEAM_HEIGHT * u
                for o, f, u in zip(axes.origin, axes.forward, axes.up, strict=True)
            )
            found.append(Beam(Vector(x, y, z), axes.forward))
    return found


def _is_near(place: Vector, eye: Vector) -> bool:
    x, y, z = (a - b for a, b in zip(place, eye, strict=True))
    return x * x + y * y + z * z <= _LAMPS_NEAR * _LAMPS_NEAR


class Illumination:
    """The light of a moment."""

    def __init__(
        self, weather: Weather, lamps: Sequence[LightState] = (), beams: Sequence[Beam] = ()
    ) -> None:
        """Take what shines.

        :param lamps: the street lights that shine; they outshine the night only, as ``beams`` do
        """
        rise = (weather.sun_altitude_angle - _DAWN) / (_DAY - _DAWN)
        self._day = _NIGHT + (1.0 - _NIGHT) * min(1.0, max(0.0, rise))
        self._lamps = lamps if self._day < 1.0 else ()
        self._beams = beams if self._day < 1.0 else ()
        self._clouds = share_of(weather.cloudiness)
        #: How wet the ground is, 0 to 1.
        self.wet = share_of(max(weather.wetness, weather.precipitation_deposits))
        self._fog = share_of(weather.fog_density)
        #: Over this way [m] haze hides all but 1 / e; denser fog has its own veil.
        self._view = CLEAR_WAY / (1.0 + FULL_FOG * min(self._fog, HAZE))
        self._air = WeatherAir(weather)
        pose = Rotation(weather.sun_altitude_angle, weather.sun_azimuth_angle)
        self._sun = np.array(axes_of(Transform(Vector(), pose)).forward)

    def lit(self, mesh: Mesh, eye: Vector) -> tuple[Floats, Floats, Floats]:
        """Colours (n, 3) of triangles as seen from a place, from 0 to 1.

        :returns: in the sun, in shadow, and what comes of as much light of lamps as there is by day
        """
        shade = _SHADE + (1.0 - _SHADE) * 0.6 * self._clouds
        direct = np.maximum(dot(mesh.shades, self._sun), 0.0)
        flat = mesh.normals[:, 2] > 0.9
        away = mesh.centres - np.array(eye)
        far = np.sqrt(dot(away, away))
        clear = exp(far * (-1.0 / self._view))[:, None]
        veil = self.sky()[0] * (1.0 - clear)

        def seen(brightness: Floats) -> Floats:
            brightness = np.where(flat, brightness * (1.0 - (1.0 - _WET) * self.wet), brightness)
            colours = mesh.colours * (brightness[:, None] / 255.0) + mesh.glow / 255.0
            return colours * clear + veil

        in_sun = seen((shade + (1.0 - shade) * direct) * self._day)
        in_shade = seen(np.full_like(direct, shade * self._day))
        return in_sun, in_shade, mesh.colours * (clear / 255.0)

    def sources(self, eye: Vector) -> list[LightSource]:
        """The lamps whose light is seen from a place."""
        night = 1.0 - self._day
        found = [
            LightSource(
                lamp.location, _LAMP * lamp.intensity * night, _LAMP_REACH,
                (lamp.color[0] / 255.0, lamp.color[1] / 255.0, lamp.color[2] / 255.0),
            )
            for lamp in self._lamps if _is_near(lamp.location, eye)
        ]  # fmt: skip
        return found + [
            LightSource(beam.place, _BEAM * night, _BEAM_REACH, (1.0, 1.0, 1.0), beam.ahead)
            for beam in self._beams
            if _is_near(beam.place, eye)
        ]

    def sky(self) -> Floats:
        """Colours (shades, 3) from the horizon to the zenith."""
        grey = max(self._clouds, self._fog)
        horizon, zenith = (
            np.array(clear) * (1.0 - grey) + np.array(covered) * grey
            for clear, covered in ((_HORIZON_CLEAR, _HORIZON_GREY), (_ZENITH_CLEAR, _ZENITH_GREY))
        )
        # Most of the change is near the horizon.
        height = np.sqrt(np.arange(_SKY_SHADES) / (_SKY_SHADES - 1.0))[:, None]
        return (horizon * (1.0 - height) + zenith * height) * self._day

    def veiled_sky(self, eye: float) -> Floats:
        """The sky behind fog and rain, from an eye at a height [m]."""
        sky = self.sky()
        if self._air.is_clear:
            return sky
        rise = np.arange(_SKY_SHADES) / (_SKY_SHADES - 1.0) * _SKY_FOG
        left = exp(0.0 - self._air.thickness(eye, eye + rise, np.full_like(rise, _SKY_FOG)))
        return sky[0] + (sky - sky[0]) * left[:, None]
