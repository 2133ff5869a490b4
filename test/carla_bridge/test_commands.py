# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Commands that demand no number are refused alike, in process and before they go over DCP."""

from __future__ import annotations

from math import inf, nan
from pathlib import Path

import pytest

from ros2_cosim.core.kernel.errors import RunError
from ros2_cosim.core.messages.records import ControlCommand
from ros2_cosim.core.scenario.declaration import declare
from ros2_cosim.core.scenario.schema import load_scenario
from ros2_cosim.dcp.bridge.coupled import PortMapping
from ros2_cosim.dcp.standard.values import Value
from ros2_cosim.world.carla.commands import check_command, has_no_pedals
from ros2_cosim.world.carla.dcp_world import world_mapping
from ros2_cosim.world.carla.describe import scene_description
from ros2_cosim.world.carla.scene_settings import scene_parameters

PLATOON = Path(__file__).parents[2] / "config" / "platoon.yaml"
WRONG = [
    ((nan, nan, nan, 0.0), "found the acceleration nan in a command without pedals; allowed is a"),
    ((inf, nan, nan, 0.0), "found the acceleration inf in a command without pedals; allowed is a"),
    ((1.0, nan, 0.0, 0.0), "found the throttle nan and the brake 0.0; allowed are finite numbers"),
    ((1.0, 0.0, inf, 0.0), "found the throttle 0.0 and the brake inf; allowed are finite numbers"),
]


@pytest.fixture(scope="module")
def mapping() -> PortMapping:
    declared = declare(load_scenario(PLATOON), "world")
    scene = scene_parameters(declared.context, declared.parameters)
    return world_mapping("slave", scene_description(declared.parameters, scene), scene)


@pytest.mark.parametrize(("values", "text"), WRONG)
def test_a_command_without_numbers_is_not_sent(
    mapping: PortMapping, values: tuple[float, float, float, float], text: str
) -> None:
    sent: dict[str, dict[str, Value]] = {}
    with pytest.raises(RunError, match=f"vehicle 'follower1': {text}"):
        mapping.inputs["control/follower1"].write(ControlCommand(*values), sent)
    assert not sent


@pytest.mark.parametrize("values", [(1.0, nan, nan, 0.0), (0.0, -0.5, 0.0, nan), (nan, 0, 1, 0)])
def test_pedals_or_an_acceleration_are_enough(
    mapping: PortMapping, values: tuple[float, float, float, float]
) -> None:
    command = ControlCommand(*values)
    check_command("follower1", command)
    assert has_no_pedals(command) == (values[1] != values[1])
    sent: dict[str, dict[str, Value]] = {}
    mapping.inputs["control/follower1"].write(command, sent)
    assert len(sent["slave"]) == len(ControlCommand._fields)


def test_no_command_is_sent_as_such(mapping: PortMapping) -> None:
    sent: dict[str, dict[str, Value]] = {}
    mapping.inputs["control/follower1"].write(None, sent)
    assert len(sent["slave"]) == len(ControlCommand._fields)
