# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Stop handler, STOPPED, SHUTTING_DOWN, shutdown handler, SHUT_DOWN: in this order."""

from __future__ import annotations

from support.behaviours import Plain

from ros2_cosim.core.kernel.lifecycle import State
from ros2_cosim.core.kernel.participant_lifecycle import ParticipantLifecycle


def test_handlers_and_states_alternate_as_promised():
    log: list[str] = []

    class Model(Plain):
        def on_stop(self) -> None:
            log.append("stop handler")

        def on_shutdown(self) -> None:
            log.append("shutdown handler")

    life = ParticipantLifecycle(
        "p", Model(), on_change=lambda change: log.append(change.state.name)
    )
    life.create()
    life.follow(State.RUNNING, connected=True)
    log.clear()
    life.stop("end")
    life.stopped("collected")
    life.shut_down("over")
    assert log == [
        "STOPPING", "stop handler", "STOPPED", "SHUTTING_DOWN", "shutdown handler", "SHUT_DOWN",
    ]  # fmt: skip
