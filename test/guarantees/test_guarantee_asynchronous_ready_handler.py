# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""With the asynchronous handler the host goes on working until the handler is completed."""

from __future__ import annotations

import threading
import time

from support.behaviours import Plain

from ros2_cosim.core.kernel.lifecycle import State
from ros2_cosim.core.kernel.lifecycle_group import LifecycleGroup


def test_events_are_handled_and_all_wait_until_completion():
    handled = threading.Event()
    states: list[State] = []

    class Slow(Plain):
        def on_communication_ready_async(self, complete) -> None:
            # Complete only when the host has handled events after this handler has returned.
            threading.Thread(target=lambda: (handled.wait(60), complete())).start()

    def wait() -> None:
        states.extend(life.state for life in lifecycles.of.values())
        handled.set()
        time.sleep(0.001)

    lifecycles = LifecycleGroup({"slow": Slow(), "quick": Plain()})
    lifecycles.start(wait)
    assert lifecycles.system is State.RUNNING
    assert State.COMMUNICATION_INITIALISED in states
    assert State.RUNNING not in states
