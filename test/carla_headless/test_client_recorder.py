# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Recording and replaying with the real ``carla`` client."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import carla
import pytest

from ros2_cosim.world.headless.recording import Recording

_STEP = 0.05

Way = list[tuple[float, float, float]]


@pytest.fixture(scope="module")
def recorded(client: Any, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Way, int, int]:
    """A recording of a car that drives into another one, the car's way, and both ids."""
    world = client.get_world()
    town = world.get_map()
    start = town.get_waypoint(carla.Location(20.0, 111.75, 7.0))
    (ahead,) = start.next(14.0)
    library = world.get_blueprint_library()
    model = library.find("vehicle.tesla.model3")
    model.set_attribute("role_name", "hero")
    car = world.spawn_actor(model, start.transform)
    other = world.spawn_actor(library.find("vehicle.audi.a2"), ahead.transform)
    world.tick()
    path = tmp_path_factory.mktemp("recording") / "hit.log"
    assert client.start_recorder(str(path)) == str(path)
    car.apply_control(carla.VehicleControl(throttle=1.0, steer=0.01))
    way = []
    for _ in range(80):
        world.tick()
        place = car.get_location()
        way.append((place.x, place.y, place.z))
    client.stop_recorder()
    car.destroy()
    other.destroy()
    world.tick()
    return path, way, car.id, other.id


def test_the_file_is_of_the_form_of_carla(recorded: tuple[Path, Way, int, int]) -> None:
    path, way, car, other = recorded
    data = path.read_bytes()
    assert data[:18] == struct.pack("<HH", 1, 14) + b"CARLA_RECORDER"
    recording = Recording(str(path))
    assert recording.map_name == "Carla/Maps/town"
    frames = list(recording.frames())
    assert [frame.number for frame in frames] == list(range(1, 82))
    assert frames[-1].elapsed == pytest.approx(80 * _STEP)
    kinds = {added.id: added.kind for added in frames[0].added}
    assert (kinds[car], kinds[other]) == (1, 1)
    for frame, place in zip(frames[1:], way, strict=True):
        assert frame.places[car].location == pytest.approx(place, abs=1e-4)
    # The first packet is the start of a frame: kind 0, 24 bytes, and its length is written later.
    at = 18 + 8 + 2 + len("Carla/Maps/town")
    kind, size, number, duration, elapsed = struct.unpack_from("<BIQdd", data, at)
    assert (kind, size, number, elapsed) == (0, 24, 1, 0.0)
    assert duration == pytest.approx(_STEP)


def test_what_is_shown_of_a_recording(client: Any, recorded: tuple[Path, Way, int, int]) -> None:
    path, _, car, other = recorded
    info = client.show_recorder_file_info(str(path), False)
    assert f" Create {car}: vehicle.tesla.model3 (1) at (" in info
    assert "  role_name = hero" in info
    assert "Positions" not in info and "Frames: 81" in info
    assert f"Collision id 1 between {car} (hero)  with {other}" in info
    assert "Positions: 3" in client.show_recorder_file_info(str(path), True)  # and the spectator
    hits = client.show_recorder_collisions(str(path), "h", "v").splitlines()
    hit = next(line for line in hits if str(other) in line and "audi" in line)
    assert "h v" in hit and "vehicle.tesla.model3" in hit
    assert "audi" not in client.show_recorder_collisions(str(path), "w", "a")
    still = client.show_recorder_actors_blocked(str(path), 1.0, 50.0)
    assert "vehicle.audi.a2" in still and "vehicle.tesla.model3" not in still


def test_a_replay_drives_the_same_way(client: Any, recorded: tuple[Path, Way, int, int]) -> None:
    path, way, car, _ = recorded
    world = client.get_world()
    spectator = world.get_spectator()
    client.replay_file(str(path), 0.0, 0.0, car)
    world.tick()
    (again,) = world.get_actors().filter("vehicle.tesla.model3")
    assert again.attributes["role_name"] == "hero"
    for place in way[:60]:
        here = again.get_location()
        assert (here.x, here.y, here.z) == pytest.approx(place, abs=1e-3)
        assert 8.0 < spectator.get_location().distance(here) < 14.0
        world.tick()
    client.stop_replayer(False)
    world.tick()
    assert len(world.get_actors().filter("vehicle.*")) == 0
    # From the middle at twice the speed.
    client.set_replayer_time_factor(2.0)
    client.set_replayer_ignore_hero(False)
    client.replay_file(str(path), 1.0, 0.0, 0)
    world.tick()
    (again,) = world.get_actors().filter("vehicle.tesla.model3")
    here = again.get_location()
    assert (here.x, here.y, here.z) == pytest.approx(way[21], abs=1e-3)
    for _ in range(60):
        world.tick()
    # At the end the actors stay, with physics.
    assert len(world.get_actors().filter("vehicle.*")) == 2
    client.stop_replayer(False)
    client.set_replayer_time_factor(1.0)
    for actor in world.get_actors().filter("vehicle.*"):
        actor.destroy()
    world.tick()


def test_a_walker_of_a_recording_walks(client: Any, tmp_path: Path) -> None:
    world = client.get_world()
    town = world.get_map()
    place = town.get_waypoint(carla.Location(40.0, 111.75, 7.0)).transform
    place.location.z += 1.0
    library = world.get_blueprint_library()
    walker = world.spawn_actor(library.find("walker.pedestrian.0003"), place)
    world.tick()
    client.start_recorder(str(tmp_path / "walk.log"))
    walker.apply_control(carla.WalkerControl(carla.Vector3D(1.0, 0.0, 0.0), 1.4, False))
    bones = []
    for _ in range(20):
        world.tick()
        bones.append([b.rotation.pitch for b in walker.get_bone_relative_transforms()])
    client.stop_recorder()
    walker.destroy()
    world.tick()
    client.replay_file(str(tmp_path / "walk.log"), 0.0, 0.0, 0)
    world.tick()
    (again,) = world.get_actors().filter("walker.*")
    turned = set()
    for _ in range(18):
        world.tick()
        assert again.get_velocity().length() == pytest.approx(1.4, abs=1e-3)
        turned.add(max(b.rotation.pitch for b in again.get_bone_relative_transforms()))
    assert len(turned) > 10 and max(turned) == pytest.approx(max(map(max, bones)), abs=5.0)
    client.stop_replayer(True)
    world.tick()
    assert again.get_control().speed == 0.0
    again.destroy()
    world.tick()


def test_wrong_files_are_errors(client: Any, tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="not found on server"):
        client.show_recorder_file_info(str(tmp_path / "none.log"), True)
    text = tmp_path / "notes.txt"
    text.write_text("mine")
    with pytest.raises(RuntimeError, match="is not a CARLA recorder"):
        client.replay_file(str(text), 0.0, 0.0, 0)
    with pytest.raises(RuntimeError, match="it is not overwritten"):
        client.start_recorder(str(text))
    assert text.read_text() == "mine"


def test_additional_data_spectator_and_sensors(client: Any, tmp_path: Path) -> None:
    world, path = client.get_world(), tmp_path / "all.log"
    library, spectator = world.get_blueprint_library(), world.get_spectator()
    start = world.get_map().get_waypoint(carla.Location(20.0, 111.75, 7.0))
    car = world.spawn_actor(library.find("vehicle.tesla.model3"), start.transform)
    place = carla.Transform(world.get_random_location_from_navigation())
    walker = world.spawn_actor(library.find("walker.pedestrian.0003"), place)
    mounted = carla.Transform(carla.Location(x=1.5, z=2.4), carla.Rotation(yaw=10.0))
    gnss = world.spawn_actor(library.find("sensor.other.gnss"), mounted, car)
    world.tick()
    client.start_recorder(str(path), True)
    car.apply_control(carla.VehicleControl(throttle=1.0))
    ways = []
    for step in range(20):
        there = carla.Location(float(step), 2.0, 30.0)
        spectator.set_transform(carla.Transform(there))
        world.tick()
        ways.append((there, gnss.get_location()))
    light = world.get_actors().filter("traffic.traffic_light")[0]
    speed, green = car.get_velocity().x, light.get_green_time()
    client.stop_recorder()
    for actor in (gnss, car, walker):
        actor.destroy()
    spectator.set_transform(carla.Transform(carla.Location(0.0, 0.0, 99.0)))
    world.tick()
    frames = list(Recording(str(path)).frames())
    last = {row.id: row for row in frames[-1].extras.kinematics}
    assert last[car.id].first.x == pytest.approx(speed, abs=1e-3) and walker.id in last
    assert {row.id for row in frames[0].extras.boxes} >= {car.id, walker.id, gnss.id}
    assert light.id in {row.id for row in frames[0].extras.triggers}
    text = client.show_recorder_file_info(str(path), True)
    for said in (
        " Dynamic actors: 2", " Actor bounding boxes: ", " Actor trigger volumes: ",
        " Current platform time: ", " Physics Control events: 1", "    gear 0: ratio ",
        f"  Id: {light.id} green_time: {green:g} ", " Walkers Bones: 1", '"crl_hips__C" relative',
    ):  # fmt: skip
        assert said in text, said
    # The spectator and sensors only come back if that is asked for.
    for wanted in (False, True):
        client.set_replayer_ignore_spectator(not wanted)
        client.replay_file(str(path), 0.0, 0.0, 0, wanted)
        world.tick()
        again = world.get_actors().filter("sensor.other.gnss")
        assert len(again) == wanted
        for there, sensor in ways[:15]:
            here = spectator.get_location()
            assert (here.distance(there) < 1e-3) == wanted
            if wanted:
                assert again[0].get_location().distance(sensor) < 0.01
            world.tick()
        if wanted:
            assert again[0].parent.type_id == "vehicle.tesla.model3"
        client.stop_replayer(False)
        world.tick()
        assert not world.get_actors().filter("sensor.*") and spectator.is_alive
    client.set_replayer_ignore_spectator(True)
