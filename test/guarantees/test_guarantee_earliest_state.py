# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Where the required participants differ, the earliest state counts."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ros2_cosim.core.kernel.lifecycle import State
from ros2_cosim.core.kernel.membership import system_state

STARTING = [s for s in State if State.SERVICES_CREATED <= s <= State.RUNNING]


def test_the_two_examples():
    assert system_state([State.READY_TO_RUN, State.RUNNING]) is State.READY_TO_RUN
    examples = [State.COMMUNICATION_INITIALISED, State.READY_TO_RUN]
    assert system_state(examples) is State.COMMUNICATION_INITIALISED


@given(st.lists(st.sampled_from(STARTING), min_size=1, max_size=6))
def test_up_to_running_it_is_the_smallest(states):
    assert system_state(states) is min(states)
