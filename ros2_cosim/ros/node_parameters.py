# SPDX-License-Identifier: Apache-2.0
"""The ROS parameters of the nodes of a run, as ``ros2 param describe`` tells them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from rcl_interfaces.msg import ParameterDescriptor


class Told(NamedTuple):
    """What is said of a parameter: what it is for, and which values are allowed.

    No range of ROS is given: rclpy would refuse a wrong value with an exception of its own.
    """

    text: str
    allowed: str = ""


_SWITCH = "true or false"
_ABOVE_0 = "a number above 0"
_SIZES = "numbers above 0: one for all vehicles, or one for each"
#: All are read-only: the bring-up plan sets them when it starts a process.
DESCRIPTIONS = {
    "arrivals": Told("Arrival record of an earlier run that is repeated.", "a file; empty: none"),
    "bag": Told("Whether messages are recorded.", _SWITCH),
    "factor": Told(
        "Real-time factor of a participant without synchronisation.", "from 0.0001, or max"
    ),
    "foxglove": Told("Where Foxglove finds the run.", "[HOST:]PORT; empty: nowhere"),
    "hard": Told("Hard real time where the system permits it.", _SWITCH),
    "output": Told("Output directory of the run.", "a directory"),
    "participant": Told(
        "Which participant of the scenario this process is.", "a participant of the scenario"
    ),
    "paused": Told("Whether the run begins paused.", _SWITCH),
    "process": Told(
        "Which of the shared processes of the scenario this one is.",
        "what participants of the scenario name as their process",
    ),
    "profile": Told(
        "Where this process notes what it spends its time on.", "a directory; empty: nowhere"
    ),
    "rate": Told("Real-time factor of the run.", "from 0.0001 to below 1e6, or max"),
    "repeat": Told("Number of repetitions of the run in the same processes.", "from 1"),
    "repeatable_scope": Told("Where another run has the same trace, as the models declare it."),
    "reporters": Told("Processes beside participants that report.", "a JSON object"),
    "scenario_file": Told("The resolved scenario of the run.", "a file"),
    "watched": Told("What the free-running clock reads.", "a topic; empty: none"),
}

#: Those of the visualisation.
DRAWING = {
    "heights": Told("Heights of the vehicles [m].", _SIZES),
    "lengths": Told("Lengths of the vehicles [m].", _SIZES),
    "odometries": Told(
        "Topics of the vehicles' odometries.", "one for each vehicle; none: /NAME/odometry"
    ),
    "rate": Told("Pictures per second of wall time.", _ABOVE_0),
    "road_file": Told("OpenDRIVE file of the road.", "a file; empty: none"),
    "sensor_fov_deg": Told("Angle of view of the object sensors [degrees].", _ABOVE_0),
    "sensor_range_m": Told("Range of the object sensors [m].", _ABOVE_0),
    "sensors": Told("Vehicles that have an object sensor.", "names of vehicles"),
    "vehicles": Told("Vehicles that are drawn, in driving order.", "different names"),
    "widths": Told("Widths of the vehicles [m].", _SIZES),
}


def descriptor(told: Told, *, dynamic_typing: bool = False) -> ParameterDescriptor:
    """What ``ros2 param describe`` shows of a parameter.

    :param dynamic_typing: whether a value of any type is let in
    """
    # What is said can be read where there is no ROS.
    from rcl_interfaces.msg import ParameterDescriptor

    return ParameterDescriptor(
        description=told.text,
        additional_constraints=told.allowed,
        read_only=True,
        dynamic_typing=dynamic_typing,
    )
