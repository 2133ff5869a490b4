# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The land of a map as what moves on it feels it: the one that cameras and rays see.

It takes long to make, and is made when something first leaves the lanes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from ros2_cosim.world.map import RoadNetwork

#: The land of a map ends so far from its roads [m]: what is put farther away is aside.
_FARTHEST: Final = 7000.0


class LandBelow:
    """Heights of the land around roads, in the map frame.

    :param make: makes what is seen of the map, which gives its land
    """

    def __init__(self, network: RoadNetwork, make: Callable[[], None]) -> None:
        self._network = network
        self._make = make
        self._heights: Callable[[float, float], float | None] | None = None
        self._is_made = False
        self._bounds: tuple[float, float, float, float] | None = None

    def take(self, heights: Callable[[float, float], float | None] | None) -> None:
        """Take the land.

        :param heights: [m], over x and y in CARLA's frame; None: the map has none
        """
        self._heights, self._is_made = heights, True

    def height(self, x: float, y: float) -> float | None:
        """Height at a place of the map frame [m]; None where there is no land."""
        if not self._is_made:
            if not self._is_near(x, y):
                return None
            self._is_made = True
            self._make()
        if self._heights is None or not self._is_near(x, y):
            return None
        return self._heights(x, 0.0 - y)

    def _is_near(self, x: float, y: float) -> bool:
        if self._bounds is None:
            starts = [
                (*road.line.frame(0.0)[:2], road.length + _FARTHEST)
                for road in self._network.roads.values()
            ]
            self._bounds = (
                min(x - far for x, _, far in starts), max(x + far for x, _, far in starts),
                min(y - far for _, y, far in starts), max(y + far for _, y, far in starts),
            )  # fmt: skip
        low_x, high_x, low_y, high_y = self._bounds
        return low_x <= x <= high_x and low_y <= y <= high_y
