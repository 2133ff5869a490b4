# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What the visualisation draws, computed without ROS."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from ros2_cosim.core.messages.records import (
    CLASS_CAR,
    CLASS_OBSTACLE,
    DetectedObject,
    ObjectList,
    Odometry,
    PlatoonStatus,
    RoadUser,
    RoadUsers,
    StaticObject,
    StaticObjects,
)
from ros2_cosim.world.map import RoadNetwork
from ros2_cosim.world.pictures.markers import (
    CUBE,
    LINE_LIST,
    LINE_STRIP,
    TEXT,
    TRIANGLES,
    Cone,
    MarkerBox,
    body_point,
    gap_markers,
    obstacle_markers,
    sensor_markers,
    traffic_markers,
    vanished,
    vehicle_markers,
)
from ros2_cosim.world.pictures.road_markers import road_markers

ROOT = Path(__file__).parents[2]
BOX = MarkerBox(4.0, 2.0, 1.5)


def pose(x: float, y: float, yaw: float = 0.0, speed: float = 0.0) -> Odometry:
    half = 0.5 * yaw
    return Odometry(x, y, 0.0, 0.0, 0.0, math.sin(half), math.cos(half), speed, *[0.0] * 5)


@given(st.floats(-4, 4), st.floats(-50, 50), st.floats(-50, 50))
def test_body_points_turn_with_the_vehicle(yaw: float, ahead: float, left: float) -> None:
    x, y, z = body_point(pose(10.0, 20.0, yaw), ahead, left, 1.0)
    assert x == pytest.approx(10.0 + ahead * math.cos(yaw) - left * math.sin(yaw), abs=1e-9)
    assert y == pytest.approx(20.0 + ahead * math.sin(yaw) + left * math.cos(yaw), abs=1e-9)
    assert z == pytest.approx(1.0)


def test_a_vehicle_is_a_box_on_the_ground_with_a_label() -> None:
    body, label = vehicle_markers(1, "follower1", pose(5.0, 0.0, math.pi / 2, 10.0), BOX)
    assert body.shape == CUBE
    assert body.position == pytest.approx((5.0, 0.0, 0.75))
    assert body.scale == (4.0, 2.0, 1.5)
    assert label.shape == TEXT
    assert label.text == "follower1\n36 km/h"


def test_gaps_are_drawn_from_bumper_to_bumper() -> None:
    status = PlatoonStatus(120.4, 0, False, (16.0, 11.5), (0.0,) * 3)
    poses = [pose(100.0, 0.0), pose(80.0, 0.0), pose(64.5, 0.0)]
    markers = gap_markers(status, poses, [BOX] * 3)
    lines = [m for m in markers if m.shape == LINE_LIST]
    assert [tuple(p[0] for p in line.points) for line in lines] == [(98.0, 82.0), (78.0, 66.5)]
    texts = [m.text for m in markers if m.shape == TEXT]
    assert texts == ["16.0 m", "11.5 m", "obstacle 120 m"]


def test_gaps_of_vehicles_not_heard_of_yet_are_left_out() -> None:
    status = PlatoonStatus(math.inf, 0, False, (16.0, 11.5), ())
    markers = gap_markers(status, [pose(0.0, 0.0), None, pose(-30.0, 0.0)], [BOX] * 3)
    assert markers == []


def test_a_cone_starts_at_the_bumper_and_reaches_its_range() -> None:
    seen = ObjectList((DetectedObject(1, CLASS_CAR, 25.0, 0.0, 0.5, 4.0, 2.0, 1.0),))
    cone, rays = sensor_markers(2, pose(0.0, 0.0), BOX, Cone(math.radians(60), 80.0), seen)
    assert cone.shape == TRIANGLES
    assert len(cone.points) % 3 == 0
    reach = [math.hypot(x - 2.0, y) for x, y, _ in cone.points]
    assert min(reach) == 0.0
    assert max(reach) == pytest.approx(80.0)
    assert max(abs(y) for _, y, _ in cone.points) == pytest.approx(40.0)
    assert rays.points == (pytest.approx((2.0, 0.0, 0.6)), pytest.approx((27.0, 0.5, 0.6)))
    assert len(sensor_markers(2, pose(0.0, 0.0), BOX, Cone(1.0, 80.0), None)) == 1


def test_the_roadblock_is_red_and_named() -> None:
    objects = StaticObjects(
        (
            StaticObject(7, CLASS_OBSTACLE, 300.0, -5.0, 1.0, math.pi / 2, 6.0, 1.0, 2.0),
            StaticObject(8, CLASS_CAR, 10.0, 9.0, 1.0, 0.0, 4.0, 2.0, 1.5),
        )
    )
    block, label, car = obstacle_markers(objects)
    assert block.colour != car.colour
    assert block.scale == (6.0, 1.0, 2.0)
    assert block.orientation == pytest.approx((0.0, 0.0, math.sqrt(0.5), math.sqrt(0.5)))
    assert label.text == "roadblock"


def test_other_vehicles_are_boxes_on_the_ground() -> None:
    user = RoadUser(1001, 1, 30.0, 3.5, 2.0, math.pi, 8.0, 0.0, 4.7, 2.1, 1.5)
    (marker,) = traffic_markers(RoadUsers((user,)))
    assert (marker.namespace, marker.id, marker.scale) == ("traffic", 1001, (4.7, 2.1, 1.5))
    assert marker.position == (30.0, 3.5, 2.75)
    assert marker.orientation == pytest.approx((0.0, 0.0, 1.0, 0.0), abs=1e-9)


def test_markers_that_are_gone_are_named() -> None:
    body, label = vehicle_markers(0, "a", pose(0.0, 0.0), BOX)
    shown = {(m.namespace, m.id): m.shape for m in (body, label)}
    assert vanished(shown, [body]) == [("labels", 0)]
    assert vanished(shown, [body, label]) == []


def test_the_highway_is_drawn_with_its_lanes() -> None:
    network = RoadNetwork.from_file(ROOT / "config" / "highway.xodr")
    markers = road_markers(network)
    assert len({(m.namespace, m.id) for m in markers}) == len(markers)
    surface = next(m for m in markers if m.namespace == "road surface")
    assert surface.shape == TRIANGLES
    assert len(surface.points) % 3 == 0
    lines = [m for m in markers if m.namespace == "lane lines"]
    assert {m.shape for m in lines} == {LINE_LIST, LINE_STRIP}
    assert all(len(m.points) % 2 == 0 for m in lines if m.shape == LINE_LIST)
    road = min(network.roads)
    wanted = {
        round(t, 6) for i in network.lane_ids(road, 1.0) for t in network.lane_borders(road, i, 1.0)
    }
    start = network.pose(road, 0.0, 0.0)
    drawn = {round(m.points[0][1] - start[1], 6) for m in lines}
    assert drawn == wanted


def test_the_rviz_configuration_shows_the_topics_of_the_node() -> None:
    visualisation = pytest.importorskip("ros2_cosim.ros.node.visualisation")
    config = yaml.safe_load((ROOT / "rviz" / "platoon.rviz").read_text())
    manager = config["Visualization Manager"]
    assert manager["Global Options"]["Fixed Frame"] == "map"
    assert manager["Views"]["Current"]["Target Frame"] == "leader/base_link"
    topics = {d["Topic"]["Value"]: d["Topic"] for d in manager["Displays"] if "Topic" in d}
    for topic, durability in (
        (visualisation.ROAD_TOPIC, "Transient Local"),
        (visualisation.OBSTACLE_TOPIC, "Transient Local"),
        (visualisation.SCENE_TOPIC, "Volatile"),
    ):
        assert topics[topic]["Durability Policy"] == durability
