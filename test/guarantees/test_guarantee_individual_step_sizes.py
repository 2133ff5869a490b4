# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Each participant has a step size of its own."""

from __future__ import annotations

from support.step_systems import Part, StepSystem


def test_each_keeps_its_own():
    periods = {"a": 1, "b": 7, "c": 10, "d": 1}
    system = StepSystem(**{name: Part(period) for name, period in periods.items()})
    system.run(50)
    for name, period in periods.items():
        assert [t for owner, t in system.log if owner == name] == list(range(0, 50, period))
