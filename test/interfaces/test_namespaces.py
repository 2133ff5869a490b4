# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Names of the nodes of a run: those beside the participants say whose they are."""

from __future__ import annotations

import pytest

from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.messages.namespaces import (
    OWN_PROCESSES,
    node_name_of,
    process_name_of,
    renamed_argument,
)
from ros2_cosim.core.scenario.schema import make_scenario
from ros2_cosim.ros.bringup.plan import Process


def test_nodes_of_the_project_have_its_name_and_those_of_participants_their_own() -> None:
    assert {Process(name, name).node for name in OWN_PROCESSES} == {
        "cosim_clock", "cosim_composed", "cosim_recorder", "cosim_visualisation"
    }  # fmt: skip
    assert Process("world", "participant").node == "world"
    assert Process("group1", "participants", hosts=("a", "b")).node == "cosim_group1"
    for name in (*OWN_PROCESSES, "world", "cosim_world"):
        assert process_name_of(node_name_of(name)) == name


def test_a_participant_cannot_have_the_name_of_such_a_node() -> None:
    data = {"name": "a", "duration": "1s", "participants": {"cosim_clock": {"model": "a:B"}}}
    with pytest.raises(ConfigurationError, match="participants.cosim_clock: another process of a"):
        make_scenario(data, "a")


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("clock:/clock:=/time", "cosim_clock:/clock:=/time"),
        ("recorder:use_sim_time:=true", "cosim_recorder:use_sim_time:=true"),
        ("clock:=/time", "clock:=/time"),
        ("world:/odometry:=/o", "world:/odometry:=/o"),
        ("cosim_clock:a:=b", "cosim_clock:a:=b"),
        ("-r", "-r"),
    ],
)
def test_arguments_for_one_node_may_name_it_as_before(given: str, expected: str) -> None:
    assert renamed_argument(given) == expected
