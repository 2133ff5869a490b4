# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""If all required participants are in one state, the system is in that state."""

from __future__ import annotations

import pytest

from ros2_cosim.core.kernel.lifecycle import State
from ros2_cosim.core.kernel.membership import system_state


@pytest.mark.parametrize("state", State, ids=lambda state: state.name)
@pytest.mark.parametrize("count", [1, 2, 7])
def test_the_common_state(state, count):
    assert system_state([state] * count) is state
