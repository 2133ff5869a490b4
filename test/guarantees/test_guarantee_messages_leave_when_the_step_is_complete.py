# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Messages of a step are distributed when the step is complete, not before."""

from __future__ import annotations

from support.step_systems import Part, StepSystem


def test_no_reader_has_them_while_the_handler_runs():
    seen: list[int] = []

    def step(time, step) -> None:
        time.send("out", step.time)
        seen.append(len(system.sent))

    system = StepSystem(a=Part(10, step))
    system.run(30)
    assert seen == [0, 1, 2]
    assert len(system.sent) == 3


def test_of_several_records_for_one_port_the_last_one_is_sent():
    def step(time, step) -> None:
        time.send("out", "first")
        time.send("out", "last")

    system = StepSystem(a=Part(10, step))
    system.run(10)
    assert system.sent == [("a", 0, "last")]
