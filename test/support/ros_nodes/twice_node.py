# SPDX-License-Identifier: Apache-2.0
"""A node that publishes each answer with one of two publishers, as two programs would."""

from rclpy.node import Node
from running import run_by_turns
from std_msgs.msg import Float64


class Twice(Node):
    def __init__(self) -> None:
        super().__init__("relay")
        self._publishers = [self.create_publisher(Float64, "sum", 10) for _ in range(2)]
        self._count = 0
        self.create_subscription(Float64, "number", self._on_number, 10)

    def _on_number(self, message: Float64) -> None:
        self._publishers[self._count % 2].publish(message)
        self._count += 1


if __name__ == "__main__":
    run_by_turns(Twice)
