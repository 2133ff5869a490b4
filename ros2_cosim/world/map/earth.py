# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Where the map lies on the earth: a plane that touches WGS 84 at the map's origin.

Over a kilometre that is exact to about a decimetre.
"""

from __future__ import annotations

from pydantic import Field

from ros2_cosim.core.documents.settings import Number, Section
from ros2_cosim.core.kernel.exactmath import cos, degrees, radians, sin, sqrt

#: Semi-major axis [m] and square of the first eccentricity of WGS 84.
_EARTH_RADIUS = 6378137.0
_EARTH_ECCENTRICITY = 6.69437999014e-3


class MapOrigin(Section):
    """Where the map's origin lies; map x points east, y north."""

    latitude: Number = Field(default=0.0, ge=-89, le=89, description="of the map's origin [deg]")
    longitude: Number = Field(default=0.0, ge=-180, le=180, description="of the map's origin [deg]")
    altitude: Number = Field(default=0.0, description="of the map's origin [m]")


class TangentPlane:
    """Converts between map and geodetic coordinates."""

    def __init__(self, origin: MapOrigin) -> None:
        self._origin = origin
        latitude = radians(origin.latitude)
        sine = sin(latitude)
        root = sqrt(1.0 - _EARTH_ECCENTRICITY * sine * sine)
        meridian = _EARTH_RADIUS * (1.0 - _EARTH_ECCENTRICITY) / (root * root * root)
        self._north = meridian + origin.altitude
        self._east = (_EARTH_RADIUS / root + origin.altitude) * cos(latitude)

    def geodetic(self, x: float, y: float) -> tuple[float, float]:
        """Latitude and longitude [deg] of a place in the map [m]."""
        return (
            self._origin.latitude + degrees(y / self._north),
            self._origin.longitude + degrees(x / self._east),
        )

    def on_map(self, latitude: float, longitude: float) -> tuple[float, float]:
        """Map x, y [m] of geodetic coordinates [deg]."""
        return (
            radians(longitude - self._origin.longitude) * self._east,
            radians(latitude - self._origin.latitude) * self._north,
        )
