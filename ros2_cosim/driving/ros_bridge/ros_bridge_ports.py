# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Topics and types of CARLA's ROS bridge (``carla_ros_bridge``), and the ports that stand for them.

The role name of a vehicle is its name in the scene. ``{vehicle}`` in a port or topic stands for it.
"""

from __future__ import annotations

from typing import Final

from ros2_cosim.core.documents.installed import package_table
from ros2_cosim.driving.seams.scenario_parts import TopicPort

#: The models behind these ports, and the participants that the section ``ros_bridge`` makes.
BRIDGE_MODEL: Final = "carla_ros_bridge"
CONTROL_MODEL: Final = "carla_ros_control"

CONTROL_COMMAND: Final = "carla_msgs/msg/CarlaEgoVehicleControl"

_TABLE: Final = package_table("driving/ros_bridge/ros_bridge_ports.json")

OUTPUTS: Final = tuple(TopicPort(**given) for given in _TABLE["outputs"])
COMMANDS: Final = tuple(TopicPort(**given) for given in _TABLE["commands"])

#: Outputs that only the headless server's own traffic lights give: those of a renderer, or of
#: another simulator, change by themselves.
LIGHT_OUTPUTS: Final = ("traffic_lights_status", "traffic_lights_info")

#: What the bridge reads further, behind ``/carla/``: nothing here would obey it.
REFUSED_TOPICS: Final[list[str]] = _TABLE["refused"]

#: Kind of a sensor output of the world -> what stands behind the topic ``/carla/VEHICLE/SENSOR``.
SENSOR_TOPICS: Final[dict[str, str]] = _TABLE["sensors"]


def sensor_topic(vehicle: str, sensor: str) -> str:
    """The topic of a sensor, as far as all of its messages have it in common."""
    return f"/carla/{vehicle}/{sensor}"


def bridge_frame(vehicle: str, sensor: str = "") -> str:
    """The frame of a vehicle, or of a sensor on it; that of a camera is the optical one."""
    return f"{vehicle}/{sensor}" if sensor else vehicle
