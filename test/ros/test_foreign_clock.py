# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The clock of a foreign node that is set by another thread than the one that answers."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

rclpy = pytest.importorskip("rclpy")

from rcl_interfaces.msg import SetParametersResult  # noqa: E402
from rclpy.node import Node  # noqa: E402
from rclpy.parameter import Parameter  # noqa: E402
from support.served_nodes import served  # noqa: E402

from ros2_cosim.ros.foreign.foreign_clock import ClockProbe  # noqa: E402
from ros2_cosim.ros.foreign.foreign_topics import ForeignTopics  # noqa: E402

SECOND = 1_000_000_000


@pytest.fixture
def topics(ros_domain: int) -> Iterator[ForeignTopics]:
    rclpy.init()
    found = ForeignTopics(
        "timer",
        "/timer_node",
        {},
        {},
        lambda node_name: {},
        barrier=True,
        clock=True,
        check=lambda: None,
    )
    yield found
    found.close()
    rclpy.try_shutdown()


@pytest.fixture
def node(topics: ForeignTopics) -> Iterator[Node]:
    """A node with simulated time, whose callbacks another thread runs."""
    simulated = Parameter("use_sim_time", value=True)
    arguments = ["--ros-args", "-r", f"/clock:={topics.clock_topic}"]
    found = Node("timer_node", parameter_overrides=[simulated], cli_args=arguments)
    with served(found):
        topics.wait_until(lambda: not topics.missing())
        yield found
    found.destroy_node()


def test_it_waits_until_the_clock_shows_the_time(topics: ForeignTopics, node: Node) -> None:
    probe = ClockProbe(topics)
    for time_ns in (20_000_000, SECOND + 1, 5 * SECOND):
        topics.show_time(time_ns)
        assert probe.wait_for(time_ns, topics.barrier)
        assert node.get_clock().now().nanoseconds == time_ns


def test_the_node_is_asked_until_the_clock_is_set(topics: ForeignTopics, node: Node) -> None:
    asked = 0

    def count(parameters: list[Parameter]) -> SetParametersResult:
        nonlocal asked
        asked += 1
        if asked == 3:  # only now, as by a thread that was kept from running
            topics.show_time(SECOND)
        return SetParametersResult(successful=True)

    node.add_on_set_parameters_callback(count)
    assert ClockProbe(topics).wait_for(SECOND, topics.barrier)
    assert asked >= 3
    assert node.get_clock().now().nanoseconds == SECOND


def test_a_node_that_refuses_is_found_out(topics: ForeignTopics, node: Node) -> None:
    def refuse(parameters: list[Parameter]) -> SetParametersResult:
        return SetParametersResult(successful=False, reason="not today")

    node.add_on_set_parameters_callback(refuse)
    topics.show_time(SECOND)
    assert not ClockProbe(topics).wait_for(SECOND, topics.barrier)
