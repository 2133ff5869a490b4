# SPDX-License-Identifier: Apache-2.0
"""The ROS parameters of the nodes of a run, as ``ros2 param describe`` tells them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.realtime.pacing import RATE_LIMIT, RATE_MINIMUM

if TYPE_CHECKING:
    from rcl_interfaces.msg import ParameterDescriptor
    from rclpy.node import Node

#: The largest number of repetitions: that of a 32 bit integer, which every tool can show.
_MOST_REPETITIONS = 2**31 - 1


class Told(NamedTuple):
    """What is said of a parameter: what it is for, and which values are allowed.

    ``within`` is the range of a number, both ends included. Two whole numbers: the range of an
    integer parameter; otherwise that of a floating-point one.
    """

    text: str
    allowed: str = ""
    within: tuple[float, float] | None = None
    #: Whether a value of any type is let in, and its reader decides: "max" as well as 2.0.
    any_type: bool = False


_SWITCH = "true or false"
_RATES = (RATE_MINIMUM, RATE_LIMIT)
_SIZES = "numbers above 0: one for all vehicles, or one for each"
#: All are read-only: the bring-up plan sets them when it starts a process.
DESCRIPTIONS = {
    "arrivals": Told("Arrival record of an earlier run that is repeated.", "a file; empty: none"),
    "bag": Told("Whether messages are recorded.", _SWITCH),
    "factor": Told(
        "Real-time factor of a participant without synchronisation.",
        "from 0.0001, or max",
        _RATES,
        any_type=True,
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
    "rate": Told(
        "Real-time factor of the run.", "from 0.0001 to below 1e6, or max", _RATES, any_type=True
    ),
    "repeat": Told(
        "Number of repetitions of the run in the same processes.",
        "an integer from 1",
        (1, _MOST_REPETITIONS),
    ),
    "repeatable_scope": Told("Where another run has the same trace, as the models declare it."),
    "reporters": Told("Processes beside participants that report.", "a JSON object"),
    "scenario_file": Told("The resolved scenario of the run.", "a file"),
    "watched": Told("What the free-running clock reads.", "a topic; empty: none"),
}

#: Those of the visualisation, which lets any type in: 10 for 10.0, and one number for a list.
DRAWING = {
    "heights": Told("Heights of the vehicles [m].", _SIZES),
    "lengths": Told("Lengths of the vehicles [m].", _SIZES),
    "odometries": Told(
        "Topics of the vehicles' odometries.", "one for each vehicle; none: /NAME/odometry"
    ),
    "rate": Told(
        "Pictures per second of wall time.",
        "a number from 0.01 to 10000",
        (0.01, 10_000.0),
    ),
    "road_file": Told("OpenDRIVE file of the road.", "a file; empty: none"),
    "sensor_fov_deg": Told(
        "Angle of view of the object sensors [degrees].",
        "a number from 0.1 to 360",
        (0.1, 360.0),
    ),
    "sensor_range_m": Told(
        "Range of the object sensors [m].",
        "a number from 0.1 to 10000",
        (0.1, 10_000.0),
    ),
    "sensors": Told("Vehicles that have an object sensor.", "names of vehicles"),
    "vehicles": Told("Vehicles that are drawn, in driving order.", "different names"),
    "widths": Told("Widths of the vehicles [m].", _SIZES),
}


def descriptor(told: Told) -> ParameterDescriptor:
    """What ``ros2 param describe`` shows of a parameter."""
    # What is said can be read where there is no ROS.
    from rcl_interfaces.msg import FloatingPointRange, IntegerRange, ParameterDescriptor

    found = ParameterDescriptor(
        description=told.text,
        additional_constraints=told.allowed,
        read_only=True,
        dynamic_typing=told.any_type,
    )
    if told.within:
        least, most = told.within
        if isinstance(least, int) and isinstance(most, int):
            found.integer_range = [IntegerRange(from_value=least, to_value=most)]
        else:
            found.floating_point_range = [FloatingPointRange(from_value=least, to_value=most)]
    return found


def declare(node: Node, name: str, default: Any, told: Told) -> Any:
    """Declare a ROS parameter and give its value (``--ros-args -p name:=value``).

    :raises ConfigurationError: the value has another type than ``default``, or is out of range
    """
    from rcl_interfaces.msg import ParameterDescriptor
    from rclpy.exceptions import ParameterException

    try:
        value = node.declare_parameter(name, default, descriptor(told)).value
    except ParameterException:
        # Which value that is, rclpy says in a text only.
        anything = ParameterDescriptor(dynamic_typing=True)
        value = node.declare_parameter(name, default, anything).value
        raise refused(name, value, told) from None
    # rclpy compares numbers of one type: 5 with a range of integers, 5.0 with one of floats.
    if told.within and isinstance(value, int | float) and not _is_within(value, told.within):
        raise refused(name, value, told)
    return value


def refused(name: str, value: Any, told: Told) -> ConfigurationError:
    """The error that a parameter has a wrong value."""
    return ConfigurationError(
        f"parameter {name}: found {value!r}; allowed is {told.allowed or 'another type'}"
    )


def _is_within(value: float, within: tuple[float, float]) -> bool:
    least, most = within
    return not isinstance(value, bool) and least <= value <= most
