# SPDX-License-Identifier: Apache-2.0
"""Values of the world's DCP variables as records."""

from __future__ import annotations

from math import inf, isnan, nan

import pytest

from ros2_cosim.carla_bridge.dcp_variables import SceneVariables
from ros2_cosim.carla_bridge.parameters import SceneParameters, VehicleSpec
from ros2_cosim.interfaces.simulator import MapChoice


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
