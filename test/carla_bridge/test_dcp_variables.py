# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Values of the world's DCP variables as records."""

from __future__ import annotations

from math import inf, isnan, nan

import pytest

from ros2_cosim.core.kernel.errors import RunError
from ros2_cosim.core.messages.records import RoadUser, RoadUsers
from ros2_cosim.core.scene.simulator import MapChoice
from ros2_cosim.dcp.standard.slave_description import UDP_MAX_PDU_SIZE
from ros2_cosim.world.carla.dcp_variables import SceneVariables
from ros2_cosim.world.carla.parameters import SceneParameters, VehicleSpec
from ros2_cosim.world.carla.road_users import MAX_ROAD_USERS, MOST_BYTES, packed, unpacked


@pytest.mark.parametrize(
    ("values", "there"),
    [
        ((nan, nan, nan, nan), False),  # what the master sends before the first command
        ((0.0, nan, 0.0, 0.0), False),
        ((-1.5, 0.0, 0.25, 0.0), True),
        ((-1.5, nan, nan, 0.0), True),  # by acceleration alone
        ((inf, nan, nan, 0.0), True),  # refused where it is used, not silently dropped
    ],
)
def test_a_command_without_pedals_is_a_command(values: tuple[float, ...], there: bool) -> None:
    scene = SceneParameters(MapChoice(name="Town"), 10_000_000, (VehicleSpec("a", -1, 0.0, 5.0),))
    found = SceneVariables(scene).commands(values)["a"]
    assert (found is not None) == there
    if found is not None:
        assert found.acceleration == values[0] and isnan(found.throttle) == isnan(values[1])


USER = RoadUser(1001, 1, 1.5, -2.25, 0.1, 3.0, 13.9, -0.0, 4.7, 2.1, 1.5)


def test_road_users_are_the_same_behind_dcp() -> None:
    """Bit by bit, and as many as find room over UDP."""
    found = RoadUsers((USER, USER._replace(id=1_000_007, x=1e-300)))
    assert repr(unpacked(packed(found))) == repr(found)
    full = RoadUsers((USER,) * MAX_ROAD_USERS)
    assert len(packed(full)) == MOST_BYTES < UDP_MAX_PDU_SIZE - 64
    with pytest.raises(RunError, match=f"found {MAX_ROAD_USERS + 1} vehicles; allowed are"):
        packed(RoadUsers((USER,) * (MAX_ROAD_USERS + 1)))
    with pytest.raises(RunError, match="found 81 bytes; allowed are multiples of 80"):
        unpacked(bytes(81))


def test_the_variable_of_road_users_is_there_where_it_is_used() -> None:
    scene = SceneParameters(
        MapChoice(name="Town"), 10_000_000, (VehicleSpec("a", -1, 0.0, 5.0),), reports_traffic=True
    )
    names = [variable.name for variable in SceneVariables(scene).description().variables]
    assert "traffic.data" in names
    without = SceneParameters(MapChoice(name="Town"), 10_000_000, scene.vehicles)
    assert "traffic.data" not in {v.name for v in SceneVariables(without).description().variables}
