# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A relay that also publishes on its own account: in a loop around its executor, or by a timer."""

import sys

import rclpy
from rclpy.executors import ExternalShutdownException
from rclpy.node import Node
from running import run
from std_msgs.msg import Float64


class Polling(Node):
    def __init__(self) -> None:
        super().__init__("polling")
        self._sum = 0.0
        self._publisher = self.create_publisher(Float64, "sum", 10)
        self.create_subscription(Float64, "number", self._on_number, 10)
        self.kind = self.declare_parameter("kind", "loop").value
        if self.kind == "timer":
            # As diagnostic_updater does: a period of the wall clock that a short run may not see.
            self.create_timer(self.declare_parameter("period", 1.0).value, self.publish)

    def publish(self) -> None:
        self._publisher.publish(Float64(data=self._sum))

    def _on_number(self, message: Float64) -> None:
        self._sum = self._sum * 0.75 + message.data
        if self.kind != "loop":
            self.publish()


def loop() -> None:
    """As some nodes do instead of a timer: work, publish, work."""
    try:
        rclpy.init()
        node = Polling()
        while rclpy.ok():
            rclpy.spin_once(node, timeout_sec=0.05)
            if node.kind == "loop":
                node.publish()
    except (KeyboardInterrupt, ExternalShutdownException):
        pass
    finally:
        rclpy.try_shutdown()


if __name__ == "__main__":
    loop() if "loop" in sys.argv else run(Polling)
