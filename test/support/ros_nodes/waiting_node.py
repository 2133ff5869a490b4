# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A plain ROS node of one thread whose callback waits for something of its own."""

from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.node import Node
from rclpy.task import Future
from running import run
from std_msgs.msg import Float64


class Relay(Node):
    def __init__(self) -> None:
        super().__init__("relay")
        self._publisher = self.create_publisher(Float64, "sum", 10)
        self._waiting: list[Future] = []
        group = ReentrantCallbackGroup()
        self.create_subscription(Float64, "number", self._on_number, 10, callback_group=group)
        self.create_timer(0.03, self._on_timer, callback_group=group)

    async def _on_number(self, message: Float64) -> None:
        ready = Future()
        self._waiting.append(ready)
        await ready
        self._publisher.publish(message)

    def _on_timer(self) -> None:
        while self._waiting:
            self._waiting.pop().set_result(None)


if __name__ == "__main__":
    run(Relay)
