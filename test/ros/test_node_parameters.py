# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What ``ros2 param describe`` tells of the parameters of a run's nodes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.ros.node.node_parameters import DESCRIPTIONS, DRAWING, Told, declare, descriptor

pytest.importorskip("rclpy", reason="needs rclpy, which make setup installs")


@pytest.mark.parametrize("told", [*DESCRIPTIONS.values(), *DRAWING.values()])
def test_each_says_what_it_is_for_and_what_is_allowed(told: Told) -> None:
    found = descriptor(told)
    assert found.read_only and found.description.endswith(".")
    assert found.additional_constraints == told.allowed
    ranges = [*found.integer_range, *found.floating_point_range]
    assert [[r.from_value, r.to_value] for r in ranges] == ([told.within] if told.within else [])
    assert bool(told.allowed) or told is DESCRIPTIONS["repeatable_scope"]


@contextmanager
def declared_with(argument: str) -> Iterator[Any]:
    """A node whose command line sets a parameter."""
    import rclpy
    from rclpy.node import Node

    context = rclpy.Context()
    rclpy.init(args=["x", "--ros-args", "-p", argument], context=context)
    node = Node("node", context=context, start_parameter_services=False, enable_rosout=False)
    try:
        yield node
    finally:
        node.destroy_node()
        rclpy.shutdown(context=context)


@pytest.mark.parametrize(
    ("argument", "default", "value"),
    [
        ("repeat:=3", 1, 3),
        ("paused:=true", False, True),
        ("rate:=2.5", "max", 2.5),
        ("rate:=2", "max", 2),
        ("rate:=max", "max", "max"),
        ("output:=/tmp/out", ".", "/tmp/out"),
    ],
)
def test_values_have_the_types_of_ros(
    ros_domain: int, argument: str, default: Any, value: Any
) -> None:
    name = argument.partition(":=")[0]
    with declared_with(argument) as node:
        found = declare(node, name, default, DESCRIPTIONS[name])
        assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize(
    ("argument", "default", "fault"),
    [
        ("repeat:=0", 1, "parameter repeat: found 0; allowed is an integer from 1"),
        ("repeat:=often", 1, "parameter repeat: found 'often'; allowed is an integer from 1"),
        ("repeat:=2.0", 1, "parameter repeat: found 2.0; allowed is an integer from 1"),
        ("paused:=1", False, "parameter paused: found 1; allowed is true or false"),
        ("rate:=0", "max", "parameter rate: found 0; allowed is from 0.0001 to below 1e6, or max"),
        ("rate:=-1.5", "max", "parameter rate: found -1.5; allowed is from 0.0001 to"),
        ("rate:=true", "max", "parameter rate: found True; allowed is from 0.0001 to"),
    ],
)
def test_a_wrong_value_is_named_with_what_is_allowed(
    ros_domain: int, argument: str, default: Any, fault: str
) -> None:
    name = argument.partition(":=")[0]
    with declared_with(argument) as node:
        with pytest.raises(ConfigurationError) as refused:
            declare(node, name, default, DESCRIPTIONS[name])
        assert str(refused.value).startswith(fault)
