# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Recorded road users in a scene: where their actors are, who sees them, and a run as traffic."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.bridge_scenes import platoon

from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.participant import Step
from ros2_cosim.core.messages.catalogue import DEFAULT
from ros2_cosim.core.messages.records import CLASS_TRUCK, Odometry, RoadUsers
from ros2_cosim.core.record.bag_reader import read_bag
from ros2_cosim.core.run.inproc import run_inproc
from ros2_cosim.core.scenario.schema import load_scenario
from ros2_cosim.core.scene.recorded import FIRST_RECORDED_ID
from ros2_cosim.core.scene.simulator import Size
from ros2_cosim.world.carla.inprocess_world import InProcessWorld
from ros2_cosim.world.carla.plant import ScenePlant, SceneRun
from ros2_cosim.world.carla.saved_scene import SCENE_STATE
from ros2_cosim.world.carla.scene import Scene
from ros2_cosim.world.map import RoadNetwork
from ros2_cosim.world.recorded.users import RecordedPlace, RecordedUser

MS = 1_000_000
SIZE = Size(8.0, 2.5, 3.0)
ROOT = Path(__file__).resolve().parents[2]


def passing(x: float, y: float, speed: float, first: int, last: int) -> RecordedUser:
    """A truck that drives along x between two times [ms]."""
    end = x + speed * (last - first) / 1000
    places = [RecordedPlace(at, y, 0.0, 0.0, speed, 0.0) for at in (x, end)]
    return RecordedUser("seen.hgv", "truck", SIZE, [first * MS, last * MS], places)


def started(*users: RecordedUser) -> Scene:
    """The scene of the leader and a roadblock."""
    given = platoon()
    parameters = replace(given, vehicles=given.vehicles[:1], recorded=users, reports_traffic=True)
    scene = Scene(InProcessWorld(), parameters)
    scene.initialise()
    return scene


def actor_of(scene: Scene) -> Any:
    """The actor of the only truck, as the simulator has it."""
    simulator = scene.simulator
    assert isinstance(simulator, InProcessWorld)
    return next(v for v in simulator.world.vehicles() if v.attribute("role_name") == "seen.hgv")


def test_an_actor_is_where_the_recording_says_and_else_far_away() -> None:
    scene = started(passing(650.0, -1.75, 18.0, 100, 400))
    for step in range(60):
        users = scene.road_users()
        assert users is not None
        x, y, z = actor_of(scene).state.transform.location
        if 10 <= step <= 40:
            (user,) = users.users
            assert (user.id, user.classification) == (FIRST_RECORDED_ID, CLASS_TRUCK)
            assert (user.length, user.width, user.height) == pytest.approx(SIZE[:3], abs=1e-6)
            assert user.x == pytest.approx(650.0 + 0.18 * (step - 10)) and user.vx == 18.0
            assert (x, y, z) == pytest.approx((user.x, 1.75, 0.0), abs=1e-3)
        else:
            assert users.users == () and x < -100_000.0
        scene.step({})
    assert scene.collisions() == ()


def test_nothing_pushes_a_recorded_road_user_and_a_contact_names_it() -> None:
    # It stands in the way of the leader, which drives with 25 m/s.
    scene = started(passing(715.0, -5.25, 0.0, 0, 1500))
    felt = []
    for _ in range(100):
        scene.step({})
        felt += [found.event for found in scene.collisions()]
        assert actor_of(scene).state.transform.location.x == pytest.approx(715.0, abs=1e-3)
    assert felt and {felt[0].vehicle, felt[0].other} == {1, FIRST_RECORDED_ID}
    assert scene.read()["leader"].odometry.vx < 5.0


def test_on_a_hill_it_is_on_the_ground() -> None:
    roads = (ROOT / "config" / "hill.xodr").read_text(encoding="utf-8")
    parameters = platoon(leader_s=100.0)
    chosen = replace(
        parameters, map=parameters.map._replace(opendrive=roads), objects=(), reports_traffic=True,
        vehicles=parameters.vehicles[:1], recorded=(passing(0.0, -1.75, 30.0, 0, 30_000),),
    )  # fmt: skip
    scene = Scene(InProcessWorld(), chosen)
    scene.initialise()
    network = RoadNetwork.from_xodr(roads)
    user = chosen.recorded[0].on_ground(network)
    heights = []
    for place in (user.at(0), user.at(30_000 * MS)):
        assert place is not None
        foot = network.project(place.x, place.y)
        heights.append(place.z - network.pose(foot.road_id, foot.s, foot.t)[2])
    assert heights == pytest.approx([0.0, 0.0])


def test_a_checkpoint_holds_them() -> None:
    def plant() -> ScenePlant:
        given = platoon()
        places = [RecordedPlace(x, -9.0, 0.0, 0.0, 1.4, 0.0) for x in (640.0, 640.98)]
        person = RecordedUser(
            "seen.person", "pedestrian", Size(0.6, 0.6, 1.8), [0, 700 * MS], places
        )
        truck = passing(600.0, -1.75, 18.0, 0, 250)
        users = passing(650.0, -1.75, 18.0, 100, 400), truck, person
        parameters = replace(
            given, vehicles=given.vehicles[:1], recorded=users, reports_traffic=True
        )
        return ScenePlant(SceneRun(Scene(InProcessWorld(), parameters)), [], [])

    def later(plant: ScenePlant, steps: range) -> list[Any]:
        return [plant.activate(Step(step * 10 * MS, {}, {})) for step in steps]

    first, second = plant(), plant()
    later(first, range(20))
    SCENE_STATE.restore(second, SCENE_STATE.save(first))
    assert later(second, range(20, 60)) == later(first, range(20, 60))


def messages(bag: Path, kind: type) -> dict[str, list[tuple[int, Any]]]:
    """Topic -> stamps and records of a type."""
    codec = DEFAULT.codec(DEFAULT.type_name(kind))
    found: dict[str, list[tuple[int, Any]]] = {}
    for message in read_bag(bag):
        if message.type_name == DEFAULT.type_name(kind):
            found.setdefault(message.topic, []).append(
                (message.stamp, codec.decode(message.data)[2])
            )
    return found


def ran(output: Path, recorded: str = "") -> Any:
    """A platoon of two, perhaps among road users that were recorded."""
    path = output.with_suffix(".yaml")
    path.write_text(
        f"name: short\nduration: 2s\nscene: {{map: {ROOT / 'config' / 'highway.xodr'}{recorded}}}\n"
        "platoon: {vehicles: 2, lane: -2, s: 500.0, speed: 20.0}\n"
    )
    return run_inproc(load_scenario(path), output)


def test_a_bag_is_the_traffic_of_another_run(tmp_path: Path) -> None:
    first, second, third = (tmp_path / name for name in ("first", "second", "third"))
    ran(first)
    recorded = messages(first / "bag", Odometry)
    # The vehicles of the first run drive in the other lane of the second one.
    summary = ran(second, ", recorded: {before: {file: first, y: 3.5}}")
    (found,) = messages(second / "bag", RoadUsers).values()
    assert found[0][0] == 0 and len(found) == len(recorded["/leader/odometry"])
    for number, topic in enumerate(("/follower1/odometry", "/leader/odometry")):
        for (stamp, users), (_, was) in zip(found, recorded[topic], strict=True):
            user = users.users[number]
            assert user.id == FIRST_RECORDED_ID + number, stamp
            assert (user.x, user.y, user.vx) == (was.x, was.y + 3.5, was.vx)
    assert summary.collisions == 0
    # Of that run its recorded traffic is played, too; the bag alone will do.
    without = "without: [leader, follower1, '2002']"
    ran(third, f", recorded: {{again: {{file: second/bag, {without}}}}}")
    (again,) = messages(third / "bag", RoadUsers).values()
    for (_, users), (_, were) in zip(again, found, strict=True):
        assert users.users[0][2:8] == pytest.approx(were.users[0][2:8])
    (second / "bag" / "metadata.yaml").unlink()
    with pytest.raises(ConfigurationError, match=r"scene.recorded.x.file: .*metadata.yaml"):
        ran(tmp_path / "fourth", ", recorded: {x: {file: second}}")
