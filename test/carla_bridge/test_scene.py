# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Scenes on the in-process world: state 0, driving, stopping, collisions, wrong parameters."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter
from support.bridge_scenes import GENERATED, HIGHWAY, NAN, careless_commands, platoon, record

from ros2_cosim.core.kernel.errors import ConfigurationError, CosimError, RunError
from ros2_cosim.core.messages.records import CLASS_OBSTACLE, ControlCommand
from ros2_cosim.core.scene.manoeuvres import Manoeuvre
from ros2_cosim.core.scene.scene import FIRST_OBJECT_ID
from ros2_cosim.core.scene.simulator import CONTACT_DELAY_TICKS, Body, MapChoice, Pose, Size
from ros2_cosim.world.carla.inprocess_world import InProcessWorld
from ros2_cosim.world.carla.parameters import DriverSpec, ObjectSpec, VehicleSpec, roadblock
from ros2_cosim.world.carla.plant import SceneRun
from ros2_cosim.world.carla.scene import ActorCommand, Scene, check_places
from ros2_cosim.world.drivers.manoeuvres import plan_manoeuvre
from ros2_cosim.world.map import RoadNetwork, lateral_error

HIGHWAY_ROADS = RoadNetwork.from_file(HIGHWAY)


def _started(parameters: Any) -> Scene:
    scene = Scene(InProcessWorld(), parameters)
    scene.initialise()
    return scene


def test_state_zero_is_the_start_at_the_initial_speed() -> None:
    scene = _started(platoon())
    for index, name in enumerate(("leader", "follower1", "follower2")):
        odometry, acceleration = scene.read()[name]
        assert odometry.x == pytest.approx(700.0 - 22.0 * index, abs=1e-4)
        assert odometry.y == pytest.approx(-5.25, abs=1e-6)
        assert (odometry.z, odometry.qw) == (0.0, 1.0)
        assert odometry.vx == pytest.approx(25.0, abs=1e-3)
        assert acceleration.ax == pytest.approx(0.0, abs=0.01)
    assert scene.collisions() == ()


def test_state_zero_in_a_curve_points_along_the_lane() -> None:
    scene = _started(platoon(leader_s=1200.0))
    odometry = scene.read()["leader"].odometry
    assert odometry.vx == pytest.approx(25.0, abs=1e-2)
    assert odometry.vy == pytest.approx(0.0, abs=0.05)
    assert 0.1 < odometry.qz < 0.4  # turned to the left
    for _ in range(300):
        scene.step({})
    odometry = scene.read()["leader"].odometry
    assert odometry.wz == pytest.approx(25.0 / 805.25, rel=0.05)


def test_static_objects_and_dimensions_come_from_the_simulator() -> None:
    scene = _started(platoon(leader_s=300.0))
    objects = scene.static_objects().objects
    assert [entry.id for entry in objects] == [FIRST_OBJECT_ID + i for i in range(3)]
    for i, entry in enumerate(objects):
        assert entry.classification == CLASS_OBSTACLE
        assert (entry.x, entry.yaw) == (600.0, 0.0)
        assert entry.y == pytest.approx(-5.25 + 1.25 * (i - 1), abs=1e-5)
        assert entry.z == pytest.approx(0.53, abs=1e-5)
        assert (entry.length, entry.width) == pytest.approx((0.36, 1.22), abs=1e-5)
    assert scene.dimensions()["leader"] == pytest.approx((4.792, 2.164, 1.488), abs=1e-5)


def test_the_leader_stops_before_the_roadblock_in_its_lane() -> None:
    alone = platoon()
    scene = _started(replace(alone, vehicles=alone.vehicles[:1]))
    for _ in range(2500):
        scene.step({})
    odometry = scene.read()["leader"].odometry
    block = scene.static_objects().objects[1]
    way = ((block.x - odometry.x) ** 2 + (block.y - odometry.y) ** 2) ** 0.5
    assert odometry.vx == 0.0
    assert way - 2.396 - 0.18 == pytest.approx(7.0, abs=0.3)
    assert scene.collisions() == ()


def test_followers_obey_commands_and_keep_their_lane() -> None:
    scene = _started(platoon())
    for _ in range(200):
        scene.step(
            {
                "follower1": ActorCommand(0.0, 0.3),
                "follower2": ActorCommand(0.0, 1.0, 0.0),
            }
        )
    speeds = [scene.read()[name].odometry.vx for name in ("leader", "follower1", "follower2")]
    assert speeds[0] > speeds[1] > speeds[2]
    assert scene.read()["follower1"].acceleration.ax < -1.0
    for name in ("follower1", "follower2"):
        assert scene.read()[name].odometry.y == pytest.approx(-5.25, abs=0.02)


def test_the_reverse_gear_is_refused_while_the_vehicle_rolls_forwards() -> None:
    coasting, pushed = _started(platoon()), _started(platoon())
    for _ in range(100):
        coasting.step({"follower1": ActorCommand(0.0, 0.0)})
        pushed.step({"follower1": ActorCommand(-1.0, 0.0)})
    assert pushed.read() == coasting.read()


def test_lane_keeping_and_driver_act_once_per_control_period() -> None:
    world = InProcessWorld()
    scene = Scene(world, platoon(leader_s=1000.0, control_period_ns=30_000_000))
    scene.initialise()
    leader, *followers = world.world.vehicles()
    acted = []
    for step in range(300):
        before = leader.control, followers[0].control
        scene.step({"follower1": ActorCommand(0.001 * step, 0.0)})
        assert followers[0].control != before[1]  # commands act at once
        if leader.control != before[0]:
            acted.append(step)
        if followers[0].control.steer != before[1].steer:
            assert step % 3 == 0
    assert len(acted) > 50
    assert all(step % 3 == 0 for step in acted)
    # In the curve, with the held steering.
    odometry = scene.read()["leader"].odometry
    place = HIGHWAY_ROADS.project(odometry.x, odometry.y)
    assert lateral_error(HIGHWAY_ROADS, place, -2) == pytest.approx(0.0, abs=0.02)


def test_steering_commands_are_positive_to_the_left() -> None:
    scene = _started(platoon(leader_s=300.0))
    for _ in range(100):
        scene.step({"follower1": ActorCommand(0.2, 0.0, 0.01)})
    odometry = scene.read()["follower1"].odometry
    assert odometry.y > -5.25 + 0.1
    assert odometry.wz > 0.0


def test_a_collision_is_reported_once_after_a_fixed_delay() -> None:
    scene = _started(platoon(leader_s=300.0))
    seen = []
    for step in range(1000):
        scene.step(careless_commands(step))
        for collision in scene.collisions():
            assert collision.step == step + 1 - CONTACT_DELAY_TICKS
            seen.append(collision)
    first, second = seen[0].event, seen[1].event
    assert {(first.vehicle, first.other), (second.vehicle, second.other)} == {(2, 3), (3, 2)}
    assert first.impulse == second.impulse > 100.0
    steps = [c.step for c in seen if (c.event.vehicle, c.event.other) == (3, 2)]
    assert all(later > before + 1 for before, later in zip(steps, steps[1:], strict=False))


def test_two_runs_give_the_same_bits() -> None:
    assert record(InProcessWorld(), platoon(), 300) == record(InProcessWorld(), platoon(), 300)


def test_a_scene_can_be_set_up_again() -> None:
    world = InProcessWorld()
    first = record(world, platoon(), 50)
    assert record(world, platoon(), 50) == first


def test_maps_by_name() -> None:
    scene = Scene(InProcessWorld((HIGHWAY,)), platoon(MapChoice(name="highway")))
    scene.initialise()
    assert scene.read()["leader"].odometry.x == pytest.approx(700.0, abs=1e-4)
    with pytest.raises(ConfigurationError, match="map not found: 'Town99'; .*highway"):
        Scene(InProcessWorld((HIGHWAY,)), platoon(MapChoice(name="Town99"))).initialise()


def test_errors_of_the_set_up_name_the_cause() -> None:
    base = platoon()

    def changed(**changes: Any) -> Scene:
        vehicles = (replace(base.vehicles[0], **changes), *base.vehicles[1:])
        return Scene(InProcessWorld(), replace(base, vehicles=vehicles))

    for changes, expected in (
        ({"blueprint": "vehicle.horse.cart"}, "leader: cannot spawn vehicle.horse.cart"),
        ({"s": 680.0}, "follower1: cannot spawn .*collision at spawn position"),
        ({"s": 9999.0}, "s=9999.0 is not on road 1"),
        ({"lane": 17}, "no lane 17"),
        ({"road": 5}, "no road 5"),
    ):
        scene = changed(**changes)
        with pytest.raises(CosimError, match=expected):
            scene.initialise()
        with pytest.raises(RunError, match="not initialised"):
            scene.read()


def test_commands_for_others_are_refused() -> None:
    scene = _started(platoon())
    command = ActorCommand(0.0, 0.0, 0.0)
    for name in ("leader", "stranger"):
        with pytest.raises(ConfigurationError, match=f"no vehicle '{name}' takes commands"):
            scene.step({name: command})


@pytest.mark.parametrize("wrong", [(NAN, 0.0, 0.0), (0.0, NAN, 0.0), (0.0, 0.0, float("inf"))])
def test_commands_must_be_finite(wrong: tuple[float, float, float]) -> None:
    scene = _started(platoon())
    with pytest.raises(RunError, match="vehicle 'follower1': .*must be finite"):
        scene.step({"follower1": ActorCommand(*wrong)})


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"step_ns": 0}, "step_ns=0 must be above 0"),
        ({"step_ns": -5}, "step_ns=-5 must be above 0"),
        ({"step_ns": 10**9}, "at most 100000000"),
        ({"weather": "Frogs"}, "scene.weather: found 'Frogs'; allowed are ClearNight"),
        ({"vehicles": ()}, "at least one vehicle"),
        ({"map": MapChoice()}, "either a map name or an OpenDRIVE text"),
        ({"map": MapChoice("<x/>", "y")}, "either a map name or an OpenDRIVE text"),
        ({"settle_ticks": 0}, "settle_ticks=0"),
        ({"control_period_ns": 15_000_000}, "control_period_ns=15000000 must be a multiple of"),
        ({"control_period_ns": 200_000_000}, "at most 100000000"),
        ({"objects": roadblock(-1, 9.0) + roadblock(-1, 9.0)}, "'roadblock1' is used twice"),
    ],
)
def test_wrong_scene_parameters(changes: dict[str, Any], expected: str) -> None:
    with pytest.raises(ConfigurationError, match=expected):
        platoon(**changes)


def test_wrong_vehicle_and_object_parameters() -> None:
    for build, expected in (
        (lambda: VehicleSpec("a", -1, NAN, 1.0), "vehicle 'a': s=nan must be a finite"),
        (lambda: VehicleSpec("a", -1, 1.0, -11.0), r"speed=-11.0 must lie in -10\.\.100"),
        (lambda: VehicleSpec("a", -1, 1.0, 1.0, dynamics="tank"), "sedan, truck, van"),
        (lambda: VehicleSpec("a", -1, 1.0, 1.0, blueprint="static.x"), "is not a vehicle"),
        (lambda: ObjectSpec("b", -1, float("inf")), "object 'b': s=inf must be a finite"),
    ):
        with pytest.raises(ConfigurationError, match=expected):
            build()


def test_a_wrong_map_text_is_a_configuration_error() -> None:
    with pytest.raises(ConfigurationError):
        Scene(InProcessWorld(), platoon(MapChoice("<OpenDRIVE/>"))).initialise()
    assert GENERATED.opendrive


def _manoeuvre(*actions: dict[str, Any]) -> DriverSpec:
    parsed = TypeAdapter(Manoeuvre).validate_python(actions)
    return DriverSpec(manoeuvre=plan_manoeuvre(parsed, Path(), "manoeuvre"))


def test_a_vehicle_changes_lane_smoothly_and_stays_in_the_new_one() -> None:
    driver = _manoeuvre({"when": {"time": "1s"}, "lane_change": {"lane": -1, "duration": "4s"}})
    scene = _started(platoon(vehicles=(VehicleSpec("a", -2, 300.0, 25.0, driver=driver),)))
    lateral, acceleration = [], []
    for _ in range(800):
        scene.step({})
        odometry, felt = scene.read()["a"]
        lateral.append(odometry.y)
        acceleration.append(abs(felt.ay))
    assert lateral[99] == pytest.approx(-5.25, abs=0.02)
    assert min(lateral) > -5.3 and max(lateral) < -1.6
    assert lateral[-1] == pytest.approx(-1.75, abs=0.05)
    # Minimum jerk over 3.5 m in 4 s: 5.77 * 3.5 / 16 = 1.26 m/s^2.
    assert 0.8 < max(acceleration) < 1.8
    assert scene.collisions() == ()


def test_a_lane_that_is_not_there_is_refused_where_it_is_asked_for() -> None:
    driver = _manoeuvre({"when": {"time": "1s"}, "lane_change": {"lane": 2}})
    scene = _started(platoon(vehicles=(VehicleSpec("a", -2, 300.0, 25.0, driver=driver),)))
    expected = (
        "scene.vehicles.a: lane change: found lane 2; allowed on road 1 at .* are -3, -2, -1$"
    )
    with pytest.raises(ConfigurationError, match=expected):
        for _ in range(200):
            scene.step({})


def test_a_lane_that_is_on_no_road_is_refused_before_the_run() -> None:
    driver = _manoeuvre({"constant": "1s"}, {"when": {"time": "1s"}, "lane_change": {"lane": -7}})
    parameters = platoon(vehicles=(VehicleSpec("a", -2, 300.0, 25.0, driver=driver),))
    expected = r"vehicles.a.driver.manoeuvre.1.lane_change.lane: found -7; allowed are -3, -2, -1,"
    with pytest.raises(ConfigurationError, match=expected):
        check_places(parameters, HIGHWAY_ROADS)


def test_a_vehicle_overtakes_on_the_lane_of_the_other_direction() -> None:
    out = {"lane": 1, "duration": "3s", "against_traffic": True}
    driver = _manoeuvre(
        {"when": {"gap": 30.0}, "lane_change": out},
        {"when": {"past": 10.0, "of": "slow"}, "lane_change": {"lane": -1, "duration": "3s"}},
    )
    slow = VehicleSpec("slow", -1, 360.0, 15.0, driver=DriverSpec())
    scene = _started(platoon(vehicles=(VehicleSpec("a", -1, 300.0, 25.0, driver=driver), slow)))
    lateral, headings = [], []
    for _ in range(1500):
        scene.step({})
        odometry = scene.read()["a"].odometry
        lateral.append(odometry.y)
        headings.append(abs(odometry.qz))
    assert max(lateral) == pytest.approx(1.75, abs=0.2)
    assert lateral[-1] == pytest.approx(-1.75, abs=0.05)
    assert max(headings) < 0.1
    assert scene.read()["a"].odometry.x > scene.read()["slow"].odometry.x + 10.0
    assert scene.collisions() == ()


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        # 60 m from centre to centre less two half lengths, closing with 5 m/s.
        ({"gap": 30.0}, (60.0 - 4.79 - 30.0) / 5.0),
        ({"ttc": 6.0}, (60.0 - 4.79 - 30.0) / 5.0),
        ({"gap": 30.0, "of": "front"}, (60.0 - 4.79 - 30.0) / 5.0),
        ({"gap": 20.0, "of": "beside"}, (80.0 - 4.79 - 20.0) / 5.0),
    ],
)
def test_a_driver_acts_by_what_is_near_it(condition: dict[str, Any], expected: float) -> None:
    driver = _manoeuvre({"when": condition, "ramp": {"speed": 20.0, "acceleration": 4.0}})
    vehicles = (
        VehicleSpec("front", -2, 460.0, 20.0, driver=DriverSpec()),
        VehicleSpec("own", -2, 400.0, 25.0, driver=driver),
        VehicleSpec("beside", -1, 480.0, 20.0, driver=DriverSpec()),
    )
    scene = _started(platoon(vehicles=vehicles, objects=()))
    began = None
    for step in range(1400):
        scene.step({})
        if began is None and scene.read()["own"].acceleration.ax < -1.0:
            began = step * 0.01
    assert began == pytest.approx(expected, abs=0.15)


def test_a_command_steers_where_the_vehicle_says_so() -> None:
    ways = {}
    for steering in ("lane_keeping", "command"):
        spec = VehicleSpec("a", -2, 300.0, 20.0, steering=steering)
        run = SceneRun(Scene(InProcessWorld(), platoon(vehicles=(spec,), objects=())))
        run.initialise()
        for _ in range(150):
            run.step({"a": ControlCommand(0.0, 0.1, 0.0, 0.02)}, {})
        ways[steering] = run.outputs(static=False)["odometry/a"].y + 5.25
    assert abs(ways["lane_keeping"]) < 0.01
    assert ways["command"] > 1.0  # steer is positive to the left


def test_a_vehicle_with_a_driver_takes_no_steering_commands() -> None:
    with pytest.raises(ConfigurationError, match="allowed is lane_keeping"):
        VehicleSpec("a", -2, 300.0, 25.0, driver=DriverSpec(), steering="command")


def test_vehicles_inside_each_other_are_refused_before_the_run() -> None:
    vehicles = (VehicleSpec("front", -2, 702.0, 20.0), VehicleSpec("rear", -2, 699.0, 20.0))
    expected = (
        r"^scene.vehicles.rear: found a start inside scene.vehicles.front, by 1.79 m; allowed is "
        r"one that is free$"
    )
    with pytest.raises(ConfigurationError, match=expected):
        check_places(platoon(vehicles=vehicles), HIGHWAY_ROADS)
    # Bumper to bumper, and one that is not there.
    touching = (vehicles[0], replace(vehicles[1], s=697.2))
    check_places(platoon(vehicles=touching), HIGHWAY_ROADS)
    check_places(replace(platoon(vehicles=vehicles), count=1), HIGHWAY_ROADS)
    barrier = ObjectSpec("barrier", -2, 702.5)
    with pytest.raises(ConfigurationError, match=r"scene.objects.barrier: .* by 1\.69 m"):
        check_places(platoon(vehicles=vehicles[:1], objects=(barrier,)), HIGHWAY_ROADS)


@pytest.mark.parametrize("offset", [-1.2, 0.9])
def test_a_vehicle_starts_beside_the_middle_of_its_lane_and_keeps_that_line(offset: float) -> None:
    vehicles = (
        VehicleSpec("driven", -2, 300.0, 20.0, driver=DriverSpec(), offset=offset),
        VehicleSpec("against", 1, 500.0, 0.0, driver=DriverSpec(), offset=offset),
    )
    scene = _started(platoon(vehicles=vehicles, objects=()))
    for _ in range(200):
        found = scene.read()
        # Positive is to the left of the way; the other direction's left is at smaller t.
        assert found["driven"].odometry.y == pytest.approx(-5.25 + offset, abs=1e-3)
        assert found["against"].odometry.y == pytest.approx(1.75 - offset, abs=1e-3)
        scene.step({})


def test_bodies_have_the_size_that_the_scenario_gives() -> None:
    bus = VehicleSpec("bus", -2, 300.0, 20.0, size=Size(12.0, 2.55))
    about = VehicleSpec("about", -2, 340.0, 20.0, size=Size(4.8, 2.16, 1.45))
    wall = ObjectSpec("wall", -2, 330.0, 0.0, size=Size(3.5, 0.3, 2.0))
    child = ObjectSpec("child", -1, 330.0, 0.0, "walker.pedestrian.0001", size=Size(0.5, 0.5, 1.1))
    scene = _started(platoon(vehicles=(bus, about), objects=(wall, child)))
    assert scene.dimensions()["bus"] == pytest.approx((12.0, 2.55, 1.488), abs=1e-5)
    # Within 0.05 m of the simulator's car it is that one.
    assert scene.dimensions()["about"] == pytest.approx((4.792, 2.164, 1.488), abs=1e-5)
    found = scene.static_objects().objects
    assert found[0][-3:] == pytest.approx((3.5, 0.3, 2.0), abs=1e-5)
    assert found[1][-3:] == pytest.approx((0.5, 0.5, 1.1), abs=1e-5)
    assert [entry.z for entry in found] == pytest.approx([1.0, 0.55], abs=1e-3)
    # The bus meets the wall with its own front: 30 m less 6 m and 1.75 m.
    collisions: list[Any] = []
    while not collisions:
        scene.step({})
        collisions += scene.collisions()
    front = scene.read()["bus"].odometry.x
    assert collisions[0].event[:2] == (1, FIRST_OBJECT_ID)
    assert front == pytest.approx(322.25, abs=0.5)


def test_a_simulator_that_gives_no_sizes_is_told_what_was_wanted() -> None:
    world = InProcessWorld()

    class OwnSizes:
        """Passes everything on to a world, but sizes."""

        def __getattr__(self, name: str) -> Any:
            return getattr(world, name)

        def spawn_sized(
            self, blueprint: str, role: str, pose: Pose, size: Size
        ) -> tuple[int, Body]:
            return world.spawn_sized(blueprint, role, pose, Size())

    bus = VehicleSpec("bus", -2, 300.0, 20.0, size=Size(12.0, 2.55))
    expected = (
        r"^scene.vehicles.bus.length: found 12 m; the simulator gives this blueprint no other size "
        r"than its own, 4.792 m x 2.164 m x 1.488 m$"
    )
    with pytest.raises(ConfigurationError, match=expected):
        Scene(OwnSizes(), platoon(vehicles=(bus,), objects=())).initialise()
