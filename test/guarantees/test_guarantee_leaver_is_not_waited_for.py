# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The others do not wait for a participant that has left."""

from __future__ import annotations

import pytest
from support.engine_network import digests
from support.step_systems import Part, StepSystem


def build() -> StepSystem:
    return StepSystem(
        leaver=Part(10, lambda time, step: {"out": step.time}, leave=35),
        reader=Part(10, lambda time, step: {"out": step.latest["x"].stamp}, {"x": "leaver"}),
    )


@pytest.mark.parametrize("seed", range(4))
def test_readers_run_to_the_end_with_its_last_word(seed):
    system = build()
    expected = digests(system.run(80).runtimes)
    assert [t for name, t in system.log if name == "leaver"] == [0, 10, 20, 30]
    stamps = [value for name, _, value in system.sent if name == "reader"]
    assert stamps == [0, 10, 20, 30, 30, 30, 30, 30]
    assert build().engines(80, seed).run() == expected
