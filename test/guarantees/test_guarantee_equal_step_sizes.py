# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Participants with equal step sizes advance together."""

from __future__ import annotations

from support.step_systems import Part, StepSystem


def test_no_step_begins_before_the_other_has_finished_the_previous_one():
    """Each needs what the other sent in the step before."""

    def build() -> StepSystem:
        return StepSystem(
            a=Part(10, lambda t, s: {"out": 1}, {"x": "b"}, delayed=True, schedule="every"),
            b=Part(10, lambda t, s: {"out": 1}, {"x": "a"}, delayed=True, schedule="every"),
        )

    for seed in range(5):
        system = build()
        system.engines(200, seed).run()
        latest = {"a": -10, "b": -10}
        for name, time in system.log:
            latest[name] = time
            assert abs(latest["a"] - latest["b"]) <= 10
