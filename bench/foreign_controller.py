# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""An ordinary controller: two subscriptions, a timer of 20 Hz, one publisher.

It does not depend on this project. ``foreign_node.py`` measures it.
"""

import rclpy
from geometry_msgs.msg import AccelStamped
from nav_msgs.msg import Odometry
from rclpy.executors import ExternalShutdownException
from rclpy.node import Node


class Controller(Node):
    """Follows the vehicle ahead."""

    def __init__(self):
        super().__init__("controller")
        self.front = self.ego = None
        self.publisher = self.create_publisher(AccelStamped, "demand", 10)
        self.create_subscription(Odometry, "front", self.on_front, 10)
        self.create_subscription(Odometry, "ego", self.on_ego, 10)
        self.timer = self.create_timer(0.05, self.on_timer)

    def on_front(self, message):
        self.front = message

    def on_ego(self, message):
        self.ego = message

    def on_timer(self):
        demand = AccelStamped()
        if self.front is not None and self.ego is not None:
            demand.header = self.ego.header
            gap = self.front.pose.pose.position.x - self.ego.pose.pose.position.x
            closing = self.front.twist.twist.linear.x - self.ego.twist.twist.linear.x
            demand.accel.linear.x = 0.3 * gap + 0.9 * closing
        self.publisher.publish(demand)


if __name__ == "__main__":
    rclpy.init()
    try:
        rclpy.spin(Controller())
    except (KeyboardInterrupt, ExternalShutdownException):
        pass
