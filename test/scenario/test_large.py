# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Large systems: what grows with the square of the participants shows as a count, not as a time."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from ros2_cosim.core.documents.offered import all_offered
from ros2_cosim.core.kernel.latched import LatchedChannel
from ros2_cosim.core.kernel.model import Onlooker
from ros2_cosim.core.kernel.sequential import SequentialScheduler
from ros2_cosim.core.scenario import declaration
from ros2_cosim.core.scenario.adjust import adjusted
from ros2_cosim.core.scenario.schema import Scenario
from ros2_cosim.core.scenario.system import build_graph
from ros2_cosim.driving.controllers.registry import available_laws

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))

from speed_platoon import long_platoon


@pytest.fixture(scope="module")
def long() -> Scenario:
    """A platoon of forty vehicles; each sensor reads all of them."""
    return long_platoon(40, 1.0)


def test_a_graph_looks_at_each_model_once(long: Scenario, monkeypatch: pytest.MonkeyPatch) -> None:
    looked = []
    real = declaration.find_model

    def counted(name: str, where: str) -> object:
        looked.append(where)
        return real(name, where)

    monkeypatch.setattr(declaration, "find_model", counted)
    build_graph(long)
    assert len(looked) <= len(long.participants)


def test_readers_share_what_a_port_holds(long: Scenario) -> None:
    graph = build_graph(long)
    scheduler = SequentialScheduler(graph, dict.fromkeys(graph.order, Onlooker()))
    held: set[LatchedChannel] = set()
    readers = 0
    for runtime in scheduler.runtimes.values():
        for port in runtime.latched_ports:
            held.update(port.channels)
            readers += len(port.channels)
    ports = sum(len(spec.outputs) for spec in graph.participants.values())
    assert len(held) <= 2 * ports and readers > 3 * len(held)


def test_installed_packages_are_searched_once() -> None:
    all_offered.cache_clear()
    for _ in range(3):
        available_laws()
    assert all_offered.cache_info().misses == 1


def test_a_platoon_of_a_hundred_can_be_given_another_seed() -> None:
    scenario = adjusted(long_platoon(100, 1.0), seed=5)
    assert scenario.seed == 5 and len(scenario.participants) == 201
