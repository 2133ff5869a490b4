# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The system monitor: states of a run, seen from any rclpy node.

It sees the run of its own namespace, and it only reads: the states of the participants and of the
system, which are latched, so that a monitor that starts late has them, too; and which nodes there
are. A monitor changes nothing about a run::

    monitor = SystemMonitor(node)
    monitor.add_participant_handler(lambda status: print(status.participant, status.state.name))
    monitor.add_system_handler(lambda state, reason: print("system", state.name, reason))
    rclpy.spin(node)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from rclpy.node import Node

from ros2_cosim.core.kernel.lifecycle import State, known_state
from ros2_cosim.core.messages.namespaces import inside, node_name_of
from ros2_cosim.ros.node import topics
from ros2_cosim.ros.node.session import wall_timer
from ros2_cosim.ros.node.writers import data_qos, message_class

#: How often [s of wall time] to look which participants have gone.
_LOOK_S = 0.25
#: So often a node may not be found whose messages arrive: they can be there before its name is. A
#: participant that is not found for longer ended before its discovery (the lease of DDS discovery
#: is 20 s).
_UNFOUND = round(20.0 / _LOOK_S)


class Status(NamedTuple):
    """State of one participant, and why it is in it."""

    participant: str
    state: State
    reason: str


class SystemMonitor:
    """Observes participants and the system.

    :param node: any rclpy node; the handlers are called while it is spun
    """

    def __init__(self, node: Node) -> None:
        self._node = node
        self._statuses: dict[str, Status] = {}
        #: Participants that are there -> how often their node was not found; -1: it was found.
        self._present: dict[str, int] = {}
        self._system = State.INVALID
        self._system_reason = "no run has been seen"
        self._on_participant: list[Callable[[Status], None]] = []
        self._on_system: list[Callable[[State, str], None]] = []
        self._on_connected: list[Callable[[str], None]] = []
        self._on_disconnected: list[Callable[[str], None]] = []
        latched = data_qos(latched=True)
        for topic, kind, receive in (
            (topics.PARTICIPANT_STATE, topics.PARTICIPANT_STATE_TYPE, self._take_participant),
            (topics.SYSTEM_STATE, topics.SYSTEM_STATE_TYPE, self._take_system),
        ):
            node.create_subscription(message_class(kind), inside(node, topic), receive, latched)
        wall_timer(node, _LOOK_S, self.look)

    @property
    def participants(self) -> dict[str, Status]:
        """The last known status of all participants ever seen, by name."""
        return dict(self._statuses)

    @property
    def connected(self) -> frozenset[str]:
        """The participants that have been seen and have not gone."""
        return frozenset(self._present)

    @property
    def system_state(self) -> State:
        """The state of the system; INVALID before the first message."""
        return self._system

    @property
    def system_reason(self) -> str:
        """Why the system is in its state."""
        return self._system_reason

    def add_participant_handler(self, handler: Callable[[Status], None]) -> None:
        """Call ``handler`` at each new state, or new reason, of a participant."""
        self._on_participant.append(handler)

    def add_system_handler(self, handler: Callable[[State, str], None]) -> None:
        """Call ``handler`` with each new state of the system, and why."""
        self._on_system.append(handler)

    def add_connected_handler(self, handler: Callable[[str], None]) -> None:
        """Call ``handler`` with the name of a participant that has come."""
        self._on_connected.append(handler)

    def add_disconnected_handler(self, handler: Callable[[str], None]) -> None:
        """Call ``handler`` with the name of a participant whose node has gone.

        The end of a participant is noticed at once if it ends in order; that of a killed one when
        the middleware gives it up (the lease of DDS discovery, 20 s by default).
        """
        self._on_disconnected.append(handler)

    def look(self) -> None:
        """See which participants have gone; called regularly while the node is spun."""
        if not self._present:
            return
        there: set[str] = set()
        # A name may stay for ever: what says which nodes a process has can arrive after the news
        # that it has ended. Topics end with the process.
        if self._node.count_publishers(inside(self._node, topics.PARTICIPANT_STATE)):
            space = self._node.get_namespace()
            nodes = self._node.get_node_names_and_namespaces()
            there.update(name for name, place in nodes if place == space)
        for name in sorted(self._present):
            looks = self._present[name]
            if node_name_of(name) in there:
                self._present[name] = -1
            elif 0 <= looks < _UNFOUND and self._statuses[name].state is not State.SHUT_DOWN:
                self._present[name] = looks + 1
            else:
                del self._present[name]
                for handler in self._on_disconnected:
                    handler(name)

    def _take_participant(self, message: Any) -> None:
        state = known_state(message.state)
        if state is None:
            self._refuse(f"{message.participant}: state {message.state}")
            return
        status = Status(message.participant, state, message.reason)
        self._statuses[status.participant] = status
        if status.participant not in self._present and status.state is not State.SHUT_DOWN:
            self._present[status.participant] = 0
            for handler in self._on_connected:
                handler(status.participant)
        for notify in self._on_participant:
            notify(status)

    def _take_system(self, message: Any) -> None:
        state = known_state(message.state)
        if state is None:
            self._refuse(f"system state {message.state}")
            return
        self._system, self._system_reason = state, message.reason
        for handler in self._on_system:
            handler(self._system, self._system_reason)

    def _refuse(self, what: str) -> None:
        """A message of another version, or of another program: it changes nothing."""
        self._node.get_logger().warning(f"{what} does not exist; the message is ignored")
