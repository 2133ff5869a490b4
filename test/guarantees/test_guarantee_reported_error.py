# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A participant that reports an error enters ERROR, with what it said."""

from __future__ import annotations

import time
from functools import partial

import pytest
from support.step_systems import MS, Part, StepSystem

from ros2_cosim.core.kernel.errors import ParticipantError
from ros2_cosim.core.kernel.lifecycle import Change, State
from ros2_cosim.core.kernel.lifecycle_group import LifecycleGroup
from ros2_cosim.core.kernel.sequential import SequentialScheduler


def test_the_state_carries_the_report():
    system = StepSystem(
        good=Part(10 * MS),
        bad=Part(10 * MS, lambda time, step: time.report_error("the sensor is blind")),
    )
    behaviours = system.behaviours()
    scheduler = SequentialScheduler(system.graph(), behaviours)
    changes: list[Change] = []
    lifecycles = LifecycleGroup(behaviours, on_change=changes.append)
    with pytest.raises(ParticipantError, match="'bad' reports an error: the sensor is blind"):
        with lifecycles.during(partial(time.sleep, 0.01), lambda: scheduler.active):
            scheduler.run(50 * MS)
    (error,) = [change for change in changes if change.state is State.ERROR]
    assert error.participant == "bad"
    assert "the sensor is blind" in error.reason
