# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A controller server with the interfaces of Nav2's: the action ``follow_path``.

It reads ``odom`` and ``/tf``, and writes ``cmd_vel``. The controller is a pure pursuit of the path.
"""

import math

import rclpy
from geometry_msgs.msg import TwistStamped
from nav2_msgs.action import FollowPath
from nav_msgs.msg import Odometry
from rclpy.action import ActionServer, CancelResponse, GoalResponse
from rclpy.executors import ExternalShutdownException
from rclpy.node import Node
from rclpy.task import Future
from tf2_msgs.msg import TFMessage


class ControllerServer(Node):
    def __init__(self) -> None:
        super().__init__("controller_server")
        given = {
            "controller_frequency": 20.0,
            "desired_linear_vel": 5.0,
            "max_linear_accel": 2.0,
            "lookahead_dist": 4.0,
            "xy_goal_tolerance": 0.5,
        }
        for name, value in given.items():
            setattr(self, name, self.declare_parameter(name, value).value)
        self._turns: list[Future] = []
        self._pose = None
        self._speed = 0.0
        self._commands = self.create_publisher(TwistStamped, "cmd_vel", 10)
        self.create_subscription(Odometry, "odom", self._on_odometry, 10)
        self.create_subscription(TFMessage, "/tf", self._on_frames, 100)
        self.create_timer(1.0 / self.controller_frequency, self._on_timer)
        self._server = ActionServer(
            self,
            FollowPath,
            "follow_path",
            self._follow,
            goal_callback=self._on_goal,
            cancel_callback=lambda goal: CancelResponse.ACCEPT,
        )

    def _on_goal(self, goal: FollowPath.Goal) -> GoalResponse:
        has_path = self._pose is not None and goal.path.poses
        return GoalResponse.ACCEPT if has_path else GoalResponse.REJECT

    def _on_odometry(self, odometry: Odometry) -> None:
        self._speed = odometry.twist.twist.linear.x

    def _on_frames(self, frames: TFMessage) -> None:
        for frame in frames.transforms:
            if (frame.header.frame_id, frame.child_frame_id) == ("odom", "base_link"):
                place, turn = frame.transform.translation, frame.transform.rotation
                self._pose = place.x, place.y, 2.0 * math.atan2(turn.z, turn.w)

    def _on_timer(self) -> None:
        turns, self._turns = self._turns, []
        for turn in turns:
            turn.set_result(None)

    async def _follow(self, goal) -> FollowPath.Result:
        places = [(p.pose.position.x, p.pose.position.y) for p in goal.request.path.poses]
        while True:
            turn = Future()
            self._turns.append(turn)
            await turn
            if goal.is_cancel_requested:
                self._command(0.0, 0.0)
                goal.canceled()
                return FollowPath.Result()
            rest = math.dist(self._pose[:2], places[-1])
            if rest < self.xy_goal_tolerance:
                self._command(0.0, 0.0)
                goal.succeed()
                return FollowPath.Result()
            self._pursue(places, rest)
            goal.publish_feedback(FollowPath.Feedback(distance_to_goal=rest, speed=self._speed))

    def _pursue(self, places, rest: float) -> None:
        x, y, yaw = self._pose
        nearest = min(range(len(places)), key=lambda i: math.dist((x, y), places[i]))
        ahead = (p for p in places[nearest:] if math.dist((x, y), p) >= self.lookahead_dist)
        to_x, to_y = next(ahead, places[-1])
        across = math.cos(yaw) * (to_y - y) - math.sin(yaw) * (to_x - x)
        curvature = 2.0 * across / max(math.dist((x, y), (to_x, to_y)), 0.1) ** 2
        speed = min(self.desired_linear_vel, math.sqrt(2.0 * self.max_linear_accel * rest))
        self._command(speed, speed * curvature)

    def _command(self, speed: float, rate: float) -> None:
        command = TwistStamped()
        command.header.stamp = self.get_clock().now().to_msg()
        command.header.frame_id = "base_link"
        command.twist.linear.x, command.twist.angular.z = speed, rate
        self._commands.publish(command)


if __name__ == "__main__":
    try:
        rclpy.init()
        rclpy.spin(ControllerServer())
    except (KeyboardInterrupt, ExternalShutdownException):
        pass
    finally:
        rclpy.try_shutdown()
