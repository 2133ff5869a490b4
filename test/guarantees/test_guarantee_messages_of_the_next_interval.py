# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""After step T messages of [T, T + step size] may arrive; they wait for the next step."""

from __future__ import annotations

from support.step_systems import Part, StepSystem


def test_what_arrives_early_is_read_at_its_time():
    seen: list[tuple[int, int]] = []

    def read(time, step) -> None:
        seen.append((step.time, step.latest["x"].stamp))

    run = StepSystem(
        reader=Part(10, read, {"x": "writer"}),
        writer=Part(4, lambda time, step: {"out": step.time}, schedule="every"),
    ).engines(40)
    # The writer runs to the end before the reader has its first turn.
    run.turn("writer")
    run.turn("reader")
    assert seen == [(0, 0), (10, 8), (20, 20), (30, 28)]
