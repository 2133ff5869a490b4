# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The vehicle as an ordinary ROS node with a timer."""

import rclpy
from nav_msgs.msg import Odometry
from rclpy.executors import ExternalShutdownException
from rclpy.node import Node
from ros2_cosim.msg import ControlCommand
from vehicle import Vehicle

DT = 0.01


class Car(Node):
    """Steps and publishes at each call of its timer."""

    def __init__(self):
        super().__init__("car")
        self.vehicle, self.command = Vehicle(), None
        self.publisher = self.create_publisher(Odometry, "odometry", 10)
        self.create_subscription(ControlCommand, "control", self.on_control, 10)
        self.create_timer(DT, self.on_timer)

    def on_control(self, command):
        self.command = command

    def on_timer(self):
        v, c = self.vehicle, self.command
        if c is not None:
            v.step(DT, c.throttle, c.brake, 0.5 * c.steer)
        message = Odometry(child_frame_id="base_link")
        message.header.frame_id = "map"
        message.header.stamp = self.get_clock().now().to_msg()
        pose, twist = message.pose.pose, message.twist.twist
        pose.position.x, pose.position.y = v.x, v.y
        pose.orientation.z, pose.orientation.w = v.orientation
        twist.linear.x, twist.angular.z = v.speed, v.yaw_rate
        self.publisher.publish(message)


rclpy.init()
try:
    rclpy.spin(Car())
except (KeyboardInterrupt, ExternalShutdownException):
    pass
