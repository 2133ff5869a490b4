# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What a vehicle does with Autoware's commands: gear, acceleration and angle of the wheels.

As autowarefoundation/autoware_universe, commit 5892baca0b09511ef2f6c4e551530b9c9a9cbd17,
simulator/autoware_simple_planning_simulator/src/simple_planning_simulator/
simple_planning_simulator_core.cpp (set_input): the acceleration counts whether it is defined or
not, the velocity and the rate of the wheels do not; in the reverse gear a positive acceleration is
one backwards. A vehicle moves in the direction of its gear only, and in PARK not at all
(autowarefoundation/autoware.universe, commit 059f0e15ab9ab35b99287771e2671b06a1cdcde5,
simulator/simple_planning_simulator/src/simple_planning_simulator/vehicle_model/
sim_model_delay_steer_acc_geared.cpp, calcVelocityWithGear): it brakes until it stands.
"""

from __future__ import annotations

from math import nan
from typing import Final

from ros2_cosim.core.messages.records import ControlCommand
from ros2_cosim.world.vehicle import VehicleParameters, pedals_for

#: ``GearCommand`` of autoware_vehicle_msgs.
NEUTRAL: Final = 1
DRIVE: Final = 2
PARK: Final = 22
_REVERSE: Final = (20, 21)
#: DRIVE to DRIVE_18, LOW, LOW_2.
_FORWARD: Final = (*range(DRIVE, 20), 23, 24)
GEARS: Final = frozenset((NEUTRAL, PARK, *_REVERSE, *_FORWARD))
#: Slower than this, a vehicle may change between forward and reverse gear [m/s].
_STANDING: Final = 0.1


def command_of(
    vehicle: VehicleParameters, gear: int, acceleration: float, angle: float, speed: float
) -> ControlCommand:
    """The command to the world.

    :param gear: one of ``GEARS``
    :param acceleration: in the direction of the gear [m/s^2]
    :param angle: of the front wheels [rad], positive to the left
    :param speed: of the vehicle, positive forwards [m/s]
    """
    steer = min(max(angle / vehicle.max_steer_angle, -1.0), 1.0)
    if gear in _FORWARD and speed >= -_STANDING:
        return ControlCommand(acceleration, nan, nan, steer)
    if gear in _REVERSE and speed <= _STANDING:
        throttle, brake = pedals_for(vehicle, acceleration, 0.0 - speed)
        return ControlCommand(0.0 - acceleration, 0.0 - throttle, brake, steer)
    if gear == NEUTRAL:
        _, brake = pedals_for(vehicle, min(acceleration, 0.0), abs(speed))
        return ControlCommand(0.0, 0.0, brake, steer)
    return ControlCommand(0.0, 0.0, 1.0, steer)
