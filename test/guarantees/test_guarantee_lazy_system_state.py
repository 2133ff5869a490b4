# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The system keeps its old state until the last relevant participant has left it."""

from __future__ import annotations

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from ros2_cosim.core.kernel.lifecycle import State
from ros2_cosim.core.kernel.membership import system_state

COURSE = [s for s in State if State.SERVICES_CREATED <= s <= State.RUNNING]


@given(st.integers(2, 6), st.integers(0, 2**32))
def test_only_the_last_one_moves_the_system(count, seed):
    random = Random(seed)
    for before, after in zip(COURSE, COURSE[1:], strict=False):
        states = [before] * count
        order = list(range(count))
        random.shuffle(order)
        for index in order:
            assert system_state(states) is before
            states[index] = after
        assert system_state(states) is after
