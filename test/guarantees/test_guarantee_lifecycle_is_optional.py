# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Handlers of the lifecycle are optional: a model needs none, and has all states anyhow."""

from __future__ import annotations

import time
from functools import partial

from support.kernel_systems import Mixer

from ros2_cosim.core.kernel.lifecycle import Change, State
from ros2_cosim.core.kernel.lifecycle_group import LifecycleGroup


def test_a_model_without_any_handler_goes_through_all_states():
    changes: list[Change] = []
    lifecycles = LifecycleGroup({"plain": Mixer("plain", {}, 2, None)}, on_change=changes.append)
    with lifecycles.during(partial(time.sleep, 0.01), lambda: None):
        lifecycles.stop("end")
        lifecycles.shut_down("complete")
    assert [change.state for change in changes] == [
        s for s in State if s not in (State.INVALID, State.PAUSED, State.ERROR, State.ABORTING)
    ]
