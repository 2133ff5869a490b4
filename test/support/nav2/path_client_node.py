# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A client of ``follow_path``: a path to its end, then one that it gives up, then it ends."""

import rclpy
from action_msgs.msg import GoalStatus
from geometry_msgs.msg import PoseStamped
from nav2_msgs.action import FollowPath
from rclpy.action import ActionClient
from rclpy.executors import ExternalShutdownException
from rclpy.node import Node
from std_msgs.msg import String


class PathClient(Node):
    def __init__(self) -> None:
        super().__init__("path_client")
        self._told = self.create_publisher(String, "told", 10)
        self._action = ActionClient(self, FollowPath, "follow_path")
        self._action.wait_for_server()
        self._goal = None
        self._last = False
        self._send(10.0, 0.5)

    def _tell(self, text: str) -> None:
        now = self.get_clock().now().nanoseconds // 1_000_000
        self._told.publish(String(data=f"{now} ms: {text}"))

    def _send(self, along: float, across: float) -> None:
        """Ask for a path from where the odometry began, that comes to lie to the side."""
        goal = FollowPath.Goal()
        goal.path.header.frame_id = "odom"
        for step in range(round(2 * along) + 1):
            pose = PoseStamped()
            pose.header.frame_id = "odom"
            pose.pose.position.x = 0.5 * step
            share = pose.pose.position.x / along
            pose.pose.position.y = across * share * share * (3.0 - 2.0 * share)
            pose.pose.orientation.w = 1.0
            goal.path.poses.append(pose)
        answer = self._action.send_goal_async(goal, feedback_callback=self._on_feedback)
        answer.add_done_callback(self._on_answer)

    def _on_feedback(self, message) -> None:
        rest = message.feedback.distance_to_goal
        if self._last and rest < 14.0 and self._goal is not None:
            self._goal.cancel_goal_async()
            self._goal = None

    def _on_answer(self, future) -> None:
        self._goal = future.result()
        self._tell("accepted" if self._goal.accepted else "refused")
        if self._goal.accepted:
            self._goal.get_result_async().add_done_callback(self._on_result)

    def _on_result(self, future) -> None:
        names = {GoalStatus.STATUS_SUCCEEDED: "succeeded", GoalStatus.STATUS_CANCELED: "cancelled"}
        self._tell(names.get(future.result().status, "failed"))
        if self._last:
            rclpy.shutdown()
            return
        self._last = True
        self._send(25.0, 1.5)


if __name__ == "__main__":
    try:
        rclpy.init()
        rclpy.spin(PathClient())
    except (KeyboardInterrupt, ExternalShutdownException):
        pass
    finally:
        rclpy.try_shutdown()
