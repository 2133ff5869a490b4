# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""PAUSED, STOPPING, ERROR and ABORTING of one are those of the system."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ros2_cosim.core.kernel.lifecycle import State
from ros2_cosim.core.kernel.membership import system_state

DOMINANT = [State.PAUSED, State.STOPPING, State.ERROR, State.ABORTING]
running = st.lists(
    st.sampled_from([s for s in State if State.SERVICES_CREATED <= s <= State.RUNNING]), max_size=5
)


@given(running, st.lists(st.sampled_from(DOMINANT), min_size=1, max_size=4))
def test_one_is_enough_and_the_later_in_this_list_wins(others, dominant):
    assert system_state([*others, *dominant]) is max(dominant, key=DOMINANT.index)
