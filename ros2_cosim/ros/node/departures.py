# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Participants whose processes have ended without a word, as the lane of a run tells.

The starter watches its own processes, and says how each of them ended. A process that the user has
started, and that is killed, is noticed here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ros2_cosim.core.kernel.lifecycle import State
from ros2_cosim.core.messages.protocol import ParticipantState
from ros2_cosim.ros.node import topics
from ros2_cosim.ros.node.session import Session

#: So long the starter has to say how a process ended, or that all end [ns of wall time].
_GRACE_NS = 1_000_000_000


class Departures:
    """Those that have gone.

    :param session: of the clock
    :param states: last state of each participant, None: not seen yet
    :param timer: monotonic wall clock [ns]
    """

    def __init__(
        self,
        session: Session,
        states: Mapping[str, ParticipantState | None],
        timer: Callable[[], int],
    ) -> None:
        self._session = session
        self._states = states
        self._timer = timer
        self._seen = 0
        self._missing: dict[str, int] = {}

    def found(self) -> list[str]:
        """Participants that went a while ago, before they had stopped."""
        if self._session.departures != self._seen:
            self._seen = self._session.departures
            now = self._timer()
            self._missing = {
                name: self._missing.get(name, now) for name in self._states if self._is_gone(name)
            }
        if not self._missing:
            return []
        latest = self._timer() - _GRACE_NS
        # It may have told of its end meanwhile, or the run may have gone on without it.
        return [
            name for name, since in self._missing.items() if since <= latest and self._is_gone(name)
        ]

    def _is_gone(self, name: str) -> bool:
        state = self._states[name]
        return (
            state is not None
            and state.state < State.STOPPED
            and not self._session.writers(topics.completion(name))
        )
