# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""All interleavings of small systems end alike; ``bench/simulated_network.py`` explores more."""

from __future__ import annotations

from itertools import takewhile

import pytest

pytest.importorskip("rclpy", reason="needs rclpy, which make setup installs")

from simulation import interleavings
from simulation.interleavings import Explorer, SmallSystem, small_systems

from ros2_cosim.core.kernel.engine import Engine
from ros2_cosim.core.kernel.graph import Graph
from ros2_cosim.core.kernel.runtime import ParticipantRuntime


def test_every_interleaving_ends_with_the_trace_of_the_reference() -> None:
    """All systems of one participant, all of two without silence, a sample of the others."""
    of_two = takewhile(lambda system: not system.has_silence, small_systems(2))
    for systems, count in (
        (small_systems(1), 32),
        (of_two, 372),
        (small_systems(2, 67), 23),
        (small_systems(3, 10_001), 12),
    ):
        explored = [Explorer(system).explore() for system in systems]
        assert len(explored) == count
        assert all(found.states > 1 for found in explored)


@pytest.mark.parametrize(("size", "every"), [(1, 3), (2, 67), (3, 40_001)])
def test_nothing_is_lost_with_the_orders_that_are_left_out(size: int, every: int) -> None:
    """Each part reaches exactly the states that it reaches when all orders are explored."""
    fewer = []
    for system in small_systems(size, every):
        all_orders, enough = Explorer(system), Explorer(system)
        fewer.append(all_orders.explore(reduced=False).states - enough.explore(reduced=True).states)
        assert enough.reached == all_orders.reached, system
    assert min(fewer) >= 0 and max(fewer) > 0


def test_an_interleaving_that_breaks_the_order_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """With and without the orders that are left out."""

    def careless(graph: Graph, runtime: ParticipantRuntime) -> Engine:
        """An engine that waits for no latched input."""
        engine = Engine(graph, runtime)
        engine._plain.clear()
        engine._delayed.clear()
        return engine

    monkeypatch.setattr(interleavings, "Engine", careless)
    systems = list(small_systems(2, 20))
    broken = {reduced: [_breaks(s, reduced=reduced) for s in systems] for reduced in (False, True)}
    assert broken[True] == broken[False]
    assert sum(broken[True]) > 5


def _breaks(system: SmallSystem, *, reduced: bool) -> bool:
    try:
        Explorer(system).explore(reduced=reduced)
    except AssertionError:
        return True
    return False
