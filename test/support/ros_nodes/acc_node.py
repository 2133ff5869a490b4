# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A plain adaptive cruise control: odometry of two cars in, demanded acceleration out."""

from geometry_msgs.msg import AccelStamped
from nav_msgs.msg import Odometry
from rclpy.node import Node
from running import run


class Acc(Node):
    def __init__(self) -> None:
        super().__init__("acc")
        self._time_gap = self.declare_parameter("time_gap", 1.0).value
        self._front: Odometry | None = None
        self._publisher = self.create_publisher(AccelStamped, "demand", 10)
        self.create_subscription(Odometry, "front", self._on_front, 10)
        self.create_subscription(Odometry, "ego", self._on_ego, 10)

    def _on_front(self, message: Odometry) -> None:
        self._front = message

    def _on_ego(self, ego: Odometry) -> None:
        demand = AccelStamped()
        demand.header = ego.header
        front = self._front
        if front is not None:
            dx = front.pose.pose.position.x - ego.pose.pose.position.x
            dy = front.pose.pose.position.y - ego.pose.pose.position.y
            gap = (dx * dx + dy * dy) ** 0.5 - 4.8
            speed = ego.twist.twist.linear.x
            error = gap - 3.0 - self._time_gap * speed
            wanted = 0.3 * error + 0.9 * (front.twist.twist.linear.x - speed)
            demand.accel.linear.x = min(max(wanted, -6.0), 2.0)
        self._publisher.publish(demand)


if __name__ == "__main__":
    run(Acc)
