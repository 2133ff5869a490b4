# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""An asynchronous step ends with complete_step, not when its handler returns."""

from __future__ import annotations

import threading

from support.step_systems import MS, Part, StepSystem


def test_time_stands_until_the_step_is_completed():
    """The thread that completes the step checks that no participant has advanced meanwhile."""
    logged: list[int] = []

    def step(time, step) -> None:
        def complete() -> None:
            logged.append(len(system.log))
            time.complete_step()

        timer = threading.Timer(0.005, complete)
        timer.start()

    system = StepSystem(
        first=Part(10 * MS, step, asynchronous=True), second=Part(10 * MS, reads={"x": "first"})
    )
    system.run(30 * MS)
    assert [name for name, _ in system.log] == ["first", "second"] * 3
    assert logged == [1, 3, 5]
