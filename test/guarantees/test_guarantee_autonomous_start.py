# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""An autonomous participant runs without waiting for the system; its handler is called."""

from __future__ import annotations

from support.behaviours import Plain

from ros2_cosim.core.kernel.lifecycle import Operation, State
from ros2_cosim.core.kernel.participant_lifecycle import ParticipantLifecycle


def test_it_runs_whatever_the_state_of_the_system_is():
    for system in State:
        called: list[str] = []

        class Model(Plain):
            def on_communication_ready(self, called: list[str] = called) -> None:
                called.append("ready")

        life = ParticipantLifecycle("p", Model(), operation=Operation.AUTONOMOUS)
        life.create()
        life.follow(system, connected=True)
        assert life.state is State.RUNNING
        assert called == ["ready"]
