# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A time-dependent participant receives a meaningful time with every message."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from support.step_systems import Part, StepSystem


@given(st.integers(1, 20), st.integers(1, 20))
def test_it_is_the_time_at_which_the_message_was_sent(writer, reader):
    def check(time, step) -> None:
        sample = step.latest["x"]
        assert sample is not None
        assert sample.stamp == sample.value <= step.time

    StepSystem(
        writer=Part(writer, lambda time, step: {"out": step.time}),
        reader=Part(reader, check, {"x": "writer"}),
    ).run(100)
