# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Walkers of the real ``carla`` client in the town, driven by its own navigation."""

from __future__ import annotations

import re
from typing import Any

import carla
import pytest
from support.client_traffic import synchronous_traffic
from support.patience import until
from support.ports import free_port


def _lane(world: Any, place: Any) -> Any:
    return world.get_map().get_waypoint(place, lane_type=carla.LaneType.Any).lane_type


def test_blueprints_have_the_attributes_of_carla(world: Any) -> None:
    library = world.get_blueprint_library()
    walkers = library.filter("walker.pedestrian.*")
    assert len(walkers) == 52
    adult = library.find("walker.pedestrian.0001")
    assert adult.get_attribute("speed").recommended_values == ["0.0", "1.8", "4.0"]
    assert adult.get_attribute("age").as_str() == "adult"
    child = library.find("walker.pedestrian.0012")
    assert child.get_attribute("speed").recommended_values == ["0.0", "1.1", "2.0"]
    adult.set_attribute("is_invincible", "false")
    adult.set_attribute("use_wheelchair", "true")
    assert {w.get_attribute("generation").as_int() for w in walkers} == {1, 2}


def test_ai_walkers_walk_on_sidewalks_and_crosswalks(world: Any) -> None:
    world.set_pedestrians_seed(3)
    library = world.get_blueprint_library()
    walkers = []
    for number in range(1, 9):
        place = carla.Transform(world.get_random_location_from_navigation())
        walker = world.try_spawn_actor(library.find(f"walker.pedestrian.{number:04d}"), place)
        if walker is not None:
            walkers.append(walker)
    assert len(walkers) >= 6
    world.tick()
    controller = library.find("controller.ai.walker")
    minds = [world.spawn_actor(controller, carla.Transform(), walker) for walker in walkers]
    world.tick()
    world.set_pedestrians_cross_factor(0.0)
    for mind in minds:
        mind.start()
        mind.go_to_location(world.get_random_location_from_navigation())
        mind.set_max_speed(1.5)
    last = [walker.get_location() for walker in walkers]
    walked = [0.0] * len(walkers)
    lanes = []
    for step in range(400):
        world.tick()
        for index, walker in enumerate(walkers):
            here = walker.get_location()
            walked[index] += here.distance(last[index])
            last[index] = here
        if step % 100 == 99:
            lanes += [_lane(world, here) for here in last]
            ground = world.get_map().get_waypoint(last[0], lane_type=carla.LaneType.Any)
            feet = last[0].z - walkers[0].bounding_box.extent.z
            assert feet == pytest.approx(ground.transform.location.z, abs=0.2)
    # 20 s: all are on their way, none is faster than it may be.
    assert all(10.0 < way < 32.0 for way in walked)
    assert lanes.count(carla.LaneType.Sidewalk) > 0.6 * len(lanes)
    assert walkers[0].get_velocity().length() == pytest.approx(1.5, abs=0.3)
    for mind in minds:
        mind.stop()
        mind.destroy()


def _walker(world: Any, number: int = 1, **attributes: str) -> Any:
    blueprint = world.get_blueprint_library().find(f"walker.pedestrian.{number:04d}")
    for name, value in attributes.items():
        blueprint.set_attribute(name, value)
    place = world.get_map().get_waypoint(
        carla.Location(60.0, 120.0, 8.0), lane_type=carla.LaneType.Sidewalk
    )
    walker = world.spawn_actor(blueprint, place.transform)
    world.tick()
    return walker


def test_a_walker_does_what_its_control_says(world: Any) -> None:
    walker = _walker(world)
    start = walker.get_location()
    walker.apply_control(carla.WalkerControl(carla.Vector3D(0.0, 2.0, 0.0), 1.2, False))
    for _ in range(20):
        world.tick()
    here = walker.get_location()
    assert (here.x - start.x, here.y - start.y) == pytest.approx((0.0, 1.2), abs=1e-3)
    assert walker.get_transform().rotation.yaw == pytest.approx(90.0)
    assert walker.get_control().speed == pytest.approx(1.2)
    walker.apply_control(carla.WalkerControl(carla.Vector3D(), 0.0, True))
    heights = []
    for _ in range(12):
        world.tick()
        heights.append(walker.get_location().z)
    # At 5 m/s upwards it comes 1.27 m high.
    assert 1.1 < max(heights) - here.z < 1.3
    walker.apply_control(carla.WalkerControl())
    for _ in range(30):
        world.tick()
    assert walker.get_location().z == pytest.approx(here.z, abs=0.1)


def test_bones_rest_until_a_client_moves_them(world: Any) -> None:
    walker = _walker(world, 2)
    bones = {bone.name: bone for bone in walker.get_bones().bone_transforms}
    here = walker.get_location()
    head, feet = bones["crl_Head__C"].world.location, bones["crl_root"].world.location
    assert here.z - 0.94 < feet.z < here.z - 0.92
    assert 1.4 < head.z - feet.z < 1.9
    moved = carla.WalkerBoneControlIn()
    lifted = carla.Transform(carla.Location(z=1.0), carla.Rotation())
    moved.bone_transforms = [("crl_Head__C", lifted)]
    walker.set_bones(moved)
    world.tick()
    assert walker.get_bones().bone_transforms[0].name == "crl_root"
    unchanged = {bone.name: bone for bone in walker.get_bones().bone_transforms}
    assert unchanged["crl_Head__C"].world.location == head
    walker.show_pose()
    world.tick()
    shown = {bone.name: bone for bone in walker.get_bones().bone_transforms}
    assert shown["crl_Head__C"].relative.location.z == 1.0
    walker.hide_pose()
    walker.get_pose_from_animation()
    world.tick()
    names = walker.get_bone_names()
    assert names[0] == "crl_root"
    # Bones are told on the mesh, which stands at the feet, sockets on the walker's middle.
    number = names.index("crl_Head__C")
    on_mesh = walker.get_bone_relative_transforms()[number].location
    on_root = walker.get_socket_relative_transforms()[number].location
    assert on_mesh.z == pytest.approx(head.z - feet.z, abs=1e-3)
    assert on_root.z == pytest.approx(head.z - here.z, abs=1e-3)
    assert walker.get_socket_names() == names


def test_a_walking_walker_puts_one_foot_before_the_other(world: Any) -> None:
    walker = _walker(world, 3)
    walker.apply_control(carla.WalkerControl(carla.Vector3D(1.0, 0.0, 0.0), 1.4, False))
    number = {name: n for n, name in enumerate(walker.get_bone_names())}
    feet = [number[f"crl_foot__{side}"] for side in "LR"]
    ways = []
    for _ in range(60):
        before = walker.get_bone_world_transforms()
        world.tick()
        after = walker.get_bone_world_transforms()
        ways.append([after[n].location.x - before[n].location.x for n in feet])
    still = [min(way) < 1e-3 for way in ways[1:]]
    assert sum(still) > 0.8 * len(still)
    for foot in (0, 1):
        assert 20 < sum(way[foot] < 1e-3 for way in ways) < 40
    walker.apply_control(carla.WalkerControl())
    world.tick()
    one, two = (walker.get_bone_world_transforms()[n].location.x for n in feet)
    assert one == pytest.approx(two, abs=1e-3)


def test_a_walker_that_is_hit_moves_and_does_not_stop_a_car(world: Any) -> None:
    town = world.get_map()
    start = town.get_waypoint(carla.Location(30.0, 111.75, 7.0))
    (ahead,) = start.next(8.0)
    car = world.spawn_actor(
        world.get_blueprint_library().find("vehicle.tesla.model3"), start.transform
    )
    walker = world.spawn_actor(
        world.get_blueprint_library().find("walker.pedestrian.0004"), ahead.transform
    )
    world.tick()
    heading = car.get_transform().get_forward_vector()
    car.set_target_velocity(carla.Vector3D(10.0 * heading.x, 10.0 * heading.y, 0.0))
    before = walker.get_location()
    for _ in range(20):
        world.tick()
    assert walker.get_location().distance(before) > 0.5
    assert car.get_velocity().length() > 7.0


def test_a_walker_under_a_car_dies_and_is_gone_after_ten_seconds(world: Any) -> None:
    library = world.get_blueprint_library()
    world.set_pedestrians_cross_factor(1.0)
    lane = world.get_map().get_waypoint(carla.Location(60.0, 118.0, 8.0)).transform
    walker = world.spawn_actor(library.find("walker.pedestrian.0005"), lane)
    before = carla.Transform(lane.transform(carla.Location(-12.0, 0.0, 0.3)), lane.rotation)
    car = world.spawn_actor(library.find("vehicle.tesla.model3"), before)
    world.tick()
    mind = world.spawn_actor(library.find("controller.ai.walker"), carla.Transform(), walker)
    world.tick()
    mind.start()
    mind.go_to_location(world.get_random_location_from_navigation())
    world.tick()
    car.set_transform(carla.Transform(lane.transform(carla.Location(z=0.05)), lane.rotation))
    for _ in range(4):
        world.tick()
    # The client's navigation leads it no longer.
    there = [actor.id for actor in world.get_actors()]
    assert walker.id in there and mind.id not in there
    died = walker.get_location()
    for _ in range(190):
        world.tick()
    assert walker.get_location() == died
    for _ in range(20):
        world.tick()
    assert walker.id not in [actor.id for actor in world.get_actors()]


def test_fifty_vehicles_of_the_traffic_manager_do_not_collide(client: Any, world: Any) -> None:
    # The longer drives with more seeds are in bench/carla_traffic.py.
    library = world.get_blueprint_library()
    cars = sorted(
        (b for b in library.filter("vehicle.*") if b.get_attribute("base_type").as_str() == "car"),
        key=lambda blueprint: str(blueprint.id),
    )
    points = world.get_map().get_spawn_points()[::4][:50]
    made = [world.spawn_actor(cars[i % len(cars)], point) for i, point in enumerate(points)]
    touched: list[int] = []
    sensors = [
        world.spawn_actor(library.find("sensor.other.collision"), carla.Transform(), car)
        for car in made
    ]
    for sensor in sensors:
        sensor.listen(lambda event: touched.append(event.other_actor.id))
    port = free_port()
    with synchronous_traffic(client, port) as (manager, tick):
        manager.set_random_device_seed(1)
        tick()
        for car in made:
            car.set_autopilot(True, port)
        start = [car.get_location() for car in made]
        for _ in range(240):
            tick()
        far = [car.get_location().distance(place) for car, place in zip(made, start, strict=True)]
        for sensor in sensors:
            sensor.stop()
            sensor.destroy()
        for car in made:
            car.set_autopilot(False, port)
    assert touched == []
    assert sum(way > 30.0 for way in far) > 30


def test_the_file_of_the_mesh_is_named_by_its_content(client: Any) -> None:
    # The client keeps files by their names, over all servers that it ever meets.
    (name,) = client.get_required_files("Nav", False)
    assert re.fullmatch(r"Carla/Maps/Nav/town_[0-9a-f]{16}\.bin", name)
    assert client.get_required_files("TM", False) == []
    with pytest.raises(RuntimeError, match="walkers' mesh of its map only"):
        client.request_file("Carla/Maps/Nav/other.bin")


def test_a_controller_starts_where_its_walker_is_without_a_tick_between(client: Any) -> None:
    """In asynchronous mode: the client takes the walker's place from its newest frame."""
    world = client.get_world()
    before = world.get_settings()
    asynchronous = world.get_settings()
    asynchronous.synchronous_mode, asynchronous.fixed_delta_seconds = False, 0.2
    world.apply_settings(asynchronous)
    library = world.get_blueprint_library()
    try:
        for number in range(1, 5):
            place = carla.Transform(world.get_random_location_from_navigation())
            walker = world.spawn_actor(library.find(f"walker.pedestrian.{number:04d}"), place)
            # The frame that has it comes over another connection than the answer.
            until(lambda seen=walker.id: world.get_snapshot().has_actor(seen))
            mind = world.spawn_actor(
                library.find("controller.ai.walker"), carla.Transform(), walker
            )
            assert walker.get_location().distance(place.location) < 2.0
            mind.start()
            mind.go_to_location(world.get_random_location_from_navigation())
            mind.stop()
            mind.destroy()
            walker.destroy()
    finally:
        world.apply_settings(before)
