# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Ground without roads, where nothing keeps a lane: each goes on at its speed and yaw rate."""

from __future__ import annotations

from math import inf
from typing import Any, Final, NamedTuple


class Nowhere(NamedTuple):
    """A place on no road, in the form of a road position."""

    road_id: int = -1
    s: float = 0.0
    t: float = 0.0
    lane_id: int = 0
    heading: float = 0.0


class OpenGround:
    """``LaneGeometry`` without lanes."""

    def project(self, x: float, y: float, hint: Any = None) -> Nowhere:
        """No road is anywhere."""
        return NOWHERE

    def distance(self, start: Any, end: Any) -> float:
        """No way leads along a road."""
        return inf

    def beside_lane(self, start: Any, lane_id: int, x: float, y: float, reach: float) -> None:
        """There is no lane."""


NOWHERE: Final = Nowhere()
OPEN_GROUND: Final = OpenGround()
