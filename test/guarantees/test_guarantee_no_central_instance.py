# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Participants advance by what they tell each other; no central instance grants each step."""

from __future__ import annotations

import pytest
from support.engine_network import digests
from support.step_systems import Part, StepSystem


def build() -> StepSystem:
    return StepSystem(
        a=Part(10, lambda t, s: {"out": s.time}, {"x": "c"}, delayed=True, schedule="every"),
        b=Part(4, lambda t, s: {"out": s.latest["x"]}, {"x": "a"}),
        c=Part(15, lambda t, s: {"out": s.latest["x"]}, {"x": "b"}),
    )


@pytest.mark.parametrize("seed", range(5))
def test_engines_without_any_coordinator_come_to_the_end(seed):
    """They have messages and promises of each other, and nothing else."""
    assert build().engines(200, seed).run() == digests(build().run(200).runtimes)
