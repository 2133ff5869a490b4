# SPDX-License-Identifier: Apache-2.0
"""A component of rclcpp as a foreign node: it is loaded into a separate container."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import inf
from typing import Any

from rclpy.node import Node
from rclpy.parameter import Parameter

from ros2_cosim.core.messages.foreign import ForeignSettings
from ros2_cosim.ros.foreign.foreign_patience import Patience
from ros2_cosim.ros.foreign.foreign_process import container_name, node_parameters
from ros2_cosim.ros.node.answers import answer_of

Wait = Callable[[Callable[[], bool], float], None]


def load_component(
    node: Node,
    settings: ForeignSettings,
    remappings: Mapping[str, str],
    patience: Patience,
    wait: Wait,
) -> None:
    """Load a component into its container, which has been started; return when it is loaded.

    :param node: of this side
    :param remappings: of the component's names, as those with which the container was started
    :param wait: handles messages until a condition holds or a number of seconds is over
    :raises ParticipantError: the container does not appear, or cannot load it
    """
    # Not where this module is loaded: an environment of wheels has no containers.
    from composition_interfaces.srv import ListNodes, LoadNode

    rules = {**settings.remap, **remappings}
    # The container learns of its clients in this order: when it has answered the second one, it
    # can answer the first one, too. Asked twice, it would load two.
    place = f"{container_name(rules)}/_container"
    load = node.create_client(LoadNode, f"{place}/load_node")
    nodes = node.create_client(ListNodes, f"{place}/list_nodes")
    request = LoadNode.Request(
        package_name=settings.package,
        plugin_name=settings.executable,
        node_name=rules.pop("__node", ""),
        node_namespace=rules.pop("__ns", ""),
        remap_rules=[f"{name}:={target}" for name, target in rules.items()],
        parameters=[
            Parameter(name, value=value).to_parameter_msg()
            for name, value in node_parameters(settings).items()
        ],
    )
    patience.begin(lambda: f"an answer of the container at {place}/list_nodes")
    answer_of(nodes, ListNodes.Request(), wait)
    patience.begin(lambda: f"the container, which loads {settings.executable}")
    future: Any = load.call_async(request)
    wait(future.done, inf)
    for client in (load, nodes):
        node.destroy_client(client)
    if not future.result().success:
        patience.fail(
            f"the container cannot load {settings.executable}: {future.result().error_message}"
        )
