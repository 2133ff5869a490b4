# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The table of calls: complete, as the page says, and true of the real client."""

from __future__ import annotations

import queue
from collections.abc import Callable, Iterator
from typing import Any

import carla
import numpy as np
import pytest
from support.headless_process import ticking_town
from support.patience import HANG_S, until

from buildtools.carla_calls import PAGE, REFUSED, WORKS, calls, page


def test_the_page_is_the_table_of_the_wheel() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run: python buildtools/carla_calls.py"


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    with ticking_town() as (client, messages):
        yield client
    # What the client waits for no answer of is refused here.
    for refused in ("has no CarSim", "has no Chrono", "has no ROS 2"):
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
    world = objects["World"]
    car = objects["Vehicle"]
    logged: dict[str, Callable[[], Any]] = {
        "Vehicle.enable_carsim": lambda: car.enable_carsim("x"),
        "Vehicle.use_carsim_road": lambda: car.use_carsim_road(True),
        "Vehicle.enable_chrono_physics": lambda: car.enable_chrono_physics(1, 0.01, "", "", "", ""),
    }
    refused = {
        f"{call.owner}.{call.name}"
        for call in calls()
        if call.state == REFUSED and call.owner != "command"
    }
    assert refused == logged.keys() | {"ServerSideSensor.get_ignored_vehicles"}
    with pytest.raises(TypeError, match="to_python"):
        objects["Sensor"].get_ignored_vehicles()
    for call in logged.values():
        call()
    # This server was started without ROS 2.
    objects["Sensor"].enable_for_ros()
    assert not objects["Sensor"].is_enabled_for_ros()
    world.tick()


# What the pictures of a camera tell of a place: the mean of red, green and blue.
def _picture(client: Any, place: Any, **attributes: int) -> Any:
    """Pixels (height, width, blue green red alpha) of a camera in the next frame."""
    world = client.get_world()
    kind = world.get_blueprint_library().find("sensor.camera.rgb")
    for name, value in ({"image_size_x": 64, "image_size_y": 48} | attributes).items():
        kind.set_attribute(name, str(value))
    camera = world.spawn_actor(kind, place)
    pictures: queue.Queue[Any] = queue.Queue()
    camera.listen(pictures.put)
    frame = world.tick()
    while (image := pictures.get(timeout=HANG_S)).frame < frame:
        pass
    camera.stop()
    camera.destroy()
    world.tick()
    return np.frombuffer(image.raw_data, np.uint8).reshape(image.height, image.width, 4).astype(int)


def _told(client: Any, is_true: Callable[[], bool]) -> None:
    """Tick until a thread of the client has taken what the server has told it."""
    until(is_true, lambda: client.get_world().tick())


@pytest.fixture
def lamps(client: Any, objects: dict[str, Any]) -> Iterator[Any]:
    """The manager of lights, all of them off and with their own colours afterwards."""
    manager = objects["LightManager"]
    yield manager
    world = client.get_world()
    manager.set_day_night_cycle(True)
    world.set_weather(carla.WeatherParameters.ClearNoon)
    manager.turn_off(manager.get_all_lights())
    world.tick()


def test_street_lights_are_switched_one_by_one_and_all_clients_know(
    client: Any, lamps: Any
) -> None:
    world = client.get_world()
    lights = lamps.get_all_lights(carla.LightGroup.Street)
    assert len(lights) > 100 and not lamps.get_turned_on_lights()
    assert len({light.id for light in lights}) == len(lights)
    first, second, third, fourth = lights[:4]
    # The head of a lamp that the map names is on top of its pole; others have an arm.
    boxes = {box.location.x for box in world.get_level_bbs(carla.CityObjectLabel.Poles)}
    assert len([light for light in lights if light.location.x in boxes]) > 100
    # Those of scenery are known before it is made.
    assert len(lamps.get_all_lights()) == len(lights) > 200
    first.turn_on()
    first.set_intensity(500.0)
    second.set_color(carla.Color(10, 20, 30))
    third.set_light_group(carla.LightGroup.Building)
    fourth.set_light_state(
        carla.LightState(70.0, carla.Color(1, 2, 3), carla.LightGroup.Other, True)
    )
    # Another client is told, and asks.
    stranger = carla.Client("127.0.0.1", client.port)
    stranger.set_timeout(60.0)
    theirs = stranger.get_world().get_lightmanager()
    world.tick()

    def seen(light: Any) -> Any:
        return next(other for other in theirs.get_all_lights() if other.id == light.id)

    _told(client, lambda: seen(first).is_on and seen(fourth).intensity == 70.0)
    assert seen(first).intensity == 500.0
    colour = seen(second).color
    assert (colour.r, colour.g, colour.b) == (10, 20, 30) and not seen(second).is_on
    assert seen(third).light_group == carla.LightGroup.Building
    assert seen(fourth).light_state.group == carla.LightGroup.Other
    assert {light.id for light in theirs.get_turned_on_lights()} == {first.id, fourth.id}
    # The calls of the manager for several at once.
    lamps.set_active([first, second], [False, True])
    lamps.set_intensities([first, second], [1.0, 2.0])
    lamps.set_colors([first, second], [carla.Color(5, 6, 7), carla.Color(7, 6, 5)])
    lamps.set_light_groups([first, second], [carla.LightGroup.Other, carla.LightGroup.Street])
    world.tick()
    _told(client, lambda: seen(second).is_on)
    assert theirs.is_active([seen(first), seen(second)]) == [False, True]
    assert theirs.get_intensity([seen(first), seen(second)]) == [1.0, 2.0]
    assert [c.r for c in theirs.get_color([seen(first), seen(second)])] == [5, 7]
    assert theirs.get_light_group([seen(first)]) == [carla.LightGroup.Other]
    lamps.set_light_states(
        [first, second], [carla.LightState(9.0, carla.Color(), carla.LightGroup.Street, True)] * 2
    )
    lamps.set_intensity([third], 11.0)
    lamps.set_color([third], carla.Color(1, 1, 1))
    lamps.set_light_group([third], carla.LightGroup.Street)
    lamps.set_light_state(
        [fourth], carla.LightState(12.0, carla.Color(), carla.LightGroup.Street, False)
    )
    world.tick()
    _told(client, lambda: seen(fourth).intensity == 12.0)
    assert [s.intensity for s in theirs.get_light_state([seen(first), seen(second)])] == [9.0, 9.0]
    assert seen(third).intensity == 11.0 and not seen(fourth).is_on
    assert len(theirs.get_turned_off_lights()) == len(lights) - 2


def test_lamps_follow_the_sun_and_light_the_street(client: Any, lamps: Any) -> None:
    world = client.get_world()
    lights = lamps.get_all_lights()
    lamp = lights[10]  # one that no other test has changed
    place = lamp.location
    above = carla.Transform(carla.Location(place.x, place.y, place.z - 1.0), carla.Rotation(-89.0))
    night = carla.WeatherParameters.ClearNight
    world.set_weather(night)
    world.tick()
    _told(client, lambda: all(light.is_on for light in lights))
    lit = _picture(client, above)
    lamps.turn_off(lights)
    world.tick()
    dark = _picture(client, above)
    assert lit[..., :3].mean() > 2.0 * dark[..., :3].mean()
    lamp.turn_on()
    lamp.set_color(carla.Color(255, 0, 0))
    world.tick()
    red = _picture(client, above) - dark
    assert red[..., 2].mean() > 5.0 and red[..., 0].mean() < 0.5
    # By day all are off; without the cycle the sun switches nothing.
    world.set_weather(carla.WeatherParameters.ClearNoon)
    world.tick()
    _told(client, lambda: not any(light.is_on for light in lights))
    lamps.set_day_night_cycle(False)
    world.set_weather(night)
    for _ in range(3):
        world.tick()
    assert not any(light.is_on for light in lights)


def test_things_of_the_map_are_listed_hidden_and_painted(client: Any) -> None:
    world = client.get_world()
    poles = world.get_environment_objects(carla.CityObjectLabel.Poles)
    houses = world.get_environment_objects(carla.CityObjectLabel.Buildings)
    # Poles are named by the map, houses are its scenery.
    assert len(poles) > 100 and len(houses) > 100
    things = world.get_environment_objects()
    assert len({thing.id for thing in things}) == len(things) > len(poles) + 200
    names = world.get_names_of_all_objects()
    assert len(set(names)) == len(names) and {thing.name for thing in things} < set(names)
    heads = world.get_level_bbs(carla.CityObjectLabel.TrafficLight)
    assert len(heads) == len(world.get_actors().filter("traffic.traffic_light"))
    pole = poles[0]
    box = pole.bounding_box
    assert box.location.z - pole.transform.location.z == pytest.approx(box.extent.z)
    beside = carla.Transform(box.location + carla.Location(x=-4.0))

    def middle() -> list[int]:
        return [int(part) for part in _picture(client, beside)[24, 32, :3]]

    grey = middle()
    paint = carla.TextureColor(2, 1)
    paint.set(0, 0, carla.Color(255, 0, 0, 255))
    paint.set(1, 0, carla.Color(0, 255, 0, 255))
    world.apply_color_texture_to_object(pole.name, carla.MaterialParameter.Diffuse, paint)
    blue, green, red = middle()
    # Each half of a side has its own colour.
    assert blue < 10 and max(green, red) > 60 > 10 > min(green, red)
    bright = carla.TextureFloatColor(1, 1)
    bright.set(0, 0, carla.FloatColor(0.0, 0.0, 1.0, 1.0))
    world.apply_float_color_texture_to_objects([pole.name], carla.MaterialParameter.Diffuse, bright)
    blue, green, red = middle()
    assert blue > 60 and max(green, red) < 10
    for refused in (
        lambda: world.apply_color_texture_to_object(
            "House", carla.MaterialParameter.Diffuse, paint
        ),
        lambda: world.apply_textures_to_object("House", paint, bright, bright, bright),
    ):
        with pytest.raises(RuntimeError, match="House"):
            refused()
    # Behind the pole is the land.
    world.enable_environment_objects({pole.id}, False)
    hidden = middle()
    assert hidden not in (grey, [blue, green, red])
    world.enable_environment_objects({pole.id}, True)
    assert middle() == [blue, green, red]
    world.unload_map_layer(carla.MapLayer.StreetLights)
    assert middle() == hidden
    world.load_map_layer(carla.MapLayer.All)
    assert middle() == [blue, green, red]


def test_shapes_are_drawn_for_their_time(client: Any) -> None:
    world, debug = client.get_world(), client.get_world().debug
    town = world.get_map().get_spawn_points()[0]
    high = carla.Location(town.location.x, town.location.y, town.location.z + 60.0)
    # Level, above everything: behind the shapes is the sky.
    eye = carla.Transform(high, carla.Rotation())

    def at(x: float, y: float = 0.0, z: float = 0.0) -> Any:
        return high + carla.Location(x, y, z)

    def coloured(colour: tuple[int, int, int]) -> int:
        image = _picture(client, eye)[..., 2::-1]
        return int((abs(image - np.array(colour)).max(axis=-1) < 3).sum())

    red, green, blue = (255, 0, 0), (0, 255, 0), (0, 0, 255)
    cube = carla.BoundingBox(at(8.0), carla.Vector3D(1.0, 1.0, 1.0))
    left, right, tip = at(5.0, -2.0), at(5.0, 2.0), at(5.0, 2.0, 1.0)
    for draw, colour in (
        (lambda c: debug.draw_point(at(5.0), 1.0, c, 1000.0), red),
        (lambda c: debug.draw_line(left, right, 0.3, c, 1000.0), green),
        (lambda c: debug.draw_arrow(at(6.0, -2.0, 1.0), tip, 0.2, 0.6, c, 1000.0), blue),
        (lambda c: debug.draw_box(cube, carla.Rotation(yaw=30.0), 0.3, c, 1000.0), red),
    ):
        assert coloured(colour) == 0
        draw(carla.Color(*colour))
        assert coloured(colour) > 20
        debug.clear_debug_shape()
        assert coloured(colour) == 0
    # A shape is gone after its time, one for ever is not; what is nearer hides what is farther.
    debug.draw_point(at(5.0), 1.0, carla.Color(*red), 0.5)
    debug.draw_point(at(6.0), 1.0, carla.Color(*green), -1.0)
    assert coloured(red) > 20
    hidden = coloured(green)
    for _ in range(12):
        world.tick()
    assert coloured(red) == 0 and coloured(green) > hidden
    debug.clear_debug_shape()
    # Texts and what is drawn on the HUD are for the web view.
    debug.draw_string(at(5.0), "here", False, carla.Color(*red), 1000.0)
    debug.draw_hud_point(at(5.0), 1.0, carla.Color(*red), 1000.0)
    debug.draw_hud_line(at(5.0, -2.0), at(5.0, 2.0), 0.3, carla.Color(*red), 1000.0)
    assert coloured(red) == 0
    debug.clear_debug_shape()
    debug.clear_debug_string()


def test_doors_open_and_wheels_look_as_they_are_told(client: Any, objects: dict[str, Any]) -> None:
    world, car = client.get_world(), objects["Vehicle"]
    car.set_simulate_physics(False)  # the street has a slope
    pose = car.get_transform()
    eye = carla.Transform(pose.transform(carla.Location(x=-6.0, y=-4.0, z=2.0)), pose.rotation)
    eye.rotation.yaw += 25.0
    closed = _picture(client, eye)
    seen = []
    for door in (carla.VehicleDoor.FL, carla.VehicleDoor.RL):
        car.open_door(door)
        seen.append(int((abs(_picture(client, eye) - closed).max(axis=-1) > 8).sum()))
    assert 5 < seen[0] < seen[1]
    car.close_door(carla.VehicleDoor.All)
    assert (_picture(client, eye) == closed).all()
    names = car.get_bone_names()
    front, rear = (names.index(f"Wheel_{end}_Left") for end in ("Front", "Rear"))
    car.set_wheel_steer_direction(carla.VehicleWheelLocation.FL_Wheel, 25.0)
    car.set_wheel_pitch_angle(carla.VehicleWheelLocation.BL_Wheel, 40.0)
    bones = car.get_bone_relative_transforms()
    assert bones[front].rotation.yaw == pytest.approx(25.0)
    assert bones[rear].rotation.pitch == pytest.approx(40.0)
    # What is not told turns by itself: a full turn over the circumference of the wheel.
    wheel = carla.VehicleWheelLocation.FR_Wheel
    radius = 0.01 * car.get_physics_control().wheels[1].radius
    assert car.get_wheel_pitch_angle(carla.VehicleWheelLocation.BL_Wheel) == pytest.approx(40.0)
    car.set_simulate_physics(True)
    before, start = car.get_wheel_pitch_angle(wheel), car.get_location()
    car.enable_constant_velocity(carla.Vector3D(2.0, 0.0, 0.0))
    for _ in range(4):
        world.tick()
    way = car.get_location().distance(start)
    turned = (before - car.get_wheel_pitch_angle(wheel)) % 360.0
    assert turned == pytest.approx(way / radius * 180.0 / np.pi, rel=0.02)
    car.disable_constant_velocity()


def test_pictures_show_the_pose_of_a_walker(client: Any, objects: dict[str, Any]) -> None:
    world, walker = client.get_world(), objects["Walker"]
    pose = walker.get_transform()
    eye = carla.Transform(pose.transform(carla.Location(y=-2.0)), pose.rotation)
    eye.rotation.yaw += 90.0

    def changed(before: Any) -> Any:
        return abs(_picture(client, eye) - before).max(axis=-1) > 8

    standing = _picture(client, eye)
    names = walker.get_bone_names()
    relative = {bone.name: bone.relative for bone in walker.get_bones().bone_transforms}
    raised = carla.Transform(relative["crl_thigh__R"].location, carla.Rotation(pitch=90.0))
    bones = carla.WalkerBoneControlIn()
    bones.bone_transforms = [("crl_thigh__R", raised)]
    walker.set_bones(bones)
    assert not changed(standing).any()
    walker.show_pose()
    leg = changed(standing)
    foot = walker.get_bone_world_transforms()[names.index("crl_foot__R")].location
    assert foot.z == pytest.approx(pose.location.z, abs=0.2)
    # The walker looks to the left of the picture: there is the leg now.
    assert leg[:, :28].sum() > 15
    walker.hide_pose()
    assert not changed(standing).any()
    walker.apply_control(carla.WalkerControl(pose.get_forward_vector(), 0.5, False))
    world.tick()
    walker.get_pose_from_animation()
    walker.apply_control(carla.WalkerControl())
    world.tick()
    rest = walker.get_bone_relative_transforms()
    walker.show_pose()
    world.tick()
    assert walker.get_bone_relative_transforms() != rest
    walker.hide_pose()


def test_most_calls_work() -> None:
    states = [call.state for call in calls()]
    assert len(states) > 300
    assert states.count(WORKS) > 0.85 * len(states)


def test_roads_and_land_are_listed_hidden_and_painted(client: Any) -> None:
    world = client.get_world()
    roads = world.get_environment_objects(carla.CityObjectLabel.Roads)
    (land,) = world.get_environment_objects(carla.CityObjectLabel.Terrain)
    assert len(roads) > 100 and land.name == "Land"
    road = max(roads, key=lambda thing: thing.bounding_box.extent.x)
    place = world.get_map().get_waypoint(road.bounding_box.location, lane_type=carla.LaneType.Any)
    road = next(thing for thing in roads if thing.name == f"Road_{place.road_id}")
    box, here = road.bounding_box, place.transform.location
    assert abs(here.x - box.location.x) <= box.extent.x + 0.1
    assert abs(here.y - box.location.y) <= box.extent.y + 0.1
    above = carla.Transform(here + carla.Location(z=4.0), carla.Rotation(-89.0))

    def middle() -> list[int]:
        return [int(part) for part in _picture(client, above)[24, 32, :3]]

    grey = middle()
    red = carla.TextureColor(1, 1)
    red.set(0, 0, carla.Color(255, 0, 0, 255))
    world.apply_color_texture_to_objects([road.name], carla.MaterialParameter.Diffuse, red)
    painted = middle()
    assert painted[2] > 100 and max(painted[:2]) < 20
    world.enable_environment_objects({road.id}, False)
    assert middle() not in (grey, painted)
    world.enable_environment_objects({road.id}, True)
    assert middle() == painted


def test_textures_of_every_parameter_show_on_a_vehicle(
    client: Any, objects: dict[str, Any]
) -> None:
    world, car = client.get_world(), objects["Vehicle"]
    name = f"{car.type_id}_{car.id}"
    assert name in world.get_names_of_all_objects()
    car.set_simulate_physics(False)
    pose, box = car.get_transform(), car.bounding_box
    behind = carla.Transform(pose.transform(carla.Location(x=-5.0, z=box.location.z)))
    behind.rotation = pose.rotation

    def seen() -> Any:
        return _picture(client, behind)[..., :3]

    def changed(before: Any) -> int:
        return int((abs(seen() - before).max(axis=-1) > 4).sum())

    plain = seen()
    # The left half is red, the right one blue.
    halves = carla.TextureColor(8, 8)
    for x in range(8):
        for y in range(8):
            red = 255 if x < 4 else 0
            halves.set(x, y, carla.Color(red, 0, 255 - red, 255))
    none = carla.TextureFloatColor(0, 0)
    world.apply_textures_to_object(name, halves, none, none, none)
    cover = seen()
    body = abs(cover - plain).max(axis=-1) > 4
    assert body.sum() > 100
    left, right = cover[:, :32][body[:, :32]], cover[:, 32:][body[:, 32:]]
    # At the edges its sides are seen, each of which has both halves.
    for half, shown, hidden in ((left, 2, 0), (right, 0, 2)):
        assert ((half[:, shown] > 100) & (half[:, hidden] < 5)).mean() > 0.7
    # A normal that leans, light that comes in, light of its own.
    for parameter, value in (
        (carla.MaterialParameter.Normal, (0.5, 0.0, 0.5)),  # upwards, to the sun
        (carla.MaterialParameter.AO_Roughness_Metallic_Emissive, (0.3, 0.5, 0.0)),
        (carla.MaterialParameter.Emissive, (0.0, 0.4, 0.0)),
    ):
        before = seen()
        texture = carla.TextureFloatColor(1, 1)
        texture.set(0, 0, carla.FloatColor(*value, 0.0))
        world.apply_float_color_texture_to_object(name, parameter, texture)
        assert changed(before) > 100, parameter
    assert np.median(seen()[..., 1][body]) > 90
    car.set_simulate_physics(True)


def test_gbuffers_of_a_camera(client: Any, objects: dict[str, Any]) -> None:
    world = client.get_world()
    library = world.get_blueprint_library()
    point = world.get_map().get_spawn_points()[7]
    point.location.z += 3.0
    point.rotation.pitch = -20.0
    cameras = {}
    for name in ("rgb", "depth", "semantic_segmentation", "normals"):
        kind = library.find(f"sensor.camera.{name}")
        kind.set_attribute("image_size_x", "64")
        kind.set_attribute("image_size_y", "48")
        cameras[name] = world.spawn_actor(kind, point)
    camera = cameras["rgb"]
    texture = carla.GBufferTextureID
    with pytest.raises(RuntimeError, match=r"no 'sensor.camera.rgb'"):
        cameras["depth"].enable_gbuffers(True)
    queues: dict[Any, queue.Queue[Any]] = {}

    def listener(key: Any) -> Callable[[Any], None]:
        queues[key] = queue.Queue()
        return queues[key].put

    for name, sensor in cameras.items():
        sensor.listen(listener(name))
    camera.enable_gbuffers(True)
    for number in texture.values.values():
        camera.listen_to_gbuffer(number, listener(number))
    assert camera.is_listening_gbuffer(texture.GBufferC)

    def pictures() -> dict[Any, Any]:
        frame = world.tick()
        found = {}
        for key, images in queues.items():
            while (image := images.get(timeout=HANG_S)).frame < frame:
                pass
            pixels = np.frombuffer(image.raw_data, np.uint8)
            found[key] = pixels.reshape(image.height, image.width, 4)
        return found

    seen = pictures()
    assert len(seen) == 4 + 13
    assert (seen[texture.SceneColor] == seen["rgb"]).all()
    assert (seen[texture.SceneDepth] == seen["depth"]).all()
    assert (seen[texture.CustomDepth] == seen["depth"]).all()
    assert (seen[texture.SceneStencil] == seen["semantic_segmentation"]).all()
    assert (seen[texture.CustomStencil] == seen["semantic_segmentation"]).all()
    assert (seen[texture.GBufferA] == seen["normals"]).all()
    # Colours without light: few, and none of the sky.
    base = seen[texture.GBufferC]
    assert 2 < len(np.unique(base.reshape(-1, 4), axis=0)) < 100
    sky = seen["semantic_segmentation"][..., 2] == 11
    assert (base[sky][:, :3] == 0).all() and (base[~sky][:, :3].max(axis=1) > 0).all()
    assert (seen[texture.SSAO][..., :3] == 255).all()
    assert not seen[texture.GBufferF][..., :3].any()
    # A camera that turns to the right sees everything move to the left.
    still = seen[texture.Velocity]
    assert (still[..., 1:3] == 127).all()
    point.rotation.yaw += 2.0
    camera.set_transform(point)
    moved = pictures()[texture.Velocity]
    assert (moved[..., 2] < 127).all()
    camera.stop_gbuffer(texture.GBufferC)
    assert not camera.is_listening_gbuffer(texture.GBufferC)
    for sensor in cameras.values():
        sensor.destroy()
    world.tick()
