# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Topics and types of Autoware's vehicle, and the ports that stand for them.

Names and types: autowarefoundation/autoware_universe, commit
8661ffe1b43be22e5b755ad1e536269640a66f44,
simulator/autoware_simple_planning_simulator/launch/simple_planning_simulator.launch.py;
definitions: autowarefoundation/autoware_msgs, commit 7025d8f7df0ead43037d86f8a4ffda8b397d0293,
autoware_{control,vehicle,perception}_msgs; of the emergency: tier4/tier4_autoware_msgs, commit
cf6771745c27edd577b836765966cd571dc185a0, tier4_vehicle_msgs/msg/VehicleEmergencyStamped.msg.

The simulator's topics are reliable and volatile and keep one message; those of a run are reliable
and volatile, too, and keep more. So the same subscriptions and publishers fit.
"""

from __future__ import annotations

from typing import Final

from ros2_cosim.core.documents.installed import package_table
from ros2_cosim.driving.seams.scenario_parts import TopicPort

#: The models behind these ports.
VEHICLE_MODEL: Final = "autoware_vehicle"
CONTROL_MODEL: Final = "autoware_control"

_TABLE: Final = package_table("driving/autoware/autoware_ports.json")

#: State of the vehicle, and its surroundings.
OUTPUTS: Final = tuple(TopicPort(**given) for given in _TABLE["outputs"])
#: What answers commands.
REPORTS: Final = tuple(TopicPort(**given) for given in _TABLE["reports"])
COMMANDS: Final = tuple(TopicPort(**given) for given in _TABLE["commands"])
#: What Autoware's simulator reads further: nothing here would obey it.
REFUSED_TOPICS: Final[list[str]] = _TABLE["refused"]

#: The service by which the mode changes, and the port that stands for it.
MODE_SERVICE: Final = "/control/control_mode_request"
MODE_PORT: Final = "control_mode_request"
MODE_TYPE: Final = "autoware_vehicle_msgs/srv/ControlModeCommand"

#: The frame of the vehicle: the centre of the rear axle on the ground.
BASE_LINK: Final = "base_link"
