# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Bicycle derivatives against the published CommonRoad numbers, and Vehicle against them."""

import pytest
from support.bicycle import (
    BMW_320I,
    BicycleParameters,
    KinematicState,
    SingleTrackState,
    kinematic_derivative,
    limited_acceleration,
    limited_steer_rate,
    single_track_derivative,
)

from ros2_cosim.world.vehicle import SEDAN, ActuatorCommand, Vehicle

RATE, ACCELERATION = 0.15, 0.63 * 9.81


def test_kinematic_derivative_is_the_published_one() -> None:
    state = KinematicState(
        3.9579422297936526,
        0.0391650102771405,
        0.0378491427211811,
        16.3546957860883566,
        0.0294717351052816,
    )
    expected = (
        16.3475935934250209,
        0.4819314886013121,
        0.15,
        5.1464424102339752,
        0.2401426578627629,
    )
    assert kinematic_derivative(state, RATE, ACCELERATION, BMW_320I) == pytest.approx(
        expected, rel=1e-12
    )


def test_single_track_derivative_is_the_published_one() -> None:
    state = SingleTrackState(
        2.0233348142065677,
        0.0041907137716636,
        0.0197545248559617,
        15.7216236334290116,
        0.0025857914776859,
        0.0529001056654038,
        0.0033012170610298,
    )
    expected = (
        15.7213512030862397,
        0.0925527979719355,
        0.15,
        5.3536773276413925,
        0.0529001056654038,
        0.6435589397748606,
        0.0313297971641291,
    )
    assert single_track_derivative(state, RATE, ACCELERATION, BMW_320I) == pytest.approx(
        expected, rel=1e-12
    )


def test_limits_of_steering_and_acceleration() -> None:
    p = BMW_320I
    assert limited_steer_rate(p, 1.066, 0.1) == 0.0
    assert limited_steer_rate(p, -1.066, -0.1) == 0.0
    assert limited_steer_rate(p, 1.066, -9.0) == -0.4
    assert limited_acceleration(p, 50.8, 1.0) == 0.0
    assert limited_acceleration(p, -13.6, -1.0) == 0.0
    assert limited_acceleration(p, 5.0, 20.0) == 11.5
    assert limited_acceleration(p, 14.638, 20.0) == 5.75


def sedan_as_bicycle() -> BicycleParameters:
    p = SEDAN
    return BMW_320I._replace(
        front_axle=p.front_axle,
        rear_axle=p.rear_axle,
        mass=p.mass,
        yaw_inertia=p.yaw_inertia,
        cg_height=p.cg_height,
        friction=1.0,
        front_stiffness=p.front_stiffness,
        rear_stiffness=p.rear_stiffness,
    )


@pytest.mark.parametrize("speed", [5.0, 15.0, 25.0, 35.0])
def test_vehicle_turns_like_the_single_track_model(speed: float) -> None:
    """Step steer of 0.5 degrees; the published equations integrated finely beside it.

    Both are held at constant speed; the load shift by drag enters both.
    """
    steer = 0.0087
    p = sedan_as_bicycle()
    state = SingleTrackState(0.0, 0.0, steer, speed, 0.0, 0.0, 0.0)
    vehicle = Vehicle(SEDAN, speed=speed)
    vehicle.steer_angle = steer
    control = ActuatorCommand(steer=steer / SEDAN.max_steer_angle)
    fine = 20
    for step in range(200):
        for _ in range(fine):
            rate = single_track_derivative(state, 0.0, vehicle.ax, p)
            state = SingleTrackState(
                *(value + 0.01 / fine * slope for value, slope in zip(state, rate, strict=True))
            )
        state = state._replace(speed=speed)
        vehicle.vx = speed
        vehicle.step(0.01, control)
        if step > 10:
            assert vehicle.yaw_rate == pytest.approx(state.yaw_rate, rel=0.05)
    assert vehicle.yaw_rate == pytest.approx(state.yaw_rate, rel=3e-3)
    assert vehicle.vy / speed == pytest.approx(state.slip, abs=2e-5)
