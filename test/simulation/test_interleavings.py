# SPDX-License-Identifier: Apache-2.0
"""All interleavings of small systems end alike; ``bench/simulated_network.py`` explores more."""

from __future__ import annotations

import pytest

pytest.importorskip("rclpy", reason="needs rclpy, which make setup installs")

from simulation import interleavings
from simulation.interleavings import Explorer, small_systems

from ros2_cosim.kernel.engine import Engine
from ros2_cosim.kernel.graph import Graph
from ros2_cosim.kernel.runtime import ParticipantRuntime


@pytest.mark.parametrize(
    ("size", "every", "systems"),
    [(1, 1, 32), (2, 4, 372), (3, 40_000, 3)],
)
def test_every_interleaving_ends_with_the_trace_of_the_reference(
    size: int, every: int, systems: int
) -> None:
    explored = [
        Explorer(system).explore()
        for number, system in enumerate(small_systems(size))
        if number % every == 0
    ]
    assert len(explored) == systems
    assert all(found.states > 1 for found in explored)


def test_an_interleaving_that_breaks_the_order_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def careless(graph: Graph, runtime: ParticipantRuntime) -> Engine:
        """An engine that waits for no latched input."""
        engine = Engine(graph, runtime)
        engine._plain.clear()
        engine._delayed.clear()
        return engine

    monkeypatch.setattr(interleavings, "Engine", careless)
    broken = 0
    for number, system in enumerate(small_systems(2)):
        if number % 20 == 0:
            try:
                Explorer(system).explore()
            except AssertionError:
                broken += 1
    assert broken > 5
