# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A plain action server: a step of each goal at each turn of its timer, until it is cancelled."""

from rclpy.action import ActionServer, CancelResponse, GoalResponse
from rclpy.node import Node
from rclpy.task import Future
from running import run
from std_srvs.srv import SetBool
from tf2_msgs.action import LookupTransform


class Fibonacci(Node):
    def __init__(self) -> None:
        super().__init__("fibonacci")
        self._turns: list[Future] = []
        self._asked = 0
        self._server = ActionServer(
            self,
            LookupTransform,
            "fibonacci",
            self._compute,
            goal_callback=self._on_goal,
            cancel_callback=lambda goal: CancelResponse.ACCEPT,
        )
        self.create_service(SetBool, "count", self._on_count)
        self.create_timer(0.05, self._on_timer)

    def _on_goal(self, goal: LookupTransform.Goal) -> GoalResponse:
        return GoalResponse.ACCEPT if goal.source_time.sec > 0 else GoalResponse.REJECT

    def _on_count(self, request: SetBool.Request, answer: SetBool.Response) -> SetBool.Response:
        self._asked += 1
        answer.success, answer.message = request.data, f"asked {self._asked} times"
        return answer

    def _on_timer(self) -> None:
        turns, self._turns = self._turns, []
        for turn in turns:
            turn.set_result(None)

    async def _compute(self, goal) -> LookupTransform.Result:
        before, last = 0, 1
        result = LookupTransform.Result()
        for _ in range(goal.request.source_time.sec):
            turn = Future()
            self._turns.append(turn)
            await turn
            if goal.is_cancel_requested:
                goal.canceled()
                result.error.error_string = f"cancelled at {last}"
                return result
            before, last = last, before + last
            goal.publish_feedback(LookupTransform.Feedback())
        goal.succeed()
        result.transform.transform.translation.x = float(last)
        return result


if __name__ == "__main__":
    run(Fibonacci)
