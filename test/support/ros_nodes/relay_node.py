# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A plain ROS node: one input, one output. It knows nothing of any co-simulation."""

import random
import sys
import time

from rclpy.node import Node
from running import run_by_turns
from std_msgs.msg import Float64


class Relay(Node):
    def __init__(self) -> None:
        super().__init__("relay")
        self._slowest = self.declare_parameter("slowest", 0.0).value
        self._dies_after = self.declare_parameter("dies_after", 0).value
        self._silent_after = self.declare_parameter("silent_after", 0).value
        self._sum = 0.0
        self._count = 0
        self._publisher = self.create_publisher(Float64, "sum", 10)
        self.create_subscription(Float64, "number", self._on_number, 10)

    def _on_number(self, message: Float64) -> None:
        if self._slowest:
            time.sleep(random.uniform(0.0, self._slowest))
        self._count += 1
        if self._count == self._dies_after:
            print("relay: out of fuel", flush=True)
            sys.exit(3)
        if self._silent_after and self._count > self._silent_after:
            return
        self._sum = self._sum * 0.75 + message.data
        self._publisher.publish(Float64(data=self._sum))


if __name__ == "__main__":
    run_by_turns(Relay)
