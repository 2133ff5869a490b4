# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The angle that the front wheels have reached, which no message of the world tells."""

from __future__ import annotations

from ros2_cosim.core.kernel.exactmath import exp
from ros2_cosim.world.vehicle import VehicleParameters
from ros2_cosim.world.vehicle.vehicle import MAX_SUBSTEP, steered, substeps


class SteeringColumn:
    """Follows the command with lag and rate of the vehicle's dynamics, as the headless server does.

    :ivar angle: of the front wheels [rad], positive to the left
    :param step: between two commands [s]
    """

    def __init__(self, vehicle: VehicleParameters, step: float) -> None:
        self._count = substeps(step, MAX_SUBSTEP)
        h = step / self._count
        self._full = vehicle.max_steer_angle
        self._limit = vehicle.max_steer_rate * h
        self._share = 1.0 - exp(-h / vehicle.steer_lag)
        self.angle = 0.0

    def follow(self, steer: float) -> None:
        """Go on for a step.

        :param steer: -1 to 1, positive to the left
        """
        for _ in range(self._count):
            self.angle = steered(self.angle, steer * self._full, self._share, self._limit, 1.0)
