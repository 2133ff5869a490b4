# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The vehicles against closed forms: acceleration, braking, coasting, top speed, bends, lanes.

The solutions are those of the equations of motion, worked out here without the model: integrals
over the speed, a balance of powers, the steady turn and the linear single-track model of Riekert
and Schunck. docs/carla-headless.md names the figures.
"""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from support.closed_forms import braking_way, time_to, top_speed

from ros2_cosim.world.map import RoadNetwork
from ros2_cosim.world.vehicle import (
    SEDAN,
    TRUCK,
    VEHICLES,
    ActuatorCommand,
    RoadVehicle,
    Vehicle,
    VehicleParameters,
    pedals_for,
)

VAN = VEHICLES["van"]

STEP = 0.01
#: As numbers of their own: the oracle uses none of the code's.
GRAVITY, AIR_DENSITY = 9.81, 1.184
PAGE = Path(__file__).parents[2] / "docs" / "carla-headless.md"
KMH = 1.0 / 3.6
ALL = pytest.mark.parametrize("p", [SEDAN, VAN, TRUCK], ids=lambda p: p.name)


def _simulated_time_to(p: VehicleParameters, speed: float) -> float:
    car, time = Vehicle(p), 0.0
    while car.vx < speed:
        before = car.vx
        car.step(STEP, ActuatorCommand(throttle=1.0))
        time += STEP
    return time - STEP * (car.vx - speed) / (car.vx - before)


@ALL
def test_acceleration_is_that_of_the_forces(p: VehicleParameters) -> None:
    speed = min(100.0, 3.4 * p.max_speed) * KMH
    assert _simulated_time_to(p, speed) == pytest.approx(time_to(p, speed), rel=0.01)


@ALL
def test_the_way_of_full_braking_is_that_of_the_forces(p: VehicleParameters) -> None:
    car = Vehicle(p, speed=100.0 * KMH)
    while car.vx > 0.0:
        car.step(STEP, ActuatorCommand(brake=1.0))
    assert car.distance == pytest.approx(braking_way(p, 100.0 * KMH), rel=0.006)


@ALL
def test_coasting_follows_its_closed_form(p: VehicleParameters) -> None:
    """m dv/dt = -(A + B v^2) has the solution t = m / sqrt(AB) (atan(v0 k) - atan(v k))."""
    a = p.rolling_resistance * p.mass * GRAVITY + p.engine_braking_force
    b = 0.5 * AIR_DENSITY * p.drag_area
    k = math.sqrt(b / a)
    car, time = Vehicle(p, speed=25.0), 0.0
    while car.vx > 6.0:  # below 4 m/s the engine drags less
        car.step(STEP, ActuatorCommand())
        time += STEP
        expected = math.tan(math.atan(25.0 * k) - time * math.sqrt(a * b) / p.mass) / k
        assert car.vx == pytest.approx(expected, abs=2e-3)
    assert time > 20.0


@ALL
def test_top_speed_is_where_power_and_resistance_are_equal(p: VehicleParameters) -> None:
    top = top_speed(p)
    car = Vehicle(p, speed=0.9 * top)
    for _ in range(20_000):
        car.step(STEP, ActuatorCommand(throttle=1.0))
    assert car.vx == pytest.approx(top, rel=0.01) and abs(car.ax) < 1e-3


@ALL
@pytest.mark.parametrize("speed", [8.0, 15.0, 22.0])
def test_a_steady_turn_has_the_steering_of_its_understeer(
    p: VehicleParameters, speed: float
) -> None:
    """delta = L / R + (1 / Cf - 1 / Cr) a / g, where Cf and Cr are the stiffnesses per load."""
    base = p.front_axle + p.rear_axle
    gradient = (1.0 / p.front_stiffness - 1.0 / p.rear_stiffness) / GRAVITY
    wanted = 1.5  # m/s^2, where tyres are linear
    angle = wanted * (base / (speed * speed) + gradient)
    car = Vehicle(p, speed=speed)
    for _ in range(1500):
        throttle, brake = pedals_for(p, speed - car.vx, car.vx)
        steer = angle / p.max_steer_angle
        car.step(STEP, ActuatorCommand(throttle, brake, steer))
    lateral = car.vx * car.yaw_rate
    expected = car.vx * car.vx * angle / (base + gradient * car.vx * car.vx)
    assert lateral == pytest.approx(expected, rel=0.02)


def banked_circle(radius: float, bank: float) -> RoadNetwork:
    """A turn to the left, most of a circle, with a superelevation [rad]; one lane 8 m wide."""
    length = 6.0 * radius
    text = f"""<OpenDRIVE><header/><road name="r" length="{length}" id="1" junction="-1">
<planView><geometry s="0" x="0" y="0" hdg="0" length="{length}"><arc curvature="{1.0 / radius}"/>
</geometry></planView>
<lateralProfile><superelevation s="0" a="{bank}" b="0" c="0" d="0"/></lateralProfile>
<lanes><laneSection s="0"><center><lane id="0" type="none"/></center>
<right><lane id="-1" type="driving"><width sOffset="0" a="8" b="0" c="0" d="0"/></lane></right>
</laneSection></lanes></road></OpenDRIVE>"""
    return RoadNetwork.from_xodr(text, "circle")


@ALL
@pytest.mark.parametrize("bank", [-0.15, -0.05, 0.0, 0.08])
def test_a_steady_turn_on_a_banked_road(p: VehicleParameters, bank: float) -> None:
    """delta = L / R + (1 / Cf - 1 / Cr) F / N: force across the vehicle and load of the tyres.

    F / m = v^2 / R + g sin b and N / m = g cos b - v^2 / R sin b in a turn to the left, where
    b > 0 lifts the left side: the road falls to the outside. At b = -0.15 and 1.5 m/s^2 the bank
    does all of it, and the steering is that of the geometry alone.
    """
    radius, lateral = 150.0, 1.5
    speed = math.sqrt(lateral * radius)
    base = p.front_axle + p.rear_axle
    force = lateral + GRAVITY * math.sin(bank)
    load = GRAVITY * math.cos(bank) - lateral * math.sin(bank)
    angle = base / radius + (1.0 / p.front_stiffness - 1.0 / p.rear_stiffness) * force / load
    car = RoadVehicle.on_lane(banked_circle(radius, bank), p, 1, -1, 5.0, speed)
    vehicle = car.vehicle
    for _ in range(2000):
        throttle, brake = pedals_for(p, speed - vehicle.vx, vehicle.vx)
        car.step(STEP, ActuatorCommand(throttle, brake, angle / p.max_steer_angle))
    assert vehicle.vx / vehicle.yaw_rate == pytest.approx(radius, rel=2e-3)
    assert car.roll == pytest.approx(bank, abs=1e-3)
    across = vehicle.vx * vehicle.yaw_rate + GRAVITY * math.sin(bank)
    assert sum(vehicle.wheel_forces()) / p.mass == pytest.approx(across, abs=0.05)


@ALL
def test_a_lane_change_is_that_of_the_linear_single_track_model(p: VehicleParameters) -> None:
    """Yaw rate and way of a sine of steering; the model is given the angle of the real wheels."""
    speed, period = 20.0, 3.0
    base, mass, inertia = p.front_axle + p.rear_axle, p.mass, p.yaw_inertia
    front = p.front_stiffness * mass * GRAVITY * p.rear_axle / base
    rear = p.rear_stiffness * mass * GRAVITY * p.front_axle / base
    car = Vehicle(p, speed=speed)
    vy = rate = yaw = y = 0.0
    fine, count = 0.001, 10
    errors, rates = [], []
    for step in range(600):
        time = step * STEP
        wave = math.sin(2.0 * math.pi * time / period) if time < period else 0.0
        throttle, brake = pedals_for(p, speed - car.vx, car.vx)
        before = car.steer_angle
        car.step(STEP, ActuatorCommand(throttle, brake, 0.02 / p.max_steer_angle * wave))
        for part in range(count):
            angle = before + (car.steer_angle - before) * (part + 0.5) / count
            slip_front = (vy + p.front_axle * rate) / speed - angle
            slip_rear = (vy - p.rear_axle * rate) / speed
            force_front, force_rear = -front * slip_front, -rear * slip_rear
            vy += fine * ((force_front + force_rear) / mass - speed * rate)
            rate += fine * (p.front_axle * force_front - p.rear_axle * force_rear) / inertia
            yaw += fine * rate
            y += fine * (speed * math.sin(yaw) + vy * math.cos(yaw))
        errors.append(abs(car.yaw_rate - rate))
        rates.append(abs(rate))
    assert max(errors) < 0.03 * max(rates)
    assert abs(y) > 1.0 and car.y == pytest.approx(y, rel=0.03)


def figures() -> list[str]:
    """The rows of the table of the page."""
    rows = []
    for p in (SEDAN, VAN, TRUCK):
        brakes = Vehicle(p, speed=100.0 * KMH)
        while brakes.vx > 0.0:
            brakes.step(STEP, ActuatorCommand(brake=1.0))
        top = top_speed(p)
        if top > 100.0 * KMH:
            time = f"{_simulated_time_to(p, 100.0 * KMH):.1f} s"
            form = f"{time_to(p, 100.0 * KMH):.1f} s"
        else:
            time = form = "not reached"
        rows.append(
            f"| {p.name} | {time} | {form} | {brakes.distance:.1f} m | "
            f"{braking_way(p, 100.0 * KMH):.1f} m | {top / KMH:.0f} km/h |"
        )
    return rows


def test_the_page_has_these_figures() -> None:
    text = PAGE.read_text(encoding="utf-8")
    for row in figures():
        assert row in text
