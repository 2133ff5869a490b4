# SPDX-License-Identifier: Apache-2.0
"""All interleavings of small systems end alike; ``bench/simulated_network.py`` explores more."""

from __future__ import annotations

import pytest

pytest.importorskip("rclpy", reason="needs rclpy, which make setup installs")

from simulation.interleavings import Explorer, SmallSystem, small_systems

from ros2_cosim.kernel.engine import Engine


@pytest.mark.parametrize(("size", "every"), [(1, 1), (2, 1), (3, 10_001)])
def test_every_interleaving_ends_with_the_trace_of_the_reference(size: int, every: int) -> None:
    """Of one and two participants all systems, of three a sample."""
    explored = [Explorer(system).explore() for system in small_systems(size, every)]
    assert len(explored) == {1: 32, 2: 1488, 3: 12}[size]
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
    monkeypatch.setattr(Engine, "_settled", lambda self, time: True)
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
