# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Entities, named poses and worlds of the standard services, with the codes of their text."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from math import inf, nan
from pathlib import Path
from typing import Any

import pytest
from support.control_scenarios import chain
from support.patience import until

pytest.importorskip("rclpy", reason="needs rclpy, which make setup installs")
pytest.importorskip("simulation_interfaces", reason="needs the package simulation_interfaces")

import rclpy
from geometry_msgs.msg import Point, PoseStamped, Vector3
from rclpy.executors import SingleThreadedExecutor
from simulation_interfaces import msg, srv

from ros2_cosim.core.kernel.participant import Step
from ros2_cosim.core.realtime.run_control import Answer, Command, Request, RunControl
from ros2_cosim.core.scenario.changes_by_hand import ChangesByHand
from ros2_cosim.core.scenario.schema import Scenario, load_scenario, make_scenario
from ros2_cosim.core.scenario.system import bare_model
from ros2_cosim.ros.node.entity_services import EntityServices, offered_world, place_of
from ros2_cosim.ros.node.session import Session
from ros2_cosim.ros.node.simulation_services import SimulationServices

HIGHWAY = Path(__file__).resolve().parents[2] / "config" / "highway.xodr"
STEP_NS = 10_000_000
CAR = "vehicle.tesla.model3"
#: Codes of Result.msg.
UNSUPPORTED, OK, NOT_FOUND, _, FAILED = range(5)


PLACED = ("doll", "walker")


def world_of(path: Path, *, traffic: bool = True) -> Scenario:
    """Two vehicles with drivers, a barrier, and two things that messages place."""
    driven = {"lane": -2, "speed": 20.0, "driver": {}}
    walker = {"lane": -1, "s": 800.0, "blueprint": "walker.pedestrian.0001", "placed": True}
    outputs = {
        f"odometry/{name}": {"type": "nav_msgs/msg/Odometry", "topic": f"/{name}"}
        for name in ("leader", "follower", "doll")
    }
    if traffic:
        outputs["traffic"] = {"type": "ros2_cosim/msg/RoadUsers", "topic": "/traffic"}
    data = {
        "name": "open",
        "duration": "10s",
        "scene": {
            "map": str(HIGHWAY),
            "vehicles": {
                "leader": {"s": 700.0, **driven},
                "follower": {"s": 660.0, **driven},
                "doll": {"s": 500.0, "placed": True, **driven, "speed": 0.0, "lane": -1},
            },
            "objects": {"barrier": {"lane": -2, "s": 900.0}, "walker": walker},
        },
        "participants": {
            "world": {
                "model": "carla_world",
                "period": "10ms",
                "parameters": {"dcp": {}},
                "outputs": outputs,
            },
        },
    }
    path.write_text(json.dumps(data), encoding="utf-8")
    return load_scenario(path)


class Run:
    """A world that is stepped here, behind the services; and their client.

    Changes are taken as in a run; other requests are kept.
    """

    def __init__(self, scenario: Scenario) -> None:
        self.session = Session("entity_services_test", [])
        self.client = rclpy.create_node("client")
        self._executor = SingleThreadedExecutor()
        self._executor.add_node(self.client)
        self.time = -STEP_NS
        self.requests: list[Request] = []
        self.made: list[Any] = []
        self.refusal = ""
        offer = offered_world(scenario, "inproc")
        self.control = RunControl(step_ns=STEP_NS, can_reset=True)
        self.model: Any = None
        place = None
        if offer is not None:
            self.model = bare_model(scenario, offer.participant, "inproc")
            place = place_of(offer, offer.participant, self.model)
        self._changes = ChangesByHand(scenario, lambda: self.time + STEP_NS, self._make)
        self._scenario = scenario
        node = self.session.node
        self.services = EntityServices.offer(node, place, self.ask, list(scenario.participants))
        SimulationServices.offer(node, self.ask, self.control, offer)

    def close(self) -> None:
        self._executor.shutdown()
        self.client.destroy_node()
        self.session.close()
        if self.model is not None:
            self.model.close()

    def ask(self, request: Request, reply: Callable[[Answer], None]) -> None:
        if self.refusal:
            reply(Answer(False, self.refusal))
        elif request.command is Command.CHANGE:
            reply(Answer(True, self._changes.take(request.path, request.value, 0, "test")))
        else:
            self.requests.append(request)
            reply(Answer(True, ""))
            self.session.node.pay()  # it has begun anew at once

    def _make(self, changes: Any) -> None:
        self.made = list(changes)
        given = {"entities": changes[-1].to}
        self.model.change_parameters(self.model.Parameters.model_validate(given))

    def step(self, count: int = 1) -> None:
        for _ in range(count):
            self.time += STEP_NS
            latest: dict[str, Any] = {f"place/{name}": None for name in PLACED}
            self.model.activate(Step(self.time, {}, latest))

    def call(self, kind: Any, **fields: Any) -> Any:
        """Call the service of a type."""
        service = re.sub("(?<!^)(?=[A-Z])", "_", kind.__name__).lower()
        client = self.client.create_client(kind, f"/cosim/{service}")

        def go_on() -> None:
            self._executor.spin_once(timeout_sec=0.01)
            self.session.wait(0.01)

        until(client.service_is_ready, go_on)
        answer = client.call_async(kind.Request(**fields))
        until(answer.done, go_on)
        return answer.result()

    def code(self, kind: Any, **fields: Any) -> int:
        return int(self.call(kind, **fields).result.result)

    def names(self, **filters: Any) -> list[str]:
        found = self.call(srv.GetEntities, filters=msg.EntityFilters(**filters))
        assert found.result.result == OK, found
        return list(found.entities)

    def state(self, name: str) -> Any:
        found = self.call(srv.GetEntityState, entity=name)
        assert found.result.result == OK, found
        return found.state


@pytest.fixture
def run(ros_domain: int, tmp_path: Path) -> Iterator[Run]:
    found = Run(world_of(tmp_path / "open.yaml"))
    yield found
    found.close()


def pose(x: float, y: float = -1.75, frame: str = "", **more: float) -> PoseStamped:
    stamped = PoseStamped()
    stamped.header.frame_id = frame
    stamped.pose.position = Point(x=x, y=y)
    for name, value in more.items():
        setattr(stamped.pose.orientation, name, value)
    return stamped


def wanted(x: float = 600.0, uri: str = CAR, **more: Any) -> dict[str, Any]:
    given = {"name": "box", "initial_pose": pose(x), **more}
    return {"entity_resource": msg.Resource(uri=uri), **given}


def test_those_of_the_scenario_are_read_before_and_after_the_first_step(run: Run) -> None:
    assert run.names() == ["leader", "follower", "doll", "barrier", "walker"]
    start = [run.state(name).pose for name in ("barrier", "walker")]
    boxes = [run.call(srv.GetEntityBounds, entity=name) for name in ("barrier", "walker")]
    taken = wanted(initial_pose=pose(0.0, 0.0, "barrier"))
    assert run.code(srv.SpawnEntity, **taken) == FAILED  # it stands there
    assert (run.state("leader").pose.position.x, run.state("leader").twist.linear.x) == (
        700.0,
        20.0,
    )
    run.step(51)
    assert run.names() == ["leader", "follower", "doll", "barrier", "walker"]
    assert [run.state(name).pose for name in ("barrier", "walker")] == start
    after = [run.call(srv.GetEntityBounds, entity=name) for name in ("barrier", "walker")]
    assert after == boxes
    state = run.state("leader")
    assert (state.header.frame_id, state.header.stamp.nanosec) == ("map", 500_000_000)
    assert state.pose.position.x == pytest.approx(710.0, abs=0.1)
    assert state.twist.linear.x == pytest.approx(20.0, abs=0.1)
    every = run.call(srv.GetEntitiesStates)
    assert every.result.result == OK and len(every.states) == len(every.entities) == 5
    assert every.states[0] == state
    for kind in (srv.GetEntityState, srv.GetEntityInfo, srv.GetEntityBounds, srv.DeleteEntity):
        assert run.code(kind, entity="nobody") == NOT_FOUND
    bounds = run.call(srv.GetEntityBounds, entity="leader").bounds
    upper, lower = bounds.points
    assert bounds.type == msg.Bounds.TYPE_BOX
    assert upper.x - lower.x == pytest.approx(4.79, abs=0.01) and lower.z == 0.0
    info = run.call(srv.GetEntityInfo, entity="walker").info
    assert info.category.category == msg.EntityCategory.CATEGORY_HUMAN
    assert "scenario" in info.tags


BOX, HULL, SPHERE = 1, 2, 3


def bounds(kind: int, *points: tuple[float, float, float]) -> msg.Bounds:
    return msg.Bounds(type=kind, points=[Vector3(x=x, y=y, z=z) for x, y, z in points])


@pytest.mark.parametrize(
    ("filters", "found"),
    [
        ({}, ["leader", "follower", "doll", "barrier", "walker"]),
        ({"filter": "^[[:lower:]]+er$"}, ["leader", "follower", "barrier", "walker"]),
        ({"filter": "l{2}"}, ["follower", "doll"]),
        ({"categories": [msg.EntityCategory(category=5)]}, ["barrier"]),
        (
            {"categories": [msg.EntityCategory(category=2), msg.EntityCategory(category=5)]},
            ["barrier", "walker"],
        ),
        ({"tags": msg.TagsFilter(tags=["object", CAR], filter_mode=1)}, []),
        (
            {"tags": msg.TagsFilter(tags=["object", "scenario"], filter_mode=1)},
            ["barrier", "walker"],
        ),
        ({"tags": msg.TagsFilter(tags=["object", "none"])}, ["barrier", "walker"]),
        ({"bounds": bounds(SPHERE, (707.39, -5.25, 0.5), (5.0, 0.0, 0.0))}, ["leader"]),
        ({"bounds": bounds(SPHERE, (707.39, -5.25, 0.5), (4.98, 0.0, 0.0))}, []),
        ({"bounds": bounds(BOX, (665.0, 0.0, 1.0), (650.0, -9.0, 0.0))}, ["follower"]),
        ({"bounds": bounds(BOX, (665.0, 0.0, 9.0), (650.0, -9.0, 2.0))}, []),
        ({"bounds": bounds(BOX, (650.0, -9.0, 0.0), (665.0, 0.0, 1.0)), "filter": "lead"}, []),
    ],
)
def test_filters(run: Run, filters: dict[str, Any], found: list[str]) -> None:
    run.step()
    assert run.names(**filters) == found


@pytest.mark.parametrize(
    ("filters", "code"),
    [
        ({"filter": "("}, FAILED),
        ({"filter": "a" * 300}, FAILED),
        ({"bounds": bounds(HULL, (0.0, 0.0, 0.0), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0))}, UNSUPPORTED),
        ({"bounds": bounds(BOX, (0.0, 0.0, 0.0))}, FAILED),
        ({"bounds": bounds(BOX, (nan, 0.0, 0.0), (1.0, 1.0, 1.0))}, FAILED),
        ({"bounds": bounds(BOX, (inf, 0.0, 0.0), (1.0, 1.0, 1.0))}, FAILED),
        ({"bounds": bounds(SPHERE, (0.0, 0.0, nan), (1.0, 0.0, 0.0))}, FAILED),
        ({"bounds": bounds(SPHERE, (0.0, 0.0, 0.0), (-1.0, 0.0, 0.0))}, FAILED),
        ({"tags": msg.TagsFilter(tags=["vehicle"], filter_mode=7)}, FAILED),
    ],
)
def test_filters_that_are_refused(run: Run, filters: dict[str, Any], code: int) -> None:
    for kind in (srv.GetEntities, srv.GetEntitiesStates):
        found = run.call(kind, filters=msg.EntityFilters(**filters))
        assert (found.result.result, found.entities) == (code, [])
        assert found.result.error_message


RESULT = msg.SpawnResult


@pytest.mark.parametrize(
    ("asked", "code"),
    [
        (wanted(), OK),
        (wanted(name=""), RESULT.NAME_INVALID),
        (wanted(name="a b"), RESULT.NAME_INVALID),
        (wanted(name="n" * 60), RESULT.NAME_INVALID),
        (wanted(name="leader"), RESULT.NAME_NOT_UNIQUE),
        (wanted(name="world"), RESULT.NAME_NOT_UNIQUE),  # a participant
        (wanted(uri=""), RESULT.NO_RESOURCE),
        (wanted(uri="file:///robot.sdf"), RESULT.UNSUPPORTED_FORMAT),
        (wanted(uri="robot.urdf"), RESULT.UNSUPPORTED_FORMAT),
        (wanted(uri="vehicle.none.such"), NOT_FOUND),
        (wanted(uri="walker.pedestrian.0001"), NOT_FOUND),
        (wanted(entity_resource=msg.Resource(resource_string="<sdf/>")), UNSUPPORTED),
        (wanted(entity_namespace="a b"), RESULT.NAMESPACE_INVALID),
        (wanted(initial_pose=pose(600.0, w=0.5)), RESULT.INVALID_POSE),
        (wanted(initial_pose=pose(nan)), RESULT.INVALID_POSE),
        (wanted(initial_pose=pose(1e6)), RESULT.INVALID_POSE),
        (wanted(initial_pose=pose(0.0, frame="nowhere")), RESULT.INVALID_POSE),
        (wanted(initial_pose=pose(701.0, -5.25)), FAILED),  # where the leader is
        (wanted(initial_pose=pose(701.0, -7.5, z=1.0, w=0.0)), OK),
    ],
)
def test_spawning_and_its_codes(run: Run, asked: dict[str, Any], code: int) -> None:
    run.step()
    found = run.call(srv.SpawnEntity, **asked)
    assert found.result.result == code, found
    assert found.entity_name == ("box" if code == OK else "")
    assert bool(found.result.error_message) == (code != OK)
    assert len(run.made) == (code == OK)
    assert ("box" in run.names()) == (code == OK)
    run.step(2)
    assert ("box" in run.names()) == (code == OK)


def test_a_name_is_changed_where_that_is_allowed(run: Run) -> None:
    run.step()
    for x, given, name in (
        (600.0, "leader", "leader_1"),
        (610.0, "leader", "leader_2"),
        (620.0, "", "model3"),
        (630.0, "world", "world_1"),
    ):
        asked = wanted(x, name=given, allow_renaming=True)
        assert run.call(srv.SpawnEntity, **asked).entity_name == name
    asked = wanted(640.0, entity_namespace="/fleet/")
    assert run.call(srv.SpawnEntity, **asked).entity_name == "fleet/box"
    run.step(2)
    assert run.state("fleet/box").pose.position.x == pytest.approx(640.0)


def test_a_vehicle_is_spawned_set_and_deleted(run: Run) -> None:
    run.step()
    # 10 m behind the follower, seen from there.
    asked = wanted(initial_pose=pose(-10.0, 0.0, frame="follower"))
    assert run.code(srv.SpawnEntity, **asked) == OK
    assert run.state("box").pose.position.x == pytest.approx(650.0)
    run.step()
    assert run.state("box").pose.position.x == pytest.approx(650.0)
    state = msg.EntityState()
    state.pose = pose(600.0).pose
    state.twist.linear.x = 5.0
    assert run.code(srv.SetEntityState, entity="box", state=state, set_twist=True) == OK
    assert run.code(srv.SetEntityState, entity="box", state=state, set_pose=True) == OK
    assert run.code(srv.SetEntityState, entity="box", state=state, set_acceleration=True) == OK
    assert (run.state("box").pose.position.x, run.state("box").twist.linear.x) == (600.0, 5.0)
    run.step(11)
    found = run.state("box")
    assert found.pose.position.x == pytest.approx(600.55, abs=0.02)
    assert found.twist.linear.x == pytest.approx(5.0, abs=0.1)
    assert run.code(srv.DeleteEntity, entity="box") == OK
    assert "box" not in run.names()
    run.step()
    assert "box" not in run.names() and run.code(srv.DeleteEntity, entity="box") == NOT_FOUND
    assert run.code(srv.SpawnEntity, **wanted(600.55)) == OK
    assert [len(each.to["commands"]) for each in run.made] == [1, 1, 1, 1, 1]


@pytest.mark.parametrize(
    ("name", "x", "speed", "frame", "code"),
    [
        ("leader", 750.0, 10.0, "", OK),
        ("nobody", 0.0, 0.0, "", NOT_FOUND),
        ("barrier", 0.0, 1.0, "", FAILED),
        ("barrier", 0.0, 0.0, "", FAILED),
        ("doll", 0.0, 0.0, "", FAILED),  # messages place it
        ("walker", 0.0, 0.0, "", FAILED),
        ("leader", nan, 0.0, "", 101),
        ("leader", 0.0, 0.0, "nowhere", 101),
        ("leader", 750.0, 1000.0, "", FAILED),
        ("leader", 750.0, nan, "", FAILED),
    ],
)
def test_setting_a_state_and_its_codes(
    run: Run, name: str, x: float, speed: float, frame: str, code: int
) -> None:
    run.step()
    state = msg.EntityState()
    state.header.frame_id, state.pose = frame, pose(x, -5.25).pose
    state.twist.linear.x = speed
    asked = {"entity": name, "state": state, "set_pose": True, "set_twist": True}
    assert run.code(srv.SetEntityState, **asked) == code
    assert len(run.made) == (code == OK)
    run.step()
    if code == OK:
        assert run.state(name).pose.position.x == pytest.approx(x + 0.01 * speed, abs=0.01)


def test_what_belongs_to_the_scenario_is_not_deleted(run: Run) -> None:
    run.step()
    for name in ("leader", "doll", "barrier", "walker"):
        found = run.call(srv.DeleteEntity, entity=name).result
        assert found.result == FAILED and found.error_message.startswith(f"'{name}' cannot be")


def test_many_are_spawned_each_for_itself(run: Run) -> None:
    run.step()
    requests = [msg.SpawnEntity(**wanted(10.0 * i, name=f"v{i}")) for i in range(30, 60)]
    requests[1] = msg.SpawnEntity(**wanted(302.0, name="in_the_way"))
    requests[2] = msg.SpawnEntity(**wanted(320.0, name="v30"))
    found = run.call(srv.SpawnEntities, spawn_requests=requests)
    assert found.result.result == srv.SpawnEntities.Response.ENTITIES_SPAWN_FAILED
    assert [each.result.result for each in found.results[:4]] == [OK, FAILED, 101, OK]
    assert len(run.made) == 1
    run.step()
    assert len(run.names(filter="^v")) == 27  # one finds the doll in its way
    good = [msg.SpawnEntity(**wanted(200.0, name="late"))]
    assert run.code(srv.SpawnEntities, spawn_requests=good) == OK
    assert run.code(srv.SpawnEntities) == OK
    assert run.code(srv.ResetSimulation, scope=srv.ResetSimulation.Request.SCOPE_SPAWNED) == OK
    assert run.names(filter="^v|late") == []
    run.step(2)
    assert run.names(filter="^v|late") == [] and len(run.names()) == 5


def test_more_than_a_change_holds_are_spawned_in_several(run: Run) -> None:
    run.step()
    requests = [
        msg.SpawnEntity(**wanted(name=f"v{i}", initial_pose=pose(6.0 * i, -8.75)))
        for i in range(120)
    ]
    found = run.call(srv.SpawnEntities, spawn_requests=requests)
    assert found.result.result == OK
    assert [len(each.to["commands"]) for each in run.made] == [100, 20]
    run.step()
    assert len(run.names(filter="^v")) == 120
    run.step()
    assert len(run.names(filter="^v")) == 120


def test_one_that_finds_its_place_taken_does_not_come(run: Run) -> None:
    """As when something has come there since it was requested."""
    run.step()
    assert run.code(srv.SpawnEntity, **wanted(initial_pose=pose(760.0, -5.25))) == OK
    run.step()
    assert "box" in run.names()
    commands = [
        {"do": "spawn", "name": "taken", "blueprint": CAR, "pose": [760, -5.25, 0, 0, 0, 0, 1]},
        {"do": "spawn", "name": "free", "blueprint": CAR, "pose": [780, -5.25, 0, 0, 0, 0, 1]},
    ]
    # As cosim control makes a change.
    path, orders = "participants.world.parameters.entities", {"number": 2, "commands": commands}
    run.ask(Request(Command.CHANGE, path=path, value=json.dumps(orders)), lambda answer: None)
    run.step()
    assert run.names(filter="box|taken|free") == ["box", "free"]
    assert run.code(srv.SpawnEntity, **wanted(820.0, name="later")) == OK
    run.step()
    assert run.names(filter="box|free|later") == ["box", "free", "later"]


def test_a_request_that_the_run_refuses_fails(run: Run) -> None:
    run.step()
    run.refusal = "the run is over"
    for kind, asked in (
        (srv.SpawnEntity, wanted()),
        (srv.ResetSimulation, {"scope": 0}),
        (srv.LoadWorld, {"world_resource": msg.Resource(uri=str(HIGHWAY))}),
        (
            srv.SetEntityState,
            {"entity": "leader", "set_pose": True, "state": msg.EntityState()},
        ),
    ):
        found = run.call(kind, **asked)
        assert (found.result.result, found.result.error_message) == (FAILED, run.refusal)
    run.refusal = ""
    assert run.call(srv.SpawnEntity, **wanted()).entity_name == "box"


def test_what_is_said_of_an_entity_is_read(run: Run) -> None:
    run.step()
    info = msg.EntityInfo(description="the first one", tags=["mine"])
    info.category.category = 1
    assert run.code(srv.SetEntityInfo, entity="leader", info=info) == OK
    assert run.call(srv.GetEntityInfo, entity="leader").info == info
    assert run.names(tags=msg.TagsFilter(tags=["mine"])) == ["leader"]
    assert run.code(srv.SetEntityInfo, entity="nobody", info=info) == NOT_FOUND
    info.category.category = 3
    assert run.code(srv.SetEntityInfo, entity="leader", info=info) == FAILED
    assert run.made == []


def test_what_was_said_of_one_that_is_gone_does_not_describe_the_next(run: Run) -> None:
    run.step()
    for scope in (4, None):
        assert run.code(srv.SpawnEntity, **wanted()) == OK
        plain = run.call(srv.GetEntityInfo, entity="box").info
        told = msg.EntityInfo(description="mine")
        assert run.code(srv.SetEntityInfo, entity="box", info=told) == OK
        assert run.call(srv.GetEntityInfo, entity="box").info == told
        if scope is None:
            assert run.code(srv.DeleteEntity, entity="box") == OK
        else:
            assert run.code(srv.ResetSimulation, scope=scope) == OK
        assert run.code(srv.SpawnEntity, **wanted()) == OK
        assert run.call(srv.GetEntityInfo, entity="box").info == plain
        assert run.code(srv.DeleteEntity, entity="box") == OK


def test_what_of_a_state_is_not_set_is_said(run: Run) -> None:
    run.step()
    state = msg.EntityState()
    asked = {"entity": "leader", "state": state, "set_twist": True}
    assert run.call(srv.SetEntityState, **asked).result.error_message == ""
    state.twist.angular.z = 1.0
    found = run.call(srv.SetEntityState, **asked, set_acceleration=True).result
    assert (found.result, found.error_message) == (
        OK,
        "not set: state.twist.angular and state.acceleration; they follow from physics",
    )


def test_spawnables_are_the_vehicles_of_the_library(run: Run) -> None:
    found = run.call(srv.GetSpawnables, sources=["https://example.org"])
    assert found.result.result == OK and "https://example.org" in found.result.error_message
    uris = [each.entity_resource.uri for each in found.spawnables]
    assert CAR in uris and all(uri.startswith("vehicle.") for uri in uris)
    assert all(each.spawn_bounds.type == msg.Bounds.TYPE_BOX for each in found.spawnables)


def test_named_poses_are_starts_and_spawn_points(run: Run) -> None:
    starts = run.call(srv.GetNamedPoses, tags=msg.TagsFilter(tags=["start"])).poses
    assert [each.name for each in starts] == [
        f"start_of_{n}" for n in ("leader", "follower", "doll")
    ]
    every = run.call(srv.GetNamedPoses).poses
    spawn = next(each for each in every if "spawn" in each.tags)
    bounds = run.call(srv.GetNamedPoseBounds, name=spawn.name)
    assert bounds.result.result == OK and bounds.bounds.points[0].x > 5.0
    assert run.code(srv.GetNamedPoseBounds, name="nowhere") == NOT_FOUND
    run.step()
    asked = wanted(initial_pose=PoseStamped(pose=spawn.pose))
    assert run.code(srv.SpawnEntity, **asked) == OK


LOAD = srv.LoadWorld.Response


@pytest.mark.parametrize(
    ("uri", "text", "code"),
    [
        (str(HIGHWAY), "", OK),
        ("", "", LOAD.NO_RESOURCE),
        ("", "<OpenDRIVE/>", UNSUPPORTED),
        ("other.xodr", "", FAILED),
        ("world.sdf", "", LOAD.UNSUPPORTED_FORMAT),
    ],
)
def test_worlds_and_their_codes(run: Run, uri: str, text: str, code: int) -> None:
    resource = msg.Resource(uri=uri, resource_string=text)
    found = run.call(srv.LoadWorld, world_resource=resource)
    assert found.result.result == code, found
    wanted_request = [Request(Command.RESET, 1, reason="load_world")] if code == OK else []
    assert run.requests == wanted_request
    world = run.call(srv.GetCurrentWorld)
    assert (world.result.result, world.world.name) == (OK, "highway")
    assert run.call(srv.GetAvailableWorlds).worlds == [world.world]
    none = msg.TagsFilter(tags=["indoor"])
    assert run.call(srv.GetAvailableWorlds, filter=none).worlds == []
    assert run.code(srv.GetAvailableWorlds, additional_sources=["x"]) == FAILED
    more = {"additional_sources": ["x"], "continue_on_error": True}
    assert run.code(srv.GetAvailableWorlds, **more) == OK
    assert run.code(srv.UnloadWorld) == UNSUPPORTED


def test_a_reset_is_of_the_whole_run_or_of_what_was_spawned(run: Run) -> None:
    run.step()
    for scope, code in ((0, OK), (255, OK), (7, OK), (1, UNSUPPORTED), (2, UNSUPPORTED), (6, 0)):
        run.requests.clear()
        assert run.code(srv.ResetSimulation, scope=scope) == code
        assert len(run.requests) == (code == OK)
    assert run.code(srv.ResetSimulation, scope=4) == OK and run.requests == []


def test_features_are_those_of_the_world(run: Run) -> None:
    found = run.call(srv.GetSimulatorFeatures).features
    kinds = msg.SimulatorFeatures
    names = {n for n in dir(kinds) if n.isupper() and getattr(kinds, n) in found.features}
    every = {n for n in dir(kinds) if n.isupper() and isinstance(getattr(kinds, n), int)}
    assert every - names == {
        "ENTITY_BOUNDS_CONVEX",
        "SPAWNING_RESOURCE_STRING",
        "SIMULATION_RESET_TIME",
        "SIMULATION_RESET_STATE",
        "WORLD_RESOURCE_STRING",
        "WORLD_UNLOADING",
    }


@pytest.mark.usefixtures("ros_domain")
def test_a_world_whose_traffic_nobody_sees_spawns_nothing(tmp_path: Path) -> None:
    run = Run(world_of(tmp_path / "open.yaml", traffic=False))
    try:
        run.step()
        assert run.names() == ["leader", "follower", "doll", "barrier"]
        for kind, asked in (
            (srv.SpawnEntity, wanted()),
            (srv.GetSpawnables, {}),
            (srv.DeleteEntity, {"entity": "leader"}),
            (srv.SetEntityState, {"entity": "leader", "set_pose": True}),
            (srv.ResetSimulation, {"scope": 4}),
        ):
            assert run.code(kind, **asked) == UNSUPPORTED, kind
        found = run.call(srv.GetSimulatorFeatures).features
        kinds = msg.SimulatorFeatures
        assert kinds.SPAWNING not in found.features and kinds.ENTITY_BOUNDS in found.features
        assert "no output traffic" in found.custom_info
    finally:
        run.close()


@pytest.mark.usefixtures("ros_domain")
def test_a_scenario_without_a_world_says_so() -> None:
    run = Run(make_scenario(chain("1s"), "chain"))
    try:
        found = run.call(srv.GetSimulatorFeatures).features.features
        assert set(found) <= set(range(20, 40))
        for kind in (srv.GetEntities, srv.GetEntityState, srv.SpawnEntity, srv.GetNamedPoses):
            result = run.call(kind).result
            assert (result.result, result.error_message) == (
                UNSUPPORTED,
                "the scenario has no world with entities",
            )
        assert run.code(srv.GetCurrentWorld) == srv.GetCurrentWorld.Response.NO_WORLD_LOADED
        assert run.code(srv.UnloadWorld) == srv.UnloadWorld.Response.NO_WORLD_LOADED
        assert run.code(srv.ResetSimulation, scope=4) == UNSUPPORTED
        assert run.code(srv.ResetSimulation) == OK
    finally:
        run.close()
