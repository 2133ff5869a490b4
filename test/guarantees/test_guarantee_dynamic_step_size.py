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


@pytest.mark.parametrize("seed", range(4))
def test_readers_wait_for_its_promises(seed):
    system = build()
    expected = digests(system.run(60).runtimes)
    times = [t for name, t in system.log if name == "chooser"]
    assert times[:6] == [0, 1, 3, 7, 8, 10]
    assert build().engines(60, seed).run() == expected
