# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The bench of two parts over a disturbed network: what it draws, and one short run."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from bench.realtime_network import DisturbedPath, Network, measure  # noqa: E402


class Clockwork:
    """Takes what a path hands to the event loop; gives it in the order of its times."""

    def __init__(self) -> None:
        self.calls: list[tuple[int, Callable[[], None]]] = []

    def call_at(self, time_ns: int, call: Callable[[], None]) -> None:
        self.calls.append((time_ns, call))

    def run(self) -> None:
        for _, call in sorted(self.calls, key=lambda entry: entry[0]):
            call()


def carried(network: Network, line: str | None, seed: int = 1) -> tuple[list[int], DisturbedPath]:
    """What arrives of 500 PDUs, in the order of arrival."""
    arrived: list[int] = []
    clockwork, path = Clockwork(), DisturbedPath(network, seed)
    reactor: Any = clockwork
    for number in range(500):
        path.carry(reactor, line, lambda n=number: arrived.append(n))
    clockwork.run()
    return arrived, path


DISTURBED = Network("tcp", (1.0, 50.0), burst=0.1, burst_ms=(100.0, 200.0), loss=0.1)


def test_a_connection_keeps_its_order_and_loses_nothing() -> None:
    arrived, path = carried(DISTURBED, "connection")
    assert arrived == list(range(500))
    assert (path.passed, path.lost) == (500, 0)


def test_datagrams_get_lost_and_overtake_each_other_by_the_seed() -> None:
    arrived, path = carried(DISTURBED, None)
    assert len(arrived) + path.lost == path.passed == 500
    assert 20 < path.lost < 100
    assert arrived != sorted(arrived)
    assert set(carried(DISTURBED, None)[0]) == set(arrived)
    assert set(carried(DISTURBED, None, seed=2)[0]) != set(arrived)


@pytest.mark.usefixtures("nothing_left")
def test_a_run_over_a_network_that_is_always_late_is_repeated_from_its_arrivals(
    tmp_path: Path,
) -> None:
    """Each exchange takes 16 ms at least, on any machine, where 6 ms are allowed."""
    pytest.importorskip("rclpy", reason="needs rclpy, which make setup installs")
    found = measure("too-far", "500ms", 1, tmp_path)
    assert found["late"] > 0.9 and found["estimates"] > 40
    assert found["load"] > 1
    assert (found["lost"], found["repeatable"], found["same again"]) == (0, False, True)
