# SPDX-License-Identifier: Apache-2.0
"""The slave description of a scenario's CARLA world, for DCP masters of other makers."""

from __future__ import annotations

from ros2_cosim.carla_bridge.dcp_variables import HEARTBEAT_NS, SceneVariables
from ros2_cosim.carla_bridge.parameters import SceneParameters
from ros2_cosim.carla_bridge.plant import plant_step_ns
from ros2_cosim.carla_bridge.scene_settings import scene_parameters
from ros2_cosim.dcp.description.model import SlaveDescription
from ros2_cosim.kernel.participant import ModelContext
from ros2_cosim.kernel.time import parse_duration


def describe_world(context: ModelContext) -> SlaveDescription:
    """The description of the slave behind the world participant ``context`` belongs to.

    :raises ConfigurationError: the scene of the scenario is wrong
    """
    return scene_description(context, scene_parameters(context, plant_step_ns(context)))


def scene_description(context: ModelContext, parameters: SceneParameters) -> SlaveDescription:
    """The description of a scene's slave: what master and slave of a run both use.

    :raises ConfigurationError: ``parameters.dcp.heartbeat`` is no duration
    """
    dcp = context.parameters.get("dcp") or {}
    where = f"participants.{context.name}.parameters.dcp.heartbeat"
    heartbeat = parse_duration(dcp.get("heartbeat", HEARTBEAT_NS), where, minimum=0)
    return SceneVariables(parameters).description(heartbeat_ns=heartbeat)
