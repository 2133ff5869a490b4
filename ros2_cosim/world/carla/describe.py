# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The slave description of a scenario's CARLA world, for DCP masters of other makers."""

from __future__ import annotations

from ros2_cosim.core.kernel.participant import ModelContext
from ros2_cosim.dcp.standard.slave_description import SlaveDescription
from ros2_cosim.world.carla.dcp_variables import SceneVariables
from ros2_cosim.world.carla.parameters import SceneParameters
from ros2_cosim.world.carla.scene_settings import (
    DcpSettings,
    WorldParameters,
    scene_parameters,
    world_parameters,
)


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
