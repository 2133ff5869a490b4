# SPDX-License-Identifier: Apache-2.0
"""Stop, called by any participant, stops the simulation of all coordinated ones."""

from __future__ import annotations

import pytest
from support.step_systems import MS, Part, StepSystem


@pytest.mark.parametrize("stopping", ["a", "b", "c"])
def test_all_stop_at_the_same_virtual_time(stopping):
    stopped: list[str] = []

    def part(name: str, period: int) -> Part:
        def step(time, step) -> None:
            if name == stopping and step.time >= 20 * MS:
                time.stop("had enough")

        return Part(period, step, handlers={"on_stop": lambda: stopped.append(name)})

    system = StepSystem(a=part("a", 5 * MS), b=part("b", 2 * MS), c=part("c", 20 * MS))
    scheduler = system.run(1000 * MS)
    assert scheduler.stop_reason == f"{stopping}: had enough"
    assert sorted(stopped) == ["a", "b", "c"]
    # The stop latency of these systems is 10 ms: every step before 30 ms, none after.
    for name, part in system.parts.items():
        times = [time for owner, time in system.log if owner == name]
        assert times == list(range(0, 30 * MS, part.period))
