# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Two nodes in one executor, as in ROS's example ``composed``: one hears what the other sends."""

import rclpy
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.node import Node
from std_msgs.msg import Float64


class Front(Node):
    def __init__(self) -> None:
        super().__init__("front")
        self._publisher = self.create_publisher(Float64, "passed", 10)
        self.create_subscription(Float64, "number", self._publisher.publish, 10)


class Back(Node):
    def __init__(self) -> None:
        super().__init__("back")
        self._sum = 0.0
        self._publisher = self.create_publisher(Float64, "sum", 10)
        self.create_subscription(Float64, "passed", self._on_passed, 10)

    def _on_passed(self, message: Float64) -> None:
        self._sum = self._sum * 0.75 + message.data
        self._publisher.publish(Float64(data=self._sum))


if __name__ == "__main__":
    try:
        rclpy.init()
        executor = SingleThreadedExecutor()
        for node in (Back(), Front()):
            executor.add_node(node)
        executor.spin()
    except (KeyboardInterrupt, ExternalShutdownException):
        pass
    finally:
        rclpy.try_shutdown()
