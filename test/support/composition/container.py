# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A container of components in Python, with the services of that of rclcpp."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import rclpy
from composition_interfaces.srv import ListNodes, LoadNode, UnloadNode
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.node import Node
from rclpy.parameter import Parameter
from std_msgs.msg import Float64


class Relay(Node):
    """A component."""

    def __init__(self, **options: Any) -> None:
        super().__init__("relay", **options)
        self._share = self.declare_parameter("share", 0.5).value
        self._sum = 0.0
        self._publisher = self.create_publisher(Float64, "sum", 10)
        self.create_subscription(Float64, "number", self._on_number, 10)

    def _on_number(self, message: Float64) -> None:
        self._sum = self._sum * self._share + message.data
        self._publisher.publish(Float64(data=self._sum))


class Container(Node):
    """Loads them."""

    def __init__(self, executor: SingleThreadedExecutor) -> None:
        super().__init__("ComponentManager")
        self._executor = executor
        self.loaded: dict[int, Node] = {}
        self._number = 0
        self.create_service(LoadNode, "~/_container/load_node", self._load)
        self.create_service(UnloadNode, "~/_container/unload_node", self._unload)
        self.create_service(ListNodes, "~/_container/list_nodes", self._list)

    def _load(self, request: Any, response: Any) -> Any:
        if request.plugin_name != "parts::Relay":
            response.error_message = f"Failed to find class {request.plugin_name}"
            return response
        rules = [f"__node:={request.node_name}"] if request.node_name else []
        rules += [f"__ns:={request.node_namespace}"] if request.node_namespace else []
        words = [word for rule in (*rules, *request.remap_rules) for word in ("-r", rule)]
        node = Relay(
            cli_args=["--ros-args", *words],
            use_global_arguments=False,
            parameter_overrides=[Parameter.from_parameter_msg(p) for p in request.parameters],
        )
        self._executor.add_node(node)
        self._number += 1
        self.loaded[self._number] = node
        print("loaded", flush=True)
        for extra in map(Parameter.from_parameter_msg, request.extra_arguments):
            print("extra", extra.name, extra.value, flush=True)
        response.success = True
        response.full_node_name = node.get_fully_qualified_name()
        response.unique_id = self._number
        return response

    def _unload(self, request: Any, response: Any) -> Any:
        node = self.loaded.pop(request.unique_id, None)
        if node is not None:
            self._executor.remove_node(node)
            node.destroy_node()
            print("unloaded", flush=True)
        response.success = node is not None
        return response

    def _list(self, request: Any, response: Any) -> Any:
        named = [(n, each.get_fully_qualified_name()) for n, each in self.loaded.items()]
        response.unique_ids = [number for number, _ in named]
        response.full_node_names = [name for _, name in named]
        return response


if __name__ == "__main__":
    rclpy.init()
    runner = SingleThreadedExecutor()
    container = Container(runner)
    runner.add_node(container)
    with suppress(KeyboardInterrupt, ExternalShutdownException):
        runner.spin()
