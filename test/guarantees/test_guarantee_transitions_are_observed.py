# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Every transition of every participant can be observed by others, with its reason."""

from __future__ import annotations

from typing import Any

from ros2_cosim.core.kernel.lifecycle import State

COURSE = [s for s in State if s not in (State.INVALID, State.PAUSED, State.ERROR, State.ABORTING)]


def test_each_goes_through_all_states_before_the_eyes_of_an_onlooker(observed: Any) -> None:
    for name in observed.names - {"asker"}:
        assert observed.states_of(name) == COURSE
    running = COURSE.index(State.RUNNING) + 1
    expected = [*COURSE[:running], State.PAUSED, State.RUNNING, *COURSE[running:]]
    assert observed.states_of("asker") == expected


def test_every_one_has_a_reason(observed: Any) -> None:
    assert observed.statuses
    assert all(status.reason.strip() for status in observed.statuses)
