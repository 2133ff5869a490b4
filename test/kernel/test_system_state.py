# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The state of the system: properties that hold for any set of participants."""

from __future__ import annotations

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from ros2_cosim.core.kernel.lifecycle import TRANSITIONS, State
from ros2_cosim.core.kernel.membership import system_state

REGULAR = [s for s in State if s not in (State.INVALID, State.ERROR, State.ABORTING)]
UP_TO_RUNNING = [s for s in State if State.SERVICES_CREATED <= s <= State.RUNNING]
some = st.lists(st.sampled_from(State), min_size=1, max_size=6)


@given(some)
def test_an_unavailable_participant_makes_it_invalid(states):
    there = [s for s in states if s is not State.ABORTING]
    assert system_state([*there, None]) is State.INVALID
    assert system_state([*there, State.INVALID]) is State.INVALID
    assert system_state([*there, None, State.ABORTING]) is State.ABORTING


def test_without_a_required_participant_it_is_invalid():
    assert system_state([]) is State.INVALID


@given(st.sampled_from(State), st.integers(1, 6))
def test_the_common_state_is_that_of_the_system(state, count):
    assert system_state([state] * count) is state


@given(st.lists(st.sampled_from(UP_TO_RUNNING), min_size=1, max_size=6))
def test_on_the_way_to_running_the_earliest_counts(states):
    assert system_state(states) is min(states)


@given(st.lists(st.sampled_from([s for s in State if s]), min_size=1, max_size=6))
def test_aborting_and_error_dominate_in_this_order(states):
    assert system_state([*states, State.ABORTING]) is State.ABORTING
    without = [s for s in states if s is not State.ABORTING]
    assert system_state([*without, State.ERROR]) is State.ERROR


@given(st.lists(st.sampled_from(UP_TO_RUNNING), max_size=6))
def test_paused_and_stopping_dominate(states):
    assert system_state([*states, State.PAUSED]) is State.PAUSED
    assert system_state([*states, State.PAUSED, State.STOPPING]) is State.STOPPING


@given(st.lists(st.sampled_from(REGULAR), min_size=1, max_size=6), st.integers(0, 2**32))
def test_the_order_of_the_participants_does_not_matter(states, seed):
    random = Random(seed)
    shuffled = list(states)
    random.shuffle(shuffled)
    assert system_state(shuffled) is system_state(states)


@given(st.integers(1, 5), st.integers(0, 2**32))
def test_it_never_goes_back_in_a_regular_run_and_is_lazy(count, seed):
    """Each walks the regular course, at its own pace; the system reaches each state last."""
    random = Random(seed)
    course = [s for s in REGULAR if s is not State.PAUSED]
    position = [0] * count
    seen = [system_state(course[p] for p in position)]
    while any(p < len(course) - 1 for p in position):
        one = random.choice([i for i, p in enumerate(position) if p < len(course) - 1])
        assert course[position[one] + 1] in TRANSITIONS[course[position[one]]]
        position[one] += 1
        state = system_state(course[p] for p in position)
        assert state >= seen[-1]
        if state is not State.STOPPING:
            assert all(course[p] >= state for p in position)  # the last one has reached it
        seen.append(state)
    assert seen[-1] is State.SHUT_DOWN
