# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The participants of a composed run as managed nodes: their states and services on ROS.

Each participant has its own node name beside that of the process, so that an observer
sees the same participants in shapes ``composed`` and ``ros``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from ros2_cosim.core.kernel.hop_watch import HopWatch
from ros2_cosim.core.kernel.lifecycle import Change, Operation, State
from ros2_cosim.core.kernel.lifecycle_group import LifecycleGroup
from ros2_cosim.core.kernel.model import FullModel
from ros2_cosim.core.kernel.participant import Host
from ros2_cosim.core.kernel.runtime import ParticipantRuntime
from ros2_cosim.core.kernel.sequential import SequentialScheduler
from ros2_cosim.core.messages.protocol import ParticipantState, SystemState
from ros2_cosim.ros.node import topics
from ros2_cosim.ros.node.lifecycle_mapping import LifecycleRequest
from ros2_cosim.ros.node.lifecycle_services import NO_RESET, LifecycleServices, Resetting, grant
from ros2_cosim.ros.node.session import Session
from ros2_cosim.ros.node.writers import data_qos


class RosLifecycle(LifecycleGroup):
    """The lifecycles of all participants of one process, visible on ROS.

    :param session: the ROS node of the process
    :param models: participant name -> model
    :param scheduler: runs them
    :param wait: handles what arrives, for so many seconds, while a step or a handler is open
    :param run_id: names this run in every message
    :param watch: takes note of exchanges with other processes
    """

    def __init__(
        self,
        session: Session,
        models: Mapping[str, FullModel],
        scheduler: SequentialScheduler,
        wait: Callable[[float], None],
        run_id: str,
        operations: Mapping[str, Operation] | None = None,
        watch: HopWatch | None = None,
    ) -> None:
        latched = data_qos(latched=True)
        self._states = session.writer(
            topics.PARTICIPANT_STATE, topics.PARTICIPANT_STATE_TYPE, latched
        )
        self._systems = session.writer(topics.SYSTEM_STATE, topics.SYSTEM_STATE_TYPE, latched)
        self._run_id = run_id
        self._scheduler = scheduler
        #: What resets the model of a participant.
        self.resetting: Callable[[str], Resetting] = lambda name: NO_RESET
        self._resets: dict[str, tuple[int, ...]] = dict.fromkeys(models, ())
        nodes = {name: session.add_node(name) for name in models}
        for name, runtime in scheduler.runtimes.items():
            session.follow(nodes[name], _last_time(runtime))
        super().__init__(
            models,
            operations=operations,
            on_change=self._publish_change,
            on_system=self._publish_system,
            host=lambda name: Host(
                wait,
                session.wake,
                nodes[name],
                scheduler.runtimes[name].send_now,
                watch,
                scheduler.runtimes[name].ahead,
            ),
        )
        self._services = {
            name: LifecycleServices(node, self.of[name], self._wish(name))
            for name, node in nodes.items()
        }

    def require(self, names: Collection[str]) -> None:
        """Derive the state of the system from these participants, and publish their names."""
        super().require(names)
        self._publish_system(self.system, f"required: {', '.join(sorted(names))}")

    def leave(self) -> None:
        """Wait until all readers have the last messages."""
        self._states.flush()
        self._systems.flush()

    def _wish(self, name: str) -> Callable[[LifecycleRequest, str], None]:
        life, runtime = self.of[name], self._scheduler.runtimes[name]

        def note_reset(time_ns: int) -> None:
            self._resets[name] += (time_ns,)

        def wish(asked: LifecycleRequest, reason: str) -> None:
            # A stop: the next activation asks for it.
            grant(asked, reason, life, runtime, self.resetting(name), note_reset)

        return wish

    def _publish_change(self, change: Change) -> None:
        name = change.participant
        state = ParticipantState(name, int(change.state), change.reason, "", self._resets[name])
        self._states.send(state)
        self._services[name].changed(change)
        # No participant goes on while one is paused.
        self._scheduler.suspended = bool(self.paused)

    def _publish_system(self, state: State, reason: str) -> None:
        self._systems.send(
            SystemState(int(state), reason, self._run_id, tuple(sorted(self.required)))
        )


def _last_time(runtime: ParticipantRuntime) -> Callable[[], int]:
    return lambda: runtime.last_time
