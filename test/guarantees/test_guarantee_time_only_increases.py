# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Virtual time only increases: no step goes back, none is triggered twice at one time."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from support.step_systems import Part, StepSystem


@settings(max_examples=50)
@given(st.lists(st.integers(1, 30), min_size=1, max_size=5), st.integers(0, 1000))
def test_steps_of_one_participant_increase_strictly(periods, seed):
    """By the reference, and by engines that run in a random order."""
    for concurrent in (False, True):
        system = StepSystem(**{f"p{i}": Part(period) for i, period in enumerate(periods)})
        if concurrent:
            system.engines(200, seed).run()
        else:
            system.run(200)
        for name in system.parts:
            times = [time for owner, time in system.log if owner == name]
            assert times == sorted(set(times))


def test_in_the_whole_system_of_one_process_time_never_goes_back():
    system = StepSystem(a=Part(3), b=Part(7), c=Part(20))
    system.run(200)
    times = [time for _, time in system.log]
    assert times == sorted(times)
