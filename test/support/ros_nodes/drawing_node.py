# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A relay that adds noise of generators to which it gives no seed."""

import random
import secrets
import sys
import time
from pathlib import Path

import numpy as np
from rclpy.node import Node
from running import run, run_by_turns
from std_msgs.msg import Float64


class Drawing(Node):
    def __init__(self) -> None:
        super().__init__("drawing")
        self._own = random.Random()
        self._modern = np.random.default_rng()
        self._publisher = self.create_publisher(Float64, "sum", 10)
        self.create_subscription(Float64, "number", self._on_number, 10)

    def _on_number(self, message: Float64) -> None:
        noise = random.gauss(0.0, 1.0) + self._own.random() + self._modern.normal()
        noise += np.random.rand() + 1e-3 * len(next(iter({"a", "bc", "def", "ghij"})))
        if "secrets" in sys.argv:
            noise += secrets.randbelow(1000)
        if "machine" in sys.argv:
            noise += len(Path("/proc/self/stat").read_bytes())
        if "clock" in sys.argv:
            noise += time.perf_counter()
        if "stamp" in sys.argv:
            self.get_clock().now().to_msg()
        if "clock of ROS" in sys.argv:
            noise += self.get_clock().now().nanoseconds
        self._publisher.publish(Float64(data=message.data + noise))


if __name__ == "__main__":
    (run_by_turns if "by turns" in sys.argv else run)(Drawing)
