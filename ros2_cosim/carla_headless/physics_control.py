# SPDX-License-Identifier: Apache-2.0
"""A vehicle's physics in the protocol: parameters and telemetry of four wheels.

The vehicle model has no gearbox, clutch or suspension; where the protocol has a field for
such a thing, a value is given that describes the model's behaviour best (one gear, the torque
curve of a constant-power drive).
"""

from __future__ import annotations

from typing import Any

from ros2_cosim.carla_headless.actors import VehicleActor
from ros2_cosim.carla_headless.wire_types import Vector
from ros2_cosim.kernel.exactmath import PI, degrees, radians, sincos
from ros2_cosim.models.vehicle.parameters import GRAVITY, VehicleParameters

_FRONT = 2  # the first two of the four wheels are steered
_TRACK_SHARE = 0.8  # of the width
_CURVE_POINTS = 5


def physics_control(vehicle: VehicleActor) -> list[Any]:
    """VehiclePhysicsControl of the protocol."""
    p = vehicle.body.parameters
    max_rpm = _rpm(p, p.max_speed)
    return [
        [list(point) for point in _torque_curve(p, max_rpm)],
        max_rpm,
        1.0,  # moment of inertia of the engine [kg m^2]
        p.engine_braking_force * p.wheel_radius / max_rpm,
        p.engine_braking_force * p.wheel_radius / max_rpm,
        0.0,
        True,
        0.0,
        10.0,
        1.0,
        [[1.0, 0.0, 1.0]],
        p.mass,
        p.drag_area,
        Vector(0.0, 0.0, p.cg_height),
        [[0.0, 1.0], [100.0, 1.0]],  # full steering at any speed [km/h]
        [_wheel(vehicle, index) for index in range(4)],
        False,
    ]


def telemetry(vehicle: VehicleActor) -> list[Any]:
    """VehicleTelemetryData of the protocol; wheel forces share the load evenly."""
    body = vehicle.body
    p = body.parameters
    speed = body.forward_speed()
    control = vehicle.control
    load = p.mass * GRAVITY / 4.0
    wheel = [p.friction * p.lateral_grip, 0.0, 0.0, speed / p.wheel_radius, load, 1.0] + [0.0] * 5
    gear = -1 if control.reverse else 1
    drag = p.drag_area
    return [
        speed,
        control.steer,
        control.throttle,
        control.brake,
        _rpm(p, abs(speed)),
        gear,
        drag,
        [list(wheel) for _ in range(4)],
    ]


def _rpm(p: VehicleParameters, speed: float) -> float:
    return speed / p.wheel_radius * 60.0 / (2.0 * PI)


def _torque_curve(p: VehicleParameters, max_rpm: float) -> list[tuple[float, float]]:
    points = []
    for i in range(_CURVE_POINTS + 1):
        speed = p.max_speed * i / _CURVE_POINTS
        force = p.max_drive_force
        if speed * force > p.max_power:
            force = p.max_power / speed
        points.append((max_rpm * i / _CURVE_POINTS, force * p.wheel_radius))
    return points


def _wheel(vehicle: VehicleActor, index: int) -> list[Any]:
    p = vehicle.body.parameters
    (x, y, z), rotation = vehicle.state.transform
    along = p.front_axle if index < _FRONT else -p.rear_axle
    across = 0.5 * _TRACK_SHARE * p.width * (1.0 if index % 2 else -1.0)
    sin, cos = sincos(radians(rotation.yaw))
    hub = Vector(  # the one place where the protocol has centimetres
        100.0 * (x + along * cos - across * sin),
        100.0 * (y + along * sin + across * cos),
        100.0 * (z + p.wheel_radius),
    )
    max_angle = degrees(p.max_steer_angle) if index < _FRONT else 0.0
    brake_torque = p.max_brake_force * p.wheel_radius / 4.0
    return [
        p.friction * p.lateral_grip,
        0.25,
        max_angle,
        100.0 * p.wheel_radius,
        brake_torque,
        0.0 if index < _FRONT else 2.0 * brake_torque,
        2.0,
        p.front_stiffness if index < _FRONT else p.rear_stiffness,
        1000.0,
        hub,
    ]
