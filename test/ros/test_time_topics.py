# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What the clock publishes of time: no message that lets no participant do anything."""

from __future__ import annotations

import pytest

from ros2_cosim.core.kernel.coordinator import Coordinator
from ros2_cosim.core.kernel.membership import Membership
from ros2_cosim.core.realtime.pacing import TimeScale
from ros2_cosim.core.realtime.run_control import RunControl
from ros2_cosim.core.scenario.schema import make_scenario
from ros2_cosim.core.scenario.system import build_graph

pytest.importorskip("rclpy")

from ros2_cosim.ros.node.session import Session
from ros2_cosim.ros.node.time_topics import TimeTopics

MS = 1_000_000
SCENARIO = {
    "name": "one",
    "duration": "1s",
    "participants": {
        "a": {"model": "support.control_scenarios:Counter", "period": "100ms"},
    },
}


def granted(ros_domain: int, rate: float | None) -> list[tuple[int, int]]:
    """(wall time [ms], horizon [ns]) whenever the horizon is published, of a run of 300 ms.

    The only participant is active every 100 ms and takes no time; the clock looks every ms.
    """
    graph = build_graph(make_scenario(SCENARIO, "one"))
    coordinator = Coordinator(
        ["a"], duration_ns=1000 * MS, run_ahead_ns=400 * MS, stop_latency_ns=400 * MS
    )
    control = RunControl(step_ns=100 * MS, scale=TimeScale(rate))
    wall = 0
    found: list[tuple[int, int]] = []
    with Session("clock", []) as session:
        time_topics = TimeTopics(
            session,
            coordinator,
            control,
            Membership(graph, coordinator),
            run_id="one",
            timer=lambda: wall * MS,
        )
        control.started(0)
        coordinator.completed("a", 0)
        for wall in range(301):
            time_topics.move_horizon()
            if not found or time_topics.horizon > found[-1][1]:
                found.append((wall, time_topics.horizon))
            done = coordinator.lower_bound_of("a")
            while done < time_topics.horizon:
                done += 100 * MS
            coordinator.completed("a", done)
    return found


def test_a_paced_run_moves_the_horizon_when_a_participant_is_due(ros_domain: int) -> None:
    found = granted(ros_domain, rate=1.0)
    # A message for each activation, and no other.
    assert [wall for wall, _ in found] == [0, 100, 200, 300]
    assert all(wall * MS < horizon <= (wall + 1) * MS for wall, horizon in found)


def test_as_fast_as_possible_it_moves_by_half_windows(ros_domain: int) -> None:
    found = granted(ros_domain, rate=None)
    horizons = [horizon for _, horizon in found]
    assert horizons[0] == 400 * MS
    assert all(b - a >= 200 * MS for a, b in zip(horizons, horizons[1:], strict=False))
    assert horizons[-1] == 1000 * MS
