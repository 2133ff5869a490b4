# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""In STOPPING, no step handler is called any more."""

from __future__ import annotations

from support.step_systems import MS, Part, StepSystem


def test_the_stop_handler_comes_after_the_last_step():
    log: list[str] = []
    StepSystem(
        a=Part(
            10 * MS,
            lambda time, step: log.append("step"),
            handlers={"on_stop": lambda: log.append("stop")},
        )
    ).run(50 * MS)
    assert log == ["step"] * 5 + ["stop"]
