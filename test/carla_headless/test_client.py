# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The real ``carla`` client against a real server process."""

from __future__ import annotations

import queue
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import carla
import pytest
from support.client_traffic import synchronous_traffic
from support.headless_process import HIGHWAY
from support.ports import free_port

CAR = "vehicle.tesla.model3"


def _client(port: int) -> Any:
    client = carla.Client("127.0.0.1", port)
    client.set_timeout(60.0)
    return client


def _synchronise(world: Any, step: float = 0.01) -> None:
    settings = world.get_settings()
    settings.synchronous_mode = True
    settings.fixed_delta_seconds = step
    world.apply_settings(settings)


def _at(x: float, y: float = 5.25) -> Any:
    return carla.Transform(carla.Location(x, y, 0.2))


@pytest.fixture
def client(shared_port: int) -> Any:
    """A client that has loaded the map anew: nothing is left of the test before."""
    found = _client(shared_port)
    found.load_world("highway")
    return found


@pytest.fixture
def world(client: Any) -> Iterator[Any]:
    world = client.get_world()
    _synchronise(world)
    yield world


def _car(world: Any, x: float) -> Any:
    return world.spawn_actor(world.get_blueprint_library().find(CAR), _at(x))


def test_session_map_and_blueprints(client: Any, world: Any) -> None:
    assert client.get_server_version() == client.get_client_version()
    assert client.get_available_maps() == ["/Game/Carla/Maps/highway"]
    town = world.get_map()
    assert town.name == "Carla/Maps/highway"
    assert town.to_opendrive() == HIGHWAY.read_text(encoding="utf-8")
    waypoint = town.get_waypoint(carla.Location(100.0, 5.25, 0.0))
    assert (waypoint.road_id, waypoint.lane_id) == (1, -2)
    assert town.get_spawn_points()
    library = world.get_blueprint_library()
    model = library.find(CAR)
    assert model.get_attribute("number_of_wheels").as_int() == 4
    model.set_attribute("role_name", "hero")
    model.set_attribute("color", "1, 2, 3")
    car = world.spawn_actor(model, _at(100.0))
    assert (car.type_id, car.attributes["role_name"], car.attributes["color"]) == (
        CAR, "hero", "1, 2, 3",
    )  # fmt: skip


def test_settings_and_weather_are_kept(world: Any) -> None:
    settings = world.get_settings()
    assert settings.synchronous_mode and settings.fixed_delta_seconds == 0.01
    world.set_weather(carla.WeatherParameters.HardRainNoon)
    assert world.get_weather() == carla.WeatherParameters.HardRainNoon
    with pytest.raises(RuntimeError):
        settings.fixed_delta_seconds = 11.0
        world.apply_settings(settings)
    _synchronise(world, 0.05)
    world.tick()
    assert world.get_snapshot().delta_seconds == pytest.approx(0.05, abs=1e-7)


def test_driving_in_synchronous_mode(world: Any) -> None:
    car = _car(world, 100.0)
    frame = world.tick()
    assert world.get_snapshot().frame == frame
    car.apply_control(carla.VehicleControl(throttle=0.8, steer=0.05))
    for step in range(1, 201):
        assert world.tick() == frame + step
    assert car.get_velocity().x > 3.0
    assert car.get_location().y > 5.25
    control = car.get_control()
    assert control.throttle == pytest.approx(0.8)
    assert car.get_speed_limit() == pytest.approx(130.0)
    assert car.get_wheel_steer_angle(carla.VehicleWheelLocation.FL_Wheel) > 0.5
    car.set_target_velocity(carla.Vector3D(0.0, 0.0, 0.0))
    car.set_transform(_at(300.0))
    world.tick()
    assert car.get_location().x == pytest.approx(300.0, abs=0.5)


def test_spawn_refused_and_destroy(world: Any) -> None:
    car = _car(world, 100.0)
    library = world.get_blueprint_library()
    assert world.try_spawn_actor(library.find(CAR), _at(101.0)) is None
    with pytest.raises(RuntimeError, match="collision at spawn position"):
        world.spawn_actor(library.find(CAR), _at(101.0))
    world.tick()
    assert {actor.type_id for actor in world.get_actors()} == {CAR, "spectator"}
    assert car.destroy()
    world.tick()
    assert {actor.type_id for actor in world.get_actors()} == {"spectator"}


def test_collision_sensor(world: Any) -> None:
    library = world.get_blueprint_library()
    car = _car(world, 100.0)
    barrier = world.spawn_actor(library.find("static.prop.streetbarrier"), _at(106.0))
    sensor = world.spawn_actor(
        library.find("sensor.other.collision"), carla.Transform(), attach_to=car
    )
    events: queue.Queue[Any] = queue.Queue()
    sensor.listen(events.put)
    world.tick()
    car.set_target_velocity(carla.Vector3D(10.0, 0.0, 0.0))
    frames = [world.tick() for _ in range(60)]
    event = events.get(timeout=60.0)
    assert event.actor.id == car.id
    assert event.other_actor.id == barrier.id
    assert event.other_actor.type_id == "static.prop.streetbarrier"
    assert event.normal_impulse.x < -1000.0
    assert event.frame in frames
    sensor.stop()


def test_the_props_of_carla_and_what_lies_flat(world: Any) -> None:
    library = world.get_blueprint_library()
    assert len(library.filter("static.prop.*")) == 99  # 98, and that of a mesh
    made = [
        world.spawn_actor(library.find(f"static.prop.{name}"), _at(x))
        for name, x in (("dirtdebris02", 106.0), ("ironplank", 110.0), ("trafficcone02", 116.0))
    ]
    height = [2.0 * prop.bounding_box.extent.z for prop in made]
    assert height == pytest.approx([0.148, 0.02, 1.182])
    car = _car(world, 100.0)
    sensor = world.spawn_actor(
        library.find("sensor.other.collision"), carla.Transform(), attach_to=car
    )
    events: queue.Queue[Any] = queue.Queue()
    sensor.listen(events.put)
    world.tick()
    car.set_target_velocity(carla.Vector3D(10.0, 0.0, 0.0))
    for _ in range(200):
        world.tick()
    assert events.get(timeout=60.0).other_actor.type_id == "static.prop.trafficcone02"
    sensor.stop()


def test_gnss_imu_and_obstacle_sensors(world: Any) -> None:
    library = world.get_blueprint_library()
    car = _car(world, 100.0)
    _car(world, 115.0)
    data: dict[str, queue.Queue[Any]] = {}
    sensors = []  # a sensor without a handle stops listening
    for name in ("gnss", "imu", "obstacle"):
        model = library.find(f"sensor.other.{name}")
        if name == "obstacle":
            model.set_attribute("distance", "30")
        sensor = world.spawn_actor(model, carla.Transform(carla.Location(z=1.0)), attach_to=car)
        sensors.append(sensor)
        data[name] = queue.Queue()
        sensor.listen(data[name].put)
    frame = world.tick()
    gnss = data["gnss"].get(timeout=60.0)
    place = world.get_map().transform_to_geolocation(carla.Location(100.0, 5.25, 1.0))
    assert gnss.frame == frame
    assert gnss.latitude == pytest.approx(place.latitude, abs=1e-9)
    assert gnss.longitude == pytest.approx(place.longitude, abs=1e-9)
    assert gnss.altitude == pytest.approx(1.0)
    imu = data["imu"].get(timeout=60.0)
    assert imu.accelerometer.z == pytest.approx(9.81, abs=1e-5)
    assert imu.compass == pytest.approx(1.5707963, abs=1e-5)
    obstacle = data["obstacle"].get(timeout=60.0)
    # The way of a ball of half a metre: up to the contact of its front.
    assert obstacle.distance == pytest.approx(15.0 - 2.396 - 0.5, abs=0.01)
    for sensor in sensors:
        sensor.stop()


def test_batches(client: Any, world: Any) -> None:
    model = world.get_blueprint_library().find(CAR)
    spawn = carla.command.SpawnActor
    results = client.apply_batch_sync(
        [
            spawn(model, _at(100.0)).then(
                carla.command.ApplyTargetVelocity(
                    carla.command.FutureActor, carla.Vector3D(9.0, 0.0, 0.0)
                )
            ),
            spawn(model, _at(101.0)),
        ],
        True,
    )
    assert not results[0].has_error()
    assert "collision at spawn position" in results[1].error
    car = world.get_actor(results[0].actor_id)
    assert car.get_velocity().x == pytest.approx(9.0, abs=0.1)
    client.apply_batch_sync(
        [carla.command.ApplyVehicleControl(car, carla.VehicleControl(throttle=0.5))], True
    )
    assert car.get_control().throttle == pytest.approx(0.5)
    frame = world.get_snapshot().frame
    client.apply_batch([carla.command.DestroyActor(car)], True)
    world.tick()
    assert world.get_snapshot().frame == frame + 2
    assert {actor.type_id for actor in world.get_actors()} == {"spectator"}


def test_every_command_of_a_batch_acts(client: Any, world: Any) -> None:
    command, library = carla.command, world.get_blueprint_library()
    # SetAutopilot starts a traffic manager in this process, at a port that others may have.
    sent = {"FutureActor", "Response", "SetAutopilot"}

    def act(*commands: Any) -> list[Any]:
        sent.update(type(one).__name__ for one in commands)
        results = client.apply_batch_sync(list(commands), True)
        assert not [result.error for result in results if result.error]
        return [world.get_actor(result.actor_id) for result in results]

    person = library.find("walker.pedestrian.0002")
    car, walker = act(
        command.SpawnActor(library.find(CAR), _at(100.0)),
        command.SpawnActor(person, carla.Transform(carla.Location(60.0, 12.0, 1.0))),
    )
    mass = car.get_physics_control().mass
    act(command.ApplyTransform(car, _at(150.0)), command.SetVehicleLightState(car.id, 4))
    assert car.get_location().x == pytest.approx(150.0, abs=0.1)
    assert car.get_light_state() == carla.VehicleLightState.HighBeam
    act(command.ApplyTargetVelocity(car, carla.Vector3D(5.0, 0.0, 0.0)))
    act(command.ApplyImpulse(car, carla.Vector3D(2.0 * mass, 0.0, 0.0)))
    assert car.get_velocity().x == pytest.approx(7.0, abs=0.1)
    act(command.ApplyForce(car, carla.Vector3D(-8.0 * mass, 0.0, 0.0)))
    assert 6.8 < car.get_velocity().x < 6.95
    for turn in (
        command.ApplyAngularImpulse(car, carla.Vector3D(0.0, 0.0, 2000.0)),
        command.ApplyTorque(car, carla.Vector3D(0.0, 0.0, 2.0e5)),
        command.ApplyTargetAngularVelocity(car, carla.Vector3D(0.0, 0.0, 40.0)),
    ):
        before = car.get_transform().rotation.yaw
        act(turn)
        assert car.get_transform().rotation.yaw > before + 1e-3
    heavy = car.get_physics_control()
    heavy.mass = 2.0 * mass
    act(command.ApplyVehiclePhysicsControl(car, heavy))
    assert car.get_physics_control().mass == pytest.approx(2.0 * mass)
    act(command.ApplyVehicleControl(car, carla.VehicleControl(brake=1.0)))
    assert car.get_control().brake == 1.0
    slow = car.get_velocity().x
    drive = carla.VehicleAckermannControl(speed=20.0, acceleration=3.0)
    for _ in range(30):
        act(command.ApplyVehicleAckermannControl(car, drive))
    assert car.get_velocity().x > slow and car.get_control().throttle > 0.0
    walk = carla.WalkerControl(carla.Vector3D(1.0, 0.0, 0.0), 2.0)
    start = walker.get_location().x
    act(command.ApplyWalkerControl(walker, walk))
    act()
    assert walker.get_control().speed == 2.0 and walker.get_location().x > start
    place = carla.Transform(carla.Location(70.0, 12.0, 0.0))
    act(command.ApplyWalkerState(walker, place, 1.0))
    assert walker.get_location().x == pytest.approx(70.0, abs=0.1)
    upwards = carla.Vector3D(z=9.0 * mass)
    act(command.SetEnableGravity(car, False), command.ApplyImpulse(car, upwards))
    rise = car.get_velocity().z
    act()
    assert car.get_velocity().z == pytest.approx(rise, abs=0.02)
    act(command.SetSimulatePhysics(car, False))
    still = car.get_location()
    act()
    assert car.get_location() == still
    with pytest.raises(TypeError, match="No registered converter"):  # a mistake of the wheel
        act(command.ShowDebugTelemetry(car.id, False))
    act(command.DestroyActor(walker), command.DestroyActor(car))
    assert [actor.type_id for actor in world.get_actors()] == ["spectator"]
    assert sent == {name for name in vars(command) if not name.startswith("_")}


def test_loading_worlds(client: Any, world: Any) -> None:
    _car(world, 100.0)
    world.tick()
    again = client.reload_world(False)
    assert again.get_settings().synchronous_mode
    again.tick()
    assert [actor.type_id for actor in again.get_actors()] == ["spectator"]
    fresh = client.load_world("highway")
    assert not fresh.get_settings().synchronous_mode
    with pytest.raises(RuntimeError, match="map not found: 'Town99'; available maps: .*highway"):
        client.load_world("Town99")
    generated = client.generate_opendrive_world(HIGHWAY.read_text(encoding="utf-8"))
    assert generated.get_map().name == "Carla/Maps/OpenDriveMap"
    with pytest.raises(RuntimeError):
        client.generate_opendrive_world("<OpenDRIVE/>")
    assert client.get_world().get_map().name == "Carla/Maps/OpenDriveMap"


def test_asynchronous_mode_runs_by_itself(client: Any) -> None:
    world = client.get_world()
    car = _car(world, 100.0)
    car.set_target_velocity(carla.Vector3D(10.0, 0.0, 0.0))
    first = world.wait_for_tick()
    while world.wait_for_tick().frame < first.frame + 5:
        pass
    assert car.get_location().x > 100.5


def test_several_clients_share_one_world(shared_port: int, world: Any) -> None:
    other = _client(shared_port).get_world()
    car = _car(world, 100.0)
    frame = world.tick()
    other.tick()
    seen = other.get_actor(car.id)
    assert seen.attributes["role_name"] == car.attributes["role_name"]
    seen.apply_control(carla.VehicleControl(throttle=1.0))
    for _ in range(100):
        other.tick()
    assert seen.get_velocity().x > 0.5
    assert world.tick() == frame + 102
    assert car.get_velocity().x > 0.5


def test_a_client_that_vanishes_harms_no_other(shared_port: int, world: Any) -> None:
    script = (
        "import carla, os, time\n"
        f"world = carla.Client('127.0.0.1', {shared_port}).get_world()\n"
        "world.get_map()\n"
        "os._exit(3)\n"
    )
    assert subprocess.run([sys.executable, "-c", script], timeout=60).returncode == 3
    frame = world.tick()
    assert world.tick() == frame + 1


def test_usual_calls_of_client_scripts(client: Any, world: Any) -> None:
    car = _car(world, 100.0)
    world.tick()
    # A road and the lines on it: the map names nothing beside it.
    assert not world.get_environment_objects(carla.CityObjectLabel.Poles)
    assert len(world.get_environment_objects(carla.CityObjectLabel.Roads)) == 1
    *parked, box = world.get_level_bbs(carla.CityObjectLabel.Car)  # in the world
    assert len(parked) == len(world.get_environment_objects(carla.CityObjectLabel.Car))
    assert box.extent == car.bounding_box.extent
    middle = car.get_transform().transform(car.bounding_box.location)
    assert box.location.distance(middle) < 1e-3
    assert list(world.get_lightmanager().get_all_lights()) == []
    assert world.get_spectator().type_id == "spectator"
    world.get_spectator().set_transform(_at(50.0))
    world.debug.draw_point(carla.Location())
    assert world.cast_ray(carla.Location(z=5.0), carla.Location(z=-5.0))
    assert world.ground_projection(carla.Location(140.0, 5.25, 3.0), 10.0).location.z == 0.0
    world.freeze_all_traffic_lights(True)
    world.reset_all_traffic_lights()
    assert car.bounding_box.extent.x == pytest.approx(2.396)
    physics = car.get_physics_control()
    assert (len(physics.wheels), physics.mass) == (4, pytest.approx(1845.0))
    assert physics.wheels[0].max_steer_angle > 20.0
    assert car.get_telemetry_data().gear == 1
    car.set_simulate_physics(False)
    car.set_simulate_physics(True)
    car.set_light_state(carla.VehicleLightState(carla.VehicleLightState.LowBeam))
    world.tick()
    assert car.get_light_state() == carla.VehicleLightState.LowBeam
    car.enable_constant_velocity(carla.Vector3D(3.0, 0.0, 0.0))
    world.tick()
    assert car.get_velocity().x == pytest.approx(3.0)
    car.disable_constant_velocity()
    car.apply_ackermann_control(carla.VehicleAckermannControl(speed=5.0))
    assert car.get_ackermann_controller_settings().speed_kp > 0.0
    with pytest.raises(RuntimeError, match="not found on server"):
        client.show_recorder_file_info("no such recording", False)
    world.tick()


def test_traffic_manager_of_the_client_drives(client: Any, world: Any) -> None:
    _synchronise(world, 0.05)
    cars = [_car(world, 200.0 + 30.0 * i) for i in range(2)]
    port = free_port()
    with synchronous_traffic(client, port) as (manager, tick):
        tick()
        for car in cars:
            car.set_autopilot(True, port)
            manager.auto_lane_change(car, False)
        for _ in range(200):
            tick()
        for car in cars:
            assert car.get_velocity().x > 5.0
            assert car.get_location().y == pytest.approx(5.25, abs=0.5)
        for car in cars:
            car.set_autopilot(False, port)
