# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Each vehicle of the catalogue moves with its own figures, and each wheel on its own ground."""

from __future__ import annotations

import math
from copy import deepcopy
from typing import Any

import pytest

from bench.vehicle_figures import STEP, Drive, sources
from ros2_cosim.core.documents.installed import package_table
from ros2_cosim.core.documents.settings import read_section
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.world.headless.blueprints import LIBRARY
from ros2_cosim.world.headless.physics_control import (
    PhysicsControl,
    Wheel,
    apply_physics,
    physics_control,
    telemetry,
)
from ros2_cosim.world.headless.vehicle_figures import FigureTable, figure_table
from ros2_cosim.world.headless.wire_types import Rotation, Transform, Vector
from ros2_cosim.world.headless.world import CallError
from ros2_cosim.world.vehicle.split_grip import SplitGripVehicle, mean_grip
from ros2_cosim.world.vehicle.vehicle import ActuatorCommand, Vehicle

NAMES = [name.removeprefix("vehicle.") for name in LIBRARY if name.startswith("vehicle.")]
G, AIR = 9.81, 1.184
LEFT, RIGHT = 1.0, -1.0


def _told(drive: Drive) -> PhysicsControl:
    """What a client reads of the vehicle."""
    wire = physics_control(drive.world.require_vehicle(drive.actor.id))
    return PhysicsControl(*wire)._replace(wheels=[Wheel(*wheel) for wheel in wire[15]])


# The table ---------------------------------------------------------------------------------


def test_the_table_has_every_vehicle_and_names_a_source_for_each_figure() -> None:
    table = figure_table()
    assert sorted(table.vehicles) == sorted(NAMES)
    for name in NAMES:
        lines = list(sources(name))
        assert any(line.startswith(f"{name}: mass: ") for line in lines)
        for line in lines:
            source = line.split(": ", 2)[2]
            assert source == "class estimate" or "." in source, line


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"mass": [900.0, "hearsay"]}, r"vehicles.audi.a2.mass: there is no source 'hearsay'"),
        ({"mass": [0.0, "a2"]}, r"vehicles.audi.a2.mass.*found 0"),
        ({"weight": [900.0, "a2"]}, r"weight"),
        ({"mass": [900.0, "a2"], "drive": "steam"}, "there is no drive"),
        ({"mass": [900.0, "a2"], "class": "tank"}, "there is no class 'tank'"),
    ],
)
def test_a_wrong_table_is_refused_by_place(change: dict[str, Any], message: str) -> None:
    data = deepcopy(package_table("world/headless/vehicle_figures.json"))
    data["vehicles"]["audi.a2"] = change
    with pytest.raises(ConfigurationError, match=message):
        read_section(FigureTable, data, origin="table")


def test_no_two_products_are_one_vehicle() -> None:
    seen: dict[tuple[float, ...], str] = {}
    for name in NAMES:
        told = _told(Drive(name))
        wheels = [value for wheel in told.wheels for value in (*wheel[:9], *wheel.position)]
        key = (told.mass, told.drag_coefficient, told.max_rpm, told.final_ratio, *wheels)
        assert key not in seen, (name, seen[key])
        seen[key] = name


# What is told acts -------------------------------------------------------------------------


def _curve(points: list[tuple[float, float]], x: float) -> float:
    before = points[0]
    for point in points:
        if point[0] >= x:
            if point[0] == before[0]:
                return point[1]
            share = (x - before[0]) / (point[0] - before[0])
            return before[1] + share * (point[1] - before[1])
        before = point
    return points[-1][1]


def _expected(told: PhysicsControl, drive: Drive, seconds: float) -> float:
    """The speed after full throttle from rest by what is told: Euler's steps of a millisecond."""
    p, area = drive.body.parameters, drive.body.equipment.frontal_area
    radius, h = 0.01 * told.wheels[0].radius, 0.001
    wheel_damping = sum(wheel.damping_rate for wheel in told.wheels) / (radius * radius)
    gears = [(ratio * told.final_ratio, down, up) for ratio, down, up in told.forward_gears]
    speed, throttle, gear, parted = 0.0, 0.0, 0, 0.0
    for step in range(int(seconds / h)):
        ratio, down, up = gears[gear]
        share = speed / radius * ratio * 60.0 / (2.0 * math.pi) / told.max_rpm
        if step % int(STEP / h) == 0 and parted <= 0.0:
            change = 1 if share > up and gear + 1 < len(gears) else 0
            change -= 1 if share < down and gear > 0 else 0
            gear += change
            parted = told.gear_switch_time if change else 0.0
        parted -= h
        force = 0.0
        inertia = told.moi * (ratio / radius) ** 2
        if parted <= 0.0:
            # The clutch slips by the torque that it passes on.
            turns = max(share, 0.1) * told.max_rpm
            slip = _curve(told.torque_curve, turns) / told.clutch_strength * 60.0 / (2.0 * math.pi)
            torque = _curve(told.torque_curve, min(turns + slip, told.max_rpm))
            limited = min(1.0, (1.0 - share) / 0.05)
            force = torque * limited * ratio / radius
            force -= told.damping_full * (ratio / radius) ** 2 * speed
        else:
            inertia = 0.0
        throttle += h / p.throttle_lag * (force * told.mass / (told.mass + inertia) - throttle)
        grip = p.friction * told.mass * G
        resist = p.rolling_resistance * told.mass * G + wheel_damping * speed
        resist += 0.5 * AIR * told.drag_coefficient * area * speed * speed
        speed += h * (min(throttle, grip) - resist) / told.mass
    return speed


@pytest.mark.parametrize("name", NAMES)
def test_the_vehicle_goes_by_what_is_told_of_it(name: str) -> None:
    drive, seconds = Drive(name), 4.0
    told = _told(drive)
    for _ in range(round(seconds / STEP)):
        drive.go(throttle=1.0)
    p = drive.body.parameters
    # Where tyres are the limit, the drag of the engine takes from what they hold.
    is_limited = p.max_drive_force > p.friction * p.mass * G
    within = 0.1 if is_limited else 0.02
    assert drive.speed == pytest.approx(_expected(told, drive, seconds), rel=within)


@pytest.mark.parametrize("name", ["tesla.model3", "carlamotors.firetruck", "vespa.zx125"])
def test_what_comes_back_unchanged_changes_nothing(name: str) -> None:
    ways = []
    for applies in (False, True):
        drive = Drive(name)
        actor = drive.world.require_vehicle(drive.actor.id)
        for step in range(150):
            if applies and step == 50:
                apply_physics(actor, _told(drive))
            drive.go(throttle=0.8, steer=0.1)
        ways.append(drive.actor.exposed_numbers())
    assert ways[0] == ways[1]


@pytest.mark.parametrize("name", [n for n in NAMES if figure_table().vehicles[n].power])
def test_no_engine_has_more_than_its_largest_power(name: str) -> None:
    figures, told = figure_table().vehicles[name], _told(Drive(name))
    assert figures.power is not None
    passed_on = (figures.efficiency or (figure_table().everywhere.efficiency,))[0]
    kilowatts = max(torque * rpm for rpm, torque in told.torque_curve) * math.pi / 30_000.0
    assert 0.96 < kilowatts / (passed_on * figures.power[0]) < 1.001


def test_a_scenario_gives_mass_and_wheelbase_and_pedals_mean_the_same() -> None:
    """What differs is what a blow, the air and a bend make of it."""
    usual = Drive("tesla.model3", steering="class")
    heavy = Drive("tesla.model3", steering="class", dimensions="0 0 0 3300 3.2 0.4 0.5 1.3")
    for drive in (usual, heavy):
        for _ in range(100):
            drive.go(throttle=0.5, steer=0.2)
    p, q = usual.body.parameters, heavy.body.parameters
    assert (q.mass, q.wheelbase, q.wheel_radius) == pytest.approx((3300.0, 3.2, 0.4))
    told = _told(heavy)
    assert (told.mass, told.wheels[0].radius) == pytest.approx((3300.0, 40.0))
    assert told.wheels[0].max_steer_angle == pytest.approx(math.degrees(0.5))
    across = [wheel.position for wheel in told.wheels[:2]]
    assert math.dist(across[0][:2], across[1][:2]) == pytest.approx(130.0)
    assert heavy.speed == pytest.approx(usual.speed, rel=0.02)
    turns = [abs(drive.actor.exposed_numbers()[11]) / drive.speed for drive in (usual, heavy)]
    # It steers less, about as 0.5 to 0.61 rad, around a longer wheelbase.
    assert turns[1] < 0.8 * turns[0] and q.yaw_inertia > 2.0 * p.yaw_inertia


@pytest.mark.parametrize(
    "text",
    ["0 0 0 1500", "0 0 0 -1 2 0 0 0", "0 0 0 1e9 2 0 0 0", "0 0 0 1500 2 0 3 0", "0 0 0 a b"],
)
def test_a_wrong_chassis_is_refused(text: str) -> None:
    with pytest.raises(CallError, match="length, width and height, each 0 to 100 m, and after"):
        Drive("tesla.model3", dimensions=text)


# Full brakes -------------------------------------------------------------------------------


def _slowed(drive: Drive, brake: float, seconds: float = 0.1) -> float:
    """Mean deceleration of a brake [m/s^2], a tenth of a second after it began."""
    for _ in range(round(0.1 / STEP)):
        drive.go(brake=brake)
    before = drive.speed
    for _ in range(round(seconds / STEP)):
        drive.go(brake=brake)
    return (before - drive.speed) / seconds


@pytest.mark.parametrize(
    ("name", "recorded"),
    [
        ("tesla.model3", 26.8), ("lincoln.mkz_2020", 26.5), ("mercedes.sprinter", 22.6),
        ("carlamotors.european_hgv", 16.0), ("carlamotors.firetruck", 9.7), ("yamaha.yzf", 31.0),
    ],
)  # fmt: skip
def test_full_brakes_at_low_speed_stop_as_recorded(name: str, recorded: float) -> None:
    # With CARLA 0.9.15 and its traffic manager: tmuehlen80/graph_coverage 90e9d345.
    drive = Drive(name, 7.0)
    assert _slowed(drive, 1.0) == pytest.approx(recorded, rel=0.03)
    # What it has of its class, without that: with less than a full pedal, faster, on real tyres.
    usual = drive.body.parameters.max_brake_force / drive.body.parameters.mass
    assert _slowed(Drive(name, 7.0), 0.7) < 0.8 * usual
    assert _slowed(Drive(name, 20.0), 1.0) < 1.15 * usual
    worn = Drive(name, 7.0)
    told = _told(worn)
    wheels = [wheel._replace(tire_friction=1.0) for wheel in told.wheels]
    actor = worn.world.require_vehicle(worn.actor.id)
    apply_physics(actor, told._replace(wheels=wheels))
    assert _slowed(worn, 1.0) < 1.15 * usual


def test_scenarios_brake_as_their_class_does() -> None:
    drive = Drive("tesla.model3", 7.0, steering="class")
    assert _slowed(drive, 1.0) < 1.15 * drive.body.parameters.max_brake_force / drive.body.mass


def test_locked_wheels_stop_within_the_way_of_their_deceleration() -> None:
    drive = Drive("tesla.model3", 6.0)
    begin = drive.actor.exposed_numbers()[0]
    while drive.speed > 0.0:
        drive.go(brake=1.0)
    way = drive.actor.exposed_numbers()[0] - begin
    assert way == pytest.approx(6.0 * 6.0 / (2.0 * 26.8), abs=0.25)  # and what the pedal takes
    for _ in range(20):
        drive.go(brake=1.0)
    assert drive.speed == 0.0


# Each wheel on its ground ------------------------------------------------------------------


def _ice(drive: Drive, left: float, right: float, friction: str = "0.1") -> None:
    """A strip of ice along the road, between two distances to the left of the vehicle [m]."""
    middle, half = 0.5 * (left + right), 0.5 * abs(left - right)
    drive.world.spawn(
        "static.trigger.friction",
        Transform(Vector(1000.0, 2.0 - middle, 0.0), Rotation()),
        {"friction": friction, "extent_x": "100000.0", "extent_y": f"{100.0 * half}",
         "extent_z": "300.0"},
    )  # fmt: skip


def test_a_patch_is_felt_by_the_wheels_on_it_alone() -> None:
    drive = Drive("tesla.model3")
    _ice(drive, 0.0, 4.0)
    drive.go()
    usual = _told(Drive("tesla.model3")).wheels[0].tire_friction
    assert [wheel.tire_friction for wheel in _told(drive).wheels] == pytest.approx(
        [0.1, usual, 0.1, usual]
    )
    told = telemetry(drive.world.require_vehicle(drive.actor.id))
    assert [wheel[0] for wheel in told[7]] == pytest.approx([0.1, usual, 0.1, usual])


def _braked(left: float, right: float, seconds: float = 1.0) -> tuple[float, float]:
    """(turn to the left [deg], lost speed [m/s]) of full braking from 20 m/s beside ice."""
    drive = Drive("tesla.model3", 20.0)
    if left != right:
        _ice(drive, left, right)
    for _ in range(round(seconds / STEP)):
        drive.go(brake=1.0)
    return -float(drive.actor.exposed_numbers()[4]), 20.0 - drive.speed


def test_brakes_on_split_mu_turn_the_vehicle_to_the_side_that_holds() -> None:
    ice_left, ice_right = _braked(0.0, 4.0), _braked(0.0, -4.0)
    dry, ice = _braked(0.0, 0.0), _braked(-4.0, 4.0)
    assert dry[0] == pytest.approx(0.0, abs=0.05) and ice[0] == pytest.approx(0.0, abs=0.05)
    assert ice_left[0] < -2.0 and ice_right[0] == pytest.approx(-ice_left[0], rel=0.02)
    assert ice[1] < 1.5 and dry[1] > 8.0
    # Half the wheels hold as on ice, half as on asphalt, until the vehicle has turned.
    both, on_ice, on_asphalt = (
        _braked(*at, 0.5)[1] for at in ((0.0, 4.0), (-4.0, 4.0), (0.0, 0.0))
    )
    assert both == pytest.approx(0.5 * (on_ice + on_asphalt), rel=0.1)


def test_the_moment_of_split_mu_is_that_of_the_wheels() -> None:
    """Before the tyres answer: half the track times the difference of both sides."""
    p = LIBRARY["vehicle.tesla.model3"].dynamics
    assert p is not None
    vehicle = SplitGripVehicle(p, speed=20.0, grips=(0.1, 3.5, 0.1, 3.5), along=1.0, track=1.6)
    vehicle.brake = 1.0
    vehicle.step(0.001, ActuatorCommand(brake=1.0))
    weight = p.mass * G
    # Of full brakes each wheel on asphalt has its share; on ice the tyre gives way.
    left, right = 0.1 * 0.5 * weight, min(0.5 * p.max_brake_force, 0.5 * weight)
    moment = 0.8 * (left - right)
    assert sum(vehicle.pushes) == pytest.approx(0.0 - left - right, rel=0.02)
    assert vehicle.yaw_rate == pytest.approx(0.001 * moment / p.yaw_inertia, rel=0.05)
    assert vehicle.yaw_rate < 0.0


def test_four_equal_tyres_are_the_bicycle() -> None:
    dynamics = LIBRARY["vehicle.tesla.model3"].class_dynamics
    assert dynamics is not None
    held = dynamics.friction * dynamics.lateral_grip
    grips = (held, held, held, held)
    assert mean_grip(dynamics, grips) == pytest.approx(held)
    split = SplitGripVehicle(dynamics, speed=15.0, grips=grips, along=dynamics.friction, track=1.6)
    usual = Vehicle(dynamics, speed=15.0)
    for step in range(200):
        command = ActuatorCommand(0.4, 0.0, 0.1 if step < 100 else -0.05)
        split.step(0.02, command)
        usual.step(0.02, command)
    for name in ("x", "y", "yaw", "vx", "vy", "yaw_rate"):
        assert vars_of(split)[name] == pytest.approx(vars_of(usual)[name], rel=1e-3, abs=1e-3)


def vars_of(vehicle: Vehicle) -> dict[str, float]:
    return {
        "x": vehicle.x, "y": vehicle.y, "yaw": vehicle.yaw, "vx": vehicle.vx, "vy": vehicle.vy,
        "yaw_rate": vehicle.yaw_rate,
    }  # fmt: skip


@pytest.mark.parametrize("side", [LEFT, RIGHT])
def test_tyres_that_a_client_makes_unlike_pull_to_the_better_ones(side: float) -> None:
    drive = Drive("seat.leon", 20.0)
    actor, told = drive.world.require_vehicle(drive.actor.id), _told(drive)
    worn = (0, 2) if side == LEFT else (1, 3)
    wheels = [
        wheel._replace(tire_friction=0.3 if number in worn else 3.5)
        for number, wheel in enumerate(told.wheels)
    ]
    apply_physics(actor, told._replace(wheels=wheels))
    for _ in range(40):
        drive.go(brake=1.0)
    assert side * float(drive.actor.exposed_numbers()[4]) > 1.0
    assert [wheel.tire_friction for wheel in _told(drive).wheels] == [
        wheel.tire_friction for wheel in wheels
    ]
