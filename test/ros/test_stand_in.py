# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A stand-in sends messages with the given fields, and refuses what a message cannot have."""

from __future__ import annotations

from typing import Any

import pytest

from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.messages.catalogue import DEFAULT as CATALOGUE
from ros2_cosim.core.record.bag_reader import read_bag
from ros2_cosim.core.run.inproc import run_inproc
from ros2_cosim.core.scenario.schema import make_scenario
from ros2_cosim.ros.foreign.stand_in import filled

POSE, PATH = "geometry_msgs/msg/PoseStamped", "nav_msgs/msg/Path"
ODOMETRY = "nav_msgs/msg/Odometry"


def test_it_sends_its_messages_in_every_period(tmp_path: Any) -> None:
    data = {
        "name": "alone",
        "duration": "1s",
        "participants": {
            "given": {
                "model": "stand_in",
                "period": "250ms",
                "outputs": {
                    "odom": {"type": ODOMETRY, "topic": "/odom"},
                    "path": {"type": PATH, "topic": "/path"},
                },
                "parameters": {
                    "messages": {
                        "odom": {"vx": 3},
                        "path": {"poses": [{"pose": {"position": {"x": 1.5}}}]},
                    }
                },
            }
        },
    }
    run_inproc(make_scenario(data, "alone"), tmp_path)
    found = list(read_bag(tmp_path / "bag"))
    assert len(found) == 8
    codecs = {kind: CATALOGUE.codec(kind) for kind in (PATH, ODOMETRY)}
    values: Any = {m.topic: codecs[m.type_name].decode(m.data)[2] for m in found}
    assert (values["/odom"].vx, values["/odom"].qw) == (3.0, 1.0)
    assert values["/path"].poses[0].pose.position.x == 1.5
    assert values["/path"].poses[0].pose.orientation.w == 1.0


def test_an_array_may_be_one_value_many_times() -> None:
    scan = CATALOGUE.record("sensor_msgs/msg/LaserScan")
    made: Any = filled(scan, {"ranges": {"repeat": 10, "times": 3}, "intensities": [1]}, "here")
    assert (made.ranges, made.intensities) == ((10.0, 10.0, 10.0), (1.0,))


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"pos": {}}, "here: found the field 'pos'; allowed are"),
        ({"pose": 3}, "here.pose: found 3; allowed is a mapping of fields"),
        ({"pose": {"position": {"x": "1"}}}, "here.pose.position.x: found '1'; allowed is a value"),
        ({"pose": {"position": {"x": True}}}, "here.pose.position.x: found True; allowed is"),
    ],
)
def test_what_a_message_cannot_have_is_refused(fields: Any, text: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        filled(CATALOGUE.record(POSE), fields, "here")
    assert text in str(caught.value)


@pytest.mark.parametrize("given", [3, {"repeat": 1.0}, {"repeat": 1.0, "times": -1}])
def test_what_no_array_is_is_refused(given: Any) -> None:
    scan = CATALOGUE.record("sensor_msgs/msg/LaserScan")
    with pytest.raises(ConfigurationError, match="^here.ranges.*allowed is"):
        filled(scan, {"ranges": given}, "here")
