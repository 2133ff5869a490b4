# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A message stamped T is read by the step at T, or (delayed) by the next one: always the same."""

from __future__ import annotations

import pytest
from support.step_systems import Part, StepSystem


def seen(delayed: bool, seed: int | None) -> list[tuple[int, int | None]]:
    """(time of the step, stamp of the message that it read)."""
    pairs: list[tuple[int, int | None]] = []

    def read(time, step) -> None:
        sample = step.latest["x"]
        pairs.append((step.time, sample.stamp if sample else None))

    system = StepSystem(
        reader=Part(10, read, {"x": "writer"}, delayed=delayed),
        writer=Part(10, lambda time, step: {"out": step.time}),
    )
    if seed is None:
        system.run(50)
    else:
        system.engines(50, seed).run()
    return pairs


@pytest.mark.parametrize("seed", [None, *range(8)])
def test_a_direct_input_sees_it_in_the_step_at_t(seed):
    """The writer has the smaller rank, though its name comes later."""
    assert seen(False, seed) == [(t, t) for t in range(0, 50, 10)]


@pytest.mark.parametrize("seed", [None, *range(8)])
def test_a_delayed_input_sees_it_in_the_step_after_t(seed):
    assert seen(True, seed) == [(t, t - 10 if t else None) for t in range(0, 50, 10)]
