# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A relay whose topics may have other types and quality of service than others expect."""

from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from running import run
from std_msgs.msg import Float64, String


class Unfit(Node):
    def __init__(self) -> None:
        super().__init__("unfit")
        kind = self.declare_parameter("kind", "").value
        self._sum = 0.0
        qos = QoSProfile(depth=10)
        if kind == "best_effort":
            qos.reliability = ReliabilityPolicy.BEST_EFFORT
        self._publisher = self.create_publisher(String if kind == "says" else Float64, "sum", qos)
        latched = QoSProfile(depth=10, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        self.create_subscription(
            String if kind == "reads" else Float64, "number", self._on_number, latched
        )

    def _on_number(self, message: Float64) -> None:
        self._sum = self._sum * 0.75 + message.data
        self._publisher.publish(Float64(data=self._sum))


if __name__ == "__main__":
    run(Unfit)
