# SPDX-License-Identifier: Apache-2.0
"""The state of the system as the clock publishes it, latched: each change once, with its reason."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from ros2_cosim.interfaces.protocol import SystemState
from ros2_cosim.kernel.lifecycle import State
from ros2_cosim.kernel.membership import system_state
from ros2_cosim.ros import topics
from ros2_cosim.ros.session import Session, data_qos


class SystemStateTopic:
    """Publishes the state derived from those of the participants.

    :param session: the ROS node
    :param run_id: names this run in every message
    """

    def __init__(self, session: Session, run_id: str) -> None:
        self._run_id = run_id
        self._writer = session.writer(
            topics.SYSTEM_STATE, topics.SYSTEM_STATE_TYPE, data_qos(latched=True)
        )
        self._required: tuple[str, ...] = ()
        self._derived: State | None = None
        self._closed = False
        #: What was told last; the reason may be newer.
        self.told = SystemState(int(State.INVALID), "", run_id)

    @property
    def state(self) -> State:
        """The state that was told last."""
        return State(self.told.state)

    def update(self, states: Iterable[State | None], reason: str) -> None:
        """Tell the state of the system, if it has changed.

        :param states: of all who define it; None for who has not been seen
        """
        state = system_state(list(states))
        if state is not self._derived and not self._closed:
            self._derived = state
            self._tell(int(state), reason)

    def require(self, names: Collection[str]) -> None:
        """Tell whom the system controller has named as required."""
        self._required = tuple(sorted(names))
        self._tell(self.told.state, f"required: {', '.join(self._required)}")

    def note(self, reason: str) -> None:
        """Keep a new reason for the present state, for those who look at it."""
        self.told = self.told._replace(reason=reason)

    def last_word(self, state: int, reason: str) -> None:
        """Tell a state, after which nothing derived is told any more."""
        self._closed = True
        self._tell(state, reason)

    def flush(self) -> None:
        """Wait until everybody has heard."""
        self._writer.flush()

    def _tell(self, state: int, reason: str) -> None:
        self.told = SystemState(state, reason, self._run_id, self._required)
        self._writer.send(self.told)
