# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""When the step at T has been reached, no message stamped before T can arrive."""

from __future__ import annotations

import pytest
from support.step_systems import Part, StepSystem

from ros2_cosim.core.kernel.errors import CausalityError
from ros2_cosim.core.kernel.participant import Sample


def build() -> StepSystem:
    return StepSystem(
        a=Part(4, lambda time, step: {"out": step.time}),
        b=Part(10, reads={"x": "a"}),
    )


@pytest.mark.parametrize("seed", range(5))
def test_at_each_step_everything_older_has_been_promised_complete(seed):
    run = build().engines(200, seed)
    engine = run.engines["b"]
    activate = run.runtimes["b"]._activate

    def check(step):
        assert all(channel.promise > step.time for channel in engine.channels)
        return activate(step)

    run.runtimes["b"]._activate = check  # type: ignore[method-assign, assignment]
    run.run()


def test_one_that_comes_nevertheless_ends_the_run():
    run = build().engines(200)
    run.turn("a")
    run.turn("b")
    channel = run.engines["b"].channels[0]
    late = Sample(channel.promise - 1, channel.received, None)
    with pytest.raises(CausalityError, match="'b'.*but nothing before .* was promised"):
        run.engines["b"].receive(0, late)
