# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The step handler is told the present time and the step size."""

from __future__ import annotations

from support.step_systems import Part, StepSystem


def test_both_are_there():
    told: list[tuple[int, int | None]] = []
    StepSystem(a=Part(7, lambda time, step: told.append((step.time, time.step_size)))).run(21)
    assert told == [(0, 7), (7, 7), (14, 7)]
