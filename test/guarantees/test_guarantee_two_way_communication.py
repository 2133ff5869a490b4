# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Within an asynchronous step a participant can ask another one and use the answer."""

from __future__ import annotations

from typing import Any


def test_each_step_has_its_answer_before_the_next(observed: Any) -> None:
    lines = [line for line in observed.logs["asker"] if not line.startswith("on_")]
    times = [line for line in lines if line.startswith("step")]
    assert times == [f"step {t}" for t in range(0, 300, 20)]
    assert lines[::2] == times
    assert lines[1::2] == [f"answer {n % 2 == 1}" for n in range(15)]


def test_the_answers_are_in_the_trace_at_the_time_of_the_step(observed: Any) -> None:
    """The reference computes them without a call."""
    assert observed.trace == observed.reference
