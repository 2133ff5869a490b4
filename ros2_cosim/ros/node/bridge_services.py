# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The services of CARLA's ROS bridge: to spawn and to destroy objects, and what can be spawned.

They are offered in a run with the topics of the bridge, where ``carla_msgs`` is installed.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

from rclpy.node import Node

from ros2_cosim.driving.ros_bridge.ros_bridge_objects import BridgeObjects
from ros2_cosim.ros.node.deferred_service import deferred_service

_PACKAGE = "carla_msgs"
Send = Callable[[], None]


class BridgeServices:
    """Answers programs that want to spawn what the scenario has.

    :param node: the ROS node that owns the clock
    :param objects: the objects of the scenario
    """

    def __init__(self, node: Node, objects: BridgeObjects) -> None:
        from carla_msgs import srv

        self._node = node
        self._objects = objects
        for kind, name, handle in (
            (srv.SpawnObject, "spawn_object", self._spawn),
            (srv.DestroyObject, "destroy_object", self._destroy),
            (srv.GetBlueprints, "get_blueprints", self._blueprints),
        ):
            deferred_service(node, kind, f"/carla/{name}", handle)

    @staticmethod
    def offer(node: Node, objects: BridgeObjects | None) -> BridgeServices | None:
        """Offer the services if the run has topics of the bridge, and the package is installed."""
        if objects is None or find_spec(_PACKAGE) is None:
            return None
        return BridgeServices(node, objects)

    def _spawn(self, asked: Any, response: Any, send: Send) -> None:
        response.id, response.error_string = self._objects.spawn(
            asked.type, asked.id, asked.attach_to
        )
        send()

    def _destroy(self, asked: Any, response: Any, send: Send) -> None:
        response.success = False
        self._node.get_logger().warning(
            f"/carla/destroy_object: found {asked.id}; no object can be "
            "destroyed while a run goes on, its vehicles and sensors are those of the scenario"
        )
        send()

    def _blueprints(self, asked: Any, response: Any, send: Send) -> None:
        response.blueprints = self._objects.blueprints(asked.filter)
        send()
