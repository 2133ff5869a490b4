# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A node at a CAN bus: answers each frame with its bits turned, under a higher identifier."""

import rclpy
from rclpy.node import Node
from ros2_cosim.msg import CanFrame


class CanEcho(Node):
    def __init__(self) -> None:
        super().__init__("can_echo")
        self._publisher = self.create_publisher(CanFrame, "out", 10)
        self.create_subscription(CanFrame, "heard", self._answer, 10)

    def _answer(self, frame: CanFrame) -> None:
        frame.id += 0x100
        frame.data = [byte ^ 0xFF for byte in frame.data]
        self._publisher.publish(frame)


rclpy.init()
rclpy.spin(CanEcho())
