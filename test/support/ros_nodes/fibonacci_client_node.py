# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A plain client of an action and a service: a goal, one that is refused, one that it cancels."""

import sys

import rclpy
from rclpy.action import ActionClient
from rclpy.executors import ExternalShutdownException
from rclpy.node import Node
from std_msgs.msg import String
from std_srvs.srv import SetBool
from tf2_msgs.action import LookupTransform


class Client(Node):
    def __init__(self) -> None:
        super().__init__("client")
        self._told = self.create_publisher(String, "told", 10)
        self._lines: list[str] = []
        self._goals = [3, 0, 9]
        self._action = ActionClient(self, LookupTransform, "fibonacci")
        self._service = self.create_client(SetBool, "count")
        self._action.wait_for_server()
        self._service.wait_for_service()
        self.create_timer(0.1, self._on_timer)
        self._send()

    def _send(self) -> None:
        goal = LookupTransform.Goal()
        goal.source_time.sec = self._goals.pop(0)
        future = self._action.send_goal_async(goal, feedback_callback=self._on_feedback)
        future.add_done_callback(self._on_answer)

    def _tell(self, text: str) -> None:
        now = self.get_clock().now().nanoseconds // 1_000_000
        self._lines.append(f"{now}: {text}")

    def _on_timer(self) -> None:
        self._told.publish(String(data="; ".join(self._lines)))
        if len(self._lines) > 8 and "quit" in sys.argv:
            rclpy.shutdown()

    def _on_feedback(self, feedback: object) -> None:
        self._tell("feedback")

    def _on_answer(self, future) -> None:
        goal = future.result()
        self._tell("accepted" if goal.accepted else "refused")
        if not goal.accepted:
            self._send()
            return
        goal.get_result_async().add_done_callback(self._on_result)
        if not self._goals:
            self._cancel = self.create_timer(0.12, lambda: self._on_cancel(goal))

    def _on_cancel(self, goal) -> None:
        self._cancel.cancel()
        goal.cancel_goal_async().add_done_callback(
            lambda done: self._tell(f"cancelling {len(done.result().goals_canceling)}")
        )

    def _on_result(self, future) -> None:
        found = future.result()
        value = found.result.transform.transform.translation.x
        self._tell(f"status {found.status}, {value:g} {found.result.error.error_string}")
        asked = self._service.call_async(SetBool.Request(data=bool(self._goals)))
        asked.add_done_callback(lambda done: self._tell(done.result().message))
        if self._goals:
            self._send()


if __name__ == "__main__":
    try:
        rclpy.init()
        rclpy.spin(Client())
    except (KeyboardInterrupt, ExternalShutdownException):
        pass
    finally:
        rclpy.try_shutdown()
