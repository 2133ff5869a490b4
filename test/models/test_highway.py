# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The project's highway: fixed text, and the carla client sees the same road as we do."""

import math
from pathlib import Path

import carla
import pytest

from buildtools.highway import make_highway
from ros2_cosim.world.map import RoadError, RoadNetwork

CONFIG = Path(__file__).parents[2] / "config" / "highway.xodr"


@pytest.fixture(scope="module")
def roads() -> RoadNetwork:
    return RoadNetwork.from_file(CONFIG)


@pytest.fixture(scope="module")
def carla_map() -> carla.Map:
    return carla.Map("highway", CONFIG.read_text(encoding="utf-8"))


def test_committed_file_is_what_the_generator_writes() -> None:
    assert CONFIG.read_text(encoding="utf-8") == make_highway()


def test_geometry_is_as_designed(roads: RoadNetwork) -> None:
    assert roads.length(1) == 3200.0
    assert roads.lane_ids(1, 0.0, "driving") == [-3, -2, -1, 1, 2, 3]
    assert roads.lane_ids(1, 0.0, "shoulder") == [-4, 4]
    assert roads.lane_centre(1, -2, 1000.0) == -5.25
    assert roads.curvature(1, 1200.0) == 1.0 / 800.0
    assert roads.curvature(1, 850.0) == pytest.approx(0.5 / 800.0)
    assert roads.curvature(1, 1200.0, -8.75) == pytest.approx(1.0 / 808.75)
    assert roads.pose(1, 3200.0, 0.0)[3] == pytest.approx(0.875)
    assert roads.pose(1, 2360.0, 0.0)[2] == 10.0
    assert roads.slope(1, 2080.0) == pytest.approx(1.5 * 10.0 / 560.0)
    assert roads.speed_limit(1, 5.0) == pytest.approx(130.0 / 3.6)
    assert roads.geo_origin == (49.0, 8.0)


def test_road_has_neither_gaps_nor_kinks(roads: RoadNetwork) -> None:
    step = 0.5
    before = roads.pose(1, 0.0, 0.0)
    for i in range(1, 6401):
        here = roads.pose(1, i * step, 0.0)
        assert math.dist(here[:3], before[:3]) == pytest.approx(step, abs=3e-4)
        assert abs(here[3] - before[3]) < 1.01 * step / 800.0
        before = here


def test_carla_client_finds_the_same_lane_centres(roads: RoadNetwork, carla_map: carla.Map) -> None:
    waypoints = carla_map.generate_waypoints(20.0)
    assert {w.lane_id for w in waypoints} == {-3, -2, -1, 1, 2, 3}
    for waypoint in waypoints:
        ours = roads.lane_pose(waypoint.road_id, waypoint.lane_id, waypoint.s)
        theirs = waypoint.transform.location
        assert math.dist((theirs.x, -theirs.y, theirs.z), ours[:3]) < 1e-3
        yaw = -math.radians(waypoint.transform.rotation.yaw)
        assert math.remainder(yaw - ours.heading, 2.0 * math.pi) == pytest.approx(0.0, abs=1e-6)
        assert waypoint.lane_width == roads.lane_width(1, waypoint.lane_id, waypoint.s)


@pytest.mark.parametrize("s", [10.0, 650.0, 845.0, 1200.0, 1577.0, 2400.0, 3190.0])
@pytest.mark.parametrize("t", [-8.0, -5.25, -0.4, 2.0, 10.0])
def test_projection_agrees_with_the_carla_client(
    roads: RoadNetwork, carla_map: carla.Map, s: float, t: float
) -> None:
    x, y, z, _ = roads.pose(1, s, t)
    ours = roads.project(x, y)
    theirs = carla_map.get_waypoint(carla.Location(x=x, y=-y, z=z))
    assert theirs.lane_id == ours.lane_id
    # The client searches a tree of chords, so that its s is coarse in curves.
    assert theirs.s == pytest.approx(ours.s, abs=0.5)
    assert (ours.s, ours.t) == pytest.approx((s, t), abs=1e-9)


def test_carla_client_sees_lane_changes_and_shoulder(carla_map: carla.Map) -> None:
    middle = carla_map.get_waypoint_xodr(1, -2, 500.0)
    assert middle.lane_change == carla.LaneChange.Both
    assert middle.get_right_lane().get_right_lane().lane_type == carla.LaneType.Shoulder
    assert carla_map.get_waypoint_xodr(1, -3, 500.0).lane_change == carla.LaneChange.Left
    assert carla_map.get_waypoint_xodr(1, -1, 500.0).lane_change == carla.LaneChange.Right


@pytest.mark.parametrize("lanes", [1, 2, 5])
def test_other_highways_can_be_made(lanes: int) -> None:
    text = make_highway(
        lanes=lanes, lane_width=3.75, radius=-400.0, hill_height=0.0, name='A1 "north" & <south>'
    )
    roads = RoadNetwork.from_xodr(text)
    assert len(roads.lane_ids(1, 0.0, "driving")) == 2 * lanes
    assert roads.pose(1, 1700.0, 0.0)[3] == pytest.approx(-1.75)
    assert len(carla.Map("other", text).generate_waypoints(100.0)) > 30 * lanes


@pytest.mark.parametrize(
    ("argument", "value"),
    [
        ("lanes", 0),
        ("radius", 10.0),
        ("total_length", 1000.0),
        ("lane_width", -1.0),
        ("curve", math.nan),
    ],
)
def test_impossible_highways_are_refused(argument: str, value: float) -> None:
    with pytest.raises(RoadError, match="must be"):
        make_highway(**{argument: value})
