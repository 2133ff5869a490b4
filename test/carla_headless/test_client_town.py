# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The real ``carla`` client in the town: lights, signs, and its traffic manager at a red light."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import carla
import pytest
from support.client_traffic import synchronous_traffic
from support.headless_process import TOWN, start_server
from support.ports import free_port

_STATE = carla.TrafficLightState


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    process, port = start_server(first=TOWN)
    client = carla.Client("127.0.0.1", port)
    client.set_timeout(60.0)
    world = client.get_world()
    settings = world.get_settings()
    settings.synchronous_mode, settings.fixed_delta_seconds = True, 0.05
    world.apply_settings(settings)
    world.tick()
    yield client
    process.terminate()
    _, messages = process.communicate(timeout=60)
    assert process.returncode == 0, messages
    assert "Traceback" not in messages


def test_lights_and_signs_are_those_of_the_map(client: Any) -> None:
    world = client.get_world()
    town = world.get_map()
    landmarks = {landmark.id: landmark for landmark in town.get_all_landmarks()}
    lights = list(world.get_actors().filter("traffic.traffic_light"))
    assert len(lights) == 28
    assert {len(light.get_group_traffic_lights()) for light in lights} == {4}
    for light in lights:
        landmark = landmarks[light.get_opendrive_id()]
        assert world.get_traffic_light(landmark).id == light.id
        there, here = landmark.transform, light.get_transform()
        assert there.location.distance(here.location) < 1e-2
        turn = there.rotation.yaw - here.rotation.yaw
        assert (turn + 180.0) % 360.0 - 180.0 == pytest.approx(0.0, abs=1e-2)
        # What the client works out from the map, and the volume that the server names.
        stops = light.get_stop_waypoints()
        assert stops
        middle = here.transform(light.trigger_volume.location)
        assert {town.get_waypoint(middle).road_id} == {stop.road_id for stop in stops}
        assert light.get_light_boxes()
    types = {actor.type_id for actor in world.get_actors().filter("traffic.*")}
    assert {"traffic.stop", "traffic.yield", "traffic.speed_limit.80"} <= types
    avenue = town.get_waypoint(carla.Location(90.0, 111.75, 8.0))
    (seen,) = world.get_traffic_lights_from_waypoint(avenue, 40.0)
    junction = town.get_waypoint(carla.Location(120.0, 110.0, 9.0)).get_junction()
    assert seen.id in [light.id for light in world.get_traffic_lights_in_junction(junction.id)]


def test_lights_obey(client: Any) -> None:
    world = client.get_world()
    light = world.get_actors().filter("traffic.traffic_light")[0]
    light.set_green_time(1.0)
    light.set_yellow_time(0.5)
    light.set_red_time(0.25)
    light.reset_group()
    world.tick()
    group = light.get_group_traffic_lights()
    first = next(one for one in group if one.state == _STATE.Green)
    assert [one.state for one in group].count(_STATE.Red) == 3
    light.freeze(True)
    for _ in range(300):
        world.tick()
    assert first.state == _STATE.Green and light.is_frozen()
    light.set_state(_STATE.Off)
    world.tick()
    assert light.state == _STATE.Off
    assert (light.get_green_time(), light.get_yellow_time(), light.get_red_time()) == (
        1.0, 0.5, 0.25,
    )  # fmt: skip
    light.freeze(False)
    world.reset_all_traffic_lights()
    world.tick()
    assert light.get_elapsed_time() == pytest.approx(0.05)
    assert not light.destroy()


def test_the_traffic_manager_waits_at_a_red_light(client: Any) -> None:
    world = client.get_world()
    town = world.get_map()
    start = town.get_waypoint(carla.Location(30.0, 111.75, 7.0)).transform
    start.location.z += 0.3
    blueprint = world.get_blueprint_library().find("vehicle.tesla.model3")
    car = world.spawn_actor(blueprint, start)
    (light,) = world.get_traffic_lights_from_waypoint(town.get_waypoint(start.location), 100.0)
    light.set_state(_STATE.Red)
    light.freeze(True)
    port = free_port()
    with synchronous_traffic(client, port) as (_, tick):
        tick()
        car.set_autopilot(True, port)
        for _ in range(300):
            tick()
            assert not town.get_waypoint(car.get_location()).is_junction
        assert car.is_at_traffic_light() and car.get_traffic_light().id == light.id
        assert car.get_traffic_light_state() == _STATE.Red
        assert car.get_speed_limit() == 50.0
        assert car.get_velocity().length() < 0.1
        light.set_state(_STATE.Green)
        passed = False
        for _ in range(400):
            tick()
            passed = passed or town.get_waypoint(car.get_location()).is_junction
        assert passed
        car.set_autopilot(False, port)
