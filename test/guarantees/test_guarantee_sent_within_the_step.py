# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What is sent at once within an asynchronous step leaves before the step is complete."""

from __future__ import annotations

import threading

import pytest
from support.step_systems import MS, Part, StepSystem

from ros2_cosim.core.kernel.errors import ParticipantError


def test_readers_have_it_while_the_step_is_open() -> None:
    seen: list[int] = []

    def step(time, step) -> None:
        def work() -> None:
            for part in range(3):
                time.send_now("out", part)
                system.until_sent(3 * (step.time // (10 * MS)) + part + 1)
                seen.append(len(system.sent))
            time.complete_step()

        threading.Thread(target=work).start()

    system = StepSystem(a=Part(10 * MS, step, asynchronous=True))
    system.run(30 * MS)
    assert seen == list(range(1, 10))
    assert system.sent == [("a", k * 10 * MS, part) for k in range(3) for part in range(3)]


def test_it_counts_as_the_message_of_a_port_that_sends_in_every_step() -> None:
    def step(time, step) -> None:
        time.send_now("out", "now")
        time.complete_step()

    system = StepSystem(a=Part(10, step, asynchronous=True, schedule="every"))
    system.run(20)
    assert system.sent == [("a", 0, "now"), ("a", 10, "now")]


def test_in_a_blocking_step_it_is_refused() -> None:
    system = StepSystem(a=Part(10, lambda time, step: time.send_now("out", 1)))
    with pytest.raises(ParticipantError, match="send_now in a blocking step.*allowed is an asyn"):
        system.run(20)
