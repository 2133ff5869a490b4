# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The ROS parameters of the nodes of a run, as ``ros2 param describe`` tells them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ros2_cosim.core.documents.installed import package_table
from ros2_cosim.core.kernel.errors import ConfigurationError

if TYPE_CHECKING:
    from rcl_interfaces.msg import ParameterDescriptor
    from rclpy.node import Node


class Told(NamedTuple):
    """The description of a parameter: its purpose, and the allowed values.

    ``within`` is the range of a number, both ends included. Two whole numbers: the range of an
    integer parameter; otherwise that of a floating-point one. The largest number of repetitions is
    that of a 32 bit integer, which every tool can show.
    """

    text: str
    allowed: str = ""
    within: Sequence[float] | None = None
    #: Whether a value of any type is let in, and its reader decides: "max" as well as 2.0.
    any_type: bool = False


def _told(part: str) -> dict[str, Told]:
    table = package_table("ros/node/node_parameters.json")
    return {name: Told(**given) for name, given in table[part].items()}


#: All are read-only: the bring-up plan sets them when it starts a process.
DESCRIPTIONS = _told("nodes")
#: Those of the visualisation, which lets any type in: 10 for 10.0, and one number for a list.
DRAWING = _told("drawing")


def descriptor(told: Told) -> ParameterDescriptor:
    """What ``ros2 param describe`` shows of a parameter."""
    # The description can be read where there is no ROS.
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


def _is_within(value: float, within: Sequence[float]) -> bool:
    least, most = within
    return not isinstance(value, bool) and least <= value <= most
