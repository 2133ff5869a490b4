# SPDX-License-Identifier: Apache-2.0
"""Scenes on the in-process world: state 0, driving, stopping, collisions, wrong parameters."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from support.bridge_scenes import GENERATED, HIGHWAY, NAN, careless_commands, platoon, record

from ros2_cosim.carla_bridge.inprocess_world import InProcessWorld
from ros2_cosim.carla_bridge.parameters import ObjectSpec, VehicleSpec, roadblock
from ros2_cosim.carla_bridge.scene import FIRST_OBJECT_ID, Scene, VehicleCommand
from ros2_cosim.interfaces.records import CLASS_OBSTACLE
from ros2_cosim.interfaces.simulator import CONTACT_DELAY_TICKS, MapChoice
from ros2_cosim.kernel.errors import ConfigurationError, CosimError, RunError
from ros2_cosim.models.road import RoadNetwork, lateral_error

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
                "follower1": VehicleCommand(0.0, 0.3),
                "follower2": VehicleCommand(0.0, 1.0, 0.0),
            }
        )
    speeds = [scene.read()[name].odometry.vx for name in ("leader", "follower1", "follower2")]
    assert speeds[0] > speeds[1] > speeds[2]
    assert scene.read()["follower1"].acceleration.ax < -1.0
    for name in ("follower1", "follower2"):
        assert scene.read()[name].odometry.y == pytest.approx(-5.25, abs=0.02)


def test_lane_keeping_and_driver_act_once_per_control_period() -> None:
    world = InProcessWorld()
    scene = Scene(world, platoon(leader_s=1000.0, control_period_ns=30_000_000))
    scene.initialise()
    leader, *followers = world.world.vehicles()
    acted = []
    for step in range(300):
        before = leader.control, followers[0].control
        scene.step({"follower1": VehicleCommand(0.001 * step, 0.0)})
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
        scene.step({"follower1": VehicleCommand(0.2, 0.0, 0.01)})
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
    with pytest.raises(ConfigurationError, match="'Town99' not found; available maps: .*highway"):
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
    command = VehicleCommand(0.0, 0.0, 0.0)
    for name in ("leader", "stranger"):
        with pytest.raises(ConfigurationError, match=f"no vehicle '{name}' takes commands"):
            scene.step({name: command})


@pytest.mark.parametrize("wrong", [(NAN, 0.0, 0.0), (0.0, NAN, 0.0), (0.0, 0.0, float("inf"))])
def test_commands_must_be_finite(wrong: tuple[float, float, float]) -> None:
    scene = _started(platoon())
    with pytest.raises(RunError, match="vehicle 'follower1': .*must be finite"):
        scene.step({"follower1": VehicleCommand(*wrong)})


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"step_ns": 0}, "step_ns=0 must be above 0"),
        ({"step_ns": -5}, "step_ns=-5 must be above 0"),
        ({"step_ns": 10**9}, "at most 100000000"),
        ({"weather": "Frogs"}, "weather 'Frogs' unknown; there are: ClearNight"),
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
        (lambda: VehicleSpec("a", -1, 1.0, -1.0), r"speed=-1.0 must lie in 0\.\.100"),
        (lambda: VehicleSpec("a", -1, 1.0, 1.0, dynamics="tank"), "sedan, truck, van"),
        (lambda: VehicleSpec("a", -1, 1.0, 1.0, blueprint="static.x"), "is no vehicle"),
        (lambda: ObjectSpec("b", -1, float("inf")), "object 'b': s=inf must be a finite"),
    ):
        with pytest.raises(ConfigurationError, match=expected):
            build()


def test_a_wrong_map_text_is_a_configuration_error() -> None:
    with pytest.raises(ConfigurationError):
        Scene(InProcessWorld(), platoon(MapChoice("<OpenDRIVE/>"))).initialise()
    assert GENERATED.opendrive
