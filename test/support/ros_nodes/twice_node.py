# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A node that makes another publisher for its later answers, as another program would."""

import time

from rclpy.node import Node
from running import run_by_turns
from std_msgs.msg import Float64


class Twice(Node):
    def __init__(self) -> None:
        super().__init__("relay")
        self._publisher = self.create_publisher(Float64, "sum", 10)
        self._count = 0
        self.create_subscription(Float64, "number", self._on_number, 10)

    def _on_number(self, message: Float64) -> None:
        self._count += 1
        if self._count == 4:
            self._other = self.create_publisher(Float64, "sum", 10)
            while not self._other.get_subscription_count():
                time.sleep(0.01)
        (self._publisher if self._count < 4 else self._other).publish(message)


if __name__ == "__main__":
    run_by_turns(Twice)
