# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The bench of several hosts puts on them what it says."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from bench.ros_two_hosts import ADDRESSES, PARTS, scenario_of
from ros2_cosim.core.scenario.declaration import declare_all
from ros2_cosim.core.scenario.distribution import hosts_of
from ros2_cosim.core.scenario.schema import load_scenario

FAR = {
    "follower": {"sensor2": "lab1", "cacc2": "lab1"},
    "world": {"world": "lab1", "world_slave": "lab1", "simulator": "lab1"},
    "slave": {"world_slave": "lab1", "simulator": "lab1"},
    "three": {"sensor1": "lab1", "cacc1": "lab1", "sensor2": "lab2", "cacc2": "lab2"},
}


@pytest.mark.parametrize("part", list(PARTS))
def test_each_part_is_on_its_hosts(part: str, tmp_path: Path) -> None:
    file = tmp_path / "hosts.yaml"
    file.write_text(yaml.safe_dump(scenario_of("1s", ["a", "b", "c"], part)))
    scenario = load_scenario(file)
    found = hosts_of(scenario, declare_all(scenario), "ros")
    assert found == FAR.get(part, {})
    for name, host in scenario.hosts.items():
        number = int(name.removeprefix("lab"))
        assert (host.address, host.through) == (ADDRESSES[number], f"ip netns exec {'abc'[number]}")
