# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The object sensor on the project's highway: geometry, visibility, noise, independence."""

import math
from collections.abc import Mapping
from pathlib import Path
from statistics import fmean, pstdev
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.models import made, scene_of

from buildtools.highway import make_highway
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.participant import ModelContext, Sample, Step
from ros2_cosim.core.messages.message_types import ODOMETRY, ROAD_USERS
from ros2_cosim.core.messages.records import (
    CLASS_CAR,
    CLASS_OBSTACLE,
    CLASS_UNKNOWN,
    ObjectList,
    Odometry,
    StaticObject,
    StaticObjects,
)
from ros2_cosim.driving.sensors.false_detections import FIRST_FALSE_IDENTITY
from ros2_cosim.driving.sensors.field_of_view import FieldOfView, _free_share, _is_covered
from ros2_cosim.driving.sensors.object_sensor import ObjectSensor
from ros2_cosim.world.carla.roster import Roster
from ros2_cosim.world.map import RoadNetwork
from ros2_cosim.world.map.lane_boxes import LaneBoxes
from ros2_cosim.world.map.lane_frame import LaneBox
from ros2_cosim.world.map.scene import scene_vehicles
from ros2_cosim.world.map.vehicle_info import VehicleInfo

ROAD = RoadNetwork.from_xodr(make_highway())
VEHICLES = {
    "leader": VehicleInfo(1, 4.5, 1.8),
    "follower1": VehicleInfo(2, 4.7, 1.9),
    "follower2": VehicleInfo(3, 4.9, 2.0),
}
EXACT: dict[str, Any] = {"distance_noise": 0.0, "speed_noise": 0.0, "lateral_noise": 0.0}


def on_road(s: float, speed: float = 20.0, lane: int = -2, shift: float = 0.0) -> Odometry:
    t = ROAD.lane_centre(1, lane, s) + (shift if lane < 0 else -shift)
    x, y, z, heading = ROAD.pose(1, s, t)
    if lane > 0:
        heading += math.pi
    half = 0.5 * heading
    return Odometry(
        x, y, z, 0.0, 0.0, math.sin(half), math.cos(half), speed, 0.0, 0.0, 0.0, 0.0, 0.0
    )


def block(s: float, lane: int = -2, number: int = 100) -> StaticObject:
    x, y, z, heading = ROAD.pose(1, s, ROAD.lane_centre(1, lane, s))
    return StaticObject(number, CLASS_OBSTACLE, x, y, z, heading, 1.0, 3.0, 1.5)


def step(states: Mapping[str, Odometry], static: tuple[StaticObject, ...] = ()) -> Step:
    latest: dict[str, Sample | None] = {f"odometry/{name}": None for name in VEHICLES}
    latest["static_objects"] = None
    for name, state in states.items():
        latest[f"odometry/{name}"] = Sample(0, 0, state)
    if static:
        latest["static_objects"] = Sample(0, 0, StaticObjects(static))
    return Step(0, {}, latest)


def sensor(ego: str = "follower1", seed: int = 1, **parameters: Any) -> ObjectSensor:
    context = {"scene": scene_of(VEHICLES), "run_seed": seed}
    parameters = {"ego": ego, **parameters}
    return made(ObjectSensor, parameters, name="sensor", context=context, boxes=LaneBoxes(ROAD))


def look(model: ObjectSensor, *arguments: Any) -> ObjectList:
    result = model.activate(step(*arguments))["objects"]
    assert isinstance(result, ObjectList)
    return result


@pytest.mark.parametrize("lane", [-2, 2])
@pytest.mark.parametrize("s", [200.0, 1200.0])
def test_distance_is_bumper_to_bumper_along_the_lane(s: float, lane: int) -> None:
    ahead = s + 30.0 if lane < 0 else s - 30.0
    states = {"follower1": on_road(s, 22.0, lane), "leader": on_road(ahead, 20.0, lane, 0.3)}
    (found,) = look(sensor(**EXACT), states).objects
    turned = (30.0 / 800.0) if s == 1200.0 else 0.0
    way = 30.0 - ROAD.lane_centre(1, lane, s) * turned
    assert found.distance == pytest.approx(way - 4.5 / 2 - 4.7 / 2, abs=0.02)
    assert found.relative_speed == pytest.approx(-2.0, abs=1e-9)
    assert found.lateral_offset == pytest.approx(0.3, abs=1e-6)
    assert (found.id, found.classification) == (1, CLASS_CAR)
    assert (found.length, found.width) == (4.5, 1.8)


def test_the_vehicle_ahead_hides_what_is_before_it() -> None:
    states = {
        "follower2": on_road(200.0),
        "follower1": on_road(220.0),
        "leader": on_road(240.0),
    }
    model = sensor("follower2", **EXACT)
    assert [item.id for item in look(model, states).objects] == [2]
    # A neighbour's lane is free of the shadow; a quarter of the block shows, more than a fifth.
    states["leader"] = on_road(240.0, lane=-1)
    assert [item.id for item in look(model, states, (block(400.0),)).objects] == [2, 1]
    states["follower1"] = on_road(220.0, lane=-3)
    assert [item.id for item in look(model, states, (block(300.0),)).objects] == [2, 1, 100]


def test_range_opening_angle_and_what_lies_behind() -> None:
    ego = on_road(300.0)
    model = sensor(detection_range=100.0, field_of_view=math.radians(60), **EXACT)
    assert look(model, {"follower1": ego, "leader": on_road(405.0)}).objects == ()
    assert len(look(model, {"follower1": ego, "leader": on_road(403.0)}).objects) == 1
    assert look(model, {"follower1": ego, "leader": on_road(280.0)}).objects == ()
    assert look(model, {"follower1": ego, "leader": on_road(303.0, lane=-1)}).objects == ()
    around = sensor(field_of_view=2 * math.pi, max_lateral_offset=20.0, **EXACT)
    assert len(look(around, {"follower1": ego, "leader": on_road(303.0, lane=-1)}).objects) == 1
    assert look(around, {"follower1": ego, "leader": on_road(280.0)}).objects == ()
    oncoming = look(around, {"follower1": ego, "leader": on_road(350.0, 30.0, lane=1)}).objects
    assert oncoming[0].relative_speed == pytest.approx(-50.0)
    assert oncoming[0].lateral_offset == pytest.approx(7.0, abs=1e-6)


def test_far_lanes_are_not_reported() -> None:
    states = {"follower1": on_road(200.0, lane=-3), "leader": on_road(230.0, lane=-1)}
    assert look(sensor(**EXACT), states).objects == ()
    assert len(look(sensor(max_lateral_offset=8.0, **EXACT), states).objects) == 1


def test_a_block_across_the_road_is_measured_by_its_narrow_side() -> None:
    turned = block(260.0)._replace(yaw=math.pi / 2, length=3.0, width=1.0)
    (found,) = look(sensor(**EXACT), {"follower1": on_road(200.0)}, (turned,)).objects
    assert found.distance == pytest.approx(60.0 - 4.7 / 2 - 0.5)
    assert found.relative_speed == pytest.approx(-20.0)
    assert found.classification == CLASS_OBSTACLE


def test_no_own_odometry_no_objects() -> None:
    assert look(sensor(), {"leader": on_road(230.0)}) == ObjectList(())


def test_objects_come_in_order_of_distance() -> None:
    states = {"follower1": on_road(200.0), "leader": on_road(260.0, lane=-1)}
    found = look(sensor(), states, (block(230.0), block(245.0, -3, 101))).objects
    assert [item.id for item in found] == [100, 101, 1]
    assert list(found) == sorted(found, key=lambda item: item.distance)


def test_noise_has_the_declared_size() -> None:
    model = sensor(distance_noise=0.2, speed_noise=0.1, lateral_noise=0.05)
    states = {"follower1": on_road(200.0, 22.0), "leader": on_road(230.0, 20.0)}
    found = [look(model, states).objects[0] for _ in range(1500)]
    for values, mean, spread in (
        ([item.distance for item in found], 30.0 - 4.6, 0.2),
        ([item.relative_speed for item in found], -2.0, 0.1),
        ([item.lateral_offset for item in found], 0.0, 0.05),
    ):
        assert fmean(values) == pytest.approx(mean, abs=5 * spread / math.sqrt(1500))
        assert pstdev(values) == pytest.approx(spread, rel=0.1)


def test_detection_probability() -> None:
    states = {"follower1": on_road(200.0), "leader": on_road(230.0)}
    never = sensor(detection_probability=0.0)
    assert all(look(never, states).objects == () for _ in range(20))
    often = sensor(detection_probability=0.8)
    seen = [item for _ in range(1000) for item in look(often, states).objects]
    assert 0.75 < len(seen) / 1000 < 0.85
    assert {item.existence_probability for item in seen} == {0.8}


def test_another_object_changes_no_draw_and_another_seed_changes_all() -> None:
    states = {"follower1": on_road(200.0), "leader": on_road(230.0)}
    alone, together, other = sensor(), sensor(), sensor(seed=2)
    for _ in range(10):
        (first,) = look(alone, states).objects
        found = look(together, states, (block(245.0, -3),)).objects
        assert found[0] == first and len(found) == 2
        assert look(other, states).objects[0] != first


@pytest.mark.parametrize(
    "wrong",
    [
        {"ego": "stranger"},
        {"detection_range": 0.0},
        {"field_of_view": 7.0},
        {"detection_probability": 1.2},
        {"distance_noise": -0.1},
        {"mounting_offset": math.nan},
    ],
)
def test_impossible_sensors_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError, match=r"participants\.sensor\.parameters"):
        sensor(**wrong)


def test_an_identity_belongs_to_one_vehicle() -> None:
    twice = {"a": VehicleInfo(1, 4.5, 1.8), "b": VehicleInfo(1, 4.5, 1.8)}
    with pytest.raises(ConfigurationError, match="'a' and 'b' both have id 1"):
        made(ObjectSensor, {"ego": "a"}, name="s", context={"scene": scene_of(twice)})


# --- field of view -----------------------------------------------------------------------


def box(x: float, y: float, yaw: float = 0.0, length: float = 4.0, width: float = 2.0) -> LaneBox:
    c, s = math.cos(yaw), math.sin(yaw)
    return LaneBox(x, y, c, s, length, width, None, 1.0, 0.0, 0.5 * length, 0.0, 1.0)


def test_shadow_of_a_wide_box_across_the_seam_behind_the_sensor() -> None:
    view = FieldOfView(100.0, 2 * math.pi, 0.1)
    wall = box(-10.0, 0.0, 0.0, 1.0, 8.0)
    assert view.visible(0, 0, 1, 0, [wall, box(-30.0, 0.5), box(-30.0, -0.5)]) == [0]
    assert view.visible(0, 0, 1, 0, [wall, box(-30.0, 25.0), box(30.0, 0.0)]) == [0, 2, 1]


def test_half_hidden_box_against_the_threshold() -> None:
    near, far = box(10.0, 1.0, 0.0, 0.001, 2.0), box(20.0, 0.0, 0.0, 0.001, 2.0)
    assert FieldOfView(100.0, 1.0, 0.45).visible(0, 0, 1, 0, [far, near]) == [1, 0]
    assert FieldOfView(100.0, 1.0, 0.55).visible(0, 0, 1, 0, [far, near]) == [1]


angles = st.floats(-math.pi, math.pi)


@given(angles, st.lists(st.tuples(angles, st.floats(8.0, 90.0), angles), min_size=1, max_size=5))
def test_what_is_seen_does_not_depend_on_the_frame(
    turn: float, places: list[tuple[float, float, float]]
) -> None:
    view = FieldOfView(80.0, 2.0, 0.3)
    plain = [box(r * math.cos(a), r * math.sin(a), yaw) for a, r, yaw in places]
    turned = [
        box(r * math.cos(a + turn), r * math.sin(a + turn), yaw + turn) for a, r, yaw in places
    ]
    # A hair's breadth decides rarely: compare with both slightly different limits.
    c, s = math.cos(turn), math.sin(turn)
    expected = view.visible(0, 0, 1, 0, plain)
    found = view.visible(0, 0, c, s, turned)
    loose = FieldOfView(80.0 + 1e-6, 2.0 + 1e-6, 0.3 - 1e-6).visible(0, 0, 1, 0, plain)
    strict = FieldOfView(80.0 - 1e-6, 2.0 - 1e-6, 0.3 + 1e-6).visible(0, 0, 1, 0, plain)
    if sorted(loose) == sorted(strict):
        assert sorted(found) == sorted(expected)


@given(st.lists(st.tuples(st.floats(-20.0, 20.0), st.floats(-9.0, 9.0), angles), max_size=9))
def test_what_is_behind_need_not_be_looked_at(places: list[tuple[float, float, float]]) -> None:
    boxes = [box(x, y, yaw) for x, y, yaw in places]
    view = FieldOfView(100.0, 3.0, 0.3)
    found = view.visible(0, 0, 1, 0, boxes)
    view._is_half = False  # now it looks at all of them
    assert view.visible(0, 0, 1, 0, boxes) == found


@given(
    st.lists(
        st.tuples(st.floats(6.0, 90.0), st.floats(-4.0, 4.0), st.floats(-0.2, 0.2)), max_size=7
    )
)
def test_what_one_box_hides_has_nothing_left(places: list[tuple[float, float, float]]) -> None:
    """The short cut for vehicles one behind the other gives what adding up shadows gives."""
    seen = [
        FieldOfView(100.0, 1.0, 0.2)._look(x, y, 1.0, 0.0, box(x, y, yaw), number)
        for number, (x, y, yaw) in enumerate(sorted(places))
    ]
    for number, item in enumerate(seen):
        share = _free_share(item, seen[:number])
        if _is_covered(item, seen[:number]):
            assert abs(share) < 1e-12
        elif number == 1:
            assert share > 0.0


@pytest.mark.parametrize(("length", "width"), [(8.0, 2.5), (3.5, 0.3)])
def test_what_stands_across_the_way_is_seen_until_it_is_reached(
    length: float, width: float
) -> None:
    view = FieldOfView(100.0, 1.0, 0.3)
    for way in (0.1, 0.5, 1.0, 2.0, 3.0, 5.0, 20.0):
        across = box(way + 0.5 * width, 0.0, 0.5 * math.pi, length, width)
        assert view.visible(0, 0, 1, 0, [across]) == [0], f"{way} m ahead"
        assert view.visible(0, 0, -1, 0, [across]) == [], f"{way} m behind"
    # It hides what is behind it, though its corners are further away.
    truck, car = box(3.0, 0.0, 0.5 * math.pi, 8.0, 2.0), box(6.2, 0.0, 0.0, 4.0, 1.0)
    assert view.visible(0, 0, 1, 0, [car, truck]) == [1]


@given(
    st.floats(0.1, 2 * math.pi),
    angles,
    st.floats(0.0, 25.0),
    angles,
    st.floats(0.3, 12.0),
    st.floats(0.3, 3.0),
)
def test_a_box_is_seen_wherever_a_point_of_it_is(
    opening: float, direction: float, way: float, yaw: float, length: float, width: float
) -> None:
    x, y = way * math.cos(direction), way * math.sin(direction)
    found = box(x, y, yaw, length, width)

    def sampled(reach: float, angle: float) -> bool:
        shares = [i / 60 - 0.5 for i in range(61)]
        c, s = math.cos(yaw), math.sin(yaw)
        return any(
            math.hypot(px, py) <= reach and abs(math.atan2(py, px)) <= 0.5 * angle
            for u in shares
            for v in shares
            for px, py in [(x + u * length * c - v * width * s, y + u * length * s + v * width * c)]
        )

    seen = FieldOfView(20.0, opening, 0.0).visible(0, 0, 1, 0, [found]) == [0]
    if sampled(20.0, opening):
        assert seen or not sampled(19.999, opening - 1e-6), "a point of it is in the sector"
    elif seen:
        # Between the samples: a sector larger by their distance has one of them, unless the
        # sensor stands so near that the angle between two samples means nothing.
        near = math.hypot(x, y) < 0.5 * math.hypot(length, width) + 1.0
        assert near or sampled(20.2, opening + 0.5)


# --- mounting, false detections, identities -------------------------------------------------


def test_a_sensor_looks_from_where_it_is_mounted() -> None:
    ego = on_road(300.0)
    states = {"follower1": ego, "leader": on_road(308.0, lane=-1)}
    narrow = {"field_of_view": 0.6, **EXACT}
    assert look(sensor(**narrow), states).objects == ()
    turned = look(sensor(mounting_yaw=0.5, **narrow), states).objects
    assert [item.id for item in turned] == [1]
    assert turned[0].distance == pytest.approx(8.0 - 4.6, abs=0.02), "from the bumper all the same"
    assert look(sensor(mounting_yaw=-0.5, **narrow), states).objects == ()
    # Beside a wall that hides the vehicle from the middle of the car.
    hidden = {"follower1": ego, "leader": on_road(340.0)}
    wall = block(310.0)._replace(width=1.9)
    assert [item.id for item in look(sensor(**EXACT), hidden, (wall,)).objects] == [100]
    aside = look(sensor(mounting_left=1.5, **EXACT), hidden, (wall,)).objects
    assert [item.id for item in aside] == [100, 1]


def test_clutter_has_the_declared_rate_and_leaves_the_objects_alone() -> None:
    states = {"follower1": on_road(200.0, 22.0), "leader": on_road(230.0, 20.0)}
    plain, cluttered = sensor(), sensor(clutter=1.5, clutter_speed=8.0)
    numbers: list[int] = []
    for _ in range(1000):
        found = look(cluttered, states).objects
        assert list(found) == sorted(found, key=lambda item: item.distance)
        false = [item for item in found if item.classification == CLASS_UNKNOWN]
        assert [item for item in found if item not in false] == list(look(plain, states).objects)
        numbers.append(len(false))
        for item in false:
            assert 0.0 <= item.distance <= 150.0 and abs(item.lateral_offset) <= 5.5
            assert abs(item.relative_speed) <= 8.0 and item.id >= FIRST_FALSE_IDENTITY
    assert fmean(numbers) == pytest.approx(1.5, abs=5 * math.sqrt(1.5 / 1000))
    assert pstdev(numbers) == pytest.approx(math.sqrt(1.5), rel=0.1), "Poisson"


def test_a_ghost_is_twice_as_far() -> None:
    states = {"follower1": on_road(200.0, 22.0), "leader": on_road(230.0, 20.0, shift=0.2)}
    real, ghost = look(sensor(ghost_probability=1.0, **EXACT), states).objects
    assert (ghost.distance, ghost.lateral_offset) == (2 * real.distance, 2 * real.lateral_offset)
    assert ghost.relative_speed == 2 * real.relative_speed and ghost.id >= FIRST_FALSE_IDENTITY
    near = sensor(ghost_probability=1.0, detection_range=45.0, **EXACT)
    assert len(look(near, states).objects) == 1, "beyond its range there is none"
    often = sensor(ghost_probability=0.3)
    assert 0.25 < fmean(len(look(often, states).objects) - 1 for _ in range(1000)) < 0.35


def test_raw_detections_have_no_identity() -> None:
    states = {"follower1": on_road(200.0), "leader": on_road(260.0, lane=-1)}
    found = look(sensor(identities=False), states, (block(230.0), block(245.0, -3, 101))).objects
    assert [item.id for item in found] == [1, 2, 3]


def test_a_scene_need_not_repeat_the_size_of_the_usual_car() -> None:
    def vehicles(**truck: Any) -> Mapping[str, VehicleInfo]:
        scene = {"vehicles": {"car": {}, "longer": {"length": 5.5}, "truck": truck}}
        return scene_vehicles(ModelContext("sensor", {}, scene, 1, Path()))

    kind = {"blueprint": "vehicle.carlamotors.firetruck"}
    found = vehicles(**kind, length=8.5, width=2.9)
    assert found["car"] == VehicleInfo(1, 4.792, 2.163)
    assert found["longer"] == VehicleInfo(2, 5.5, 2.163)
    assert found["truck"] == VehicleInfo(3, 8.5, 2.9)
    expected = "no length or width of truck; allowed is to give both, of all kinds but vehicle.tes"
    with pytest.raises(ConfigurationError, match=expected):
        vehicles(**kind)


@given(st.floats(0.0, 1900.0), st.floats(5.0, 60.0), st.floats(-2.0, 2.0), st.integers(-3, -1))
def test_one_message_of_all_vehicles_shows_what_their_odometries_show(
    s: float, ahead: float, shift: float, lane: int
) -> None:
    states = {
        "follower2": on_road(s, 21.0),
        "follower1": on_road(s + ahead, 22.0, lane, shift),
        "leader": on_road(s + 70.0, 20.0),
    }
    context = {
        "scene": scene_of(VEHICLES),
        "input_types": {"odometry/follower2": ODOMETRY, "vehicles": ROAD_USERS},
    }
    model = made(
        ObjectSensor,
        {"ego": "follower2", **EXACT},
        name="sensor",
        context=context,
        boxes=LaneBoxes(ROAD),
    )
    whole = Roster(
        ModelContext(name="", parameters={}, run_seed=1, base_directory=Path(), **context),
        list(states),
    ).of({f"odometry/{name}": state for name, state in states.items()})
    latest = {
        "odometry/follower2": Sample(0, 0, states["follower2"]),
        "vehicles": Sample(0, 0, whole),
        "static_objects": None,
    }
    found = model.activate(Step(0, {}, latest))["objects"].objects
    usual = look(sensor("follower2", **EXACT), states).objects
    assert [item.id for item in found] == [item.id for item in usual]
    for one, other in zip(found, usual, strict=True):
        assert one == pytest.approx(other, abs=1e-6)
