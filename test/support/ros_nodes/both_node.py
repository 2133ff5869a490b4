# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Reads and writes one topic, as a listener and broadcaster of ``/tf`` does: it hears itself."""

from rclpy.node import Node
from running import run
from std_msgs.msg import Float64


class Both(Node):
    def __init__(self) -> None:
        super().__init__("both")
        self._sum = 0.0
        self._publisher = self.create_publisher(Float64, "number", 10)
        self.create_subscription(Float64, "number", self._on_number, 10)

    def _on_number(self, message: Float64) -> None:
        if message.data < 0.0:  # its own
            self._sum += message.data * 0.125
            return
        self._sum = self._sum * 0.75 + message.data
        self._publisher.publish(Float64(data=-self._sum))


if __name__ == "__main__":
    run(Both)
