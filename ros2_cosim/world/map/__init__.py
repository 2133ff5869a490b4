# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The map: roads from OpenDRIVE, lanes, frames and boxes; what is where, and how near."""

from ros2_cosim.world.map.elements import RoadError
from ros2_cosim.world.map.lanes import OFF_ROAD
from ros2_cosim.world.map.network import (
    LanePoint,
    RoadNetwork,
    RoadPosition,
    driving_direction,
    lateral_error,
)

__all__ = [
    "OFF_ROAD",
    "LanePoint",
    "RoadError",
    "RoadNetwork",
    "RoadPosition",
    "driving_direction",
    "lateral_error",
]
