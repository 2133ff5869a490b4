# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The state machine of a participant: one table, and an answer to whatever is not in it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ros2_cosim.core.kernel.errors import CosimError, LifecycleError
from ros2_cosim.core.kernel.lifecycle import TRANSITIONS, Change, Lifecycle, State, known_state

REGULAR = [
    State.SERVICES_CREATED,
    State.COMMUNICATION_INITIALISING,
    State.COMMUNICATION_INITIALISED,
    State.READY_TO_RUN,
    State.RUNNING,
    State.PAUSED,
    State.RUNNING,
    State.STOPPING,
    State.STOPPED,
    State.SHUTTING_DOWN,
    State.SHUT_DOWN,
]


def at(state: State) -> Lifecycle:
    lifecycle = Lifecycle("p")
    lifecycle.state = state
    return lifecycle


def test_the_regular_course_is_allowed_and_told_with_reasons():
    told: list[Change] = []
    lifecycle = Lifecycle("p", told.append)
    for number, state in enumerate(REGULAR):
        lifecycle.enter(state, f"reason {number}")
        assert (lifecycle.state, lifecycle.reason) == (state, f"reason {number}")
    assert [change.state for change in told] == REGULAR
    assert [change.before for change in told] == [State.INVALID, *REGULAR[:-1]]
    assert {change.participant for change in told} == {"p"}


@pytest.mark.parametrize("state", State, ids=lambda state: state.name)
@pytest.mark.parametrize("asked", State, ids=lambda state: state.name)
def test_what_the_table_does_not_allow_is_answered(state, asked):
    told: list[Change] = []
    lifecycle = Lifecycle("motor", told.append)
    lifecycle.state = state
    assert lifecycle.may_enter(asked) == (asked in TRANSITIONS[state])
    if asked in TRANSITIONS[state]:
        lifecycle.enter(asked, "wanted")
        assert told == [Change("motor", state, asked, "wanted")]
        return
    with pytest.raises(LifecycleError) as caught:
        lifecycle.enter(asked, "wanted")
    assert lifecycle.state is state
    assert not told
    text = str(caught.value)
    assert "'motor'" in text
    assert f"is {state.name}" in text
    assert f"asked for {asked.name}" in text
    for allowed in TRANSITIONS[state]:
        assert allowed.name in text
    assert isinstance(caught.value, CosimError)


def test_the_only_way_out_of_an_error_is_to_shut_down():
    assert set(TRANSITIONS[State.ERROR]) == {State.SHUTTING_DOWN, State.ABORTING}
    assert TRANSITIONS[State.SHUT_DOWN] == ()


def test_errors_and_aborts_come_from_everywhere_before_the_end():
    for state, following in TRANSITIONS.items():
        if state in (State.SHUT_DOWN, State.ABORTING):
            assert not {State.ERROR, State.ABORTING} & set(following)
        else:
            assert State.ABORTING in following
            assert (State.ERROR in following) == (state is not State.ERROR)


@given(st.lists(st.sampled_from(State)))
def test_no_walk_leaves_the_shut_down(walk):
    lifecycle = Lifecycle("p")
    ended = False
    for state in walk:
        assert not (ended and lifecycle.may_enter(state))
        if lifecycle.may_enter(state):
            lifecycle.enter(state, "walk")
        ended = ended or lifecycle.state is State.SHUT_DOWN


@pytest.mark.parametrize("reason", ["", "  "])
def test_a_transition_without_a_reason_is_refused(reason):
    lifecycle = at(State.RUNNING)
    with pytest.raises(LifecycleError, match="needs one"):
        lifecycle.enter(State.PAUSED, reason)
    assert lifecycle.state is State.RUNNING


def test_a_new_reason_is_told_without_a_transition():
    told: list[Change] = []
    lifecycle = Lifecycle("p", told.append)
    lifecycle.enter(State.SERVICES_CREATED, "made")
    lifecycle.note("waits for others")
    assert told[-1] == Change(
        "p", State.SERVICES_CREATED, State.SERVICES_CREATED, "waits for others"
    )


def test_a_number_is_a_state_or_none() -> None:
    assert known_state(11) is State.SHUT_DOWN and known_state(0) is State(0)
    assert known_state(99) is None and known_state(-1) is None


def test_everything_but_the_last_states_may_fail() -> None:
    for state, following in TRANSITIONS.items():
        if state in (State.SHUT_DOWN, State.ABORTING):
            assert State.ERROR not in following and State.ABORTING not in following
        else:
            assert State.ABORTING in following
            assert (State.ERROR in following) == (state is not State.ERROR)
