# Copyright 2026 ros2_cosim contributors
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


def test_the_first_request_counts() -> None:
    """Others come while the stop is under way, from the same participant and from another one."""

    def stops_at(*stops: int):
        def step(time, step) -> None:
            if step.time in stops:
                time.stop(f"at {step.time // MS} ms")

        return step

    parts = {"a": Part(5 * MS, stops_at(25 * MS)), "b": Part(2 * MS, stops_at(20 * MS, 22 * MS))}
    assert StepSystem(**parts).run(1000 * MS).stop_reason == "b: at 20 ms"
    later = {"a": Part(5 * MS, stops_at(20 * MS)), "b": Part(2 * MS, stops_at(24 * MS))}
    assert StepSystem(**later).run(1000 * MS).stop_reason == "a: at 20 ms"
