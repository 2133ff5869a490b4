# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A participant knows its ports, not its peers."""

from __future__ import annotations

from support.step_systems import Part, StepSystem


def readings(writers: list[str]) -> list[object]:
    """What the same reader sees of one of several writers."""
    seen: list[object] = []
    system = StepSystem(
        reader=Part(10, lambda time, step: seen.append(step.latest["x"]), {"x": writers[0]}),
        **{name: Part(10, lambda time, step: {"out": step.time}) for name in writers},
    )
    system.run(30)
    return seen


def test_the_reader_is_the_same_for_every_writer():
    assert readings(["one", "other"]) == readings(["other", "one"]) != [None] * 3
