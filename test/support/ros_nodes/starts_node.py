# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A relay that may know, by a file, how often it has been started."""

from pathlib import Path

from rclpy.node import Node
from running import run
from std_msgs.msg import Float64


class Starts(Node):
    def __init__(self) -> None:
        super().__init__("starts")
        self._sum = 0.0
        name = self.declare_parameter("starts", "").value
        if name:
            path = Path(name)
            self._sum = float(path.read_text()) if path.exists() else 0.0
            path.write_text(str(self._sum + 1.0))
        self._publisher = self.create_publisher(Float64, "sum", 10)
        self.create_subscription(Float64, "number", self._on_number, 10)

    def _on_number(self, message: Float64) -> None:
        self._sum = self._sum * 0.75 + message.data
        self._publisher.publish(Float64(data=self._sum))


if __name__ == "__main__":
    run(Starts)
