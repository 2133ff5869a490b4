# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Vehicles and people hit houses, poles and rails, and the sensor says what it was."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from support.headless_process import HIGHWAY, TOWN
from support.sensor_bench import CAR, Bench

from ros2_cosim.world.headless.contact import OrientedBox, contact
from ros2_cosim.world.headless.labels import (
    BUILDINGS,
    FENCES,
    GUARD_RAILS,
    POLES,
    VEGETATION,
)
from ros2_cosim.world.headless.sensing.scene import SceneBuilder
from ros2_cosim.world.headless.standing_boxes import StandingBox
from ros2_cosim.world.headless.wire_types import (
    ActorDescription,
    Rotation,
    Transform,
    Vector,
    WalkerControl,
)
from ros2_cosim.world.headless.world import World


@cache
def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8")


@cache
def standing(path: Path) -> list[StandingBox]:
    """All boxes of a map with its scenery."""
    world = World(text_of(path), 0.05, has_scenery=True)
    SceneBuilder().complete(world)
    return [box for cell in world.standing.cells() for box in cell]


def first(path: Path, label: int, test: Callable[[OrientedBox], bool]) -> OrientedBox:
    return next(b.hull for b in standing(path) if b.thing.label == label and test(b.hull))


@pytest.mark.parametrize(
    ("path", "label", "name"),
    [
        (TOWN, BUILDINGS, "static.building"),
        (TOWN, POLES, "static.pole"),
        (TOWN, VEGETATION, "static.vegetation"),
        (HIGHWAY, GUARD_RAILS, "static.guardrail"),
    ],
)
def test_a_car_stops_at_what_it_hits_and_the_sensor_names_it(
    path: Path, label: int, name: str
) -> None:
    hull = first(path, label, lambda box: box.half_height > 0.3)
    bench = Bench(0.05, path=path, has_scenery=True)
    world = bench.simulation.world
    # Towards the middle of the longer side, from eight metres away.
    out_x, out_y = 0.0 - hull.sin, hull.cos
    away = hull.half_width + 8.0
    place = Vector(hull.x + away * out_x, 0.0 - (hull.y + away * out_y), hull.z)
    yaw = Rotation(yaw=_yaw(0.0 - out_x, out_y))
    car = world.spawn_anywhere(CAR, Transform(place, yaw), {}).id
    sensor = bench.sensor("sensor.other.collision", Transform(), car)
    world.set_target_velocity(car, Vector(0.0 - 9.0 * out_x, 9.0 * out_y, 0.0))
    bench.run(40)
    payloads = bench.payloads(sensor)
    assert payloads, "nothing was hit"
    own, other, impulse = payloads[0]
    assert (own[0], other[0], other[2][1]) == (car, 0, name)
    assert other[4] in (bytes((label,)), chr(label))
    # It is pushed back along the way it came, by about what it had.
    back = impulse[0] * out_x - impulse[1] * out_y
    assert back > 0.5 * 6.0 * world.require_vehicle(car).body.mass
    state = world.require(car).state
    assert _gap(hull, state.transform) > -0.3
    assert abs(state.velocity.x) + abs(state.velocity.y) < 3.0


def _yaw(x: float, y: float) -> float:
    return math.degrees(math.atan2(y, x))


def _gap(hull: OrientedBox, pose: Transform) -> float:
    """How far a car's nose is before the middle line of a box's longer side [m]."""
    dx, dy = pose.location.x - hull.x, 0.0 - pose.location.y - hull.y
    across = abs(dy * hull.cos - dx * hull.sin)
    return across - hull.half_width - 2.4


def test_without_scenery_only_what_the_map_names_is_hit() -> None:
    world = World(text_of(TOWN), 0.05)
    assert {box.thing.label for cell in world.standing.cells() for box in cell} <= {POLES, 5, 20}
    whole = World(text_of(TOWN), 0.05, has_scenery=True)
    # Until a vehicle leaves its road nothing is made.
    car = whole.spawn(CAR, whole.spawn_points()[0])
    whole.set_target_velocity(car.id, Vector(5.0, 0.0, 0.0))
    before = len(whole.standing.cells())
    whole.tick()
    assert len(whole.standing.cells()) == before and not whole.things.parts()


def test_what_a_client_hides_is_not_hit() -> None:
    world = World(text_of(TOWN), 0.05, has_scenery=True)
    SceneBuilder().complete(world)
    hull = first(TOWN, BUILDINGS, lambda box: box.half_height > 3.0)
    inside = Transform(Vector(hull.x, 0.0 - hull.y, hull.z - hull.half_height + 1.0))
    car = world.require_vehicle(world.spawn_anywhere(CAR, inside, {}).id)
    world.set_target_velocity(car.id, Vector(0.5, 0.0, 0.0))
    assert any(box.thing.label == BUILDINGS for box in world.standing.near(car))
    world.things.show([thing.id for thing in world.things.labelled(BUILDINGS)], shown=False)
    assert not any(box.thing.label == BUILDINGS for box in world.standing.near(car))


PERSON = "walker.pedestrian.0002"


@cache
def bench_of(path: Path) -> Bench:
    return Bench(0.05, path=path, has_scenery=True)


def person_before(bench: Bench, hull: OrientedBox, away: float) -> int:
    """Someone so far before the middle of the longer side of a box [m]."""
    out_x, out_y = 0.0 - hull.sin, hull.cos
    far = hull.half_width + away
    x, y = hull.x + far * out_x, hull.y + far * out_y
    place = Transform(Vector(x, 0.0 - y, hull.z - hull.half_height + 1.5))
    return bench.simulation.world.spawn_anywhere(PERSON, place, {}).id


def towards(hull: OrientedBox, share: float = 1.0) -> Vector:
    """The way to the longer side of a box: straight on for 1, else slanting along it."""
    side = math.sqrt(1.0 - share * share)
    x, y = share * hull.sin + side * hull.cos, 0.0 - share * hull.cos + side * hull.sin
    return Vector(x, 0.0 - y)


@pytest.mark.parametrize(
    ("path", "label", "name", "speed"),
    [
        (TOWN, BUILDINGS, "static.building", 1.4),
        (TOWN, POLES, "static.pole", 1.4),
        (TOWN, VEGETATION, "static.vegetation", 3.0),
        (TOWN, FENCES, "static.fence", 12.0),
        (HIGHWAY, GUARD_RAILS, "static.guardrail", 30.0),
    ],
)
def test_people_stop_at_what_stands_there_however_fast_they_run(
    path: Path, label: int, name: str, speed: float
) -> None:
    hull = first(path, label, lambda box: box.half_height > 0.3)
    bench = bench_of(path)
    world = bench.simulation.world
    person = person_before(bench, hull, 1.0)
    sensor = bench.sensor("sensor.other.collision", Transform(), person)
    world.apply_walker_control(person, WalkerControl(towards(hull), speed))
    for _ in range(40):
        bench.run(1)
        found = contact(world.require(person).box(), hull)
        assert found is None or found.depth < 1e-6
    place = world.require(person).state.transform.location
    across = (0.0 - place.y - hull.y) * hull.cos - (place.x - hull.x) * hull.sin
    assert hull.half_width < across < hull.half_width + 1.0
    velocity = world.require(person).state.velocity
    assert abs(velocity.x) + abs(velocity.y) < 1e-9
    own, other, impulse = bench.payloads(sensor)[0]
    assert (own[0], other[0], other[2][1]) == (person, 0, name)
    assert math.hypot(impulse[0], impulse[1]) == pytest.approx(75.0 * speed, rel=1e-3)


def test_people_go_on_along_a_wall_and_walk_where_nothing_stands() -> None:
    hull = first(TOWN, BUILDINGS, lambda box: box.half_length > 4.0)
    bench = bench_of(TOWN)
    world = bench.simulation.world
    person = person_before(bench, hull, 0.5)
    world.apply_walker_control(person, WalkerControl(towards(hull, 0.6), 1.5))
    bench.run(40)
    velocity = world.require(person).state.velocity
    along = velocity.x * hull.cos - velocity.y * hull.sin
    assert along == pytest.approx(0.8 * 1.5)
    assert abs(velocity.x * hull.sin + velocity.y * hull.cos) < 1e-9
    # On a sidewalk nobody looks for scenery, and what a client's navigation moves is not stopped.
    fresh = Bench(0.05, path=TOWN, has_scenery=True)
    world = fresh.simulation.world
    road, s, lane = next(
        (road.id, 5.0, lane)
        for road in world.network.roads.values()
        if road.length > 20.0
        for lane in world.network.lane_ids(road.id, 5.0, "sidewalk")
    )
    x, y, z, heading = world.network.lane_pose(road, lane, s)
    place = Transform(Vector(x, 0.0 - y, z + 1.0))
    person = fresh.simulation.spawn(ActorDescription(0, PERSON), place).id
    ahead = Vector(math.cos(heading), 0.0 - math.sin(heading))
    world.apply_walker_control(person, WalkerControl(ahead, 1.4))
    fresh.run(20)
    assert not world.things.parts()
    moved = world.require(person).state.transform.location
    assert math.hypot(moved.x - x, moved.y + y) == pytest.approx(1.4, abs=0.01)
    SceneBuilder().complete(world)
    inside = Transform(Vector(hull.x, 0.0 - hull.y, hull.z - hull.half_height + 1.0))
    world.follow_navigation(person, inside, 1.0)
    fresh.run(1)
    at = world.require(person).state.transform.location
    assert math.hypot(at.x - hull.x, at.y + hull.y) < 0.1
