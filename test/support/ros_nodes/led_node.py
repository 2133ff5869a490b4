# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A relay that spins as most nodes do, and does what makes it hard to lead."""

import sys
import traceback
from pathlib import Path

import rclpy
from rclpy.executors import ExternalShutdownException
from rclpy.node import Node
from std_msgs.msg import Float64
from std_srvs.srv import Empty


class Relay(Node):
    def __init__(self, does: str, ways: Path) -> None:
        super().__init__("relay")
        self._does = does
        self._ways = ways
        self._sum = 0.0
        self._count = 0
        self._publisher = self.create_publisher(Float64, "sum", 10)
        receive = self._on_informed if does == "information" else self._on_number
        if does == "coroutine":
            receive = self._on_number_later
        self._reader = self.create_subscription(Float64, "number", receive, 10)
        if does == "wall timer":
            self.create_timer(1000.0, lambda: None)

    def _on_informed(self, message: Float64, information: dict) -> None:
        assert information["source_timestamp"] > 0
        self._on_number(message)

    async def _on_number_later(self, message: Float64) -> None:
        self._on_number(message)

    def _on_number(self, message: Float64) -> None:
        led = any(frame.name == "_go_on" for frame in traceback.extract_stack())
        with self._ways.open("a") as file:
            file.write("led\n" if led else "not led\n")
        self._count += 1
        self._sum = self._sum * 0.75 + message.data
        total = Float64(data=self._sum)
        if self._does == "task":
            self.executor.create_task(self._publisher.publish, total)
            return
        self._publisher.publish(total)
        if self._count % 5:
            return
        if self._does == "client":
            self.create_client(Empty, "nobody")
        elif self._does == "error":
            raise ValueError("a fifth number")
        elif self._does == "subscription":
            self.destroy_subscription(self._reader)
            self._reader = self.create_subscription(Float64, "number", self._on_number, 10)


if __name__ == "__main__":
    try:
        rclpy.init()
        node = Relay(sys.argv[1], Path(sys.argv[2]))
        while rclpy.ok():
            try:
                rclpy.spin(node)
            except ValueError as error:
                print(error)
    except (KeyboardInterrupt, ExternalShutdownException):
        pass
