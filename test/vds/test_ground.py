# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Vehicles on slopes, banks, crests and twisted ground, against statics and steady motion."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from operator import attrgetter
from pathlib import Path
from typing import Any

import pytest
from support.models import made
from typer.testing import CliRunner

from ros2_cosim.cli.main import app
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.participant import Step
from ros2_cosim.core.messages.message_types import ODOMETRY
from ros2_cosim.vds.fleet_settings import read_settings
from ros2_cosim.vds.participant import VdsPlant
from ros2_cosim.vds.vehicle_plant import VehicleCommand, VehiclePlant
from ros2_cosim.world.map import RoadNetwork
from ros2_cosim.world.vehicle import SEDAN, ActuatorCommand, RoadVehicle, Vehicle
from ros2_cosim.world.vehicle.levels import KinematicVehicle, PacejkaVehicle, TwoTrackVehicle
from ros2_cosim.world.vehicle.parameters import GRAVITY
from ros2_cosim.world.vehicle.wheel_ground import WheelGround

CONFIG = Path(__file__).resolve().parents[2] / "config"
MS = 1_000_000
LEVELS = (KinematicVehicle, Vehicle, PacejkaVehicle, TwoTrackVehicle)
WEIGHT = SEDAN.mass * GRAVITY


def road_text(elevation: str = "", superelevation: str = "", shape: str = "<line/>") -> str:
    return f"""<?xml version="1.0"?>
<OpenDRIVE><header revMajor="1" revMinor="6"/>
<road name="r" length="600" id="1" junction="-1">
<planView><geometry s="0" x="0" y="0" hdg="0" length="600">{shape}</geometry></planView>
<elevationProfile>{elevation}</elevationProfile>
<lateralProfile>{superelevation}</lateralProfile>
<lanes><laneSection s="0"><center><lane id="0" type="none" level="false"/></center>
<right><lane id="-1" type="driving" level="false">
<width sOffset="0" a="8" b="0" c="0" d="0"/></lane></right></laneSection></lanes></road>
</OpenDRIVE>"""


def road(**profiles: str) -> RoadNetwork:
    return RoadNetwork.from_xodr(road_text(**profiles), "test")


def sloping(rise: float, curve: float = 0.0) -> RoadNetwork:
    return road(elevation=f'<elevation s="0" a="0" b="{rise}" c="{curve}" d="0"/>')


def banked(angle: float, shape: str = "<line/>") -> RoadNetwork:
    line = f'<superelevation s="0" a="{angle}" b="0" c="0" d="0"/>'
    return road(superelevation=line, shape=shape)


def plant_on(network: RoadNetwork, kind: type[Vehicle], speed: float, s: float = 20.0) -> Any:
    x, y, _, heading = network.lane_pose(1, -1, s)
    vehicle = kind(SEDAN, x, y, heading, speed)
    return VehiclePlant(SEDAN, road=network, vehicle=vehicle), vehicle


@pytest.mark.parametrize("kind", LEVELS)
@pytest.mark.parametrize("rise", [0.1, -0.06])
def test_a_vehicle_that_stands_on_a_slope(kind: type[Vehicle], rise: float) -> None:
    """Loads by moments about the axles: m g (l cos a -+ h sin a) / L."""
    plant, _ = plant_on(sloping(rise), kind, 0.0)
    for _ in range(400):
        plant.step(VehicleCommand(brake=1.0), 5 * MS)
    state, angle, p = plant.state(), math.atan(rise), SEDAN
    assert state.vx == 0.0 and state.z == pytest.approx(20.0 * rise, abs=1e-6)
    front = WEIGHT * (p.rear_axle * math.cos(angle) - p.cg_height * math.sin(angle)) / p.wheelbase
    assert state.wheel_load[0] + state.wheel_load[1] == pytest.approx(front, rel=1e-3)
    assert sum(state.wheel_load) == pytest.approx(WEIGHT * math.cos(angle), rel=1e-6)
    lean = state.pitch + angle
    expected = -p.mass * p.cg_height * GRAVITY * math.sin(angle)
    if kind is TwoTrackVehicle:
        stiffness = TwoTrackVehicle(p).body.pitch_stiffness
        assert lean == pytest.approx(expected / stiffness, rel=1e-2)
    else:
        assert lean == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("kind", [Vehicle, PacejkaVehicle, TwoTrackVehicle])
def test_the_tyres_hold_a_vehicle_on_a_banked_straight(kind: type[Vehicle]) -> None:
    """Left side up by 5 degrees: the tyres push to the left with m g sin b."""
    angle = math.radians(5.0)
    plant, vehicle = plant_on(banked(angle), kind, 20.0)
    y = vehicle.y
    for _ in range(2400):
        state = plant.state()
        steer = 0.05 * (y - state.y) - 0.6 * state.yaw
        throttle = 0.15 + 0.5 * (20.0 - state.vx)
        plant.step(VehicleCommand(steer=steer, throttle=throttle), 5 * MS)
    state, forces = plant.state(), plant.forces()
    assert state.yaw_rate == pytest.approx(0.0, abs=1e-3)
    assert sum(forces.lateral) == pytest.approx(WEIGHT * math.sin(angle), rel=0.02)
    assert state.roll >= angle - 1e-6
    if kind is TwoTrackVehicle:
        loads = state.wheel_load
        assert sum(loads) == pytest.approx(WEIGHT * math.cos(angle), rel=1e-3)
        assert loads[1] > loads[0] + 300.0 and loads[3] > loads[2] + 300.0, "the low side bears"
        body = vehicle.body
        arm = SEDAN.mass * (SEDAN.cg_height - body.roll_centre)
        lean = arm * GRAVITY * math.sin(angle) / (body.roll_stiffness - arm * GRAVITY)
        assert state.roll - angle == pytest.approx(lean, rel=0.02)
    level = made_level(kind, y)
    assert abs(sum(level.lateral)) < 0.05 * WEIGHT * math.sin(angle)


def made_level(kind: type[Vehicle], y: float) -> Any:
    plant = VehiclePlant(SEDAN, vehicle=kind(SEDAN, 20.0, y, 0.0, 20.0))
    for _ in range(200):
        plant.step(VehicleCommand(throttle=0.15), 5 * MS)
    return plant.forces()


def test_at_the_speed_of_its_bank_a_curve_needs_no_lateral_force() -> None:
    """v^2 = R g tan b: no force across, wheels of a side bear alike, m g / cos b in all."""
    radius, angle = 150.0, math.radians(8.0)
    network = banked(-angle, f'<arc curvature="{1.0 / radius}"/>')
    way = radius + 4.0  # the centre of the lane, which lies outside of the reference line
    speed = math.sqrt(way * GRAVITY * math.tan(angle))
    plant, vehicle = plant_on(network, TwoTrackVehicle, speed)
    vehicle.yaw_rate = speed / way
    sums, sides, loads = [], [], []
    for number in range(5000):
        state = plant.state()
        across = math.dist((state.x, state.y), (0.0, radius)) - way
        tangent = math.atan2(state.y - radius, state.x) + 0.5 * math.pi
        error = math.remainder(state.yaw - tangent, 2.0 * math.pi)
        steer = SEDAN.wheelbase / way + 0.05 * across - 0.6 * error
        throttle = 0.12 + 0.5 * (speed - state.vx)
        plant.step(VehicleCommand(steer=steer, throttle=throttle), 5 * MS)
        if number > 4000:
            sums.append(sum(plant.forces().lateral))
            sides.append(state.wheel_load[0] - state.wheel_load[1])
            loads.append(sum(state.wheel_load))
    on_level = SEDAN.mass * speed * speed / way
    assert abs(sum(sums) / len(sums)) < 0.05 * on_level
    assert abs(sum(sides) / len(sides)) < 0.02 * WEIGHT
    assert sum(loads) / len(loads) == pytest.approx(WEIGHT / math.cos(angle), rel=5e-3)


@pytest.mark.parametrize("kind", [Vehicle, TwoTrackVehicle])
def test_over_a_crest_the_vehicle_pitches_with_the_road(kind: type[Vehicle]) -> None:
    """z = b s - c s^2: the nose goes down with 2 c v."""
    network, speed, bend = sloping(0.05, -2.0e-4), 15.0, 2.0e-4
    plant, _ = plant_on(network, kind, speed)
    rates = []
    for _ in range(1000):
        state = plant.state()
        throttle = 0.15 + 0.5 * (speed - state.vx)
        plant.step(VehicleCommand(throttle=throttle), 5 * MS)
        rates.append(state.pitch_rate)
    assert sum(rates[600:]) / 400 == pytest.approx(2.0 * bend * speed, rel=0.05)


class Uneven:
    """One wheel stands on a board."""

    def height(self, wheel: int, x: float, y: float) -> float:
        return 0.06 if wheel == 0 else 0.0


def test_a_raised_wheel_bears_more_and_so_does_the_one_across() -> None:
    vehicle = TwoTrackVehicle(SEDAN)
    body, p = vehicle.body, SEDAN
    ground = WheelGround(Uneven(), p, body.track)
    ground.settle(vehicle)
    assert ground.twist == pytest.approx(math.atan(0.06 / body.track))
    assert ground.z == pytest.approx(0.03 * p.rear_axle / p.wheelbase)
    vehicle.twist = ground.twist
    for _ in range(600):
        vehicle.step(0.005, ActuatorCommand(brake=1.0))
    # The body turns so that springs of both axles and its own weight are in balance.
    front = body.front_roll_share * body.roll_stiffness
    rear = body.roll_stiffness - front
    arm = p.mass * (p.cg_height - body.roll_centre)
    roll = 0.5 * (front - rear) * ground.twist / (front + rear - arm * GRAVITY)
    assert vehicle.roll == pytest.approx(roll, rel=1e-3)
    loads = vehicle.wheel_loads()
    moved = front * (roll - 0.5 * ground.twist) / body.track
    assert loads[0] - loads[1] == pytest.approx(-2.0 * moved, rel=1e-3)
    assert loads[0] > loads[1] + 500.0 and loads[3] > loads[2] + 500.0
    assert sum(loads) == pytest.approx(WEIGHT)


def test_in_the_town_wheels_and_centre_see_the_same_slopes() -> None:
    town = RoadNetwork.from_file(CONFIG / "town.xodr")
    steepest = 0.0
    for road_id in sorted(town.roads)[:30]:
        x, y, z, heading = town.lane_pose(road_id, -1, 0.5 * town.length(road_id))
        vehicle = TwoTrackVehicle(SEDAN, x, y, heading, 8.0)
        plant = VehiclePlant(SEDAN, road=town, vehicle=vehicle)
        centre = RoadVehicle(town, Vehicle(SEDAN, x, y, heading, 8.0))
        state = plant.state()
        assert state.z == pytest.approx(z, abs=0.05)
        assert state.pitch == pytest.approx(centre.pitch, abs=0.02)
        steepest = max(steepest, abs(state.pitch))
        for _ in range(20):
            plant.step(VehicleCommand(throttle=0.2), 10 * MS)
        assert all(math.isfinite(value) for value in plant.state()[:14])
    assert steepest > 0.02


def test_a_row_of_vehicles_on_a_road_and_its_record(tmp_path: Path) -> None:
    file, record = tmp_path / "bank.xodr", tmp_path / "run.jsonl"
    tilt = '<superelevation s="0" a="0.05" b="0" c="0" d="0"/>'
    rise = '<elevation s="0" a="2" b="0.04" c="0" d="0"/>'
    file.write_text(road_text(rise, tilt))
    changes = ("level=two_track", "speed=15", f"road={file}", "start={lane: -1, s: 100}",
               "solver_step=2ms", "actuator_delay=10ms", "sensor_delay=5ms")  # fmt: skip
    words = ["vds", "serve", "--port", "0", "--duration", "500ms", "--factor", "max", "--json",
             "--vehicles", "2", "--record", str(record)]  # fmt: skip
    words += [word for change in changes for word in ("--set", change)]
    served = CliRunner().invoke(app, words)
    assert served.exit_code == 0, served.output
    header = json.loads(record.read_text().splitlines()[0])
    assert header["vehicles"]["v1"]["start"] == {"lane": -1, "s": 70.0}
    assert header["vehicles"]["v0"]["solver_step"] == "2ms"
    states = tmp_path / "states.csv"
    again = CliRunner().invoke(app, ["vds", "replay", str(record), "--out", str(states)])
    assert again.exit_code == 0, again.output
    assert json.loads(served.stdout)["trace_sha256"] in again.output
    names, *rows = [line.split(",") for line in states.read_text().splitlines()]
    first = dict(zip(names, rows[0], strict=True))
    assert float(first["z"]) == pytest.approx(2.0 + 4.0 - 4.0 * math.tan(0.05), abs=0.05)
    assert float(first["roll"]) == pytest.approx(0.05, abs=0.01)
    file.write_text(road_text(rise))
    changed = CliRunner().invoke(app, ["vds", "replay", str(record)])
    assert changed.exit_code == 1 and "another content" in changed.output


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ("start={lane: -1}", "vehicles.v0.start.s: missing"),
        ("start=nowhere", "vehicles.v0.start: found 'nowhere'"),
        ("start={lane: -1, s: 20}", "found a place on a road, and no road"),
        ("road=missing.xodr", "missing.xodr"),
        ("solver_step=20ms", "solver_step: found"),
    ],
)
def test_wrong_places_are_one_sentence(change: str, complaint: str) -> None:
    refused = CliRunner().invoke(app, ["vds", "serve", "--port", "0", "--set", change])
    assert refused.exit_code == 1
    assert complaint in " ".join(refused.output.split()) and "Traceback" not in refused.output


def test_a_plant_of_a_scenario_stands_on_the_roads_of_the_scene(tmp_path: Path) -> None:
    (tmp_path / "hill.xodr").write_text(road_text('<elevation s="0" a="7" b="0.05" c="0" d="0"/>'))
    own = {"level": "two_track", "start": {"lane": -1, "s": 40.0}, "speed": 10.0}
    context = {"scene": {"map": "hill.xodr"}, "base_directory": tmp_path, "period_ns": 10 * MS,
               "output_types": {"odometry": ODOMETRY}}  # fmt: skip
    plant = made(VdsPlant, {"own": own, "ground": "scene"}, name="plant", context=context)
    odometry = plant.activate(Step(0, {}, {"control": None}))["odometry"]
    assert odometry.z == pytest.approx(9.0, abs=1e-6)
    with pytest.raises(ConfigurationError, match="no road"):
        read_settings({"vehicles": {"v": own}}, "test").fleet()


@pytest.mark.parametrize("network", [sloping(0.1), banked(math.radians(5.0))])
def test_a_turn_about_the_vertical_has_parts_about_the_axes_of_the_body(
    network: RoadNetwork,
) -> None:
    plant, vehicle = plant_on(network, Vehicle, 10.0)
    vehicle.yaw_rate = 0.3
    state = plant.state()
    along = -0.3 * math.sin(state.pitch)
    across = 0.3 * math.sin(state.roll) * math.cos(state.pitch)
    assert (state.roll_rate, state.pitch_rate) == pytest.approx((along, across))
    assert abs(state.pitch) > 0.05 or abs(state.roll) > 0.05


@pytest.mark.parametrize(
    ("profiles", "rate"),
    [
        # The road begins to roll 0.01 rad per metre: 0.2 rad/s at 20 m/s.
        (
            {"superelevation": '<superelevation s="0" a="0" b="0" c="0" d="0"/>'
             '<superelevation s="30" a="0" b="0.01" c="0" d="0"/>'},
            attrgetter("roll_rate"),
        ),
        # A kink of 3 %: front wheels rise first, 20 * 0.03 / 2.7 = 0.2 rad/s.
        (
            {"elevation": '<elevation s="0" a="0" b="0" c="0" d="0"/>'
             '<elevation s="30" a="0" b="0.03" c="0" d="0"/>'},
            attrgetter("pitch_rate"),
        ),
    ],
)  # fmt: skip
def test_a_body_on_springs_does_not_jump_with_the_ground(
    profiles: dict[str, str], rate: Callable[[Any], float]
) -> None:
    """Only springs and dampers turn the body: its own rate has no step where the ground's has."""
    sprung: list[float] = []
    stiff: list[float] = []
    for kind, rates in ((TwoTrackVehicle, sprung), (Vehicle, stiff)):
        plant, _ = plant_on(road(**profiles), kind, 20.0)
        for _ in range(1000):
            plant.step(VehicleCommand(throttle=0.15), 1 * MS)
            rates.append(rate(plant.state()))

    def largest_step(rates: list[float]) -> float:
        return max(abs(b - a) for a, b in zip(rates, rates[1:], strict=False))

    assert max(map(abs, stiff)) == pytest.approx(0.2, rel=0.25)
    assert largest_step(stiff) > 0.03
    assert largest_step(sprung) < 0.03


def test_the_track_is_a_share_of_the_width_where_the_vehicle_has_none() -> None:
    plant = VehiclePlant(SEDAN, x=20.0, y=-4.0, road=road())
    assert plant._ground is not None
    assert plant._ground._track == pytest.approx(0.84 * SEDAN.width)
    sprung = VehiclePlant(SEDAN, road=road(), vehicle=TwoTrackVehicle(SEDAN, 20.0, -4.0, 0.0, 0.0))
    assert sprung._ground is not None
    assert sprung._ground._track == TwoTrackVehicle(SEDAN).body.track
