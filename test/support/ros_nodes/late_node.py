# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Subscribes at its third turn only, as one that joins late, and tells what it has got by then."""

from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile
from running import run
from std_msgs.msg import Float64, Float64MultiArray

LAST = 2


class Late(Node):
    def __init__(self) -> None:
        super().__init__("late")
        kind = self.declare_parameter("kind", "latched").value
        durability = DurabilityPolicy.TRANSIENT_LOCAL if kind == "latched" else None
        self._qos = QoSProfile(depth=LAST, durability=durability or DurabilityPolicy.VOLATILE)
        self._turns, self._got = 0, []
        self._told = self.create_publisher(Float64MultiArray, "told", 10)
        self.create_timer(0.05, self._turn)

    def _turn(self) -> None:
        self._turns += 1
        if self._turns == 3:
            self.create_subscription(Float64, "number", self._on_number, self._qos)
        self._told.publish(Float64MultiArray(data=self._got))
        self._got = []

    def _on_number(self, message: Float64) -> None:
        self._got.append(message.data)


if __name__ == "__main__":
    run(Late)
