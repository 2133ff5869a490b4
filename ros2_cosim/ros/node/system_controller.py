# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The system controller: commands to a whole run, from any rclpy node, also of a participant."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rclpy.node import Node

from ros2_cosim.core.messages.namespaces import inside
from ros2_cosim.core.realtime.run_control import Command
from ros2_cosim.ros.node.control_services import CONTROL


class SystemController:
    """Names the participants that a run requires; ends it in order, or at once.

    The requests return futures: they are completed, with ``success`` and ``message``, while the
    node is spun. A run that has ended may have done so before its answer was sent.

    :param node: any rclpy node, in the namespace of the run
    """

    def __init__(self, node: Node) -> None:
        from ros2_cosim.srv import ControlRun

        self._type = ControlRun
        self._client = node.create_client(ControlRun, inside(node, CONTROL))

    @property
    def ready(self) -> bool:
        """Whether a run has been found that takes commands."""
        return bool(self._client.service_is_ready())

    def require(self, participants: Iterable[str]) -> Any:
        """Name the participants that the run requires, instead of those of the scenario.

        The run begins when all of them are ready, and the state of the system is derived from
        theirs; the others take part if they are there by then, and may be lost. Refused, with the
        reason in ``message``: an unknown name; a participant left out on whose messages readers
        count (``core/kernel/membership.py``); and anything once an activation has been granted.

        :param participants: their names
        """
        return self._ask(Command.REQUIRE, participants=sorted(set(participants)))

    def stop(self, reason: str) -> Any:
        """Ask for the end in order: handlers for it are called, results are written.

        :param reason: why, for the record and for observers
        """
        return self._ask(Command.STOP, reason=reason)

    def abort(self, reason: str) -> Any:
        """Ask for the end at once: each participant's handler for that is called, if it has one.

        :param reason: why, for observers
        """
        return self._ask(Command.ABORT, reason=reason)

    def _ask(self, command: Command, **details: Any) -> Any:
        return self._client.call_async(self._type.Request(command=int(command), **details))
