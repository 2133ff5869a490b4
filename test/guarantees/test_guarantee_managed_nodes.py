# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Participants are ROS managed nodes: what ros2 lifecycle asks for is answered."""

from __future__ import annotations

from typing import Any

import pytest


def test_states_are_mapped(observed: Any) -> None:
    assert observed.labels == {"RUNNING": "active", "PAUSED": "inactive"}


def test_what_is_offered_depends_on_the_state(observed: Any) -> None:
    # deactivate and shutdown of an active node; cleanup, activate and shutdown of an inactive one
    assert {k: set(v) for k, v in observed.offered.items()} == {
        "RUNNING": {4, 7},
        "PAUSED": {2, 3, 6},
    }


def test_what_is_not_offered_is_refused(observed: Any) -> None:
    assert observed.granted == {"configure": False, "deactivate": True, "activate": True}


def test_transitions_are_published(observed: Any) -> None:
    at = observed.events.index(("active", "inactive"))
    assert observed.events[at + 1] == ("inactive", "active")


def test_the_graph_holds_all_that_can_happen(observed: Any) -> None:
    edges = {(start, goal) for _, start, goal in observed.graph}
    assert set(observed.events) <= edges
    assert ("shuttingdown", "finalized") in edges


def test_every_transition_of_ours_is_one_of_a_managed_node() -> None:
    pytest.importorskip("rclpy", reason="needs rclpy, which make setup installs")
    from ros2_cosim.core.kernel.lifecycle import TRANSITIONS, State
    from ros2_cosim.ros.node.lifecycle_mapping import ALLOWED, EDGES, ROS_STATE, edge_between

    for state, following in TRANSITIONS.items():
        for goal in following if state is not State.INVALID else ():
            if ROS_STATE[state] != ROS_STATE[goal]:
                assert edge_between(ROS_STATE[state], ROS_STATE[goal]), (state, goal)
    assert len({edge.id for edge in EDGES}) == len(EDGES)
    assert len({(edge.start, edge.goal) for edge in EDGES}) == len(EDGES)
    starts = {edge.id: edge.start for edge in EDGES}
    for name, allowed in ALLOWED.items():
        state = State.SERVICES_CREATED if name == "unconfigured" else State[name]
        assert {starts[number] for number in allowed} == {ROS_STATE[state]}
