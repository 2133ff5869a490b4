# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A coordinated participant is required; an autonomous one is not, unless it says so."""

from __future__ import annotations

import pytest

from ros2_cosim.core.scenario.schema import ParticipantSettings


@pytest.mark.parametrize(
    ("settings", "required"),
    [
        ({}, True),
        ({"mode": "coordinated"}, True),
        ({"mode": "autonomous"}, False),
        ({"mode": "autonomous", "required": True}, True),
        ({"required": False}, False),
    ],
)
def test_the_mode_decides_unless_something_else_is_said(settings, required):
    assert ParticipantSettings(model="any", period="10ms", **settings).is_required is required


def test_the_state_of_the_system_is_that_of_those_that_take_part():
    from support.step_systems import Part, StepSystem

    from ros2_cosim.core.kernel.coordinator import Coordinator
    from ros2_cosim.core.kernel.lifecycle import State
    from ros2_cosim.core.kernel.membership import Membership

    graph = StepSystem(a=Part(10), late=Part(10, enter=500), leaver=Part(10, leave=300)).graph()
    coordinator = Coordinator(
        graph.order, duration_ns=1000, run_ahead_ns=50, stop_latency_ns=50, enters={"late": 500}
    )
    membership = Membership(graph, coordinator)

    def defines(name: str, state: State | None, ending: bool = False) -> bool:
        return membership.defines_system(name, state, ending)

    assert defines("a", None)
    assert defines("a", State.STOPPING)
    assert not defines("late", None)
    assert not defines("late", State.SERVICES_CREATED)
    assert defines("late", State.RUNNING)
    assert defines("late", State.PAUSED)
    assert not defines("late", State.STOPPED, True)  # it never took part
    membership.ready("late")
    assert defines("late", State.STOPPED, True)
    assert defines("leaver", State.RUNNING)
    assert not defines("leaver", State.STOPPING)
