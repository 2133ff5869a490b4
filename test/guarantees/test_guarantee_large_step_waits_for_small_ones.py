# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A participant with a larger step waits for all earlier steps of the smaller one."""

from __future__ import annotations

import pytest
from support.step_systems import Part, StepSystem


def test_steps_of_two_and_of_one():
    """At 1 only the smaller step takes place; the larger one's is the next one's."""
    system = StepSystem(
        large=Part(2, reads={"x": "small"}),
        small=Part(1, lambda time, step: {"out": step.time}, schedule="every"),
    )
    system.run(5)
    assert [name for name, time in system.log if time == 1] == ["small"]
    assert [time for name, time in system.log if name == "large"] == [0, 2, 4]
    assert [time for name, time in system.log if name == "small"] == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("seed", range(5))
def test_the_steps_in_between_come_first(seed):
    system = StepSystem(
        large=Part(20, reads={"x": "small"}),
        small=Part(10, lambda time, step: {"out": step.time}, schedule="every"),
    )
    system.engines(100, seed).run()
    done = -1
    for name, time in system.log:
        if name == "small":
            done = time
        else:
            assert done >= time  # everything up to this time is there
