# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A participant may decide when its next step takes place, with the same result everywhere."""

from __future__ import annotations

import pytest
from support.engine_network import digests
from support.step_systems import Part, StepSystem


def build() -> StepSystem:
    def choose(time, step):
        time.set_next_step(step.time + 1 + step.time % 7)
        return {"out": step.time}

    return StepSystem(
        chooser=Part(10, choose, dynamic=True),
        reader=Part(4, lambda time, step: {"out": step.latest["x"].stamp}, {"x": "chooser"}),
    )


def test_the_time_advance_of_an_event_is_the_way_to_the_next_one():
    """Events at 5, 7 and 9: that of 7 reaches a reader at 7, whose own event is at 8."""
    nexts = {0: 5, 5: 7, 7: 9}
    seen = []

    def event(time, step):
        time.set_next_step(nexts.get(step.time, 100))
        return {"out": step.time} if step.time == 7 else None

    def read(time, step):
        time.set_next_step(8 if step.time < 8 else 100)
        if (message := step.latest["x"]) is not None:
            seen.append((step.time, message.stamp))

    system = StepSystem(
        s0=Part(100, event, dynamic=True), s1=Part(100, read, {"x": "s0"}, dynamic=True)
    )
    system.run(20)
    assert [t for name, t in system.log if name == "s0"] == [0, 5, 7, 9]
    assert [t for name, t in system.log if name == "s1"] == [0, 8]
    assert seen == [(8, 7)]


@pytest.mark.parametrize("seed", range(4))
def test_readers_wait_for_its_promises(seed):
    system = build()
    expected = digests(system.run(60).runtimes)
    times = [t for name, t in system.log if name == "chooser"]
    assert times[:6] == [0, 1, 3, 7, 8, 10]
    assert build().engines(60, seed).run() == expected
