# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Labels of the protocol (``CityObjectLabel``) for what a map has."""

from __future__ import annotations

from typing import Final

ROADS: Final = 1
SIDEWALKS: Final = 2
BUILDINGS: Final = 3
WALLS: Final = 4
FENCES: Final = 5
POLES: Final = 6
VEGETATION: Final = 9
TERRAIN: Final = 10
RIDERS: Final = 13
CARS: Final = 14
TRAINS: Final = 17
STATIC: Final = 20
DYNAMIC: Final = 21
OTHER: Final = 22
WATER: Final = 23
ROAD_LINES: Final = 24
GROUND: Final = 25
BRIDGES: Final = 26
RAIL_TRACKS: Final = 27
GUARD_RAILS: Final = 28

ANY: Final = 255
"""In a question: things of every label."""
