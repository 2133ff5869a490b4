# SPDX-License-Identifier: Apache-2.0
"""The table of calls: complete, as the page says, and true of the real client."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import carla
import pytest
from support.headless_process import ticking_town

from buildtools.carla_calls import PAGE, REFUSED, WORKS, calls, page


def test_the_page_is_the_table_of_the_wheel() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run: python buildtools/carla_calls.py"


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    with ticking_town() as (client, messages):
        yield client
    # What the client waits for no answer of is refused here.
    for refused in ("has no CarSim", "has no Chrono"):
        assert refused in messages[0]


@pytest.fixture(scope="module")
def objects(client: Any) -> dict[str, Any]:
    """One object of every class that can be had without arguments."""
    world = client.get_world()
    library = world.get_blueprint_library()
    town = world.get_map()
    point = town.get_spawn_points()[0]
    car = world.spawn_actor(library.find("vehicle.tesla.model3"), point)
    place = carla.Transform(world.get_random_location_from_navigation())
    walker = world.spawn_actor(library.find("walker.pedestrian.0002"), place)
    sensor = world.spawn_actor(library.find("sensor.other.imu"), carla.Transform(), car)
    world.tick()
    lights = world.get_actors().filter("traffic.traffic_light")
    junction = town.get_waypoint(carla.Location(120.0, 110.0, 9.0)).get_junction()
    return {
        "Client": client,
        "World": world,
        "Actor": car,
        "Vehicle": car,
        "Walker": walker,
        "TrafficSign": lights[0],
        "TrafficLight": lights[0],
        "Sensor": sensor,
        "ServerSideSensor": sensor,
        "Map": town,
        "Waypoint": town.get_waypoint(point.location),
        "Junction": junction,
        "Landmark": town.get_all_landmarks()[0],
        "LightManager": world.get_lightmanager(),
        "WorldSnapshot": world.get_snapshot(),
        "ActorSnapshot": world.get_snapshot().find(car.id),
    }


def test_everything_that_can_be_asked_without_arguments_answers(objects: dict[str, Any]) -> None:
    asked = 0
    for call in calls():
        owner = objects.get(call.owner)
        if owner is None or call.state == REFUSED:
            continue
        member = vars(vars(carla)[call.owner])[call.name]
        if isinstance(member, property):
            member.__get__(owner)
            asked += 1
        elif call.name.startswith(("get_", "is_")):
            try:
                member(owner)
            except TypeError:
                continue  # it takes arguments
            asked += 1
    assert asked > 130


def test_what_is_refused_is_an_error(client: Any, objects: dict[str, Any]) -> None:
    world, sensor = objects["World"], objects["Sensor"]
    paint = carla.TextureColor(1, 1)
    bright = carla.TextureFloatColor(1, 1)
    kind = carla.MaterialParameter.Diffuse
    waited: dict[str, Callable[[], Any]] = {
        "World.apply_color_texture_to_object": lambda: world.apply_color_texture_to_object(
            "House", kind, paint
        ),
        "World.apply_float_color_texture_to_object": lambda: (
            world.apply_float_color_texture_to_object("House", kind, bright)
        ),
        "World.apply_textures_to_object": lambda: world.apply_textures_to_object(
            "House", paint, bright, bright, bright
        ),
        "World.apply_color_texture_to_objects": lambda: world.apply_color_texture_to_objects(
            ["House"], kind, paint
        ),
        "World.apply_float_color_texture_to_objects": lambda: (
            world.apply_float_color_texture_to_objects(["House"], kind, bright)
        ),
        "World.apply_textures_to_objects": lambda: world.apply_textures_to_objects(
            ["House"], paint, bright, bright, bright
        ),
        "ServerSideSensor.enable_gbuffers": lambda: sensor.enable_gbuffers(True),
    }
    car = objects["Vehicle"]
    logged: dict[str, Callable[[], Any]] = {
        "Vehicle.enable_carsim": lambda: car.enable_carsim("x"),
        "Vehicle.use_carsim_road": lambda: car.use_carsim_road(True),
        "Vehicle.enable_chrono_physics": lambda: car.enable_chrono_physics(1, 0.01, "", "", "", ""),
        # The client itself refuses it of all sensors but cameras.
        "ServerSideSensor.listen_to_gbuffer": lambda: None,
        "ServerSideSensor.send": lambda: None,  # only V2X sensors have it, and there are none
    }
    refused = {f"{call.owner}.{call.name}" for call in calls() if call.state == REFUSED}
    assert refused == waited.keys() | logged.keys()
    for name, call in waited.items():
        with pytest.raises(RuntimeError):
            call()
            pytest.fail(f"{name} is not refused")
    for call in logged.values():
        call()
    world.tick()


def test_most_calls_work() -> None:
    states = [call.state for call in calls()]
    assert len(states) > 300
    assert states.count(WORKS) > 0.65 * len(states)
