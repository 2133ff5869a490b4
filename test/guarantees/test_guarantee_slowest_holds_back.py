# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Time advances when all have completed the step: the slowest participant sets the pace."""

from __future__ import annotations

from support.step_systems import Part, StepSystem


def test_others_stop_where_they_need_what_one_has_not_sent():
    system = StepSystem(
        slow=Part(10, lambda time, step: {"out": step.time}, schedule="every"),
        reader=Part(10, lambda time, step: {"out": step.time}, {"x": "slow"}, schedule="every"),
        behind=Part(10, reads={"x": "reader"}),
    )
    run = system.engines(100)
    run.turn("slow")
    engine = run.engines["slow"]
    assert engine.lower_bound() == 100
    held = system.engines(100)
    for _ in range(10):
        assert not held.turn("reader")
        assert not held.turn("behind")
    assert held.engines["reader"].blocked().waits_for == ("slow.out (promised up to 0s)",)


def test_the_clock_shows_the_time_of_the_slowest():
    from ros2_cosim.core.kernel.coordinator import Coordinator

    coordinator = Coordinator("abc", duration_ns=100, run_ahead_ns=10, stop_latency_ns=10)
    for name, bound in (("a", 80), ("b", 30), ("c", 100)):
        coordinator.completed(name, bound)
    assert (coordinator.time, coordinator.slowest()) == (30, "b")
