# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A plain ROS node with two inputs: its state depends on the order in which they arrive."""

from rclpy.node import Node
from running import run_by_turns
from std_msgs.msg import Float64


class Fold(Node):
    def __init__(self) -> None:
        super().__init__("fold")
        self._state = 1.0
        self._publisher = self.create_publisher(Float64, "state", 10)
        self.create_subscription(Float64, "add", self._on_add, 10)
        self.create_subscription(Float64, "take", self._on_take, 10)

    def _on_add(self, message: Float64) -> None:
        self._state = self._state * 0.75 + message.data
        self._publisher.publish(Float64(data=self._state))

    def _on_take(self, message: Float64) -> None:
        self._state = self._state * 0.5 - message.data
        self._publisher.publish(Float64(data=self._state))


if __name__ == "__main__":
    run_by_turns(Fold)
