# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Vehicles that orders spawn, set and delete: who sees them, and in which runs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from carla_bridge.conftest import Server
from support.bridge_scenes import HIGHWAY, careless_commands, platoon
from support.patience import until

from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.messages.catalogue import DEFAULT
from ros2_cosim.core.messages.records import CollisionEvent, ObjectList, RoadUsers
from ros2_cosim.core.record.bag_reader import read_bag
from ros2_cosim.core.record.summary import read_summary
from ros2_cosim.core.run.inproc import run_inproc
from ros2_cosim.core.run.request import RunRequest
from ros2_cosim.core.run.start import run_request
from ros2_cosim.core.scenario.changes_by_hand import ChangesByHand
from ros2_cosim.core.scenario.schema import Scenario, load_scenario
from ros2_cosim.core.scene.entities import (
    FIRST_SPAWNED_ID,
    MAX_BYTES,
    MAX_COMMANDS,
    EntityCommand,
    EntityOrders,
    OrderQueue,
    packed,
    unpacked,
)
from ros2_cosim.core.scene.simulator import MapChoice, Simulator
from ros2_cosim.world.carla.client_world import ClientWorld
from ros2_cosim.world.carla.inprocess_world import InProcessWorld
from ros2_cosim.world.carla.parameters import SceneParameters
from ros2_cosim.world.carla.scene import Scene
from ros2_cosim.world.headless.world import CallError

PATH = "participants.world.parameters.entities"
CAR = "vehicle.tesla.model3"
AHEAD = (725.0, -5.25, 0.0, 0.0, 0.0, 0.0, 1.0)
FAR = (600.0, -1.75, 0.0, 0.0, 0.0, 0.0, 1.0)
STILL = (0.0, 0.0, 0.0)


def spawn(name: str, pose: Any = AHEAD, velocity: Any = STILL) -> EntityCommand:
    return EntityCommand(do="spawn", name=name, blueprint=CAR, pose=pose, velocity=velocity)


def parameters() -> SceneParameters:
    return replace(platoon(), reports_traffic=True)


#: Step -> what is done at its begin. The leader runs into the box, which is put elsewhere then.
ORDERS: dict[int, list[EntityCommand]] = {
    3: [
        spawn("box"),
        EntityCommand(do="set", name="box", velocity=(1.0, 0.0, 0.0)),
        spawn("second", (600.0, -1.75, 0.0, 0.0, 0.0, 1.0, 0.0)),
    ],
    10: [EntityCommand(do="set", name="follower2", pose=(640.0, -1.75, *AHEAD[2:]))],
    100: [
        EntityCommand(do="set", name="box", pose=(790.0, -5.25, *AHEAD[2:])),
        EntityCommand(do="set", name="box", velocity=(0.0, 2.0, 0.0)),
        spawn("taken", (600.5, -1.75, *AHEAD[2:])),
        EntityCommand(do="delete", name="second"),
        spawn("second", (600.0, -5.25, *AHEAD[2:])),
    ],
    101: [EntityCommand(do="delete", name="unknown"), EntityCommand(do="delete", name="box")],
}


def reported(simulator: Simulator) -> list[str]:
    """All that a scene with these orders says, as text (shows every bit of a float)."""
    scene = Scene(simulator, parameters())
    scene.initialise()
    found = []
    try:
        for step in range(130):
            for command in unpacked(packed(ORDERS.get(step, ()))):
                scene.order(command)
            scene.step(careless_commands(step))
            found.append(repr((scene.read(), scene.road_users(), scene.collisions())))
    finally:
        scene.dismantle()
    return found


def test_a_server_does_with_orders_what_the_world_in_process_does(server: Server) -> None:
    """Contacts of a vehicle that has gone are reported all the same."""
    here = reported(InProcessWorld())
    assert any(f"vehicle={FIRST_SPAWNED_ID}" in text for text in here)
    there = reported(ClientWorld(port=server[1]))
    assert there == here


def test_clients_of_the_server_see_them_come_and_go(own_server: Server) -> None:
    carla = pytest.importorskip("carla", reason="needs CARLA's client, which make setup installs")
    scene = Scene(ClientWorld(port=own_server[1]), parameters())
    scene.initialise()
    client = carla.Client("127.0.0.1", own_server[1], 1)
    client.set_timeout(20.0)
    world = client.get_world()

    def names() -> set[str]:
        return {a.attributes["role_name"] for a in world.get_actors().filter("vehicle.*")}

    own = {"leader", "follower1", "follower2"}
    for command, there in (
        (None, own),
        (spawn("box"), own | {"box"}),
        (EntityCommand(do="delete", name="box"), own),
    ):
        if command is not None:
            scene.order(command)
        scene.step({})
        # The client hears of the step on its own time.
        until(lambda there=there: names() == there)
    for _ in range(5):
        scene.step({})
    # The sensor of its contacts has gone, too.
    until(lambda: len(world.get_actors().filter("sensor.other.collision")) == 3)
    scene.dismantle()


def file_of(tmp_path: Path, changes: Sequence[dict[str, Any]], **more: Any) -> Scenario:
    """A platoon whose sensors look at traffic, with a lidar and a camera at its leader."""
    every = {"vehicle": "leader", "period": "100ms", "x": 1.0, "z": 1.8}
    lidar = {"blueprint": "sensor.lidar.ray_cast_semantic", **every}
    lidar["attributes"] = {
        "channels": 8,
        "points_per_second": 20000,
        "rotation_frequency": 10,
        "range": 60,
    }
    camera = {"blueprint": "sensor.camera.instance_segmentation", **every}
    camera["attributes"] = {"image_size_x": 80, "image_size_y": 60}
    sparse = {"schedule": "sparse"}
    data = {
        "name": "open",
        "duration": "4s",
        "scene": {"map": str(HIGHWAY), "sensors": {"roof": lidar, "front": camera}},
        "platoon": {"vehicles": 2, "lane": -2, "s": 700.0, "speed": 20.0, "traffic": 0},
        "participants": {
            "world": {
                "outputs": {
                    "points/roof": {
                        "type": "sensor_msgs/msg/PointCloud2",
                        "topic": "/points",
                        **sparse,
                    },
                    "image/front": {"type": "sensor_msgs/msg/Image", "topic": "/image", **sparse},
                }
            }
        },
        "changes": list(changes),
        **more,
    }
    path = tmp_path / "open.yaml"
    path.write_text(json.dumps(data), encoding="utf-8")
    return load_scenario(path)


def change(at: str, number: int, *commands: EntityCommand) -> dict[str, Any]:
    orders = EntityOrders(number=number, commands=commands)
    return {"at": at, "set": PATH, "to": json.loads(orders.model_dump_json(exclude_defaults=True))}


def test_all_sensors_and_the_referee_see_a_spawned_vehicle_until_it_goes(tmp_path: Path) -> None:
    # One before the leader, one between leader and follower.
    between = (720.5, -5.25, *AHEAD[2:])
    scenario = file_of(
        tmp_path,
        [
            change("1s", 1, spawn("box", (750.0, -5.25, *AHEAD[2:]), (20.0, 0.0, 0.0))),
            change("1500ms", 2, spawn("cut", between, (19.0, 0.0, 0.0))),
            change("3s", 3, *(EntityCommand(do="delete", name=n) for n in ("box", "cut"))),
        ],
    )
    result = run_inproc(scenario, tmp_path / "out")
    seen: dict[str, list[int]] = {}
    for message in read_bag(tmp_path / "out" / "bag"):
        ids: set[int] = set()
        decode = DEFAULT.codec(message.type_name).decode
        if message.topic == "/traffic":
            users: RoadUsers = decode(message.data)[2]
            ids = {user.id for user in users.users}
        elif message.topic == "/follower1/objects":
            objects: ObjectList = decode(message.data)[2]
            ids = {found.id for found in objects.objects}
        elif message.topic == "/points":
            words = np.frombuffer(decode(message.data)[2].data, "<u4").reshape(-1, 6)
            ids = set(words[:, 4].tolist())
        elif message.topic == "/image":
            pixels = np.frombuffer(decode(message.data)[2].data, np.uint8).reshape(-1, 4)
            ids = set((pixels[:, 1] + 256 * pixels[:, 0].astype(int)).tolist())
        elif message.topic == "/collisions":
            event: CollisionEvent = decode(message.data)[2]
            ids = {event.vehicle, event.other}
        for spawned in ids & {FIRST_SPAWNED_ID, FIRST_SPAWNED_ID + 1}:
            key = f"{message.topic} {spawned - FIRST_SPAWNED_ID}"
            seen.setdefault(key, []).append(message.stamp)
    # The next step of the world, which takes 10 ms, shows it; the one at 3 s is the first without.
    assert (seen["/traffic 0"][0], seen["/traffic 0"][-1]) == (1_000_000_000, 2_990_000_000)
    for topic in ("/points 0", "/image 0"):
        assert (seen[topic][0], seen[topic][-1]) == (1_000_000_000, 2_900_000_000), topic
    assert 1_500_000_000 <= seen["/follower1/objects 1"][0] <= 1_600_000_000
    assert seen["/follower1/objects 1"][-1] <= 3_100_000_000
    least = next(verdict for verdict in result.verdicts if verdict.name == "min_gap_m")
    assert least.pair == ("follower1", f"traffic {FIRST_SPAWNED_ID + 1}")


def test_orders_are_taken_once_and_not_too_many_in_a_step() -> None:
    queue = OrderQueue()
    first = EntityOrders(number=1, commands=tuple(spawn(f"v{i}") for i in range(MAX_COMMANDS)))
    second = EntityOrders(number=2, commands=(spawn("last"),))
    for orders in (first, second, first, second):
        queue.take(orders)
    assert queue.due() == first.commands and queue.given == 1
    assert queue.due() == second.commands and queue.given == 2
    assert queue.due() == ()


def test_the_longest_orders_fit_into_a_data_pdu() -> None:
    number = -1.2345678901234567e-300
    longest = EntityCommand(
        do="delete", name="n" * 64, blueprint="b" * 64, pose=(number,) * 7, velocity=(number,) * 3
    )
    assert len(packed([longest] * MAX_COMMANDS)) <= MAX_BYTES
    assert unpacked(packed([longest])) == (longest,)


def test_a_world_whose_traffic_nobody_could_see_takes_no_orders(tmp_path: Path) -> None:
    text = (HIGHWAY.parent / "platoon.yaml").read_text(encoding="utf-8")
    path = tmp_path / "platoon.yaml"
    path.write_text(text.replace("highway.xodr", str(HIGHWAY)), encoding="utf-8")
    taking = ChangesByHand(load_scenario(path), lambda: 0, lambda changes: None)
    with pytest.raises(ConfigurationError, match="'world' has no output traffic for sensors"):
        taking.take(PATH, json.dumps(change("1s", 1, spawn("box"))["to"]), 0)


def test_a_branch_goes_on_with_the_vehicles_that_were_spawned(tmp_path: Path) -> None:
    """One rolls, one waits for its step, one has gone, and its name comes again."""
    scenario = file_of(
        tmp_path,
        [
            change("100ms", 1, spawn("box", AHEAD, (5.0, 0.0, 0.0)), spawn("gone", FAR)),
            change("150ms", 2, EntityCommand(do="delete", name="gone")),
            change("200ms", 3, spawn("gone", FAR)),
            change("320ms", 4, EntityCommand(do="delete", name="box")),
        ],
        duration="500ms",
    )
    whole = tmp_path / "whole"
    times = (150_000_000, 255_000_000, 400_000_000)
    run_request(RunRequest(scenario, shape="inproc", out=whole, checkpoints=times))
    traces = {read_summary(whole).trace_sha256}
    for number, checkpoint in enumerate(sorted(whole.glob("*.ckpt"))):
        out = tmp_path / f"branch{number}"
        run_request(RunRequest(checkpoint, shape="inproc", out=out, branch=checkpoint))
        traces.add(read_summary(out).trace_sha256)
        assert (out / "bag/bag_0.mcap").read_bytes() == (whole / "bag/bag_0.mcap").read_bytes()
    assert number == len(times) - 1 and len(traces) == 1


def test_a_state_with_other_vehicles_is_refused() -> None:
    world = InProcessWorld()
    world.prepare(MapChoice(HIGHWAY.read_text(encoding="utf-8")), "ClearNoon", 0.01)
    with pytest.raises(CallError, match="^unknown blueprint 'vehicle.none'"):
        world.complete([[7000, "vehicle.none"]])
