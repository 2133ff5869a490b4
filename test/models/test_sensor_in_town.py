# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What an object sensor reports in the town, where roads end at junctions and cross each other."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
from support.models import made, scene_of

from ros2_cosim.core.kernel.participant import Sample, Step
from ros2_cosim.core.messages.records import (
    CLASS_CAR,
    CLASS_TRUCK,
    DetectedObject,
    Odometry,
    RoadUser,
    RoadUsers,
)
from ros2_cosim.driving.sensors.object_sensor import ObjectSensor
from ros2_cosim.world.map import RoadNetwork
from ros2_cosim.world.map.lane_boxes import LaneBoxes
from ros2_cosim.world.map.vehicle_info import VehicleInfo

TOWN = RoadNetwork.from_file(Path(__file__).parents[2] / "config" / "town.xodr")
EXACT: dict[str, Any] = {"distance_noise": 0.0, "speed_noise": 0.0, "lateral_noise": 0.0}


def ego_at(road_id: int, lane_id: int, s: float, speed: float = 5.0) -> Odometry:
    x, y, z, heading = TOWN.lane_pose(road_id, lane_id, s)
    half = 0.5 * heading
    return Odometry(x, y, z, 0.0, 0.0, math.sin(half), math.cos(half), speed, *(0.0,) * 5)


def user_at(number: int, road_id: int, lane_id: int, s: float, speed: float = 8.0) -> RoadUser:
    x, y, z, heading = TOWN.lane_pose(road_id, lane_id, s)
    return RoadUser(number, CLASS_CAR, x, y, z, heading, speed, 0.0, 4.0, 1.8, 1.5)


def look(ego: Odometry, *users: RoadUser, **parameters: Any) -> tuple[DetectedObject, ...]:
    context = {"scene": scene_of({"ego": VehicleInfo(1, 4.0, 1.8)}), "run_seed": 1}
    sensor = made(
        ObjectSensor,
        {"ego": "ego", **EXACT, **parameters},
        name="sensor",
        context=context,
        boxes=LaneBoxes(TOWN),
    )
    latest: dict[str, Sample | None] = {
        "odometry/ego": Sample(0, 0, ego),
        "traffic": Sample(0, 0, RoadUsers(users)),
    }
    found: tuple[DetectedObject, ...] = sensor.activate(Step(0, {}, latest))["objects"].objects
    return found


#: Lanes whose reference line does not go on as the lane does: (road, lane, road behind, lane).
def _jumps() -> list[tuple[int, int, int, int]]:
    found = []
    for road in TOWN.roads.values():
        for lane in TOWN.lane_ids(road.id, 0.0, "driving"):
            end = road.length if lane < 0 else 0.0
            inside = end - 1e-3 if lane < 0 else 1e-3
            behind, other, s = TOWN.advance(road.id, lane, inside, 0.01)
            here, there = (
                TOWN.lane_centre(road.id, lane, inside),
                TOWN.lane_centre(behind, other, s),
            )
            if abs(abs(here) - abs(there)) > 1.0:
                found.append((road.id, lane, behind, other))
    return found


@pytest.mark.parametrize("jump", _jumps())
def test_a_vehicle_in_the_own_lane_is_there_behind_a_junction_s_edge(
    jump: tuple[int, int, int, int],
) -> None:
    """The same lane on the next road may lie one lane further from its reference line."""
    road_id, lane_id, behind, other = jump
    length = TOWN.length(road_id)
    s = max(length - 6.0, 0.0) if lane_id < 0 else min(6.0, length)
    there, lane, station = TOWN.advance(road_id, lane_id, s, 6.0 + 5.0)
    assert (there, lane) == (behind, other)
    (found,) = look(ego_at(road_id, lane_id, s), user_at(1001, there, lane, station))
    assert found.lateral_offset == pytest.approx(0.0, abs=0.15)
    way = abs(length - s if lane_id < 0 else s)
    assert found.distance == pytest.approx(way + 5.0 - 4.0, abs=0.4)
    assert found.relative_speed == pytest.approx(3.0, abs=0.05)


def test_lanes_beside_the_own_one_stay_beside_it_behind_a_junction() -> None:
    """From an avenue: two lanes each way, with a road of its own for each through a junction."""
    for road_id, lane_id, _, _ in _jumps():
        lanes = [i for i in TOWN.lane_ids(road_id, 0.0, "driving") if (i < 0) == (lane_id < 0)]
        if len(lanes) < 2:
            continue
        s = TOWN.length(road_id) - 4.0 if lane_id < 0 else 4.0
        for neighbour in lanes:
            there = TOWN.advance(road_id, neighbour, s, 10.0)
            left = 3.5 * (neighbour - lane_id) * (1 if lane_id < 0 else -1)
            (found,) = look(ego_at(road_id, lane_id, s), user_at(1001, *there), field_of_view=3.0)
            assert found.lateral_offset == pytest.approx(left, abs=0.3)


def test_a_vehicle_that_crosses_the_own_way_stands_in_the_own_lane() -> None:
    """On a road of the junction that no way leads to: it is where it is all the same."""
    ego = ego_at(23, -1, TOWN.length(23) - 4.0)
    way = TOWN.lane_ahead(23, -1, TOWN.length(23) - 4.0, 30.0)
    inside = next(stretch for stretch in way if TOWN.roads[stretch.road_id].junction is not None)
    s = inside.s + (0.5 if inside.lane_id < 0 else -0.5) * inside.length
    x, y, z, heading = TOWN.lane_pose(inside.road_id, inside.lane_id, s)
    crossing = RoadUser(
        1003, CLASS_TRUCK, x, y, z, heading + 0.5 * math.pi, 6.0, 0.0, 8.0, 2.5, 3.0
    )
    (found,) = look(ego, crossing)
    assert (found.id, found.classification) == (1003, CLASS_TRUCK)
    assert found.lateral_offset == pytest.approx(0.0, abs=0.1)
    middle = inside.way + 0.5 * inside.length
    assert found.distance == pytest.approx(middle - 2.0 - 1.25, abs=0.2)


def test_a_way_is_the_stretches_that_advance_goes_along() -> None:
    for road_id, lane_id in ((23, -1), (6, -1), (14, 1), (33, -2)):
        if lane_id not in TOWN.lane_ids(road_id, 5.0, "driving"):
            continue
        stretches = TOWN.lane_ahead(road_id, lane_id, 5.0, 170.0)
        last = stretches[-1]
        assert last.way + last.length == pytest.approx(170.0)
        for stretch in stretches:
            at = TOWN.advance(road_id, lane_id, 5.0, stretch.way + 0.5 * stretch.length)
            assert at[:2] == (stretch.road_id, stretch.lane_id)


def test_what_is_out_of_reach_is_not_looked_for() -> None:
    assert look(ego_at(23, -1, 5.0), user_at(1001, 14, 1, 5.0), detection_range=20.0) == ()
