# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A component of rclcpp as a foreign node: it is loaded into a container.

The container is started for it alone, or runs already and may have other components, too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from math import inf
from typing import Any

import rclpy
from rclpy.node import Node
from rclpy.parameter import Parameter

from ros2_cosim.core.kernel.errors import ParticipantError
from ros2_cosim.core.messages.foreign import ForeignSettings
from ros2_cosim.ros.foreign.foreign_patience import Patience
from ros2_cosim.ros.foreign.foreign_process import container_name, node_parameters
from ros2_cosim.ros.node.answers import answer_of

Wait = Callable[[Callable[[], bool], float], None]
#: Longest wait for a container to unload a component [s]; after it, the next run unloads.
_UNLOAD_S = 2.0


class LoadedComponent:
    """A component and the services of its container.

    :param node: of this side
    :param remappings: of the component's names, as those with which the container was started
    :param wait: handles messages until a condition holds or a number of seconds is over
    """

    def __init__(
        self,
        node: Node,
        settings: ForeignSettings,
        remappings: Mapping[str, str],
        patience: Patience,
        wait: Wait,
    ) -> None:
        self._node, self._settings = node, settings
        self._rules = {**settings.remap, **remappings}
        self._patience, self._wait = patience, wait
        self._runs_already = isinstance(settings.attach, str)
        container = settings.attach if self._runs_already else container_name(self._rules)
        self._place = f"{container}/_container"
        #: Unloads; it is there from the start, for at the end there is no time to find one.
        self._unloading: Any = None
        #: The container's number of it; None: it is not loaded.
        self._number: int | None = None

    def load(self) -> None:
        """Load it, and return when it is there; one of its name goes first.

        Where a run could not end in order, that one is left of it.

        :raises ParticipantError: the container does not appear, or cannot load it
        """
        # Not where this module is loaded: an environment of wheels has no containers.
        from composition_interfaces.srv import ListNodes, LoadNode, UnloadNode

        settings, patience, rules = self._settings, self._patience, dict(self._rules)
        if self._runs_already:
            self._unloading = self._node.create_client(UnloadNode, f"{self._place}/unload_node")
        # The container learns of its clients in this order: when it has answered the last one, it
        # can answer the others, too. Asked twice, it would load two.
        load = self._node.create_client(LoadNode, f"{self._place}/load_node")
        nodes = self._node.create_client(ListNodes, f"{self._place}/list_nodes")
        name, space = rules.pop("__node", ""), rules.pop("__ns", "")
        request = LoadNode.Request(
            package_name=settings.package,
            plugin_name=settings.executable,
            node_name=name,
            node_namespace=space,
            remap_rules=[f"{name}:={target}" for name, target in rules.items()],
            parameters=_parameters(node_parameters(settings)),
            extra_arguments=_parameters(settings.extra_arguments),
        )
        patience.begin(lambda: f"an answer of the container at {self._place}/list_nodes")
        listed = answer_of(nodes, ListNodes.Request(), self._wait)
        full_name = f"{space.rstrip('/')}/{name}"
        for number, there in zip(listed.unique_ids, listed.full_node_names, strict=True):
            if there == full_name and self._runs_already:
                self._unload(number, inf)
        patience.begin(lambda: f"the container, which loads {settings.executable}")
        future: Any = load.call_async(request)
        self._wait(future.done, inf)
        for client in (load, nodes):
            self._node.destroy_client(client)
        answer = future.result()
        if not answer.success:
            patience.fail(
                f"the container cannot load {settings.executable}: {answer.error_message}"
            )
        self._number = answer.unique_id

    def unload(self) -> None:
        """Unload the component from a container that goes on, if it answers in time."""
        number, self._number = self._number, None
        if number is not None and self._runs_already and rclpy.ok():
            # The run ends already, whatever is the cause.
            with suppress(ParticipantError, KeyboardInterrupt):
                self._patience.begin(lambda: f"the container, which unloads {number}")
                self._unload(number, _UNLOAD_S)

    def _unload(self, number: int, seconds: float) -> None:
        from composition_interfaces.srv import UnloadNode

        future = self._unloading.call_async(UnloadNode.Request(unique_id=number))
        self._wait(future.done, seconds)


def _parameters(values: Mapping[str, Any]) -> list[Any]:
    return [Parameter(name, value=value).to_parameter_msg() for name, value in values.items()]
