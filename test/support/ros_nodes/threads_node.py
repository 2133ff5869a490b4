# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A plain ROS node whose callbacks run in several threads, and take different times."""

import random
import sys
import time

from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.executors import MultiThreadedExecutor
from rclpy.node import Node
from running import run
from std_msgs.msg import Float64


class Relay(Node):
    def __init__(self) -> None:
        super().__init__("relay", start_parameter_services="silent" not in sys.argv)
        self._slowest = self.declare_parameter("slowest", 0.0).value
        self._sum = 0.0
        self._publisher = self.create_publisher(Float64, "sum", 10)
        group = ReentrantCallbackGroup()
        self.create_subscription(Float64, "number", self._on_number, 10, callback_group=group)

    def _on_number(self, message: Float64) -> None:
        before = self._sum
        time.sleep(random.uniform(0.0, self._slowest))
        self._sum = before * 0.75 + message.data
        self._publisher.publish(Float64(data=self._sum))


if __name__ == "__main__":
    run(Relay, lambda: MultiThreadedExecutor(4))
