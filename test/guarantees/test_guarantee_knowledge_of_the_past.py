# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""In the step at T a participant knows everything that was sent before T."""

from __future__ import annotations

import pytest
from support.step_systems import Part, StepSystem


@pytest.mark.parametrize("seed", range(5))
def test_the_newest_message_before_t_is_never_missing(seed):
    def read(time, step) -> None:
        sample = step.latest["x"]
        last = (step.time - 1) // 3 * 3
        assert (sample.stamp if sample else None) == (last if step.time else None)

    StepSystem(
        reader=Part(10, read, {"x": "writer"}, delayed=True),
        writer=Part(3, lambda time, step: {"out": step.time}),
    ).engines(300, seed).run()
