# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The project's town: current text, whole roads, and the map that CARLA's client sees."""

from __future__ import annotations

import math
from pathlib import Path

import carla
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.carla_map import compare
from buildtools.town import make_town
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.messages.records import Odometry
from ros2_cosim.world.drivers.lane_keeping import LaneKeeper
from ros2_cosim.world.map import OFF_ROAD, RoadNetwork, RoadPosition
from ros2_cosim.world.vehicle import SEDAN

CONFIG = Path(__file__).parents[2] / "config" / "town.xodr"
TEXT = CONFIG.read_text(encoding="utf-8")
TOWN = RoadNetwork.from_xodr(TEXT, "town.xodr")
_ROADS = sorted(TOWN.roads)


@pytest.fixture(scope="module")
def carla_map() -> carla.Map:
    return carla.Map("town", TEXT)


def test_committed_file_is_what_the_generator_writes() -> None:
    assert make_town() == TEXT


def test_the_town_has_what_it_promises() -> None:
    assert TOWN.notes == ()
    assert len(TOWN.junctions) >= 12
    assert len(TOWN.spawn_points()) >= 100
    types = [signal.type for signal in TOWN.signals.values()]
    assert types.count("1000001") == len(TOWN.controllers) == 28
    assert {"205", "206", "274"} <= set(types)
    heights = [point.z for point in TOWN.spawn_points()]
    assert max(heights) - min(heights) > 15.0
    assert max(abs(point.slope) for point in TOWN.spawn_points()) > 0.05


def test_no_lane_ends_and_no_lane_jumps() -> None:
    """Every driving lane goes on, smoothly in place, height and direction."""
    for road in TOWN.roads.values():
        for lane_id, lane in road.lanes.sections[0].lanes.items():
            if lane.type != "driving":
                continue
            end = road.length if lane_id < 0 else 0.0
            onward = TOWN.advance(road.id, lane_id, end, 0.0001)
            assert onward[0] != road.id, f"lane {lane_id} of road {road.id} ends"
            here = TOWN.lane_pose(road.id, lane_id, end)
            other = TOWN.roads[onward[0]]
            there = TOWN.lane_pose(onward[0], onward[1], 0.0 if onward[1] < 0 else other.length)
            assert math.dist(here[:3], there[:3]) < 1e-6
            assert math.remainder(here.heading - there.heading, math.tau) == pytest.approx(
                0.0, abs=1e-6
            )


def test_roads_can_be_driven() -> None:
    """No curve is tighter than a car can drive, no road steeper than a street may be."""
    for road in TOWN.roads.values():
        for k in range(21):
            s = k / 20.0 * road.length
            assert abs(TOWN.curvature(road.id, s, -1.75)) < 1.0 / 6.0
            assert abs(TOWN.slope(road.id, s)) < 0.12


@given(st.sampled_from(_ROADS), st.floats(0.001, 0.999), st.floats(-0.49, 0.49), st.data())
def test_a_point_of_a_lane_is_found_in_a_lane_as_near(
    road_id: int, share: float, off: float, data: st.DataObject
) -> None:
    s = share * TOWN.length(road_id)
    lane_id = data.draw(st.sampled_from(TOWN.lane_ids(road_id, s, "driving")))
    t = TOWN.lane_centre(road_id, lane_id, s) + off * TOWN.lane_width(road_id, lane_id, s)
    x, y, z, _ = TOWN.pose(road_id, s, t)
    found = TOWN.project(x, y, z=z)
    assert found.lane_id != OFF_ROAD
    back = TOWN.pose(found.road_id, found.s, found.t)
    assert back[:2] == pytest.approx((x, y), abs=1e-6)
    assert abs(back[2] - z) < 0.5
    centre = TOWN.lane_centre(found.road_id, found.lane_id, found.s)
    assert abs(found.t - centre) <= abs(off) * 3.5 + 1e-6
    # From the place itself nothing else is found.
    hint = RoadPosition(road_id, s, t, lane_id, 0.0)
    assert TOWN.project(x, y, hint).road_id == road_id


@settings(max_examples=20)
@given(st.floats(-400.0, 900.0), st.floats(-600.0, 500.0))
def test_beside_the_roads_the_nearest_one_is_found(x: float, y: float) -> None:
    """Compared with all samples of all roads."""
    found = TOWN.project(x, y)
    px, py, _, _ = TOWN.pose(found.road_id, found.s, 0.0)
    ours = math.dist((px, py), (x, y))
    nearest = min(
        math.dist(TOWN.pose(i, s, 0.0)[:2], (x, y))
        for i in _ROADS
        for s in (0.0, 0.25 * TOWN.length(i), 0.5 * TOWN.length(i), TOWN.length(i))
    )
    # A reference line may be half a road farther than the lanes that make a road the nearest.
    assert ours <= nearest + 10.0


@given(st.sampled_from(_ROADS), st.floats(0.0, 1.0), st.floats(5.0, 300.0))
def test_the_way_ahead_has_its_length(road_id: int, share: float, way: float) -> None:
    s = share * TOWN.length(road_id)
    for lane_id in TOWN.lane_ids(road_id, s, "driving"):
        road, lane, there = TOWN.advance(road_id, lane_id, s, way)
        start = RoadPosition(road_id, s, 0.0, lane_id, 0.0)
        end = RoadPosition(road, there, 0.0, lane, 0.0)
        found = TOWN.distance(start, end) * (1.0 if lane_id < 0 else -1.0)
        # There may be a shorter way to the same place, also backwards, but none is longer; in
        # curves the way is measured at the place's lateral position, here on the line itself.
        assert abs(found) <= way + 1e-6


def test_carla_s_client_agrees_about_the_town(carla_map: carla.Map) -> None:
    found = compare(TEXT, points=200)
    assert found.waypoints > 3000
    assert found.worst_distance < 1e-3
    assert found.worst_angle < 1e-4
    assert found.same_road + found.same_lane_elsewhere == found.points
    # The client searches a tree of chords, so that its s is coarse in curves.
    assert found.worst_station < 1.0
    assert all(waypoint.next(5.0) for waypoint in carla_map.generate_waypoints(10.0))


def test_carla_s_client_finds_the_signals(carla_map: carla.Map) -> None:
    landmarks = carla_map.get_all_landmarks()
    assert {landmark.id for landmark in landmarks} == set(TOWN.signals)
    for landmark in landmarks:
        signal = TOWN.signals[landmark.id]
        x, y, z, heading = TOWN.pose(signal.road_id, signal.s, signal.t)
        if signal.dynamic:  # the client moves traffic lights forwards
            x, y = x + 0.25 * math.cos(heading), y + 0.25 * math.sin(heading)
        place = landmark.transform.location
        assert math.dist((place.x, -place.y, place.z), (x, y, z)) < 1e-3
    # On the avenue towards a crossing: its light is seen from 30 m.
    before = carla_map.get_waypoint(carla.Location(80.0, 111.75, 9.0))
    seen = before.get_landmarks_of_type(40.0, "1000001")
    assert len({landmark.id for landmark in seen}) == 1


def test_a_route_says_where_ways_turn() -> None:
    """Straight on from road 23 is road 24; the route turns to the left, and later to the right."""
    assert TOWN.along(()) is TOWN
    routed = TOWN.along([23, 6, 14, 8, 7])
    assert TOWN.advance(23, -1, 100.0, 300.0)[:2] == (24, -1)
    assert routed.advance(23, -1, 100.0, 300.0)[:2] == (14, -1)
    assert routed.advance(23, -1, 100.0, 470.0)[0] == 7
    assert TOWN.advance(23, -1, 100.0, 300.0)[:2] == (24, -1), "the town itself is as before"
    # Off the route, straight on as before.
    assert routed.advance(5, -1, 10.0, 130.0) == TOWN.advance(5, -1, 10.0, 130.0)


def test_a_route_that_leads_nowhere() -> None:
    message = r"scene.route: found road 9 behind road 23; allowed are 0, 1, 5, 6, 27"
    with pytest.raises(ConfigurationError, match=message):
        TOWN.along([23, 9])
    with pytest.raises(ConfigurationError, match="no road 4711"):
        TOWN.along([4711])


@pytest.mark.parametrize("before_end", [1e-3, 0.05, 0.5])
def test_a_kept_lane_is_followed_onto_a_road_that_runs_the_other_way(before_end: float) -> None:
    """At the very end of a bend, where the way beside its line is shorter than the line."""
    keeper = LaneKeeper(TOWN, SEDAN, -1)
    length = TOWN.length(58)
    for s in (length - 3.0, length - before_end):
        x, y, z, heading = TOWN.lane_pose(58, -1, s)
        half = 0.5 * heading
        turn = (0.0, 0.0, math.sin(half), math.cos(half))
        keeper.steer(Odometry(x, y, z, *turn, 5.0, *(0.0,) * 5))
    road_id, lane_id, there = TOWN.advance(58, -1, length - before_end, before_end + 1e-3)
    assert (road_id, lane_id) == (6, 1)
    x, y, z, heading = TOWN.lane_pose(road_id, lane_id, there)
    keeper.steer(Odometry(x, y, z, *turn, 5.0, *(0.0,) * 5))
    assert keeper.position is not None and keeper.position.road_id == 6
    assert keeper.lane_id == 1
    assert abs(keeper.lateral_error) < 0.5
