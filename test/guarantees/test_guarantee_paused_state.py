# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A participant can be put into PAUSED: it does not advance until resumed, and results stay."""

from __future__ import annotations

from typing import Any

from ros2_cosim.core.kernel.lifecycle import State


def test_it_makes_no_step_while_paused(observed: Any) -> None:
    before, after = observed.paused_steps
    assert before == after


def test_the_system_is_paused_and_runs_again(observed: Any) -> None:
    states = [state for state, _ in observed.systems]
    at = states.index(State.PAUSED)
    assert states[at - 1] is states[at + 1] is State.RUNNING
    reason = observed.systems[at][1]
    assert reason == "asker: deactivate, asked for by change_state"


def test_the_result_is_that_of_an_undisturbed_run(observed: Any) -> None:
    assert observed.result.code == 0, observed.result
    assert observed.trace == observed.reference
    assert not observed.left
