# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Counts transforms as tf2's listener reads them: on ``/tf``, whatever namespace the node is in."""

from rclpy.node import Node
from rclpy.qos import QoSProfile
from running import run
from std_msgs.msg import Float64
from tf2_msgs.msg import TFMessage


class Transforms(Node):
    def __init__(self) -> None:
        super().__init__("transforms")
        self._seen = 0.0
        self._sum = self.create_publisher(Float64, "sum", 10)
        self.create_subscription(TFMessage, "/tf", self._count, QoSProfile(depth=100))

    def _count(self, message: TFMessage) -> None:
        self._seen += len(message.transforms)
        self._sum.publish(Float64(data=self._seen))


if __name__ == "__main__":
    run(Transforms)
