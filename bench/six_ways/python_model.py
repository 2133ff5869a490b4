# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The vehicle as a model."""

from vehicle import Vehicle

from ros2_cosim.core.kernel.model import Model
from ros2_cosim.core.messages.records import Odometry


class Plant(Model):
    """Reports its start, then steps with the newest command."""

    def __init__(self, context, parameters):
        self.dt = context.period_ns / 1e9
        self.vehicle = None

    def activate(self, step):
        v = self.vehicle
        if v is None:
            v = self.vehicle = Vehicle()
        elif command := step.latest["control"]:
            c = command.value
            v.step(self.dt, c.throttle, c.brake, 0.5 * c.steer)
        return {
            "odometry": Odometry(
                *(v.x, v.y, 0.0),
                *(0.0, 0.0, *v.orientation),
                *(v.speed, 0.0, 0.0),
                *(0.0, 0.0, v.yaw_rate),
            )
        }
