# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The bridge through the real client against a real server process."""

from __future__ import annotations

import signal
import socket
import threading
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import carla
import pytest
from carla_bridge.conftest import Server
from support.bridge_scenes import careless_commands, platoon, record
from support.patience import until
from support.sensor_scenario import SENSORS, sensor_scenario

from ros2_cosim.core.kernel.errors import (
    CausalityError,
    ConfigurationError,
    ConnectionFailedError,
)
from ros2_cosim.core.messages.records import CLASS_TRUCK
from ros2_cosim.core.scenario.declaration import declare
from ros2_cosim.core.scene.sensors import Payload
from ros2_cosim.core.scene.simulator import MapChoice, Pose, SensorMount, Simulator, Size
from ros2_cosim.world.carla.client_world import ClientWorld
from ros2_cosim.world.carla.inprocess_world import InProcessWorld
from ros2_cosim.world.carla.scene import FIRST_STRANGER_ID, FIRST_TRAFFIC_ID, ActorCommand, Scene
from ros2_cosim.world.carla.scene_settings import scene_parameters
from ros2_cosim.world.headless.outsiders import RUN_CLIENT
from ros2_cosim.world.headless.server_wire import ServerWire
from ros2_cosim.world.map.traffic_lights import GREEN, RED, YELLOW

ROOT = Path(__file__).parents[2]


def other_world(port: int) -> Any:
    """The world as another client sees it."""
    client = carla.Client("127.0.0.1", port)
    client.set_timeout(60.0)
    return client.get_world()


@pytest.fixture(scope="module")
def usual() -> list[str]:
    """What the platoon does in process."""
    return record(InProcessWorld(), platoon(), 900)


def test_the_same_bits_as_in_process(server: Server, usual: list[str]) -> None:
    """Curve, lane keeping, pile-up: every record and every collision is the same."""
    assert "CollisionEvent" in "".join(usual)
    assert record(ClientWorld(port=server[1]), platoon(), 900) == usual


def test_bodies_of_other_sizes_have_the_same_bits(server: Server, usual: list[str]) -> None:
    base = platoon()
    given = replace(
        base,
        vehicles=tuple(replace(v, size=Size(6.0, 2.4, 2.0), offset=0.3) for v in base.vehicles),
        objects=tuple(replace(o, size=Size(0.4, 1.0, 1.1)) for o in base.objects),
    )
    expected = record(InProcessWorld(), given, 900)
    assert expected != usual
    assert "CollisionEvent" in "".join(expected)
    assert record(ClientWorld(port=server[1]), given, 900) == expected


def test_the_lights_are_those_of_the_world_in_process(server: Server) -> None:
    """From the begin of their phases, however long the server has run freely before."""
    text = (ROOT / "config" / "town.xodr").read_text(encoding="utf-8")
    shown = []
    for world in (InProcessWorld(), ClientWorld(port=server[1]), ClientWorld(port=server[1])):
        world.prepare(MapChoice(opendrive=text), "ClearNoon", 0.1)
        world.begin_lights()
        found = []
        for _ in range(200):
            world.tick()
            found.append(world.lights())
        world.close()
        shown.append(found)
    assert shown[0] == shown[1] == shown[2]
    assert len(shown[0][0]) > 8
    assert {state for lights in shown[0] for state in lights.values()} == {RED, YELLOW, GREEN}


def test_a_server_can_be_used_again(server: Server) -> None:
    by_name = platoon(MapChoice(name="highway"))
    first = record(ClientWorld(port=server[1]), platoon(), 60)
    assert record(ClientWorld(port=server[1]), by_name, 60) == first
    left_over = other_world(server[1])
    assert not left_over.get_settings().synchronous_mode
    left_over.wait_for_tick()
    assert [actor.type_id for actor in left_over.get_actors()] == ["spectator"]


def test_a_crashed_predecessor_leaves_no_trace(server: Server, usual: list[str]) -> None:
    scene = Scene(ClientWorld(port=server[1]), platoon())
    scene.initialise()
    scene.step(careless_commands(0))
    # Neither dismantled nor stopped: still synchronous, actors still there.
    assert record(ClientWorld(port=server[1]), platoon(), 30) == usual[: 3 + 30]


def test_a_server_that_ends_while_it_loads_a_map(
    own_server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The client would wait for the answer until the time of the call is over: a minute."""
    process, port = own_server
    world = ClientWorld(port=port)
    connect = world._connect

    def connect_to_a_server_that_ends() -> None:
        connect()
        process.send_signal(signal.SIGSTOP)  # it does not answer any more
        threading.Timer(0.5, process.kill).start()

    monkeypatch.setattr(world, "_connect", connect_to_a_server_that_ends)
    with pytest.raises(ConnectionFailedError, match="cannot set up the world: the server has gone"):
        Scene(world, platoon()).initialise()
    # Given up during the call, not after it.
    assert "carla-call" in {thread.name for thread in threading.enumerate()}


def test_no_server() -> None:
    with socket.create_server(("127.0.0.1", 0)) as sock:
        port = sock.getsockname()[1]
    with pytest.raises(ConnectionFailedError, match=f"no CARLA at 127.0.0.1:{port}: .*refused"):
        Scene(ClientWorld(port=port), platoon()).initialise()


def test_something_else_at_the_port() -> None:
    with socket.create_server(("127.0.0.1", 0)) as sock:
        port = sock.getsockname()[1]
        with pytest.raises(ConnectionFailedError, match="nothing answered as a CARLA server"):
            Scene(ClientWorld(port=port, timeout_s=0.5), platoon()).initialise()
        # It was asked for its version, and for nothing that would have to wait for its own time.
        sock.setblocking(False)
        heard = b""
        with suppress(BlockingIOError):
            while True:
                with sock.accept()[0] as connection:
                    heard += connection.recv(1 << 16)
        assert b"version" in heard and RUN_CLIENT.encode() not in heard


def test_wrong_map_blueprint_and_place(server: Server) -> None:
    base = platoon()
    wrong_map = platoon(MapChoice(name="Town99"))
    with pytest.raises(ConfigurationError, match="'Town99' not found; available maps: .*highway"):
        Scene(ClientWorld(port=server[1]), wrong_map).initialise()
    for changes, expected in (
        ({"blueprint": "vehicle.horse.cart"}, "leader: cannot spawn vehicle.horse.cart"),
        ({"s": 680.0}, "follower1: cannot spawn .*collision at spawn position"),
    ):
        vehicles = (replace(base.vehicles[0], **changes), *base.vehicles[1:])  # type: ignore[arg-type]
        with pytest.raises(ConfigurationError, match=expected):
            Scene(ClientWorld(port=server[1]), replace(base, vehicles=vehicles)).initialise()


def test_a_server_that_dies_is_named(own_server: Server) -> None:
    process, port = own_server
    scene = Scene(ClientWorld(port=port), platoon())
    scene.initialise()
    process.kill()
    process.communicate()
    with pytest.raises(ConnectionFailedError, match=f"127.0.0.1:{port}: .*the server has gone"):
        for step in range(3):
            scene.step(careless_commands(step))
    scene.dismantle()


def test_a_second_driver_of_the_world_is_detected(server: Server) -> None:
    scene = Scene(ClientWorld(port=server[1]), platoon())
    scene.initialise()
    intruder = other_world(server[1])
    intruder.tick()
    # Its frame may be on the way still, and be taken for that of the first step.
    with pytest.raises(CausalityError, match="another client also advances this world"):
        for _ in range(2):
            scene.step({"follower1": ActorCommand(0.0, 0.0)})
        scene.finish()
    scene.dismantle()


def test_a_tick_of_another_client_in_the_last_step_is_detected_when_the_run_ends(
    server: Server,
) -> None:
    scene = Scene(ClientWorld(port=server[1]), platoon())
    scene.initialise()
    scene.step({})
    scene.finish()
    scene.dismantle()
    scene.initialise()
    scene.step({})
    other_world(server[1]).tick()
    with pytest.raises(CausalityError, match="follows the last step, .*: another client also"):
        scene.finish()
    scene.dismantle()


def test_vehicles_of_other_clients_are_reported(server: Server) -> None:
    scene = Scene(ClientWorld(port=server[1]), platoon(reports_traffic=True, traffic=1))
    scene.initialise()
    found = scene.road_users()
    assert found is not None and [user.id for user in found.users] == [FIRST_TRAFFIC_ID]
    other = other_world(server[1])
    library = other.get_blueprint_library()
    own = scene.read()["leader"].odometry
    for blueprint, ahead in (("vehicle.carlamotors.firetruck", 60.0), ("static.prop.box01", 80.0)):
        place = carla.Transform(carla.Location(own.x + ahead, -own.y - 9.0, own.z + 0.5))
        other.spawn_actor(library.find(blueprint), place)
    scene.step({})
    scene.step({})
    found = scene.road_users()
    assert found is not None
    traffic, truck = found.users
    assert traffic.id == FIRST_TRAFFIC_ID and truck.id > FIRST_STRANGER_ID
    assert truck.classification == CLASS_TRUCK and truck.length > 8.0
    middle = own.x + 60.0 - 0.253  # its box stands so far behind its place
    assert (truck.x, truck.y) == pytest.approx((middle, own.y + 9.0), abs=0.1)
    scene.finish()
    scene.dismantle()


def test_sensors_measure_the_same_bits_as_in_process(server: Server) -> None:
    """Every kind of sensor, with traffic and objects, over the client's streams."""
    declared = declare(sensor_scenario(), "world")
    parameters = scene_parameters(declared.context, declared.parameters)

    def measured(simulator: Simulator) -> list[dict[str, Any]]:
        scene = Scene(simulator, parameters)
        scene.initialise()
        found = []
        for _ in range(12):
            found.append({
                name: bytes(value.data) if isinstance(value, Payload) else value
                for name, value in scene.take_measurements().items()
            })  # fmt: skip
            scene.step({})
        scene.dismantle()
        return found

    expected = measured(InProcessWorld())
    assert expected[0].keys() == SENSORS.keys() and expected[1].keys() == {"imu"}
    there = measured(ClientWorld(port=server[1]))
    for here, other in zip(expected, there, strict=True):
        assert here == other


def connections_to(port: int) -> int:
    """Open connections of this machine's programs to a port of it."""
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    established = "01"
    return sum(int(r[2].rpartition(":")[2], 16) == port and r[3] == established for r in rows)


def test_a_client_that_nothing_needs_is_let_go(own_server: Server) -> None:
    """Without it strangers are seen all the same, and everything is tidied up."""
    scene = Scene(ClientWorld(port=own_server[1]), platoon(reports_traffic=True))
    scene.initialise()
    assert connections_to(own_server[1]) == 3  # the client, the calls of steps, one that is idle
    for _ in range(200):
        scene.step({})
    until(lambda: connections_to(own_server[1]) == 2)  # its own threads close it
    other = other_world(own_server[1])
    own = scene.read()["leader"].odometry
    truck = other.get_blueprint_library().find("vehicle.carlamotors.firetruck")
    place = carla.Transform(carla.Location(own.x + 90.0, -own.y - 9.0, own.z + 0.5))
    spawned = other.spawn_actor(truck, place)
    for _ in range(2):
        scene.step({})
    found = scene.road_users()
    assert found is not None
    assert [(user.id, user.classification) for user in found.users] == [
        (FIRST_STRANGER_ID + spawned.id, CLASS_TRUCK)
    ]
    scene.finish()
    scene.dismantle()
    other.wait_for_tick()
    assert not other.get_settings().synchronous_mode
    assert {actor.type_id for actor in other.get_actors()} == {"spectator", truck.id}


def test_a_sensor_is_mounted_after_the_client_was_let_go(own_server: Server) -> None:
    world = ClientWorld(port=own_server[1])
    scene = Scene(world, platoon())
    scene.initialise()
    for _ in range(200):
        scene.step({})
    leader = min(world_actors(own_server[1], "vehicle."))
    mount = SensorMount("imu", "sensor.other.imu", leader, Pose(0.0, 0.0, 0.0, 0.0, 0.0, 0.0), {})
    sensor = world.attach(mount)
    world.tick()
    assert len(world.measurements([sensor])) == 1
    scene.dismantle()
    assert world_actors(own_server[1], "vehicle.") == []


def world_actors(port: int, kind: str) -> list[int]:
    """Actors of a kind in the world of a server."""
    with closing(ServerWire("127.0.0.1", port, 30.0)) as wire:
        numbers = range(1, 100)
        return [actor.id for actor in wire.actors(numbers) if actor.blueprint.startswith(kind)]
