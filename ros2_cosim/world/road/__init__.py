# SPDX-License-Identifier: Apache-2.0
"""Roads from OpenDRIVE: where lanes are, where a vehicle is on them, how far it is."""

from ros2_cosim.world.road.elements import RoadError
from ros2_cosim.world.road.lanes import OFF_ROAD
from ros2_cosim.world.road.network import (
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
