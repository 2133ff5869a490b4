# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A plain lifecycle node: it has its topics from its configuration on, and works while active."""

import time

from rclpy.lifecycle import LifecycleNode, LifecycleState, TransitionCallbackReturn
from running import run
from std_msgs.msg import Float64


class Relay(LifecycleNode):
    def __init__(self) -> None:
        super().__init__("relay")
        self._refuses = self.declare_parameter("refuses", "").value
        self._sum = 0.0

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        if self._refuses == "configure":
            return TransitionCallbackReturn.FAILURE
        self._output = self.create_lifecycle_publisher(Float64, "sum", 10)
        self._input = self.create_subscription(Float64, "number", self._on_number, 10)
        return super().on_configure(state)

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        if self._refuses == "activate":
            time.sleep(3600.0)
        return super().on_activate(state)

    def on_cleanup(self, state: LifecycleState) -> TransitionCallbackReturn:
        self.destroy_publisher(self._output)
        self.destroy_subscription(self._input)
        self._sum = 0.0
        return super().on_cleanup(state)

    def _on_number(self, message: Float64) -> None:
        self._sum = self._sum * 0.75 + message.data
        self._output.publish(Float64(data=self._sum))


if __name__ == "__main__":
    run(Relay)
