# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Vehicles and people beside the roads stand on the land that sensors see."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from support.headless_process import HIGHWAY, TOWN
from support.sensor_bench import CAR, Bench

from ros2_cosim.world.headless.labels import TERRAIN
from ros2_cosim.world.headless.sensing.probes import first_on
from ros2_cosim.world.headless.wire_types import (
    Rotation,
    Transform,
    Vector,
    VehicleControl,
    WalkerControl,
)
from ros2_cosim.world.headless.world import World
from ros2_cosim.world.vehicle.beside import ground_at

PERSON = "walker.pedestrian.0002"


@cache
def bench_of(path: Path, has_scenery: bool) -> Bench:
    return Bench(0.05, path=path, has_scenery=has_scenery)


def seen_below(bench: Bench, place: Vector) -> tuple[float, int]:
    """Height and label of what rays of clients meet below a place, were there no vehicle."""
    scene = bench.simulation.sensors.scene(bench.simulation.world)
    nobody = scene._replace(actors=scene.actors.take(np.zeros(len(scene.actors), dtype=bool)))
    found = first_on(nobody, place._replace(z=place.z + 3.0), Vector(0.0, 0.0, -1.0), 30.0)
    assert found is not None
    return found.location.z, found.label


def steepest(bench: Bench) -> Vector:
    """A place on the steepest land, away from roads and from what stands there."""
    world = bench.simulation.world
    bench.simulation.sensors.name_parts(world)
    taken = [box.hull for cell in world.standing.cells() for box in cell]
    found = []
    for i in range(-40, 40):
        for j in range(-40, 40):
            x, y = 12.0 * i + 3.0, 12.0 * j + 3.0
            around = [
                ground_at(world.network, world.land, x + dx, 0.0 - y + dy, None, None)
                for dx, dy in ((0.0, 0.0), (4.0, 4.0), (-4.0, 4.0), (4.0, -4.0), (-4.0, -4.0))
            ]
            if all(each.is_land for each in around):
                rise = around[1].z + around[3].z - around[2].z - around[4].z
                found.append((abs(rise), Vector(x, y, around[0].z)))
    for _, place in sorted(found, reverse=True):
        if all(abs(h.x - place.x) + abs(h.y + place.y) > 12.0 + h.half_length for h in taken):
            return place
    raise AssertionError("no room")


@pytest.mark.parametrize("has_scenery", [True, False])
def test_a_car_on_the_land_stands_on_what_rays_meet_and_rolls_down(has_scenery: bool) -> None:
    bench = bench_of(TOWN, has_scenery)
    world, place = bench.simulation.world, steepest(bench)
    car = world.spawn_anywhere(CAR, Transform(place._replace(z=place.z + 0.2), Rotation()), {}).id
    body = world.require_vehicle(car).body
    state = world.require(car).state
    below, label = seen_below(bench, state.transform.location)
    assert label == TERRAIN and state.transform.location.z == pytest.approx(below, abs=0.1)
    wheels = [seen_below(bench, Vector(x, 0.0 - y, place.z))[0] for x, y in body.wheel_places()]
    front, rear = sum(wheels[:2]) / 2.0, sum(wheels[2:]) / 2.0
    slope = (front - rear) / body.parameters.wheelbase
    pitch, _, roll = state.transform.rotation
    assert pitch == pytest.approx(math.degrees(math.atan(slope)), abs=0.5)
    sideways = sum(wheels[::2]) - sum(wheels[1::2])
    assert roll == pytest.approx(
        math.degrees(math.atan(0.5 * sideways / body.equipment.track)), abs=0.5
    )
    if abs(slope) > 0.05:
        bench.run(20)
        rolled = world.require(car).state
        assert (rolled.transform.location.x - place.x) * slope < -0.01
        assert rolled.transform.location.z < state.transform.location.z
    world.destroy(car)
    if has_scenery:
        assert abs(slope) > 0.05


def test_a_car_that_leaves_a_road_comes_down_to_the_land_and_comes_back() -> None:
    bench = bench_of(HIGHWAY, False)
    world = bench.simulation.world
    # The right edge of the highway.
    network = world.network
    edge = network.roads[1].lanes.edges(500.0)[0]
    x, y, z, heading = network.pose(1, 500.0, edge + 2.0)
    yaw = Rotation(yaw=0.0 - math.degrees(heading) + 6.0)
    car = world.spawn_anywhere(CAR, Transform(Vector(x, 0.0 - y, z), yaw), {}).id
    world.set_target_velocity(car, _along(yaw.yaw, 10.0))
    heights, pitches = [], []
    for steer in (0.0, -0.2):
        world.apply_control(car, VehicleControl(throttle=0.3, steer=steer))
        for _ in range(90):
            bench.run(1)
            state = world.require(car).state
            heights.append(state.transform.location.z)
            pitches.append(state.transform.rotation)
        if steer == 0.0:
            below, label = seen_below(bench, state.transform.location)
            assert label == TERRAIN and heights[-1] == pytest.approx(below, abs=0.02)
            assert -0.5 < heights[-1] - heights[0] < -0.1
    assert max(abs(b - a) for a, b in zip(heights, heights[1:], strict=False)) < 0.2
    assert max(max(abs(turn.pitch), abs(turn.roll)) for turn in pitches) < 12.0
    world.destroy(car)


def _along(yaw: float, speed: float) -> Vector:
    angle = math.radians(yaw)
    return Vector(speed * math.cos(angle), speed * math.sin(angle), 0.0)


def drive(world: World, steps: int) -> list[tuple[float, ...]]:
    """Vehicles on lanes of a town, and what becomes of them."""
    spawned = [world.spawn(CAR, at).id for at in world.spawn_points()[::29]]
    for number, car in enumerate(spawned):
        world.apply_control(car, VehicleControl(throttle=0.25 + 0.02 * number))
    for _ in range(steps):
        world.tick()
    return [world.require(car).numbers for car in spawned]


def test_on_roads_nothing_changes_and_nothing_is_made() -> None:
    text = TOWN.read_text(encoding="utf-8")
    made: list[World] = []
    plain, watched = World(text, 0.05), World(text, 0.05)
    watched.scenery_maker = made.append
    assert drive(plain, 20) == drive(watched, 20)
    # What is put aside, far from the map, has no land below it either.
    watched.spawn_anywhere(CAR, Transform(Vector(-200_000.0, 200_000.0, 0.0), Rotation()), {})
    watched.spawn_anywhere(PERSON, Transform(Vector(-200_000.0, 200_000.0, 0.0), Rotation()), {})
    assert not made


def world_with(heights: Callable[[float, float], float]) -> World:
    world = World(HIGHWAY.read_text(encoding="utf-8"), 0.05)
    world.land.take(heights)
    return world


def test_a_car_falls_from_a_bridge() -> None:
    world = world_with(lambda _x, _y: -6.0)
    edge = world.network.roads[1].lanes.edges(500.0)[0]
    x, y, z, heading = world.network.pose(1, 500.0, edge + 2.0)
    place = Transform(Vector(x, 0.0 - y, z), Rotation(yaw=30.0 - math.degrees(heading)))
    car = world.spawn_anywhere(CAR, place, {}).id
    world.set_target_velocity(car, _along(place.rotation.yaw, 12.0))
    heights = []
    for _ in range(120):
        world.tick()
        heights.append(world.require(car).state.transform.location.z)
    falls = [a - b for a, b in zip(heights, heights[1:], strict=False)]
    # Six metres take a good second, not one step.
    assert max(falls) < 0.05 * 12.0 and min(heights) < z - 5.0
    assert heights[-1] == pytest.approx(-6.0, abs=1.5)


def test_behind_the_end_of_a_road_there_is_land_and_below_a_bridge_too() -> None:
    world = world_with(lambda _x, _y: -0.4)
    length = world.network.length(1)
    x, y, _, heading = world.network.pose(1, length, -2.0)
    beyond = Vector(x + 9.0 * math.cos(heading), 0.0 - y - 9.0 * math.sin(heading), 0.0)
    for blueprint, above in ((CAR, 0.0), (PERSON, None)):
        at = Transform(beyond, Rotation())
        actor = world.spawn_anywhere(blueprint, at, {})
        foot = actor.bounding_box.extent.z if above is None else above
        world.tick()
        z = world.require(actor.id).state.transform.location.z
        assert z - foot == pytest.approx(-0.4, abs=0.5 if above is None else 1e-6)
        world.destroy(actor.id)
    low = world_with(lambda _x, _y: -8.0)
    x, y, z, _ = low.network.pose(1, 500.0, -2.0)
    found = low.ground_below(Vector(x, 0.0 - y, z - 5.0), 10.0)
    assert found is not None and found.z == -8.0


def test_people_step_down_to_the_land_and_up_again() -> None:
    world = world_with(lambda x, _y: -0.3 + 0.001 * x)
    edge = world.network.roads[1].lanes.edges(500.0)[0]
    x, y, z, heading = world.network.pose(1, 500.0, edge + 0.5)
    person = world.spawn(PERSON, Transform(Vector(x, 0.0 - y, z + 1.0), Rotation()))
    half = person.bounding_box.extent.z
    across = Vector(math.sin(heading), math.cos(heading), 0.0)
    for sign in (1.0, -1.0):
        way = Vector(sign * across.x, sign * across.y, 0.0)
        world.apply_walker_control(person.id, WalkerControl(way, 1.5))
        for _ in range(40):
            world.tick()
        place = world.require(person.id).state.transform.location
        wanted = -0.3 + 0.001 * place.x if sign > 0.0 else z
        assert place.z - half == pytest.approx(wanted, abs=1e-3)


def test_what_is_moved_by_others_is_where_they_put_it() -> None:
    world = world_with(lambda _x, _y: -3.0)
    place = Transform(Vector(500.0, 90.0, 1.25), Rotation(3.0, 20.0, -2.0))
    for blueprint in (CAR, PERSON):
        actor = world.spawn_anywhere(blueprint, place, {})
        world.simulate_physics(actor.id, False)
        world.set_transform(actor.id, place)
        world.tick()
        assert world.require(actor.id).state.transform == place
        world.destroy(actor.id)


def test_people_who_are_moved_by_others_walk() -> None:
    world = World(HIGHWAY.read_text(encoding="utf-8"), 0.05)
    far = Transform(Vector(0.0, 300.0, 1.0), Rotation())
    moved = world.require_walker(world.spawn_anywhere(PERSON, far, {}).id)
    world.simulate_physics(moved.id, False)
    own = world.require_walker(world.spawn_anywhere(PERSON, far, {}).id)
    own.collides = moved.collides = False
    world.tick()
    assert moved.skeleton.look() == ()
    world.apply_walker_control(own.id, WalkerControl(Vector(1.0, 0.0, 0.0), 1.4))
    for step in range(1, 30):
        at = Vector(0.07 * step, 300.0, 1.0)
        world.set_transform(moved.id, Transform(at, Rotation()))
        world.tick()
        # The same way at the same speed, the same legs.
        assert moved.skeleton.look() == pytest.approx(own.skeleton.look(), abs=1e-6)
    world.tick()
    assert moved.skeleton.look() == ()
    # What appears elsewhere has not walked there.
    world.set_transform(moved.id, far._replace(location=Vector(900.0, 300.0, 1.0)))
    world.tick()
    assert moved.skeleton.look() == ()
