# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""now() gives the virtual time, updated just before the step handler is called."""

from __future__ import annotations

from support.step_systems import Part, StepSystem


def test_within_the_handler_it_is_the_time_of_the_step():
    pairs: list[tuple[int, int]] = []
    StepSystem(a=Part(7, lambda time, step: pairs.append((time.now(), step.time)))).run(70)
    assert pairs == [(t, t) for t in range(0, 70, 7)]
