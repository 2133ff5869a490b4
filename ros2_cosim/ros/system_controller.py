# SPDX-License-Identifier: Apache-2.0
"""The system controller: commands to a whole run, from any rclpy node, also of a participant.

Who is required is no command: the scenario says so, for a run is what its scenario says.
"""

from __future__ import annotations

from typing import Any

from rclpy.node import Node

from ros2_cosim.kernel.run_control import Command
from ros2_cosim.ros.control_services import CONTROL


class SystemController:
    """Ends a run in order, or at once.

    The requests return futures: whoever spins the node gets them completed, with ``success`` and
    ``message``. A run that has ended may have done so before its answer was sent.

    :param node: any rclpy node
    """

    def __init__(self, node: Node) -> None:
        from ros2_cosim.srv import ControlRun

        self._type = ControlRun
        self._client = node.create_client(ControlRun, CONTROL)

    @property
    def ready(self) -> bool:
        """Whether a run has been found that takes commands."""
        return bool(self._client.service_is_ready())

    def stop(self, reason: str) -> Any:
        """Ask for the end in order: handlers for it are called, results are written.

        :param reason: why, for the record and for whoever looks
        """
        return self._ask(Command.STOP, reason)

    def abort(self, reason: str) -> Any:
        """Ask for the end at once: each participant's handler for that is called, if it has one.

        :param reason: why, for whoever looks
        """
        return self._ask(Command.ABORT, reason)

    def _ask(self, command: Command, reason: str) -> Any:
        return self._client.call_async(self._type.Request(command=int(command), reason=reason))
