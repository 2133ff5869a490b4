# SPDX-License-Identifier: Apache-2.0
"""A participant with a larger step waits for all earlier steps of the smaller one."""

from __future__ import annotations

import pytest
from support.step_systems import Part, StepSystem


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
