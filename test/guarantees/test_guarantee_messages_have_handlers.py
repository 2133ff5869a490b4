# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A handler is called with each message at its stamp, never within an open step."""

from __future__ import annotations

import threading

from support.engine_network import digests
from support.step_systems import MS, Part, StepSystem


def system() -> StepSystem:
    """``slow`` holds its steps open; ``quick`` sends four messages for each of them."""

    def slow(time, step) -> None:
        threading.Timer(0.005, time.complete_step).start()

    def quick(time, step) -> None:
        time.send("out", step.time // MS)

    def handle(time, step) -> dict[str, int]:
        (sample,) = step.samples["in"]
        return {"out": 10 * sample.value}

    return StepSystem(
        quick=Part(10 * MS, quick),
        slow=Part(40 * MS, slow, reads={"in": "quick"}, asynchronous=True, handles={"in": handle}),
    )


def test_each_message_is_handled_at_its_stamp_before_the_step_of_that_time() -> None:
    made = system()
    made.run(90 * MS)
    of_slow = [(what, t // MS) for name, what, t in made.calls if name == "slow"]
    handled = [("in", t) for t in range(0, 90, 10)]
    steps = [("step", t) for t in (0, 40, 80)]
    assert of_slow == sorted(handled + steps, key=lambda call: (call[1], call[0] == "step"))
    assert [value for name, _, value in made.sent if name == "slow"] == list(range(0, 900, 100))


def test_the_order_is_the_same_in_every_interleaving() -> None:
    expected = digests(system().run(90 * MS).runtimes)
    for seed in range(5):
        assert system().engines(90 * MS, seed).run() == expected
