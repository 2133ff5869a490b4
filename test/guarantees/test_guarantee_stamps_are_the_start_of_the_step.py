# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What is sent during a step is stamped with the time at which the step begins."""

from __future__ import annotations

import threading

from support.step_systems import MS, Part, StepSystem


def test_blocking_and_asynchronous_whenever_in_the_step_it_is_sent():
    def late(time, step) -> None:
        def send() -> None:
            time.send("out", "late")
            time.complete_step()

        threading.Thread(target=send).start()

    system = StepSystem(
        blocking=Part(10 * MS, lambda time, step: {"out": "now"}),
        asynchronous=Part(10 * MS, late, asynchronous=True),
    )
    system.run(30 * MS)
    times = [0, 10 * MS, 20 * MS]
    for name, value in (("blocking", "now"), ("asynchronous", "late")):
        assert [m for m in system.sent if m[0] == name] == [(name, t, value) for t in times]
