# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A participant can be the network: the stamps that it gives are those that readers see."""

from __future__ import annotations

from typing import Any

from support.engine_network import digests
from support.step_systems import MS, Part, StepSystem

#: A message is on the bus for so long [ns]; a second one waits until it is free.
TRANSFER = 3 * MS


def system() -> StepSystem:
    """Two senders at equal times, a bus that carries one message at a time, a reader."""
    queue: list[Any] = []

    def bus(time, step) -> None:
        if queue:
            time.send("out", queue.pop(0))
        follow(time)

    def take(time, step) -> None:
        queue.extend(sample.value for got in step.samples.values() for sample in got)
        if len(queue) == 1:
            follow(time)

    def follow(time) -> None:
        if queue:
            time.set_next_step(time.now() + TRANSFER)

    def send(time, step) -> dict[str, str]:
        return {"out": f"{step.time // MS}"}

    return StepSystem(
        first=Part(10 * MS, send),
        second=Part(20 * MS, send),
        bus=Part(
            1000 * MS,
            bus,
            reads={"a": "first", "b": "second"},
            dynamic=True,
            handles={"a": take, "b": take},
        ),
        reader=Part(1000 * MS, reads={"in": "bus"}, handles={"in": lambda time, step: None}),
    )


def test_readers_get_the_stamps_of_the_network() -> None:
    made = system()
    made.run(50 * MS)
    carried = [(stamp // MS, value) for name, stamp, value in made.sent if name == "bus"]
    # Two messages each 20 ms, one between them; the second of two waits for the first.
    assert carried == [(3, "0"), (6, "0"), (13, "10"), (23, "20"), (26, "20"), (33, "30"),
                       (43, "40"), (46, "40")]  # fmt: skip
    read = [t // MS for name, what, t in made.calls if (name, what) == ("reader", "in")]
    assert read == [stamp for stamp, _ in carried]


def test_the_order_is_the_same_in_every_interleaving() -> None:
    expected = digests(system().run(50 * MS).runtimes)
    for seed in range(5):
        assert system().engines(50 * MS, seed).run() == expected
