# SPDX-License-Identifier: Apache-2.0
"""The slave description of a scenario's CARLA world, for DCP masters of other makers."""

from __future__ import annotations

from ros2_cosim.carla_bridge.dcp_variables import SceneVariables
from ros2_cosim.carla_bridge.plant import plant_step_ns
from ros2_cosim.carla_bridge.scene_settings import scene_parameters
from ros2_cosim.dcp.description import SlaveDescription
from ros2_cosim.kernel.participant import ModelContext


def describe_world(context: ModelContext) -> SlaveDescription:
    """The description of the slave behind the world participant ``context`` belongs to.

    :raises ConfigurationError: the scene of the scenario is wrong
    """
    return SceneVariables(scene_parameters(context, plant_step_ns(context))).description()
