# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Virtual time starts only when all required participants are running."""

from __future__ import annotations

from support.step_systems import MS, Part, StepSystem

from ros2_cosim.core.kernel.lifecycle_group import LifecycleGroup
from ros2_cosim.core.kernel.sequential import SequentialScheduler


def test_no_step_before_the_slowest_is_ready():
    completions: list[object] = []
    system = StepSystem(
        quick=Part(10 * MS),
        slow=Part(10 * MS, handlers={"on_communication_ready_async": completions.append}),
    )
    behaviours = system.behaviours()
    scheduler = SequentialScheduler(system.graph(), behaviours)
    waits: list[int] = []

    def wait() -> None:
        waits.append(len(system.log))
        if len(waits) == 5:
            completions[0]()  # type: ignore[operator]

    with LifecycleGroup(behaviours).during(wait, lambda: scheduler.active):
        scheduler.run(20 * MS)
    assert waits == [0] * 5
    assert len(system.log) == 4
