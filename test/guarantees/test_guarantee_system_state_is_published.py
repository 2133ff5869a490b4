# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Observers get the changes of the system state in order."""

from __future__ import annotations

from typing import Any

from ros2_cosim.core.kernel.lifecycle import State


def test_it_goes_through_the_course_of_a_run(observed: Any) -> None:
    states = [state for state, _ in observed.systems if state is not State.INVALID]
    at = states.index(State.PAUSED)
    # Without the pause: each state once, from the first to the last, none left out.
    course = states[:at] + states[at + 2 :]
    assert course == [
        s for s in State if s not in (State.INVALID, State.PAUSED, State.ERROR, State.ABORTING)
    ]
    assert all(reason.strip() for _, reason in observed.systems)
