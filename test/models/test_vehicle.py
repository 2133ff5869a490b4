# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Vehicle dynamics: believable figures, exact standstill, friction limits, same bits."""

import dataclasses
import hashlib
import math
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.world.vehicle import (
    SEDAN,
    TRUCK,
    VEHICLES,
    ActuatorCommand,
    PedalMap,
    Vehicle,
    VehicleParameters,
    coasting_acceleration,
    max_acceleration,
    max_deceleration,
    pedals_for,
)

VAN = VEHICLES["van"]

STEP = 0.01
ALL = pytest.mark.parametrize("p", VEHICLES.values(), ids=VEHICLES.keys())
pedal = st.floats(0.0, 1.0)


def drive(vehicle: Vehicle, seconds: float, slope: float = 0.0, **control: float) -> Vehicle:
    command = ActuatorCommand(**control)
    for _ in range(round(seconds / STEP)):
        vehicle.step(STEP, command, slope)
    return vehicle


@pytest.mark.parametrize(("p", "low", "high"), [(SEDAN, 6.0, 9.0), (VAN, 10.0, 15.0)])
def test_time_to_100_kmh_is_believable(p: VehicleParameters, low: float, high: float) -> None:
    vehicle, time = Vehicle(p), 0.0
    while vehicle.vx < 100.0 / 3.6 and time < 60.0:
        vehicle.step(STEP, ActuatorCommand(throttle=1.0))
        time += STEP
    assert low < time < high


@pytest.mark.parametrize(("p", "low", "high"), [(SEDAN, 36, 43), (VAN, 38, 46), (TRUCK, 50, 62)])
def test_braking_distance_from_100_kmh_is_believable(
    p: VehicleParameters, low: float, high: float
) -> None:
    vehicle = drive(Vehicle(p, speed=100.0 / 3.6), 6.0, brake=1.0)
    assert vehicle.vx == 0.0
    assert low < vehicle.distance < high


@ALL
def test_top_speed_respects_limiter_and_power(p: VehicleParameters) -> None:
    # Drag (1/2 rho cdA v^2) and rolling resistance take the motorcycle's 50 kW at 54.4 m/s.
    top = 54.45 if p.name == "motorcycle" else p.max_speed
    vehicle = drive(Vehicle(p, speed=p.max_speed - 5.0), 60.0, throttle=1.0)
    assert top - 5.0 < vehicle.vx <= top
    assert vehicle.ax == pytest.approx(0.0, abs=0.01)


@ALL
@pytest.mark.parametrize("slope", [0.0, 0.08, -0.08])
def test_standing_with_brake_stands_exactly(p: VehicleParameters, slope: float) -> None:
    vehicle = drive(Vehicle(p, speed=5.0), 8.0, slope, brake=0.6)
    before = (vehicle.x, vehicle.y, vehicle.yaw)
    assert vehicle.vx == vehicle.vy == vehicle.yaw_rate == 0.0
    for _ in range(200):
        vehicle.step(STEP, ActuatorCommand(brake=0.6, steer=0.3), slope)
        assert (vehicle.vx, vehicle.vy, vehicle.yaw_rate) == (0.0, 0.0, 0.0)
        assert (vehicle.ax, vehicle.ay) == (0.0, 0.0)
    assert (vehicle.x, vehicle.y, vehicle.yaw) == before


@ALL
def test_without_pedals_it_rests_on_the_flat_and_rolls_on_a_hill(p: VehicleParameters) -> None:
    assert drive(Vehicle(p), 5.0).distance == 0.0
    assert drive(Vehicle(p), 5.0, 0.05).vx < -1.0
    assert drive(Vehicle(p), 5.0, -0.05).vx > 1.0
    assert drive(Vehicle(p), 5.0, 0.05, hand_brake=True).distance == 0.0


@given(st.floats(0.0, 40.0), pedal, pedal)
def test_braking_never_reverses_the_motion(speed: float, brake: float, throttle: float) -> None:
    vehicle = Vehicle(SEDAN, speed=speed)
    control = ActuatorCommand(brake=brake)
    vehicle.throttle = throttle
    for _ in range(300):
        vehicle.step(STEP, control)
        assert vehicle.vx >= 0.0


def test_stopping_way_is_that_of_constant_deceleration() -> None:
    """The last, partial step counts only as far as the vehicle rolls."""
    for speed in (0.03, 0.07, 0.3003, 1.0):
        vehicle = Vehicle(SEDAN, speed=speed)
        vehicle.brake = 0.5
        while vehicle.vx > 0.0:
            vehicle.step(STEP, ActuatorCommand(brake=0.5))
        deceleration = 0.5 * SEDAN.max_brake_force / SEDAN.mass + 0.01 * 9.81
        assert vehicle.distance == pytest.approx(speed * speed / 2.0 / deceleration, rel=0.02)


def test_reverse_gear_needs_a_slow_vehicle() -> None:
    vehicle = drive(Vehicle(SEDAN), 3.0, throttle=0.5, reverse=True)
    assert -10.0 <= vehicle.vx < -1.0
    assert vehicle.distance < 0.0
    assert drive(vehicle, 60.0, throttle=1.0, reverse=True).vx >= -10.0
    forward = drive(Vehicle(SEDAN, speed=20.0), 1.0, throttle=1.0, reverse=True)
    assert forward.vx == pytest.approx(20.0, abs=1.0)
    turning = drive(Vehicle(SEDAN), 3.0, throttle=0.3, reverse=True, steer=0.3)
    assert turning.yaw < -0.1


@ALL
@given(st.floats(-4.0, 2.0), st.floats(2.0, 24.0), st.floats(-0.05, 0.05))
def test_pedals_give_the_acceleration_asked_for(
    p: VehicleParameters, acceleration: float, speed: float, slope: float
) -> None:
    throttle, brake = pedals_for(p, acceleration, speed, slope)
    assert throttle == 0.0 or brake == 0.0
    vehicle = Vehicle(p, speed=speed)
    vehicle.throttle, vehicle.brake = throttle, brake
    vehicle.step(1e-4, ActuatorCommand(throttle, brake), slope)
    highest = max_acceleration(p, speed, slope)
    lowest = -max_deceleration(p, speed, slope)
    expected = min(max(acceleration, lowest), highest)
    assert vehicle.ax == pytest.approx(expected, abs=2e-3)


@ALL
def test_limits_of_acceleration(p: VehicleParameters) -> None:
    for speed in (0.5, 5.0, 15.0, 24.0):
        for pedals, expected in (
            ((1.0, 0.0), max_acceleration(p, speed)),
            ((0.0, 1.0), -max_deceleration(p, speed)),
            ((0.0, 0.0), coasting_acceleration(p, speed)),
        ):
            vehicle = Vehicle(p, speed=speed)
            vehicle.throttle, vehicle.brake = pedals
            vehicle.step(1e-4, ActuatorCommand(*pedals))
            assert vehicle.ax == pytest.approx(expected, abs=2e-3)
    assert pedals_for(p, 50.0, 10.0) == (1.0, 0.0)
    assert PedalMap(p)(1.0, 10.0) == pedals_for(p, 1.0, 10.0)
    assert pedals_for(p, -50.0, 10.0) == (0.0, 1.0)


@ALL
def test_pedals_hold_at_standstill(p: VehicleParameters) -> None:
    for slope in (0.0, 0.1, -0.1):
        throttle, brake = pedals_for(p, 0.0, 0.0, slope)
        vehicle = Vehicle(p)
        vehicle.brake = brake
        assert drive(vehicle, 2.0, slope, throttle=throttle, brake=brake).distance == 0.0
    assert pedals_for(p, 0.5, 0.0)[0] > 0.0
    assert pedals_for(p, 0.0, -0.01) == pedals_for(p, 0.0, 0.0)


@ALL
def test_turning_circle_at_walking_speed_is_kinematic(p: VehicleParameters) -> None:
    vehicle = Vehicle(p, speed=2.0)
    vehicle.steer_angle = 0.3
    for _ in range(400):
        vehicle.vx = 2.0
        vehicle.step(STEP, ActuatorCommand(steer=0.3 / p.max_steer_angle))
    expected = 2.0 * math.tan(0.3) / p.wheelbase
    assert vehicle.yaw_rate == pytest.approx(expected, rel=0.02)
    assert vehicle.vy == pytest.approx(p.rear_axle * vehicle.yaw_rate, rel=0.05)


@ALL
@given(st.floats(5.0, 25.0), st.floats(-1.0, 1.0), pedal, pedal)
def test_tyres_never_exceed_the_friction_circle(
    p: VehicleParameters, speed: float, steer: float, throttle: float, brake: float
) -> None:
    vehicle = Vehicle(p, speed=speed)
    control = ActuatorCommand(throttle, brake, steer)
    for _ in range(100):
        vehicle.step(STEP, control)
        # Some excess: the share left for the lateral force never falls below a fifth, and air
        # drag comes on top. A vehicle that has spun is only held within bounds.
        factor = 1.25 if vehicle.vx > 1.0 else 2.0
        assert math.hypot(vehicle.ax, vehicle.ay) < factor * p.friction * 9.81


@ALL
def test_a_spinning_vehicle_comes_to_rest(p: VehicleParameters) -> None:
    vehicle = Vehicle(p, speed=20.0)
    vehicle.vy, vehicle.yaw_rate = 8.0, 3.0
    drive(vehicle, 25.0, brake=1.0)
    assert (vehicle.vx, vehicle.vy, vehicle.yaw_rate) == (0.0, 0.0, 0.0)
    assert math.hypot(vehicle.x, vehicle.y) < 150.0


def test_braking_in_a_curve_leaves_less_lateral_grip() -> None:
    free, braking = Vehicle(SEDAN, speed=25.0), Vehicle(SEDAN, speed=25.0)
    drive(free, 0.6, steer=0.5)
    drive(braking, 0.6, steer=0.5, brake=1.0)
    assert abs(braking.ay) < 0.6 * abs(free.ay)


def test_car_passes_smoothly_from_dynamic_to_kinematic() -> None:
    vehicle = Vehicle(SEDAN, speed=6.0)
    before = None
    while vehicle.vx > 0.0:
        vehicle.step(STEP, ActuatorCommand(brake=0.2, steer=0.2))
        if before is not None and vehicle.vx > 0.1:
            assert abs(vehicle.yaw_rate - before) < 0.03
        before = vehicle.yaw_rate


@ALL
def test_half_the_step_gives_nearly_the_same_motion(p: VehicleParameters) -> None:
    ends = []
    for step in (0.01, 0.001):
        vehicle = Vehicle(p, speed=20.0)
        for i in range(round(6.0 / step)):
            time = i * step
            control = ActuatorCommand(0.4, 0.0, 0.02) if time < 3.0 else ActuatorCommand(0.0, 0.3)
            vehicle.step(step, control)
        ends.append((vehicle.x, vehicle.y, vehicle.yaw))
    assert ends[0] == pytest.approx(ends[1], abs=0.25)


def test_long_steps_are_divided() -> None:
    once, often = Vehicle(SEDAN, speed=20.0), Vehicle(SEDAN, speed=20.0)
    control = ActuatorCommand(throttle=0.5, steer=0.05)
    once.step(0.05, control)
    for _ in range(5):
        often.step(0.05 / 5, control)
    assert (once.x, once.y, once.yaw, once.vx) == (often.x, often.y, often.yaw, often.vx)


def _bits(vehicle: Vehicle) -> bytes:
    v = vehicle
    return struct.pack(
        "<12d", v.x, v.y, v.yaw, v.vx, v.vy, v.yaw_rate, v.ax, v.ay, v.throttle, v.brake,
        v.steer_angle, v.distance,
    )  # fmt: skip


@pytest.mark.parametrize(("throttle", "steer"), [(0.0, 0.0), (0.3, 0.0), (0.3, 0.2), (-0.0, -0.0)])
@pytest.mark.parametrize(("speed", "turn"), [(None, 0.0), (2.0, 0.0), (-0.0, 0.0), (6.0, 0.1)])
@pytest.mark.parametrize("slope", [0.0, -0.0, 0.1])
def test_steps_that_begin_alike_go_alike(
    throttle: float, steer: float, speed: float | None, turn: float, slope: float
) -> None:
    """A step that is repeated has the bits of one that is computed; ``speed``: held so."""
    command = ActuatorCommand(throttle, 0.0, steer)
    repeated, computed = (Vehicle(SEDAN, 1.0, -2.0, math.pi) for _ in range(2))
    for i in range(200):
        for vehicle in (repeated, computed):
            if speed is not None:
                # Zeros of both signs are different beginnings.
                sign = -1.0 if i % 50 > 45 else 1.0
                vehicle.vx, vehicle.vy, vehicle.yaw_rate = sign * speed, sign * 0.0, turn
        repeated.step(0.05, command, slope, 0.01)
        computed.step(0.05, ActuatorCommand(throttle, 0.0, steer), slope, 0.01)
        assert _bits(repeated) == _bits(computed)


@pytest.mark.parametrize("dt", [0.0, -0.01, 1.5, math.nan, math.inf])
def test_impossible_steps_are_refused(dt: float) -> None:
    with pytest.raises(ConfigurationError, match="must be above 0 and at most 1"):
        Vehicle(SEDAN).step(dt, ActuatorCommand())


@pytest.mark.parametrize("name", ["throttle", "brake", "steer"])
@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_controls_must_be_numbers_and_are_clipped(name: str, value: float) -> None:
    with pytest.raises(ConfigurationError, match="every value must be finite"):
        Vehicle(SEDAN).step(STEP, ActuatorCommand(**{name: value}))
    wild, full = Vehicle(SEDAN, speed=10.0), Vehicle(SEDAN, speed=10.0)
    wild.step(STEP, ActuatorCommand(**{name: 1e6}))
    full.step(STEP, ActuatorCommand(**{name: 1.0}))
    assert (wild.vx, wild.steer_angle) == (full.vx, full.steer_angle)


def test_parameters_are_checked() -> None:
    with pytest.raises(ConfigurationError, match=r"vehicle 'sedan': mass=-1.0 must be positive"):
        dataclasses.replace(SEDAN, mass=-1.0)
    with pytest.raises(ConfigurationError, match="max_steer_angle=1.5 rad must be at most 1.4"):
        dataclasses.replace(SEDAN, max_steer_angle=1.5)


def test_every_machine_gives_the_same_motion() -> None:
    digest = hashlib.sha256()
    for p in (SEDAN, VAN, TRUCK):
        vehicle = Vehicle(p, 3.0, -2.0, 0.4, 12.0)
        for i in range(1000):
            control = ActuatorCommand(
                throttle=(i % 170) / 200.0,
                brake=max(0.0, (i % 300 - 200) / 150.0),
                steer=((i % 90) - 45) / 150.0,
            )
            vehicle.step(STEP, control, 0.02)
            digest.update(
                struct.pack("<6d", vehicle.x, vehicle.y, vehicle.yaw, *(vehicle.vx, vehicle.vy),
                            vehicle.yaw_rate)
            )  # fmt: skip
    assert digest.hexdigest() == "51cfd29111f89c476cd1b07b3d9740e4e4c56c01369404ac6191d4ffa42f73b5"


@pytest.mark.parametrize("speed", [28.0, 45.0])
@pytest.mark.parametrize("steer", [0.2, 0.4, 1.0])
def test_a_spin_makes_no_energy(speed: float, steer: float) -> None:
    """Light vehicles on tyres that hold more than gravity spin when they are steered hard."""
    bounded = True
    for mass, inertia, base in ((245.0, 60.0, 1.4), (515.0, 150.0, 1.3), (1650.0, 2700.0, 2.8)):
        p = dataclasses.replace(
            SEDAN, mass=mass, yaw_inertia=inertia, front_axle=0.49 * base, rear_axle=0.51 * base,
            max_power=85.0 * mass, max_drive_force=4.5 * mass, max_brake_force=10.0 * mass,
            max_steer_angle=1.22, max_steer_rate=3.05, lateral_grip=3.5,
        )  # fmt: skip
        car = Vehicle(p, speed=speed)
        for _ in range(1500):
            car.step(0.01, ActuatorCommand(throttle=1.0, steer=steer))
            now = math.hypot(car.vx, car.vy)
            bounded = bounded and now < max(speed, p.max_speed) + 0.5 and abs(car.yaw_rate) < 60.0
    assert bounded
