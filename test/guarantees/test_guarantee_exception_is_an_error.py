# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""An exception that leaves a handler puts the participant into ERROR."""

from __future__ import annotations

import time
from functools import partial

import pytest
from support.step_systems import MS, Part, StepSystem

from ros2_cosim.core.kernel.errors import ParticipantError
from ros2_cosim.core.kernel.lifecycle import Change, State
from ros2_cosim.core.kernel.lifecycle_group import LifecycleGroup
from ros2_cosim.core.kernel.sequential import SequentialScheduler


def fail(*_: object) -> None:
    raise ValueError("out of range")


@pytest.mark.parametrize("where", ["step", "on_communication_ready", "on_starting", "on_stop"])
def test_participant_and_handler_are_named(where):
    bad = Part(10 * MS, fail) if where == "step" else Part(10 * MS, handlers={where: fail})
    system = StepSystem(bad=bad, good=Part(10 * MS))
    behaviours = system.behaviours()
    scheduler = SequentialScheduler(system.graph(), behaviours)
    changes: list[Change] = []
    lifecycles = LifecycleGroup(behaviours, on_change=changes.append)
    place = "activation 1 at 0s" if where == "step" else f"handler {where}"
    with pytest.raises(ParticipantError, match=f"'bad' failed in its {place}.*out of range"):
        with lifecycles.during(partial(time.sleep, 0.01), lambda: scheduler.active):
            scheduler.run(20 * MS)
            lifecycles.stop("end")
    assert [c.participant for c in changes if c.state is State.ERROR] == ["bad"]
    assert [c.participant for c in changes if c.state is State.ABORTING] == ["good"]
