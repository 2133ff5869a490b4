# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The starting handler is called when RUNNING is imminent, once all are ready."""

from __future__ import annotations

import time
from functools import partial

from support.behaviours import Plain

from ros2_cosim.core.kernel.lifecycle import State
from ros2_cosim.core.kernel.lifecycle_group import LifecycleGroup


def test_it_comes_between_ready_and_running():
    seen: list[list[State]] = []

    class Model(Plain):
        def on_starting(self) -> None:
            seen.append([life.state for life in lifecycles.of.values()])

    lifecycles = LifecycleGroup({name: Model() for name in "ab"})
    lifecycles.start(partial(time.sleep, 0.01))
    # The second handler is called when the first participant runs already: it blocks none.
    assert seen == [
        [State.READY_TO_RUN, State.READY_TO_RUN],
        [State.RUNNING, State.READY_TO_RUN],
    ]
