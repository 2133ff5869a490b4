# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Coordinated participants begin at virtual time 0."""

from __future__ import annotations

from support.step_systems import Part, StepSystem


def test_the_first_step_of_each_is_at_zero():
    system = StepSystem(a=Part(3), b=Part(10), c=Part(1000))
    system.run(2000)
    assert {name: min(t for n, t in system.log if n == name) for name in "abc"} == dict.fromkeys(
        "abc", 0
    )
