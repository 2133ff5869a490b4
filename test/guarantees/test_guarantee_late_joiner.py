# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A participant that joins a running simulation has its first step at the advanced time."""

from __future__ import annotations

import pytest
from support.engine_network import digests
from support.step_systems import Part, StepSystem


def build() -> StepSystem:
    return StepSystem(
        there=Part(10, lambda time, step: {"out": step.time}),
        joiner=Part(10, lambda time, step: {"out": step.latest["x"]}, {"x": "there"}, enter=45),
    )


@pytest.mark.parametrize("seed", range(4))
def test_the_first_step_is_later_than_zero_and_the_result_is_fixed(seed):
    system = build()
    expected = digests(system.run(100).runtimes)
    assert [t for name, t in system.log if name == "joiner"] == [50, 60, 70, 80, 90]
    assert build().engines(100, seed).run() == expected


def test_the_others_have_run_without_it():
    system = build()
    system.run(100)
    before = system.log[: system.log.index(("joiner", 50))]
    assert [t for name, t in before if name == "there"] == [0, 10, 20, 30, 40, 50]
