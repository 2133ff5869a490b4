# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Messages between two participants arrive in the order in which they were sent."""

from __future__ import annotations

import pytest
from support.step_systems import Part, StepSystem

from ros2_cosim.core.kernel.channel import CausalityCounts, Channel
from ros2_cosim.core.kernel.errors import CausalityError
from ros2_cosim.core.kernel.participant import Sample


def test_one_that_overtook_another_ends_the_run():
    graph = StepSystem(a=Part(10), b=Part(10, reads={"x": "a"})).graph()
    received: list[int] = []
    channel = Channel(graph, "a", "out", lambda sample: received.append(sample.seq))
    counts = CausalityCounts()
    channel.push(Sample(0, 0, None), "b", counts)
    with pytest.raises(CausalityError, match="number 2.*where number 1 was expected"):
        channel.push(Sample(20, 2, None), "b", counts)
    assert received == [0]


@pytest.mark.parametrize("seed", range(5))
def test_numbers_and_stamps_of_what_is_read_never_decrease(seed):
    seen: list[tuple[int, int]] = []

    def read(time, step) -> None:
        if step.latest["x"] is not None:
            seen.append((step.latest["x"].stamp, step.latest["x"].seq))

    StepSystem(
        a=Part(3, lambda time, step: {"out": step.time}),
        b=Part(5, read, {"x": "a"}),
    ).engines(100, seed).run()
    assert seen == sorted(seen)
