# SPDX-License-Identifier: Apache-2.0
"""The slave description of a scenario's CARLA world, for DCP masters of other makers."""

from __future__ import annotations

from ros2_cosim.carla_bridge.dcp_variables import SceneVariables
from ros2_cosim.carla_bridge.parameters import SceneParameters
from ros2_cosim.carla_bridge.scene_settings import (
    DcpSettings,
    WorldParameters,
    scene_parameters,
    world_parameters,
)
from ros2_cosim.dcp.description.slave_description import SlaveDescription
from ros2_cosim.kernel.participant import ModelContext


def describe_world(context: ModelContext) -> SlaveDescription:
    """The description of the slave behind the world participant ``context`` belongs to.

    :raises ConfigurationError: the scene of the scenario is wrong
    """
    parameters = world_parameters(context)
    return scene_description(parameters, scene_parameters(context, parameters))


def scene_description(parameters: WorldParameters, scene: SceneParameters) -> SlaveDescription:
    """The description of a scene's slave: what master and slave of a run both use."""
    dcp = parameters.dcp or DcpSettings()
    return SceneVariables(scene).description(heartbeat_ns=dcp.heartbeat)
