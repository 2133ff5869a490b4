# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A blocking handler is the whole step: nothing else of the participant runs meanwhile."""

from __future__ import annotations

from support.step_systems import Part, StepSystem


def test_the_step_is_complete_when_the_handler_returns():
    inside = {"a": False, "b": False}

    def step_of(name: str):
        def step(time, step) -> None:
            assert not any(inside.values())
            inside[name] = True
            time.send("out", step.time)
            inside[name] = False

        return step

    system = StepSystem(a=Part(10, step_of("a")), b=Part(10, step_of("b"), {"x": "a"}))
    system.run(50)
    assert len(system.log) == 10
