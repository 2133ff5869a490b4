# SPDX-License-Identifier: Apache-2.0
"""One road: reference line, elevation, lanes and what it is linked to."""

from __future__ import annotations

from typing import NamedTuple

from ros2_cosim.models.road.cubics import Cubics
from ros2_cosim.models.road.lanes import Lanes
from ros2_cosim.models.road.plan_view import ReferenceLine


class RoadLink(NamedTuple):
    """The road met at one end; ``at_start`` tells which end of that road touches."""

    road_id: int
    at_start: bool


class Road(NamedTuple):
    """One road of a network.

    ``speed_limits`` holds pairs (start station, m/s) in order.
    """

    id: int
    name: str
    line: ReferenceLine
    elevation: Cubics
    lanes: Lanes
    predecessor: RoadLink | None
    successor: RoadLink | None
    speed_limits: tuple[tuple[float, float], ...]

    @property
    def length(self) -> float:
        """Length of the reference line [m]."""
        return self.line.length

    def link(self, forward: bool) -> RoadLink | None:
        """What follows at the end (forward) or lies before the start."""
        return self.successor if forward else self.predecessor
