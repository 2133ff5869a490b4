# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""SUMO as the simulator of a scene: the real library, in this process."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ros2_cosim.core.documents import extras
from ros2_cosim.core.kernel.errors import ConfigurationError, RunError
from ros2_cosim.core.kernel.exactmath import cos, hypot, sin
from ros2_cosim.core.record.summary import Summary
from ros2_cosim.core.run.inproc import run_inproc
from ros2_cosim.core.scenario.declaration import declare
from ros2_cosim.core.scenario.library import library_file
from ros2_cosim.core.scenario.schema import load_scenario
from ros2_cosim.core.scene.named_simulator import SimulatorContext, find_simulator
from ros2_cosim.core.scene.simulator import CONTACT_DELAY_TICKS, MapChoice, Pose, Size
from ros2_cosim.world.carla.inprocess_world import InProcessWorld
from ros2_cosim.world.carla.parameters import SceneParameters, VehicleSpec
from ros2_cosim.world.carla.scene import ActorCommand, Scene, SceneCollision
from ros2_cosim.world.map import RoadNetwork
from ros2_cosim.world.sumo import installation
from ros2_cosim.world.sumo.settings import DrivenVehicle, SumoOptions
from ros2_cosim.world.sumo.world import SumoWorld, pedal_acceleration
from ros2_cosim.world.vehicle import SEDAN
from ros2_cosim.world.vehicle.pedals import max_acceleration, max_deceleration, pedals_for

ROOT = Path(__file__).resolve().parents[2]
PLATOON = ROOT / "config" / "platoon.yaml"
HIGHWAY = MapChoice(opendrive=(ROOT / "config" / "highway.xodr").read_text(encoding="utf-8"))
TOWN = MapChoice(opendrive=(ROOT / "config" / "town.xodr").read_text(encoding="utf-8"))
CAR, BARRIER = "vehicle.tesla.model3", "static.prop.streetbarrier"
#: Half the length of the car [m].
HALF = 2.396
STEP = 0.01

needs_sumo = pytest.mark.skipif(
    importlib.util.find_spec("libsumo") is None, reason="needs SUMO: make setup EXTRAS=sumo"
)


def sumo_world(base: Path = ROOT, seed: int = 1, **options: Any) -> SumoWorld:
    """The simulator as a scenario names it."""
    found = find_simulator({"kind": "sumo", "options": options})
    assert found is not None
    made = found.make(SimulatorContext(base, seed))
    assert isinstance(made, SumoWorld)
    return made


@pytest.fixture
def world() -> Iterator[SumoWorld]:
    """SUMO on the highway, without vehicles of its own."""
    made = sumo_world()
    made.prepare(HIGHWAY, "ClearNoon", STEP)
    yield made
    made.close()


def place(world: SumoWorld, actor: int, x: float, y: float, speed: float) -> None:
    """Let a vehicle be at a place of the straight part of the road after the next tick."""
    before = Pose(x - STEP * speed, y, 0.0, 0.0, 0.0, 0.0)
    world.place(actor, before, (speed, 0.0, 0.0))


def short_run(directory: Path, *changes: str, seed: int = 1) -> Summary:
    scenario = load_scenario(PLATOON, ["simulator.kind=sumo", "duration=4s", *changes])
    return run_inproc(scenario.model_copy(update={"seed": seed}), directory, record=False)


@needs_sumo
def test_a_vehicle_begins_where_it_is_placed_and_moves_by_its_pedals(world: SumoWorld) -> None:
    actor, body = world.spawn(CAR, "car", Pose(100.0, 5.25, 0.3, 0.0, 0.0, 0.0))
    assert body.extent[0] == pytest.approx(HALF, abs=1e-6)
    place(world, actor, 100.0, 5.25, 20.0)
    world.tick()
    motion = world.motion(actor)
    assert motion.pose.x == pytest.approx(100.0, abs=0.01)
    assert motion.pose.y == pytest.approx(5.25, abs=0.01)
    assert motion.pose.yaw == pytest.approx(0.0, abs=1e-6)
    assert motion.velocity == (20.0, 0.0, 0.0)
    assert motion.acceleration == (0.0, 0.0, 0.0)
    world.control(actor, *(pedals_for(SEDAN, 1.5, 20.0)[0], 0.0, 0.0))
    for _ in range(100):
        world.tick()
    after = world.motion(actor)
    # The throttle is held while drag grows: a little less than 1.5 m/s^2.
    assert after.velocity[0] == pytest.approx(21.5, abs=0.1)
    assert after.pose.x == pytest.approx(100.0 + 20.75, abs=0.1)
    assert 1.2 < after.acceleration[0] < 1.5


@needs_sumo
def test_a_vehicle_in_a_curve_turns_with_the_road(world: SumoWorld) -> None:
    actor, _ = world.spawn(CAR, "car", Pose(700.0, 5.25, 0.3, 0.0, 0.0, 0.0))
    place(world, actor, 700.0, 5.25, 25.0)
    world.tick()
    turns = []
    for _ in range(1600):
        world.control(actor, pedals_for(SEDAN, 0.0, 25.0)[0], 0.0, 0.0)
        world.tick()
        turns.append(world.motion(actor).angular_velocity[2])
    # An arc of 800 m to the left; CARLA's angles are positive to the right.
    curve = turns[1200:]
    assert sum(curve) / len(curve) == pytest.approx(-57.29578 * 25.0 / 805.0, rel=0.1)
    speed = sum(v * v for v in world.motion(actor).velocity) ** 0.5
    assert speed == pytest.approx(25.0, abs=0.5)


@needs_sumo
def test_a_contact_is_told_with_its_delay_and_by_both(world: SumoWorld) -> None:
    first, _ = world.spawn(CAR, "one", Pose(120.0, 5.25, 0.3, 0.0, 0.0, 0.0))
    second, _ = world.spawn(CAR, "two", Pose(100.0, 5.25, 0.3, 0.0, 0.0, 0.0))
    place(world, first, 120.0, 5.25, 0.0)
    place(world, second, 100.0, 5.25, 30.0)
    world.tick()
    world.control(first, 0.0, 0.0, 1.0)
    contacts = []
    ticks = 1
    while not contacts and ticks < 200:
        world.tick()
        ticks += 1
        contacts = world.contacts()
    # A gap of 15.2 m at 30 m/s, and the vehicle rolls without throttle.
    assert 48 < ticks < 60
    assert {(c.actor, c.other) for c in contacts} == {(first, second), (second, first)}
    assert {c.tick for c in contacts} == {ticks - CONTACT_DELAY_TICKS}
    impulse = {c.actor: c.impulse[0] for c in contacts}
    assert impulse[first] > 0.0 > impulse[second]


@needs_sumo
@pytest.mark.parametrize("beside", [False, True])
def test_sumos_vehicles_stop_before_what_stands_in_their_lane(tmp_path: Path, beside: bool) -> None:
    (tmp_path / "mine.rou.xml").write_text(
        '<routes><vehicle id="mine" depart="0" departLane="1" departPos="200" departSpeed="20">'
        '<route edges="-1"/></vehicle></routes>'
    )
    world = sumo_world(tmp_path, routes=["mine.rou.xml"])
    world.prepare(HIGHWAY, "ClearNoon", 0.05)
    try:
        y = 12.0 if beside else 5.25
        world.spawn(BARRIER, "barrier", Pose(400.0, y, 0.0, 0.0, 90.0, 0.0))
        for lateral in (1.75, 8.75):
            for shift in (0.0, 0.5):  # two in a row are one for SUMO
                world.spawn(BARRIER, "more", Pose(400.0 + shift, lateral, 0.0, 0.0, 90.0, 0.0))
        for _ in range(600):
            world.tick()
        library = installation.load_library()
        if beside:
            assert library.vehicle.getLanePosition("mine") > 500.0
        else:
            assert library.vehicle.getSpeed("mine") == pytest.approx(0.0, abs=1e-3)
            assert 380.0 < library.vehicle.getLanePosition("mine") < 400.0
        assert world.contacts() == []
    finally:
        world.close()


@needs_sumo
def test_all_have_their_size_in_contacts_and_in_what_is_told(tmp_path: Path) -> None:
    """A van of 7 m drives into a lorry of 12 m of a user's route file, which stands."""
    (tmp_path / "mine.rou.xml").write_text(
        '<routes><vType id="lorry" length="12" width="2.4" height="3.1" minGap="0"/>'
        '<vehicle id="mine" type="lorry" depart="0" departLane="1" departPos="200" departSpeed="0">'
        '<route edges="-1"/><stop lane="-1_1" endPos="202" duration="1000"/></vehicle></routes>'
    )
    van = VehicleSpec("van", -2, 100.0, 20.0, steering="command", size=Size(7.0, 2.4, 2.5))
    scene = Scene(
        sumo_world(tmp_path, routes=["mine.rou.xml"]),
        SceneParameters(HIGHWAY, 10_000_000, (van,), settle_ticks=5, reports_traffic=True),
    )
    scene.initialise()
    try:
        assert scene.dimensions()["van"] == pytest.approx((7.0, 2.4, 2.5), abs=1e-6)
        begun: tuple[SceneCollision, ...] = ()
        while not begun:
            scene.step({"van": ActorCommand(0.3, 0.0)})
            begun = scene.collisions()
            users = scene.road_users()
            assert users is not None
            front = scene.read()["van"].odometry.x + 3.5
            assert front < 230.0, "it has driven through the lorry"
        (lorry,) = users.users
        size = (lorry.length, lorry.width, lorry.height)
        assert size == pytest.approx((12.0, 2.4, 3.1), abs=1e-6)
        (collision,) = begun
        assert (collision.event.vehicle, collision.event.other) == (1, lorry.id)
        gap = lorry.x - 6.0 - front
        assert -1.5 < gap < 0.3  # at 20 m/s, told some steps later
    finally:
        scene.dismantle()


@needs_sumo
def test_a_vehicle_whose_lane_ends_is_named(world: SumoWorld) -> None:
    actor, _ = world.spawn(CAR, "car", Pose(100.0, 5.25, 0.3, 0.0, 0.0, 0.0))
    end = RoadNetwork.from_xodr(HIGHWAY.opendrive).lane_pose(1, -2, 3180.0)
    yaw = -end.heading
    pose = Pose(end.x, -end.y, 0.0, 0.0, yaw * 57.29577951, 0.0)
    world.place(actor, pose, (20.0 * cos(yaw), 20.0 * sin(yaw), 0.0))
    world.tick()
    with pytest.raises(RunError, match="vehicle 1 of the scene has left the roads"):
        for _ in range(200):
            world.tick()


@needs_sumo
def test_a_vehicle_can_be_placed_on_another_road(world: SumoWorld) -> None:
    actor, _ = world.spawn(CAR, "car", Pose(100.0, 5.25, 0.3, 0.0, 0.0, 0.0))
    place(world, actor, 100.0, 5.25, 10.0)
    world.tick()
    # Beside it, in the opposite direction.
    world.place(actor, Pose(100.1, -5.25, 0.0, 0.0, 180.0, 0.0), (-10.0, 0.0, 0.0))
    for _ in range(2):
        world.tick()
        found = world.motion(actor)
        assert found.pose.y == pytest.approx(-5.25, abs=0.01)
        assert abs(found.pose.yaw) == pytest.approx(180.0, abs=0.1)
        assert found.velocity[0] == pytest.approx(-10.0, abs=0.1)


@needs_sumo
def test_sumos_own_vehicles_are_told() -> None:
    """By ids that stay, with their size, place and speed; vehicles of the scene are not there."""
    world = sumo_world(vehicles=6)
    world.prepare(HIGHWAY, "ClearNoon", STEP)
    try:
        car, _ = world.spawn(CAR, "ego", Pose(300.0, 5.25, 0.0, 0.0, 0.0, 0.0))
        place(world, car, 300.0, 5.25, 20.0)
        for _ in range(3):
            world.tick()
        found = world.strangers()
        assert [one.actor for one in found] == list(range(2, 8))  # behind the scene's own
        before = {one.actor: one.motion.pose for one in found}
        for _ in range(50):
            world.tick()
        for actor, body, motion in world.strangers():
            assert body.extent == pytest.approx((2.5, 0.9, 0.75), abs=0.05)
            way = hypot(motion.pose.x - before[actor].x, motion.pose.y - before[actor].y)
            speed = hypot(motion.velocity[0], motion.velocity[1])
            assert 0.0 < way == pytest.approx(0.5 * speed, rel=0.35, abs=0.3)
    finally:
        world.close()


@needs_sumo
def test_one_process_runs_one_simulation_and_then_another(world: SumoWorld) -> None:
    other = sumo_world()
    with pytest.raises(RunError, match="one simulation in a process"):
        other.prepare(HIGHWAY, "ClearNoon", STEP)
    other.close()
    world.close()
    world.close()
    other.prepare(TOWN, "ClearNoon", STEP)
    assert other.opendrive() == TOWN.opendrive
    other.close()


@needs_sumo
def test_what_sumo_refuses_is_one_sentence_and_leaves_it_free(tmp_path: Path) -> None:
    (tmp_path / "bad.rou.xml").write_text("<routes><vehicle")
    world = sumo_world(tmp_path, routes=["bad.rou.xml"])
    with pytest.raises(ConfigurationError, match="SUMO does not start"):
        world.prepare(HIGHWAY, "ClearNoon", STEP)
    with pytest.raises(ConfigurationError, match="netconvert cannot convert it"):
        sumo_world().prepare(MapChoice(opendrive="<OpenDRIVE>"), "ClearNoon", STEP)
    with pytest.raises(ConfigurationError, match=r"found 'Town03'.* \*.xodr file"):
        sumo_world().prepare(MapChoice(name="Town03"), "ClearNoon", STEP)
    again = sumo_world()
    again.prepare(HIGHWAY, "ClearNoon", STEP)
    again.close()


@needs_sumo
def test_all_obey_the_lights_of_the_map(tmp_path: Path) -> None:
    """The same phases as in the headless world; SUMO's own vehicles stop at them, too."""
    changes = ["simulator.kind=sumo", "simulator.options={vehicles: 20}", "platoon.traffic=0"]
    scenario = load_scenario(library_file("town"), [*changes, "duration=16s"])
    summary = run_inproc(scenario, tmp_path, record=False)
    assert {v.name: v.passed for v in summary.verdicts}["red_lights_passed"]
    world = sumo_world(vehicles=20)
    text = (Path(library_file("town")).parents[1] / "town.xodr").read_text(encoding="utf-8")
    headless = InProcessWorld()
    for each in (world, headless):
        each.prepare(MapChoice(opendrive=text), "ClearNoon", 0.1)
        each.begin_lights()
    waited = False
    for _ in range(400):
        world.tick()
        headless.tick()
        assert world.lights() == headless.lights()
        assert world.strangers()
        for stranger in world._strangers:
            ahead = world._library.vehicle.getNextTLS(stranger)
            still = world._library.vehicle.getSpeed(stranger) < 0.1
            waited |= bool(ahead) and ahead[0][3] == "r" and ahead[0][2] < 3.0 and still
    assert waited
    world.close()


@needs_sumo
def test_the_platoon_among_sumos_vehicles_is_the_same_again(tmp_path: Path) -> None:
    crowd = "simulator.options={vehicles: 40}"
    one = short_run(tmp_path / "one", crowd)
    assert one.simulator == "sumo"
    assert (one.repeatable, one.repeatable_scope) == (True, "same_machine")
    assert one.collisions == 0
    assert short_run(tmp_path / "two", crowd).trace_sha256 == one.trace_sha256
    assert short_run(tmp_path / "three", crowd, seed=2).trace_sha256 != one.trace_sha256


@needs_sumo
def test_sumo_drives_vehicles_of_the_scene(tmp_path: Path) -> None:
    ours = short_run(tmp_path / "ours")
    theirs = short_run(
        tmp_path / "theirs", "simulator.options={drives: {follower1: {}, follower2: {model: IDM}}}"
    )
    assert theirs.trace_sha256 != ours.trace_sha256
    assert theirs.collisions == 0
    assert theirs.min_gap_m is not None and theirs.min_gap_m > 5.0


@needs_sumo
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("{vehicels: 3}", "simulator.options.vehicels: unknown key; did you mean 'vehicles'"),
        ("{vehicles: -1}", "simulator.options.vehicles: "),
        ("{model: Fast}", "simulator.options.model: "),
        ("{drives: {nobody: {}}}", "drives: found 'nobody'; allowed are the vehicles"),
        ("{routes: [none.rou.xml]}", "simulator.options.routes: there is no file"),
        ("{network: none.net.xml}", "simulator.options.network: there is no file"),
    ],
)
def test_wrong_options_are_refused_before_anything_starts(options: str, message: str) -> None:
    scenario = load_scenario(PLATOON, ["simulator.kind=sumo", f"simulator.options={options}"])
    with pytest.raises(ConfigurationError) as caught:
        declare(scenario, "world", "inproc").check()
    assert message in str(caught.value)


def test_without_sumo_one_sentence_names_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extras, "find_spec", lambda name: None)
    scenario = load_scenario(PLATOON, ["simulator.kind=sumo"])
    with pytest.raises(ConfigurationError, match="run 'make setup EXTRAS=sumo'"):
        declare(scenario, "world", "inproc").check()


@given(
    st.floats(-12.0, 6.0),
    st.floats(0.1, 60.0),
    st.floats(-0.1, 0.1),
)
def test_pedals_give_the_acceleration_that_they_stand_for(
    acceleration: float, speed: float, slope: float
) -> None:
    throttle, brake = pedals_for(SEDAN, acceleration, speed, slope)
    found = pedal_acceleration(SEDAN, throttle, brake, speed, slope)
    low = -max_deceleration(SEDAN, speed, slope)
    high = max(max_acceleration(SEDAN, speed, slope), low)
    assert found == pytest.approx(min(high, max(low, acceleration)), abs=1e-6)


def test_the_page_lists_all_options() -> None:
    page = (ROOT / "docs" / "sumo.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)` \| (.*?) \| (.*) \|$", page, re.MULTILINE)
    assert [name for name, _, _ in rows] == list(SumoOptions.model_fields)
    for name, default, _ in rows:
        value = SumoOptions.model_fields[name].default
        assert default.strip("`") == str(value) or default in ("none", "converted from the map")
    assert set(re.findall(r"`(\w+)` \(", rows[-1][2])) == set(DrivenVehicle.model_fields)
