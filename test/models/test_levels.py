# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Levels of detail of a vehicle against closed forms: steady turns, loads, lean, limits."""

from __future__ import annotations

import math

import pytest

from ros2_cosim.world.vehicle import SEDAN, TRUCK, ActuatorCommand, Vehicle, VehicleParameters
from ros2_cosim.world.vehicle.levels import (
    TYPICAL_TYRE,
    KinematicVehicle,
    MagicFormula,
    PacejkaVehicle,
    TwoTrackVehicle,
)
from ros2_cosim.world.vehicle.parameters import GRAVITY

LEVELS = (KinematicVehicle, Vehicle, PacejkaVehicle, TwoTrackVehicle)


def steady(vehicle: Vehicle, steer: float, speed: float, seconds: float = 8.0) -> None:
    """Turn with a fixed angle of the wheels [rad]; the throttle keeps the speed [m/s]."""
    full = vehicle.parameters.max_steer_angle
    for _ in range(round(seconds / 0.01)):
        throttle = 0.15 + 0.5 * (speed - vehicle.vx)
        vehicle.step(0.01, ActuatorCommand(throttle=throttle, steer=steer / full))


def made(kind: type[Vehicle], parameters: VehicleParameters, speed: float) -> Vehicle:
    return kind(parameters, 0.0, 0.0, 0.0, speed)


@pytest.mark.parametrize("kind", LEVELS)
@pytest.mark.parametrize("parameters", [SEDAN, TRUCK], ids=lambda p: p.name)
def test_all_levels_agree_in_a_gentle_turn(
    kind: type[Vehicle], parameters: VehicleParameters
) -> None:
    """Steady state of the linear bicycle: r = v delta / (L + K v^2), K of the stiffness."""
    p, speed, steer = parameters, 15.0, 0.01
    vehicle = made(kind, p, speed)
    steady(vehicle, steer, speed)
    understeer = (1.0 / p.front_stiffness - 1.0 / p.rear_stiffness) / GRAVITY
    if kind is KinematicVehicle:
        understeer = 0.0
    expected = vehicle.vx * steer / (p.wheelbase + understeer * vehicle.vx**2)
    assert vehicle.yaw_rate == pytest.approx(expected, rel=0.01)
    assert vehicle.ay == pytest.approx(vehicle.vx * expected, rel=0.01)
    forces = vehicle.wheel_forces() if not isinstance(vehicle, KinematicVehicle) else None
    if forces is not None:
        assert sum(forces) == pytest.approx(p.mass * vehicle.ay, rel=0.02)
        front = p.mass * vehicle.ay * p.rear_axle / p.wheelbase
        assert forces[0] + forces[1] == pytest.approx(front, rel=0.02)


def test_the_magic_formula_has_its_slope_and_its_peak() -> None:
    tyre = MagicFormula(peak=1.1, shape=1.4, curvature=-0.5, load_drop=0.2)
    assert tyre.secant(0.0, 4000.0, 4000.0, 20.0, 0.9) == 20.0 * 4000.0
    assert tyre.secant(1e-4, 4000.0, 4000.0, 20.0, 0.9) == pytest.approx(80_000.0, rel=1e-3)
    forces = [tyre.secant(k * 1e-3, 4000.0, 4000.0, 20.0, 0.9) * k * 1e-3 for k in range(1, 400)]
    assert max(forces) == pytest.approx(1.1 * 0.9 * 4000.0, rel=1e-3)
    assert forces[-1] < 0.97 * max(forces), "beyond the peak it falls"
    slip = 0.08
    b = 20.0 / (1.4 * 1.1 * 0.9)
    x = b * slip
    x -= -0.5 * (x - math.atan(x))
    expected = 1.1 * 0.9 * 4000.0 * math.sin(1.4 * math.atan(x))
    assert tyre.secant(-slip, 4000.0, 4000.0, 20.0, 0.9) * slip == pytest.approx(expected)
    heavy = [tyre.secant(k * 1e-3, 8000.0, 4000.0, 20.0, 0.9) * k * 1e-3 for k in range(1, 400)]
    assert max(heavy) / 8000.0 == pytest.approx(0.8 * max(forces) / 4000.0, rel=1e-3)


@pytest.mark.parametrize("kind", [PacejkaVehicle, TwoTrackVehicle])
def test_more_than_friction_is_not_held(kind: type[Vehicle]) -> None:
    vehicle = made(kind, SEDAN, 25.0)
    largest = 0.0
    for _ in range(400):
        vehicle.step(0.01, ActuatorCommand(throttle=0.3, steer=0.4))
        largest = max(largest, abs(vehicle.ay))
    assert 0.8 * GRAVITY < largest < 1.02 * TYPICAL_TYRE.peak * SEDAN.friction * GRAVITY


def test_loads_shift_and_the_body_leans_in_a_turn() -> None:
    vehicle = TwoTrackVehicle(SEDAN, 0.0, 0.0, 0.0, 20.0)
    steady(vehicle, 0.03, 20.0)
    body, p = vehicle.body, SEDAN
    assert vehicle.ay > 2.0
    arm = p.cg_height - body.roll_centre
    lean = p.mass * arm * vehicle.ay / (body.roll_stiffness - p.mass * GRAVITY * arm)
    assert vehicle.roll == pytest.approx(lean, rel=1e-3)
    assert vehicle.roll_rate == pytest.approx(0.0, abs=1e-4)
    front_left, front_right, rear_left, rear_right = vehicle.wheel_loads()
    assert front_left + front_right + rear_left + rear_right == pytest.approx(p.mass * GRAVITY)
    moment = p.mass * (vehicle.ay * p.cg_height + GRAVITY * arm * lean)
    shift = front_right + rear_right - front_left - rear_left
    assert 0.5 * shift * body.track == pytest.approx(moment, rel=1e-3)
    forces = vehicle.wheel_forces()
    assert forces[1] > forces[0] > 0.0 and forces[3] > forces[2] > 0.0, "the outer ones carry more"


def test_the_nose_dives_when_braking() -> None:
    vehicle = TwoTrackVehicle(SEDAN, 0.0, 0.0, 0.0, 30.0)
    for _ in range(200):
        vehicle.step(0.01, ActuatorCommand(brake=0.4))
    expected = -SEDAN.mass * SEDAN.cg_height * vehicle.ax / vehicle.body.pitch_stiffness
    assert vehicle.ax < -3.0
    assert vehicle.pitch == pytest.approx(expected, rel=0.02) and expected > 0.0
    for _ in range(800):
        vehicle.step(0.01, ActuatorCommand(brake=0.4))
    assert vehicle.vx == 0.0 and vehicle.pitch == pytest.approx(0.0, abs=1e-4)
    assert vehicle.wheel_forces() == (0.0, 0.0, 0.0, 0.0)


@pytest.mark.parametrize("kind", LEVELS)
def test_air_that_would_lift_an_axle_leaves_the_forces_of_its_wheels_finite(
    kind: type[Vehicle],
) -> None:
    vehicle = made(kind, SEDAN, 411.0)
    vehicle.step(0.01, ActuatorCommand())
    weight = SEDAN.mass * GRAVITY
    base = SEDAN.front_axle + SEDAN.rear_axle
    shift = -SEDAN.mass * vehicle.ax * SEDAN.cg_height / base
    assert shift > weight * SEDAN.front_axle / base, "more than rests on the rear axle"
    assert vehicle.wheel_forces() == (0.0, 0.0, 0.0, 0.0)


def test_load_transfer_costs_grip() -> None:
    """Two tracks with tyres whose friction falls with the load turn less tightly at the limit."""
    tyre = MagicFormula(load_drop=0.4)
    single = PacejkaVehicle(SEDAN, 0.0, 0.0, 0.0, 20.0, tyre=tyre)
    double = TwoTrackVehicle(SEDAN, 0.0, 0.0, 0.0, 20.0, tyre=tyre)
    for vehicle in (single, double):
        steady(vehicle, 0.25, 20.0, 4.0)
    assert abs(double.ay) < 0.98 * abs(single.ay)


@pytest.mark.parametrize("kind", LEVELS)
def test_a_smaller_step_of_the_solver_changes_little(kind: type[Vehicle]) -> None:
    coarse, fine = made(kind, SEDAN, 20.0), made(kind, SEDAN, 20.0)
    fine.longest_substep = 0.001
    for vehicle in (coarse, fine):
        steady(vehicle, 0.02, 20.0, 3.0)
    assert fine.yaw_rate == pytest.approx(coarse.yaw_rate, rel=5e-3)
    assert math.dist((fine.x, fine.y), (coarse.x, coarse.y)) < 0.5
    assert (fine.x, fine.y) != (coarse.x, coarse.y)
