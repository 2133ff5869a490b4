# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A plain ROS node driven by a timer of its (simulated) clock."""

from geometry_msgs.msg import PointStamped
from rclpy.node import Node
from running import run
from std_msgs.msg import Float64


class Timer(Node):
    def __init__(self) -> None:
        super().__init__("timer")
        self._newest = 0.0
        self._fired = 0
        self._publisher = self.create_publisher(PointStamped, "~/point", 10)
        self.create_subscription(Float64, "number", self._on_number, 10)
        self.create_timer(0.02, self._on_timer)

    def _on_number(self, message: Float64) -> None:
        self._newest = message.data

    def _on_timer(self) -> None:
        self._fired += 1
        point = PointStamped()
        point.header.stamp = self.get_clock().now().to_msg()
        point.header.frame_id = "timer"[: self._fired % 6]
        point.point.x = self._newest
        point.point.y = float(self._fired)
        self._publisher.publish(point)


if __name__ == "__main__":
    run(Timer)
