# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Steps follow each other at the step size of the participant."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from support.step_systems import Part, StepSystem


@given(st.integers(1, 50), st.integers(1, 300))
def test_every_multiple_of_the_step_size_and_nothing_else(period, until):
    system = StepSystem(a=Part(period))
    system.run(until)
    assert [time for _, time in system.log] == list(range(0, until, period))
