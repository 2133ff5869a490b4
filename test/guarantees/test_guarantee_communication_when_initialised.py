# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""When the communication-ready handler is called, all participants can reach each other."""

from __future__ import annotations

import time
from functools import partial

from support.behaviours import Plain

from ros2_cosim.core.kernel.lifecycle import State
from ros2_cosim.core.kernel.lifecycle_group import LifecycleGroup


def test_all_have_initialised_before_the_first_handler_is_called():
    seen: list[list[State]] = []

    class Model(Plain):
        def on_communication_ready(self) -> None:
            seen.append([life.state for life in lifecycles.of.values()])

    lifecycles = LifecycleGroup({name: Model() for name in "abc"})
    lifecycles.start(partial(time.sleep, 0.01))
    assert len(seen) == 3
    for states in seen:
        assert min(states) >= State.COMMUNICATION_INITIALISED


def test_a_node_without_its_readers_holds_the_others_back():
    from ros2_cosim.core.kernel.participant_lifecycle import ParticipantLifecycle

    life = ParticipantLifecycle("p", Plain())
    life.create()
    for _ in range(3):
        life.follow(State.COMMUNICATION_INITIALISED, connected=False)
        assert life.state is State.COMMUNICATION_INITIALISING
