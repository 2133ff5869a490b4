# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Bicycle models as pure derivative functions, in the form of the CommonRoad vehicle models.

Source of formulas and parameters: M. Althoff, M. Koschi, S. Manzinger, "CommonRoad:
Composable benchmarks for motion planning on roads", IV 2017, and its vehicle model document
(kinematic single-track, single-track). They are what ``Vehicle`` is checked against; its own
lateral model has the same axles and adds a friction limit and stiff integration.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from ros2_cosim.core.kernel.exactmath import sincos, tan

GRAVITY: Final = 9.81


class BicycleParameters(NamedTuple):
    """Parameters of a bicycle model; SI units, cornering stiffness per wheel load [1/rad]."""

    front_axle: float
    rear_axle: float
    mass: float
    yaw_inertia: float
    cg_height: float
    friction: float
    front_stiffness: float
    rear_stiffness: float
    max_acceleration: float
    switching_speed: float
    min_speed: float
    max_speed: float
    max_steer: float
    max_steer_rate: float


BMW_320I = BicycleParameters(
    front_axle=1.1561957064,
    rear_axle=1.4227170936,
    mass=1093.2952334674046,
    yaw_inertia=1791.5995300122856,
    cg_height=0.61373004,
    friction=1.0489,
    front_stiffness=21.92 / 1.0489,
    rear_stiffness=21.92 / 1.0489,
    max_acceleration=11.5,
    switching_speed=7.319,
    min_speed=-13.6,
    max_speed=50.8,
    max_steer=1.066,
    max_steer_rate=0.4,
)


class KinematicState(NamedTuple):
    """Rear axle position [m], front wheel angle [rad], speed [m/s], heading [rad]."""

    x: float
    y: float
    steer: float
    speed: float
    heading: float


class SingleTrackState(NamedTuple):
    """Position of the centre of gravity; ``slip`` is the angle from heading to course [rad]."""

    x: float
    y: float
    steer: float
    speed: float
    heading: float
    yaw_rate: float
    slip: float


def limited_steer_rate(p: BicycleParameters, steer: float, rate: float) -> float:
    """Steering rate [rad/s] within the limits of angle and rate."""
    if (steer <= -p.max_steer and rate <= 0.0) or (steer >= p.max_steer and rate >= 0.0):
        return 0.0
    return min(max(rate, -p.max_steer_rate), p.max_steer_rate)


def limited_acceleration(p: BicycleParameters, speed: float, acceleration: float) -> float:
    """Acceleration [m/s^2] within the limits of tyres, power and speed."""
    upper = p.max_acceleration
    if speed > p.switching_speed:
        upper = p.max_acceleration * p.switching_speed / speed
    if (speed <= p.min_speed and acceleration <= 0.0) or (
        speed >= p.max_speed and acceleration >= 0.0
    ):
        return 0.0
    return min(max(acceleration, -p.max_acceleration), upper)


def kinematic_derivative(
    state: KinematicState, steer_rate: float, acceleration: float, p: BicycleParameters
) -> KinematicState:
    """Time derivative of the kinematic bicycle (no tyre slip)."""
    steer_rate = limited_steer_rate(p, state.steer, steer_rate)
    acceleration = limited_acceleration(p, state.speed, acceleration)
    s, c = sincos(state.heading)
    return KinematicState(
        state.speed * c,
        state.speed * s,
        steer_rate,
        acceleration,
        state.speed / (p.front_axle + p.rear_axle) * tan(state.steer),
    )


def single_track_derivative(
    state: SingleTrackState, steer_rate: float, acceleration: float, p: BicycleParameters
) -> SingleTrackState:
    """Time derivative of the bicycle with linear tyres and load transfer.

    Not valid near standstill: use ``kinematic_derivative`` below about 0.1 m/s.
    """
    steer_rate = limited_steer_rate(p, state.steer, steer_rate)
    acceleration = limited_acceleration(p, state.speed, acceleration)
    _, _, steer, v, heading, yaw_rate, slip = state
    lf, lr = p.front_axle, p.rear_axle
    base = lf + lr
    # Axle stiffness per friction, mass and inverse wheelbase; acceleration moves load back.
    front = p.front_stiffness * (GRAVITY * lr - acceleration * p.cg_height)
    rear = p.rear_stiffness * (GRAVITY * lf + acceleration * p.cg_height)
    moment = p.friction * p.mass / (p.yaw_inertia * base)
    yaw_acceleration = (
        -moment / v * (lf * lf * front + lr * lr * rear) * yaw_rate
        + moment * (lr * rear - lf * front) * slip
        + moment * lf * front * steer
    )
    grip = p.friction / (v * base)
    slip_rate = (
        (grip / v * (rear * lr - front * lf) - 1.0) * yaw_rate
        - grip * (rear + front) * slip
        + grip * front * steer
    )
    s, c = sincos(slip + heading)
    return SingleTrackState(
        v * c, v * s, steer_rate, acceleration, yaw_rate, yaw_acceleration, slip_rate
    )
