# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Out of ERROR there is one way: to shut down."""

from __future__ import annotations

import pytest

from ros2_cosim.core.kernel.errors import LifecycleError
from ros2_cosim.core.kernel.lifecycle import Lifecycle, State


@pytest.mark.parametrize("asked", State, ids=lambda state: state.name)
def test_nothing_else_is_allowed(asked):
    lifecycle = Lifecycle("p")
    lifecycle.state = State.ERROR
    if asked in (State.SHUTTING_DOWN, State.ABORTING):
        lifecycle.enter(asked, "over")
        return
    with pytest.raises(LifecycleError, match="is ERROR; .* allowed is SHUTTING_DOWN, ABORTING"):
        lifecycle.enter(asked, "go on")
