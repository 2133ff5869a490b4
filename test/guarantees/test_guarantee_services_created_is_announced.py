# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A participant that enters the state machine announces SERVICES_CREATED first."""

from __future__ import annotations

from support.behaviours import Plain

from ros2_cosim.core.kernel.lifecycle import TRANSITIONS, Change, State
from ros2_cosim.core.kernel.participant_lifecycle import ParticipantLifecycle


def test_the_first_state_that_is_told_is_services_created():
    told: list[Change] = []
    ParticipantLifecycle("p", Plain(), on_change=told.append).create()
    assert [(c.before, c.state) for c in told] == [(State.INVALID, State.SERVICES_CREATED)]
    regular = set(TRANSITIONS[State.INVALID]) - {State.ERROR, State.ABORTING}
    assert regular == {State.SERVICES_CREATED}
