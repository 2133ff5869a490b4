# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""QoS by the parameters of ROS: granted to onlookers, refused where a run needs it."""

from __future__ import annotations

import pytest

pytest.importorskip("rclpy", reason="needs rclpy, which make setup installs")

from rclpy.qos import DurabilityPolicy, ReliabilityPolicy

from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.messages.catalogue import DEFAULT as CATALOGUE
from ros2_cosim.ros.node import topics
from ros2_cosim.ros.node.session import Session
from ros2_cosim.ros.node.writers import data_qos

ODOMETRY = "nav_msgs/msg/Odometry"
TOPIC = "/leader/odometry"


def session_with(policy: str, value: object, topic: str = TOPIC) -> Session:
    """A node in the namespace ``/a``, with one override of a publisher."""
    override = f"qos_overrides./a{topic}.publisher.{policy}:={value}"
    return Session("node", ["x", "--ros-args", "-r", "__ns:=/a", "-p", override])


@pytest.mark.usefixtures("ros_domain")
def test_what_only_onlookers_read_is_as_the_user_says() -> None:
    with session_with("reliability", "best_effort") as session:
        session.port_writer(TOPIC, CATALOGUE.codec(ODOMETRY), data_qos(), for_onlookers=True)
        session.port_writer("/other", CATALOGUE.codec(ODOMETRY), data_qos(), for_onlookers=True)
        node = session.node
        (changed,) = node.get_publishers_info_by_topic(f"/a{TOPIC}")
        (other,) = node.get_publishers_info_by_topic("/a/other")
        assert changed.qos_profile.reliability == ReliabilityPolicy.BEST_EFFORT
        assert changed.qos_profile.durability == DurabilityPolicy.VOLATILE
        assert other.qos_profile.reliability == ReliabilityPolicy.RELIABLE
        name = f"qos_overrides./a{TOPIC}.publisher"
        assert node.get_parameter(f"{name}.reliability").value == "best_effort"
        assert node.get_parameter(f"{name}.depth").value == data_qos().depth


@pytest.mark.usefixtures("ros_domain")
def test_what_participants_read_by_dds_may_get_more() -> None:
    with session_with("durability", "transient_local") as session:
        session.port_writer(TOPIC, CATALOGUE.codec(ODOMETRY), data_qos())
        (found,) = session.node.get_publishers_info_by_topic(f"/a{TOPIC}")
        assert found.qos_profile.durability == DurabilityPolicy.TRANSIENT_LOCAL


@pytest.mark.parametrize(
    ("policy", "value", "topic", "said"),
    [
        (
            "reliability",
            "best_effort",
            TOPIC,
            "found best_effort, volatile, keep_last, depth 2000; participants read this topic by "
            "DDS; allowed is reliable, depth 2000 or more",
        ),
        (
            "depth",
            10,
            TOPIC,
            "found reliable, volatile, keep_last, depth 10; participants read this topic by DDS; "
            "allowed is reliable, depth 2000 or more",
        ),
        (
            "reliability",
            "best_effort",
            topics.REPORT,
            "found best_effort, transient_local, keep_last, depth 2000; the protocol of the run "
            "cannot be overridden",
        ),
        (
            "reliability",
            "often",
            TOPIC,
            "Unexpected QoS override for policy `reliability`: `often`; allowed are reliable, "
            "best_effort; volatile, transient_local; keep_last, keep_all",
        ),
    ],
)
@pytest.mark.usefixtures("ros_domain")
def test_what_would_break_a_run_is_one_line(
    policy: str, value: object, topic: str, said: str
) -> None:
    with session_with(policy, value, topic) as session, pytest.raises(ConfigurationError) as error:
        if topic == TOPIC:
            session.port_writer(topic, CATALOGUE.codec(ODOMETRY), data_qos())
        else:
            session.writer(topic, topics.REPORT_TYPE, data_qos(latched=True))
    assert str(error.value) == f"qos_overrides./a{topic}.publisher: {said}"
