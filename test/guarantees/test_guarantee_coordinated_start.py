# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Coordinated participants align their states with that of the system until they run."""

from __future__ import annotations

from random import Random

from hypothesis import given
from hypothesis import strategies as st
from support.behaviours import Plain

from ros2_cosim.core.kernel.lifecycle import State
from ros2_cosim.core.kernel.membership import system_state
from ros2_cosim.core.kernel.participant_lifecycle import ParticipantLifecycle


@given(st.integers(2, 5), st.integers(0, 2**32))
def test_none_is_more_than_one_coordinated_state_ahead(count, seed):
    """In any order of calls, no state is left before all have reached it."""
    random = Random(seed)
    lifecycles = [ParticipantLifecycle(f"p{i}", Plain()) for i in range(count)]
    for life in lifecycles:
        life.create()
    found = [False] * count
    while any(life.state is not State.RUNNING for life in lifecycles):
        index = random.randrange(count)
        system = system_state(life.state for life in lifecycles)
        before = lifecycles[index].state
        lifecycles[index].follow(system, connected=found[index])
        found[index] = True
        if lifecycles[index].state > State.COMMUNICATION_INITIALISED:
            assert system >= State.COMMUNICATION_INITIALISED
        if lifecycles[index].state is State.RUNNING and before is not State.RUNNING:
            assert system >= State.READY_TO_RUN
