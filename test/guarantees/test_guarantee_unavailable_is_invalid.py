# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""If a required participant is not available, the state of the system is INVALID."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ros2_cosim.core.kernel.lifecycle import State
from ros2_cosim.core.kernel.membership import system_state

others = st.lists(st.sampled_from([s for s in State if s is not State.ABORTING]), max_size=5)


@given(others, st.sampled_from([None, State.INVALID]), st.integers(0, 5))
def test_one_that_is_missing_is_enough(states, missing, position):
    assert system_state([*states[:position], missing, *states[position:]]) is State.INVALID
