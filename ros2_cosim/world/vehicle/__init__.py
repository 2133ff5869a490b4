# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Vehicle dynamics: pedals and steering in, motion out, and the way back to the pedals."""

from ros2_cosim.world.vehicle.on_road import RoadVehicle, road_position
from ros2_cosim.world.vehicle.parameters import (
    SEDAN,
    TRUCK,
    VEHICLES,
    VehicleParameters,
    loaded,
)
from ros2_cosim.world.vehicle.pedals import (
    PedalMap,
    coasting_acceleration,
    max_acceleration,
    max_deceleration,
    pedals_for,
)
from ros2_cosim.world.vehicle.vehicle import ActuatorCommand, Vehicle

__all__ = [
    "SEDAN",
    "TRUCK",
    "VEHICLES",
    "PedalMap",
    "RoadVehicle",
    "Vehicle",
    "ActuatorCommand",
    "VehicleParameters",
    "coasting_acceleration",
    "loaded",
    "max_acceleration",
    "max_deceleration",
    "pedals_for",
    "road_position",
]
