# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Nothing can be sent outside of a step, so that no guarantee about stamps is lost."""

from __future__ import annotations

import pytest
from support.step_systems import MS, Part, StepSystem

from ros2_cosim.core.kernel.errors import LifecycleError


def test_sending_before_after_and_between_steps_is_refused():
    system = StepSystem(a=Part(10 * MS))
    behaviours = system.behaviours()
    with pytest.raises(LifecycleError, match="send outside of a step"):
        behaviours["a"].send("out", 1)
    kept = []

    def step(time, step) -> None:
        kept.append(time)

    StepSystem(a=Part(10 * MS, step)).run(30 * MS)
    with pytest.raises(LifecycleError, match="send outside of a step"):
        kept[0].send("out", 1)
