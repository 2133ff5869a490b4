# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The action ``SimulateSteps`` of ``simulation_interfaces``: steps one by one, with feedback.

Each step is a request to the run's own control, which answers when every participant has
completed everything before the new time; only then comes the feedback, and the next step. A
cancelled goal ends at the next whole step, for a grant cannot be taken back.
"""

from __future__ import annotations

from typing import Any

from rclpy.action import CancelResponse, GoalResponse
from rclpy.node import Node
from rclpy.task import Future

from ros2_cosim.core.messages.namespaces import inside
from ros2_cosim.core.realtime.run_control import Answer, Command, Request, RunControl
from ros2_cosim.ros.node.deferred_service import Ask
from ros2_cosim.ros.node.lasting_node import LastingNode


class SimulateSteps:
    """Offers the action; one goal at a time.

    :param node: the ROS node that owns the clock
    :param name: of the action, as in a run without a namespace
    :param kind: its type
    :param ask: hands a request on to the run
    :param control: the run's control: another request ends the goal
    :param result: the type of results
    """

    def __init__(
        self,
        node: Node,
        name: str,
        kind: Any,
        ask: Ask,
        control: RunControl,
        result: Any,
    ) -> None:
        self._node = node
        self._kind = kind
        self._ask = ask
        self._control = control
        self._result = result
        #: The requests to the run so far, when the goal asked for its last step.
        self._orders = 0
        #: Whether a goal goes on.
        self.busy = False
        assert isinstance(node, LastingNode)
        node.create_action_server(
            kind,
            inside(node, name),
            execute=self._execute,
            accept=self._accept,
            cancel=lambda goal: CancelResponse.ACCEPT,
        )

    @property
    def steps(self) -> bool:
        """Whether a goal goes on, and no other request has changed how the run goes on."""
        return self.busy and self._orders == self._control.orders

    def _accept(self, goal: Any) -> Any:
        """A second goal would overtake the steps of the first one."""
        if self.busy:
            return GoalResponse.REJECT
        self.busy, self._orders = True, self._control.orders
        return GoalResponse.ACCEPT

    async def _execute(self, goal: Any) -> Any:
        try:
            return await self._run(goal, int(goal.request.steps))
        finally:
            self.busy = False

    async def _run(self, goal: Any, steps: int) -> Any:
        for completed in range(steps):
            if goal.is_cancel_requested:
                goal.canceled()
                return self._end(f"cancelled after {completed} of {steps} steps")
            overtaken = Answer(False, "overtaken by another request")
            answer = await self._step() if self.steps else overtaken
            if not answer.success:
                goal.abort()
                return self._end(f"{answer.message} (after {completed} of {steps} steps)")
            goal.publish_feedback(
                self._kind.Feedback(
                    completed_steps=completed + 1, remaining_steps=steps - completed - 1
                )
            )
        goal.succeed()
        return self._end("")

    def _step(self) -> Future:
        """One step of the clock; done when the run stands again."""
        future = Future(executor=self._node.executor)
        # An executor that sleeps does not notice that a future is done; a callback of it wakes it.
        future.add_done_callback(lambda done: None)
        self._ask(Request(Command.STEP, 1), future.set_result)
        self._orders = self._control.orders
        return future

    def _end(self, message: str) -> Any:
        found = self._kind.Result()
        kinds = self._result
        found.result.result = kinds.RESULT_OPERATION_FAILED if message else kinds.RESULT_OK
        found.result.error_message = message
        return found
