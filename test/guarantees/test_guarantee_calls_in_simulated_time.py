# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A call is answered at a simulated time that does not depend on when anything arrives."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.service_models import SCENARIO

from ros2_cosim.core.record.bag_reader import read_bag
from ros2_cosim.core.run.inproc import run_inproc
from ros2_cosim.core.scenario.schema import make_scenario


@pytest.fixture(scope="module")
def bag(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[int]]:
    """Topic -> stamps [ms]."""
    directory: Path = tmp_path_factory.mktemp("calls")
    run_inproc(make_scenario(SCENARIO, "calls"), directory)
    stamps: dict[str, list[int]] = {}
    for message in read_bag(directory / "bag"):
        stamps.setdefault(message.topic, []).append(message.stamp // 1_000_000)
    return stamps


def test_requests_and_answers_are_recorded_at_their_stamps(bag: dict[str, list[int]]) -> None:
    requests, answers = bag["/second/sum/request"], bag["/second/sum/answer"]
    # Each 40 ms, and 8 ms after each third answer that is handled: 5 ms on its way, 3 ms computed.
    assert requests[:4] == [5, 13, 45, 85]
    assert answers == [t + 3 for t in requests if t + 3 < 400]


def test_answers_come_in_the_order_of_the_requests_also_with_drawn_latencies(
    bag: dict[str, list[int]],
) -> None:
    requests, answers = bag["/first/sum/request"], bag["/first/sum/answer"]
    assert len(set(b - a for a, b in zip(requests, requests[1:], strict=False))) > 3
    assert answers == [t + 3 for t in requests if t < 400][: len(answers)]
    assert len(answers) >= len(requests) - 2


def test_another_run_has_the_same_trace(tmp_path: Path) -> None:
    traces = set()
    for name in "ab":
        (tmp_path / name).mkdir()
        scenario = make_scenario(SCENARIO, "calls")
        traces.add(run_inproc(scenario, tmp_path / name, record=False).trace_sha256)
    assert len(traces) == 1
