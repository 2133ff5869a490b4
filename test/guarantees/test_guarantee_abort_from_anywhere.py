# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Any participant can abort; all get the abort handler with the state that was active."""

from __future__ import annotations

import time
from functools import partial

import pytest
from support.step_systems import MS, Part, StepSystem

from ros2_cosim.core.kernel.errors import Aborted
from ros2_cosim.core.kernel.lifecycle import State
from ros2_cosim.core.kernel.lifecycle_group import LifecycleGroup
from ros2_cosim.core.kernel.sequential import SequentialScheduler


@pytest.mark.parametrize("aborting", ["a", "b"])
def test_all_participants_are_told_with_their_state(aborting):
    told: dict[str, State] = {}

    def part(name: str) -> Part:
        def step(time, step) -> None:
            if name == aborting and step.time == 20 * MS:
                time.abort("smoke")

        return Part(10 * MS, step, handlers={"on_abort": lambda s: told.setdefault(name, s)})

    with pytest.raises(Aborted, match=f"'{aborting}' aborts the run: smoke"):
        StepSystem(a=part("a"), b=part("b")).run(50 * MS)
    assert told == {"a": State.RUNNING, "b": State.RUNNING}


def test_before_the_run_the_state_is_another_one():
    told: list[State] = []

    def ready() -> None:
        raise Aborted("not today")

    system = StepSystem(
        a=Part(10, handlers={"on_communication_ready": ready, "on_abort": told.append})
    )
    behaviours = system.behaviours()
    scheduler = SequentialScheduler(system.graph(), behaviours)
    with pytest.raises(Aborted):
        with LifecycleGroup(behaviours).during(partial(time.sleep, 0.01), lambda: scheduler.active):
            scheduler.run(20)
    assert told == [State.COMMUNICATION_INITIALISED]
