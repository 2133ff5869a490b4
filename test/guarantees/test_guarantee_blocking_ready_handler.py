# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""READY_TO_RUN follows when the blocking handler has returned, and nothing happens meanwhile."""

from __future__ import annotations

from support.behaviours import Plain

from ros2_cosim.core.kernel.lifecycle import State
from ros2_cosim.core.kernel.participant_lifecycle import ParticipantLifecycle


def test_the_state_changes_after_the_handler():
    seen: list[State] = []

    class Model(Plain):
        def on_communication_ready(self) -> None:
            seen.append(life.state)

    life = ParticipantLifecycle("p", Model())
    life.create()
    life.follow(State.COMMUNICATION_INITIALISED, connected=True)
    assert seen == [State.COMMUNICATION_INITIALISED]
    assert life.state is State.READY_TO_RUN
