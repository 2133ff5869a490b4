# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A controller of an Ackermann vehicle with the topics of ros2_control's.

It reads ``~/reference`` and ``joint_states``, and writes ``joint_commands``, ``~/odometry`` and
``~/tf_odometry``.
"""

import math

import rclpy
from geometry_msgs.msg import TransformStamped, TwistStamped
from nav_msgs.msg import Odometry
from rclpy.executors import ExternalShutdownException
from rclpy.node import Node
from sensor_msgs.msg import JointState
from tf2_msgs.msg import TFMessage

WHEELS = ["rear_left_wheel_joint", "rear_right_wheel_joint"]
STEERING = ["front_left_steering_joint", "front_right_steering_joint"]


class AckermannController(Node):
    def __init__(self) -> None:
        super().__init__("ackermann_steering_controller")
        given = {"wheelbase": 2.84, "track_width": 1.48, "wheels_radius": 0.34}
        self._base, self._track, self._radius = (
            self.declare_parameter(name, value).value for name, value in given.items()
        )
        self._timeout = self.declare_parameter("reference_timeout", 1.0).value
        self._reference = TwistStamped()
        self._time = None
        self._x = self._y = self._yaw = 0.0
        self._commands = self.create_publisher(JointState, "joint_commands", 10)
        self._odometry = self.create_publisher(Odometry, "~/odometry", 10)
        self._frames = self.create_publisher(TFMessage, "~/tf_odometry", 10)
        self.create_subscription(TwistStamped, "~/reference", self._on_reference, 10)
        self.create_subscription(JointState, "joint_states", self._on_states, 10)

    def _on_reference(self, reference: TwistStamped) -> None:
        self._reference = reference

    def _on_states(self, states: JointState) -> None:
        """One turn: what the joints do is read, what they are to do is written."""
        rates = dict(zip(states.name, states.velocity, strict=True))
        angles = dict(zip(states.name, states.position, strict=True))
        speed = self._radius * sum(rates[name] for name in WHEELS) / len(WHEELS)
        cotangents = [1.0 / math.tan(angles[name]) for name in STEERING if angles[name] != 0.0]
        rate = len(cotangents) * speed / (sum(cotangents) * self._base) if cotangents else 0.0
        now = states.header.stamp.sec + 1e-9 * states.header.stamp.nanosec
        dt = 0.0 if self._time is None else now - self._time
        self._time = now
        self._x += speed * math.cos(self._yaw + 0.5 * rate * dt) * dt
        self._y += speed * math.sin(self._yaw + 0.5 * rate * dt) * dt
        self._yaw += rate * dt
        self._tell(states.header.stamp, speed, rate)
        self._command(now, speed)

    def _command(self, now: float, speed: float) -> None:
        stamp = self._reference.header.stamp
        is_old = now - (stamp.sec + 1e-9 * stamp.nanosec) > self._timeout
        twist = TwistStamped().twist if is_old else self._reference.twist
        wanted, turn = twist.linear.x, twist.angular.z
        curvature = turn / wanted if wanted else 0.0
        sides = [1.0 - curvature * 0.5 * self._track, 1.0 + curvature * 0.5 * self._track]
        # As ros2_control's hardware does by topics: only values of the joints commanded so.
        command = JointState(name=[*WHEELS, *STEERING])
        command.header.stamp.sec, rest = divmod(round(now * 1e9), 1_000_000_000)
        command.header.stamp.nanosec = rest
        command.velocity = [wanted * side / self._radius for side in sides]
        command.position = [math.atan(self._base * curvature / side) for side in sides]
        self._commands.publish(command)

    def _tell(self, stamp, speed: float, rate: float) -> None:
        odometry = Odometry(child_frame_id="base_link")
        odometry.header.stamp, odometry.header.frame_id = stamp, "odom"
        pose = odometry.pose.pose
        pose.position.x, pose.position.y = self._x, self._y
        pose.orientation.z, pose.orientation.w = math.sin(self._yaw / 2), math.cos(self._yaw / 2)
        odometry.twist.twist.linear.x, odometry.twist.twist.angular.z = speed, rate
        self._odometry.publish(odometry)
        frame = TransformStamped(header=odometry.header, child_frame_id="base_link")
        frame.transform.translation.x, frame.transform.translation.y = self._x, self._y
        frame.transform.rotation = pose.orientation
        self._frames.publish(TFMessage(transforms=[frame]))


if __name__ == "__main__":
    try:
        rclpy.init()
        rclpy.spin(AckermannController())
    except (KeyboardInterrupt, ExternalShutdownException):
        pass
    finally:
        rclpy.try_shutdown()
