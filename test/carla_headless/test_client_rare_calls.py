# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Calls of the real ``carla`` client that no other test makes: each does what its name says."""

from __future__ import annotations

import queue
import re
from pathlib import Path
from typing import Any

import carla
import numpy as np
import pytest
from support.client_traffic import synchronous_traffic
from support.patience import HANG_S, until
from support.ports import free_port

from buildtools.carla_calls import WORKS, calls

CAR = "vehicle.tesla.model3"


def _car(world: Any, number: int = 0, kind: str = CAR) -> Any:
    point = world.get_map().get_spawn_points()[number]
    car = world.spawn_actor(world.get_blueprint_library().find(kind), point)
    world.tick()
    return car


def test_every_call_that_works_is_made_by_a_test() -> None:
    room = Path(__file__).parent
    files = [*room.glob("*.py"), *room.with_name("support").glob("*.py")]
    text = "\n".join(path.read_text(encoding="utf-8") for path in files)
    named = set(re.findall(r"\w+", text))
    # Properties and what takes no arguments are asked by calls_of_the_client.py.
    asked = {"get_all_road_marks", "get_crosswalks", "get_topology", "get_failure_state"}
    missing = [
        f"{call.owner}.{call.name}"
        for call in calls()
        if call.state == WORKS
        and call.name not in named | asked
        and not isinstance(vars(vars(carla)[call.owner])[call.name], property)
    ]
    assert not missing


def test_the_map_by_ids_types_and_places(world: Any) -> None:
    town = world.get_map()
    here = town.get_waypoint(carla.Location(30.0, 111.75, 7.0))
    again = town.get_waypoint_xodr(here.road_id, here.lane_id, here.s)
    assert again.transform.location.distance(here.transform.location) < 1e-3
    place = town.transform_to_geolocation(here.transform.location)
    assert town.geolocation_to_transform(place).distance(here.transform.location) < 0.01
    # The lane goes on to its end in steps, and back to its start.
    for points in (here.next_until_lane_end(5.0), here.previous_until_lane_start(5.0)):
        places = [point.transform.location for point in points]
        steps = [a.distance(b) for a, b in zip(places, places[1:], strict=False)]
        assert steps[:-1] == pytest.approx([5.0] * (len(steps) - 1), abs=0.3)
    (before,) = here.previous(5.0)
    assert before.next(5.0)[0].transform.location.distance(here.transform.location) < 0.1
    assert here.get_left_lane().lane_id == -here.lane_id
    assert here.get_right_lane().lane_id == here.lane_id - 1
    assert len(town.generate_waypoints(20.0)) > 500
    assert all(start.road_id != end.road_id for start, end in town.get_topology())
    assert town.get_crosswalks()
    # Lights by their landmarks, ids and types.
    lamps = town.get_all_landmarks_of_type("1000001")
    assert {lamp.type for lamp in lamps} == {"1000001"}
    lamp = lamps[0]
    assert {other.id for other in town.get_all_landmarks_from_id(lamp.id)} == {lamp.id}
    assert lamp.id in {other.id for other in town.get_landmark_group(lamp)}
    assert all(low <= high for low, high in lamp.get_lane_validities())
    light = world.get_traffic_light_from_opendrive_id(lamp.id)
    assert light.get_opendrive_id() == lamp.id and light.get_pole_index() >= 0
    assert light.get_state() == light.state
    for point in light.get_affected_lane_waypoints():
        # The line is ahead of a vehicle that is on its way to the junction.
        assert lamp.id in {found.id for found in point.previous(3.0)[0].get_landmarks(60.0)}
    assert not here.get_landmarks_of_type(1.0, "1000001")
    plate = town.get_all_landmarks_of_type("206")[0]
    assert world.get_traffic_sign(plate).type_id == "traffic.stop"
    junction = light.get_affected_lane_waypoints()[0].next(8.0)[0].get_junction()
    for start, end in junction.get_waypoints(carla.LaneType.Driving):
        assert start.is_junction and end.transform.location != start.transform.location
    # This map has none, as CARLA's towns.
    assert town.get_all_road_marks() == town.get_all_road_marks_of_type("x") == []
    assert town.get_road_marks_from_id("1") == []


def test_files_of_the_map_are_written(client: Any, world: Any, tmp_path: Path) -> None:
    town = world.get_map()
    town.save_to_disk(str(tmp_path / "town"))
    written = (tmp_path / "town.xodr").read_text(encoding="utf-8")
    assert written.strip() == town.to_opendrive().strip()
    town.cook_in_memory_map(str(tmp_path / "town.bin"))
    assert (tmp_path / "town.bin").stat().st_size > 1000
    assert client.set_files_base_folder(str(tmp_path))
    client.get_required_files("", True)
    assert client.load_world_if_different("town") is None
    assert client.get_world().id == world.id


def test_blueprints_by_their_attributes_and_tags(world: Any) -> None:
    library = world.get_blueprint_library()
    two = library.filter_by_attribute("number_of_wheels", "2")
    assert 0 < len(two) < len(library.filter("vehicle.*"))
    assert all(kind.get_attribute("number_of_wheels").as_int() == 2 for kind in two)
    car = library.find(CAR)
    assert car.has_attribute("color") and not car.has_attribute("wings")
    assert car.has_tag("tesla") and not car.has_tag("audi")
    assert car.match_tags("vehicle.*") and not car.match_tags("walker.*")


def test_gravity_listeners_of_ticks_and_lights_of_all(world: Any) -> None:
    car = _car(world)
    kind = world.get_blueprint_library().find("sensor.other.imu")
    sensor = world.spawn_actor(kind, carla.Transform(), car)
    felt: queue.Queue[Any] = queue.Queue()
    assert not sensor.is_listening()
    sensor.listen(felt.put)
    assert sensor.is_listening()
    frames: list[int] = []
    number = world.on_tick(lambda snapshot: frames.append(snapshot.frame))
    usual = world.get_imui_sensor_gravity()
    assert usual == pytest.approx(9.81, abs=1e-3)
    pulls = []
    for gravity in (usual, 3.7):
        world.set_imui_sensor_gravity(gravity)
        assert world.get_imui_sensor_gravity() == pytest.approx(gravity)
        for _ in range(4):
            frame = world.tick()
        while (last := felt.get(timeout=HANG_S)).frame < frame:
            pass
        pulls.append(last.accelerometer.z)
    world.set_imui_sensor_gravity(usual)
    assert pulls[0] - pulls[1] == pytest.approx(usual - 3.7, abs=0.3)
    until(lambda: frame in frames)
    world.remove_on_tick(number)
    after = world.tick()
    world.tick()
    assert after not in frames
    sensor.stop()
    car.set_light_state(carla.VehicleLightState.Brake)
    world.tick()
    assert world.get_vehicles_light_states() == {car.id: carla.VehicleLightState.Brake}
    world.set_annotations_traverse_translucency(True)


def test_a_car_without_collisions_is_moved_by_place_alone(world: Any) -> None:
    car, other = _car(world), _car(world, 2)
    car.set_simulate_physics(False)
    place = other.get_location()
    car.set_collisions(False)
    car.set_location(place)
    for _ in range(5):
        world.tick()
    assert car.get_location().distance(place) < 0.01
    assert other.get_location().distance(place) < 0.05
    assert car.get_failure_state() == carla.VehicleFailureState.NONE
    bones = car.get_vehicle_bone_world_transforms()
    assert [pose.location for pose in bones] == [
        pose.location for pose in car.get_bone_world_transforms()
    ]
    settings = carla.AckermannControllerSettings(speed_kp=0.4, speed_ki=0.1)
    car.apply_ackermann_controller_settings(settings)
    world.tick()
    assert car.get_ackermann_controller_settings().speed_kp == pytest.approx(0.4)
    car.show_debug_telemetry(True)
    car.show_debug_telemetry(False)
    world.tick()


def test_textures_of_several_objects_at_once(world: Any) -> None:
    names = [thing.name for thing in world.get_environment_objects(carla.CityObjectLabel.Poles)[:2]]
    red, none = carla.TextureColor(1, 1), carla.TextureFloatColor(0, 0)
    red.set(0, 0, carla.Color(255, 0, 0, 255))
    world.apply_textures_to_objects(names, red, none, none, none)
    with pytest.raises(RuntimeError, match="House"):
        world.apply_textures_to_objects(["House"], red, none, none, none)


def test_the_control_camera_leaves_out_the_vehicles_that_it_is_told(world: Any) -> None:
    own, ahead = _car(world), None
    point = world.get_map().get_waypoint(own.get_location()).next(14.0)[0].transform
    point.location.z += 0.2
    ahead = world.spawn_actor(world.get_blueprint_library().find(CAR), point)
    kind = world.get_blueprint_library().find("sensor.camera.cosmos_visualization")
    kind.set_attribute("image_size_x", "160")
    kind.set_attribute("image_size_y", "120")
    camera = world.spawn_actor(kind, carla.Transform(carla.Location(x=2.6, z=1.2)), own)
    pictures: queue.Queue[Any] = queue.Queue()
    camera.listen(pictures.put)

    def red() -> int:
        frame = world.tick()
        while (image := pictures.get(timeout=HANG_S)).frame < frame:
            pass
        pixels = np.frombuffer(image.raw_data, np.uint8).reshape(image.height, image.width, 4)
        return int((pixels[..., 2::-1] == (255, 0, 0)).all(axis=-1)[30:90, 40:120].sum())

    seen = red()
    camera.set_ignored_vehicles([ahead.id])
    hidden = red()
    assert hidden < 0.5 * seen
    camera.set_ignored_vehicles([])
    assert red() == seen
    for wrong in (camera.id, 10**6):
        with pytest.raises(RuntimeError, match="is not a vehicle"):
            camera.set_ignored_vehicles([wrong])
    camera.disable_for_ros()
    camera.stop()


def test_the_head_up_display_takes_arrows_and_boxes(world: Any) -> None:
    here = world.get_map().get_spawn_points()[0].location
    box = carla.BoundingBox(here, carla.Vector3D(1.0, 1.0, 1.0))
    world.debug.draw_hud_arrow(here, here + carla.Location(x=1.0), 0.1, 0.1, carla.Color(), 1.0)
    world.debug.draw_hud_box(box, carla.Rotation(), 0.1, carla.Color(), 1.0)
    world.tick()


def test_a_walker_is_shown_between_two_poses(world: Any) -> None:
    library = world.get_blueprint_library()
    place = carla.Transform(world.get_random_location_from_navigation())
    walker = world.spawn_actor(library.find("walker.pedestrian.0005"), place)
    world.tick()
    relative = {bone.name: bone.relative for bone in walker.get_bones().bone_transforms}
    bones = carla.WalkerBoneControlIn()
    turned = carla.Transform(relative["crl_arm__L"].location, carla.Rotation(pitch=90.0))
    bones.bone_transforms = [("crl_arm__L", turned)]
    walker.set_bones(bones)
    for share, pitch in ((0.5, 45.0), (2.0, 90.0), (-1.0, 0.0)):
        walker.blend_pose(share)
        world.tick()
        found = {bone.name: bone.relative for bone in walker.get_bones().bone_transforms}
        assert found["crl_arm__L"].rotation.pitch == pytest.approx(pitch, abs=1e-3)
    walker.destroy()


def test_the_traffic_manager_does_as_it_is_told(client: Any, world: Any) -> None:
    town = world.get_map()
    start = town.get_waypoint(carla.Location(30.0, 111.75, 7.0)).transform
    start.location.z += 0.3
    library = world.get_blueprint_library()
    car = world.spawn_actor(library.find(CAR), start)
    world.tick()
    port = free_port()
    with synchronous_traffic(client, port) as (manager, tick):
        tick()
        assert manager.get_port() == port
        # All of the world's traffic, which this car is alone.
        manager.set_global_distance_to_leading_vehicle(3.0)
        manager.global_percentage_speed_difference(20.0)
        manager.global_lane_offset(0.0)
        manager.set_hybrid_physics_mode(False)
        manager.set_hybrid_physics_radius(70.0)
        manager.set_osm_mode(True)
        manager.set_respawn_dormant_vehicles(False)
        manager.set_boundaries_respawn_dormant_vehicles(25.0, 400.0)
        car.set_autopilot(True, port)
        for share in (
            manager.ignore_signs_percentage, manager.ignore_vehicles_percentage,
            manager.ignore_walkers_percentage,
        ):  # fmt: skip
            share(car, 100.0)
        for never in (
            manager.keep_slow_lane_rule_percentage, manager.random_left_lanechange_percentage,
            manager.random_right_lanechange_percentage,
        ):  # fmt: skip
            never(car, 0.0)
        manager.ignore_lights_percentage(car, 100.0)
        manager.auto_lane_change(car, False)
        manager.distance_to_leading_vehicle(car, 5.0)
        manager.collision_detection(car, car, False)
        manager.update_vehicle_lights(car, True)
        world.set_weather(carla.WeatherParameters.ClearNight)
        manager.set_desired_speed(car, 18.0)
        manager.vehicle_lane_offset(car, 0.5)
        for _ in range(100):
            tick()
        assert 3.6 * car.get_velocity().length() == pytest.approx(18.0, abs=2.0)
        lane = town.get_waypoint(car.get_location())
        aside = car.get_location() - lane.transform.location
        right = lane.transform.get_right_vector()
        assert aside.x * right.x + aside.y * right.y == pytest.approx(0.5, abs=0.25)
        assert car.get_light_state() != carla.VehicleLightState.NONE
        world.set_weather(carla.WeatherParameters.ClearNoon)
        manager.vehicle_lane_offset(car, 0.0)
        manager.vehicle_percentage_speed_difference(car, 60.0)
        for _ in range(60):
            tick()
        assert car.get_velocity().length() < 0.6 * car.get_speed_limit() / 3.6
        kind, place = manager.get_next_action(car)
        assert isinstance(kind, str) and place.transform.location.distance(car.get_location()) < 200
        assert manager.get_all_actions(car)
        manager.set_route(car, ["Straight", "Left"])
        manager.set_path(car, [place.next(30.0)[0].transform.location])
        manager.force_lane_change(car, True)
        tick()
        car.set_autopilot(False, port)
        tick()
