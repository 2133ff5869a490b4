# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The driver of the study: changes the lane twice, and stops."""

from ros2_cosim.core.kernel.model import Model
from ros2_cosim.core.messages.records import ControlCommand


class Driver(Model):
    """Answers each odometry by a command that depends on all that the vehicle tells."""

    def __init__(self, context, parameters):
        self.wanted = parameters["speed"]

    def activate(self, step):
        o = step.samples["odometry"][-1].value
        lane = 3.5 if 2.0 < o.x < 60.0 else 0.0
        heading = 2.0 * o.qz * o.qw
        wheel = 0.04 * (lane - o.y) - 0.4 * heading - 0.1 * o.wz
        pedal = 0.4 * ((self.wanted if o.x < 90.0 else 0.0) - o.vx) + 0.05
        throttle, brake = min(1.0, max(0.0, pedal)), min(1.0, max(0.0, -pedal))
        return {"control": ControlCommand(0.0, throttle, brake, 2.0 * wheel)}
