# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The log of a node, which ``/rosout`` shows in simulated time.

ROS itself stamps ``/rosout`` by the wall clock, whatever clock a node has: rcutils takes the time,
and has no access to nodes (its issue 432). So a node of a run has rcl's publisher switched off, and
one of its own, whose stamps are those of the node's clock.
"""

from __future__ import annotations

import os
from typing import Any

from rcl_interfaces.msg import Log
from rclpy.duration import Duration
from rclpy.impl import rcutils_logger
from rclpy.impl.rcutils_logger import CallerId, RcutilsLogger
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile

#: That of rcl's own publisher.
ROSOUT_QOS = QoSProfile(
    depth=1000, durability=DurabilityPolicy.TRANSIENT_LOCAL, lifespan=Duration(seconds=10)
)
# A message is that of the first caller outside of these files, as are ``once`` and throttles.
rcutils_logger._internal_callers.append(os.path.realpath(__file__))


class SimulatedLogger(RcutilsLogger):
    """The logger of a node, with its own publisher of ``/rosout``.

    :param publish: takes each message that is logged
    """

    def __init__(self, node: Node, name: str, publish: Any = None) -> None:
        super().__init__(name)  # type: ignore[no-untyped-call]
        self._node = node
        if publish is None:
            publish = node.create_publisher(Log, "/rosout", ROSOUT_QOS).publish
        self._publish = publish

    def log(self, message: Any, severity: Any, **filters: Any) -> bool:
        """Log a message; see rclpy's."""
        if not super().log(message, severity, **filters):  # type: ignore[no-untyped-call]
            return False
        caller = CallerId()
        self._publish(
            Log(
                stamp=self._node.get_clock().now().to_msg(),
                level=int(severity),
                name=filters.get("name", self.name),
                msg=str(message),
                file=caller.file_path,
                function=caller.function_name,
                line=caller.line_number,
            )
        )
        return True

    def get_child(self, name: str) -> SimulatedLogger:
        """A logger of a part of the node."""
        return SimulatedLogger(self._node, f"{self.name}.{name}", self._publish)
