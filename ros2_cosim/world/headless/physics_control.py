# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A vehicle's physics in the protocol: parameters and telemetry of four wheels.

Clients read the values that act, and values that they set take effect. The vehicle model has no
suspension. A vehicle that scenarios drive has an ideal drive: one gear with the torque curve of a
constant power describes it. Wheels meet the surface itself, as CARLA's do with
``use_sweep_wheel_collision``, whatever a client says of it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from ros2_cosim.core.kernel.errors import CosimError
from ros2_cosim.core.kernel.exactmath import PI, degrees, radians, sincos, total
from ros2_cosim.world.headless.actors import VehicleActor
from ros2_cosim.world.headless.body import with_friction
from ros2_cosim.world.headless.decoding import boolean, listing, pair, real, structure, vector
from ros2_cosim.world.headless.gearbox import DriveEngine, Gear, Gearbox
from ros2_cosim.world.headless.vehicle_dynamics import ACTING_STIFFNESS, STIFFEST_LOAD
from ros2_cosim.world.headless.wire_types import Vector
from ros2_cosim.world.headless.world import CallError
from ros2_cosim.world.vehicle.parameters import GRAVITY, VehicleParameters

Rows = Sequence[Sequence[float]]
_FRONT = 2  # the first two of the four wheels are steered
_WHEELS = 4
_GEAR_SIZE = 3
# Numbers travel as float32: what differs by less has not been changed.
_ROUNDING = 1e-5
_CURVE_POINTS = 5
# What CARLA has by default, and what an ideal drive reports [kg m^2], [N m s].
_USUAL_INERTIA = 1.0
_USUAL_CLUTCH = 10.0
# The tyres' friction, which is several parameters of the model.
_FRICTION = "friction"
#: Full steering at any speed [km/h].
_ALL_STEERING = ((0.0, 1.0), (100.0, 1.0))
# No drag at all, as the model computes it [m^2]; the most power that it takes [W].
_NO_DRAG = 1.0e-9
_MOST_POWER = 9.0e8


def physics_control(vehicle: VehicleActor) -> list[Any]:
    """VehiclePhysicsControl of the protocol: as the client has set it, else the model's."""
    body = vehicle.body
    if vehicle.own_physics is not None:
        if not body.is_on_patch():
            return vehicle.own_physics
        own, grips = _of_wire(vehicle.own_physics), body.grips()
        wheels = zip(own.wheels, grips, strict=True)
        return [*own._replace(wheels=[w._replace(tire_friction=grip) for w, grip in wheels])]
    p = body.parameters
    engine = _ideal_engine(p) if body.gearbox is None else body.gearbox.engine
    # An ideal drive has neither an engine's inertia nor a clutch.
    inertia, clutch = _USUAL_INERTIA, _USUAL_CLUTCH
    if body.gearbox is not None:
        inertia, clutch = engine.inertia, engine.clutch
    full, engaged = engine.damping or (0.0, 0.0)
    return [
        [list(point) for point in engine.curve],
        engine.max_rpm,
        inertia,
        full,
        engaged,
        engine.apart,
        engine.is_automatic,
        engine.switch_time,
        clutch,
        engine.final,
        [[gear.ratio / engine.final, gear.down, gear.up] for gear in engine.gears],
        p.mass,
        p.drag_area / body.equipment.frontal_area,
        Vector(0.0, 0.0, p.cg_height),
        [list(point) for point in body.steering_curve or _ALL_STEERING],
        [_wheel(vehicle, index) for index in range(_WHEELS)],
        False,
    ]


def _ideal_engine(p: VehicleParameters) -> DriveEngine:
    """What describes a drive of constant force, then of constant power, best."""
    max_rpm = _rpm(p, p.max_speed)
    drag = p.engine_braking_force * p.wheel_radius / max_rpm
    curve, gear = tuple(_torque_curve(p, max_rpm)), Gear(1.0, 0.0, 1.0)
    return DriveEngine(curve, max_rpm, (gear,), 0.0, True, p.wheel_radius, damping=(drag, drag))


class Wheel(NamedTuple):
    """WheelPhysicsControl of the protocol; radius in cm, angle in degrees, torques in N m."""

    tire_friction: float
    damping_rate: float
    max_steer_angle: float
    radius: float
    max_brake_torque: float
    max_handbrake_torque: float
    lat_stiff_max_load: float
    lat_stiff_value: float
    long_stiff_value: float
    position: Vector


class PhysicsControl(NamedTuple):
    """VehiclePhysicsControl of the protocol."""

    torque_curve: list[tuple[float, float]]
    max_rpm: float
    moi: float
    damping_full: float
    damping_engaged: float
    damping_disengaged: float
    use_gear_autobox: bool
    gear_switch_time: float
    clutch_strength: float
    final_ratio: float
    forward_gears: list[list[float]]
    mass: float
    drag_coefficient: float
    center_of_mass: Vector
    steering_curve: list[tuple[float, float]]
    wheels: list[Wheel]
    use_sweep_wheel_collision: bool


_pair = pair(real, real)
_wheel_reader = structure(Wheel, *[real] * 9, vector)
read_physics_control = structure(
    PhysicsControl,
    listing(_pair),
    *[real] * 5,
    boolean,
    *[real] * 3,
    listing(listing(real)),
    real,
    real,
    vector,
    listing(_pair),
    listing(_wheel_reader),
    boolean,
)


def apply_physics(vehicle: VehicleActor, control: PhysicsControl) -> None:
    """Let a vehicle go on with what a client has set.

    :raises CallError: naming what the model cannot take
    """
    # One branch for each thing that a client may set: parts of it would share all of the numbers.
    body = vehicle.body
    old = body.own_parameters
    now = _of_wire(physics_control(vehicle))
    wheels, curve = control.wheels, control.torque_curve
    if len(wheels) != _WHEELS:
        raise CallError(f"physics control has {len(wheels)} wheels: {_WHEELS} are needed")
    if not curve or not control.forward_gears or min(map(len, control.forward_gears)) != _GEAR_SIZE:
        raise CallError("physics control needs a torque curve and forward gears")
    if min(gear[0] * control.final_ratio for gear in control.forward_gears) <= 0.0:
        raise CallError("physics control: gear ratios and final ratio must be above 0")
    if min(wheel.radius for wheel in wheels) <= 0.0 or control.max_rpm <= 0.0:
        raise CallError("physics control: wheel radii and max_rpm must be above 0")
    if min(wheel.tire_friction for wheel in wheels) < 0.0 or control.drag_coefficient < 0.0:
        raise CallError("physics control: tire_friction and drag_coefficient must be at least 0")
    radius = 0.01 * total(wheel.radius for wheel in wheels) / _WHEELS
    if min(control.moi, control.damping_full, control.damping_engaged) < 0.0:
        raise CallError("physics control: moi and damping rates must be at least 0")
    if control.clutch_strength <= 0.0 or min(w.lat_stiff_max_load for w in wheels) <= 0.0:
        raise CallError("physics control: clutch_strength and lat_stiff_max_load must be above 0")
    if min(min(wheel.damping_rate, wheel.long_stiff_value) for wheel in wheels) < 0.0:
        raise CallError("physics control: damping_rate and long_stiff_value must be at least 0")
    if abs(control.center_of_mass.y - now.center_of_mass.y) > _ROUNDING:
        raise CallError("physics control: center_of_mass.y must stay: vehicles are symmetric")
    box = body.gearbox
    engine = _engine(control, now, radius, None if box is None else box.engine)
    force, top = engine.largest_force(), engine.top_speed()
    forwards = control.center_of_mass.x - now.center_of_mass.x
    changes: dict[str, Any] = {
        "mass": control.mass,
        "yaw_inertia": old.yaw_inertia * control.mass / old.mass,
        "drag_area": max(control.drag_coefficient * body.equipment.frontal_area, _NO_DRAG),
        "cg_height": control.center_of_mass.z,
        "front_axle": old.front_axle - forwards,
        "rear_axle": old.rear_axle + forwards,
        "wheel_radius": radius,
        # The torque curve alone limits the power, through the gearbox.
        "max_drive_force": force,
        "max_power": min(force * top, _MOST_POWER),
        "max_speed": top,
        "max_steer_angle": radians(max(wheel.max_steer_angle for wheel in wheels)),
        "max_brake_force": total(wheel.max_brake_torque for wheel in wheels) / radius,
        "front_stiffness": _stiffness(wheels[:_FRONT]),
        "rear_stiffness": _stiffness(wheels[_FRONT:]),
        "engine_braking_force": max(body.usual_drag, engine.largest_drag()),
    }
    same = _same(now, control)
    unchanged = {name for name, is_same in same.items() if is_same}
    grips = None
    try:
        parameters = replace(old, **{n: v for n, v in changes.items() if n not in unchanged})
        if _FRICTION not in unchanged:
            frictions = [wheel.tire_friction for wheel in wheels]
            friction = total(frictions) / _WHEELS
            parameters = with_friction(_on_usual_tyres(vehicle, parameters), friction)
            if min(frictions) < max(frictions):
                a, b, c, d = frictions
                grips = a, b, c, d
    except CosimError as error:
        raise CallError(f"physics control: {error}") from None
    if not same["max_drive_force"]:
        body.gearbox = Gearbox(engine, 1 if box is None else min(box.gear, len(engine.gears)))
    if not same["hand_brake"]:
        torque = total(wheel.max_handbrake_torque for wheel in wheels)
        body.hand_brake_force = max(torque, 0.0) / radius
    if not same["wheel_damping"]:
        mean = total(wheel.damping_rate for wheel in wheels) / (radius * radius)
        body.wheel_damping = mean / parameters.mass
    elif "mass" not in unchanged:
        body.wheel_damping *= old.mass / parameters.mass
    if not same["wheel_stiffness"]:
        body.wheel_stiffness = total(wheel.long_stiff_value for wheel in wheels) / _WHEELS
    if not same["steering"]:
        body.steering_curve = tuple(sorted(control.steering_curve))
    body.equip(parameters, grips if _FRICTION not in unchanged else body.own_grips)
    vehicle.own_physics = list(control)


def restore_physics(vehicle: VehicleActor) -> None:
    """Let a vehicle go on with the physics of its blueprint: what clients have set is forgotten."""
    vehicle.body.fit_out()
    vehicle.body.equip(vehicle.body.usual)
    vehicle.own_physics = None


def _stiffness(wheels: list[Wheel]) -> float:
    """Lateral stiffness of an axle by PhysX's law, at the load at rest."""
    parts = (wheel.lat_stiff_value * _at_rest(wheel.lat_stiff_max_load) for wheel in wheels)
    return total(parts) / len(wheels)


def _at_rest(most: float) -> float:
    """The share of ``lat_stiff_value`` that a wheel has at its load at rest.

    :param most: the load from which on the wheel has all of it, over the load at rest
    """
    k = min(3.0, 3.0 / most)
    return ACTING_STIFFNESS * (k - k * k / 3.0 + k * k * k / 27.0)


def _engine(
    control: PhysicsControl, now: PhysicsControl, radius: float, old: DriveEngine | None
) -> DriveEngine:
    """Engine and gears that a client has set; the rest is ideal."""

    def near(a: float, b: float) -> bool:
        return abs(a - b) <= _ROUNDING * max(abs(a), abs(b))

    inertia = 0.0 if old is None else old.inertia
    if not near(control.moi, now.moi):
        inertia = control.moi
    clutch = 0.0 if old is None else old.clutch
    if not near(control.clutch_strength, now.clutch_strength):
        clutch = control.clutch_strength
    damping = None if old is None else old.damping
    if not _same_damping(now, control):
        damping = control.damping_full, control.damping_engaged
    gears = tuple(
        Gear(ratio * control.final_ratio, down, up) for ratio, down, up in control.forward_gears
    )
    curve = tuple(sorted((speed, torque) for speed, torque in control.torque_curve))
    return DriveEngine(
        curve, control.max_rpm, gears,
        max(control.gear_switch_time, 0.0), control.use_gear_autobox, radius,
        inertia, damping, clutch, control.final_ratio, control.damping_disengaged,
    )  # fmt: skip


def _on_usual_tyres(vehicle: VehicleActor, changed: VehicleParameters) -> VehicleParameters:
    """Parameters with the friction and the rolling resistance of the vehicle's class."""
    usual = vehicle.body.usual
    return replace(changed, friction=usual.friction, rolling_resistance=usual.rolling_resistance)


def _of_wire(wire: list[Any]) -> PhysicsControl:
    """What the server answers, read as what a client sends."""
    return PhysicsControl(*wire)._replace(wheels=[Wheel(*wheel) for wheel in wire[15]])


def _same_damping(now: PhysicsControl, wanted: PhysicsControl) -> bool:
    """Whether a client leaves the engine's damping with its clutch closed as it is."""
    pairs = (
        (now.damping_full, wanted.damping_full), (now.damping_engaged, wanted.damping_engaged)
    )  # fmt: skip
    return all(abs(a - b) <= _ROUNDING * max(abs(a), abs(b)) for a, b in pairs)


def _same(now: PhysicsControl, wanted: PhysicsControl) -> dict[str, bool]:
    """Which parameters a client leaves unchanged: their numbers then keep every digit."""

    def near(a: float, b: float) -> bool:
        return abs(a - b) <= _ROUNDING * max(abs(a), abs(b))

    def wheels(field: Callable[[Wheel], float]) -> bool:
        pairs = zip(now.wheels, wanted.wheels, strict=True)
        return all(near(field(a), field(b)) for a, b in pairs)

    def alike(a: Rows, b: Rows) -> bool:
        return len(a) == len(b) and all(
            near(p, q)
            for row, other in zip(a, b, strict=True)
            for p, q in zip(row, other, strict=True)
        )

    curves = alike(now.torque_curve, wanted.torque_curve)
    gears = (
        near(now.final_ratio, wanted.final_ratio)
        and near(now.max_rpm, wanted.max_rpm)
        and near(now.gear_switch_time, wanted.gear_switch_time)
        and now.use_gear_autobox == wanted.use_gear_autobox
        and alike(now.forward_gears, wanted.forward_gears)
    )
    radius = wheels(lambda wheel: wheel.radius)
    engine = (
        near(now.moi, wanted.moi)
        and near(now.clutch_strength, wanted.clutch_strength)
        and _same_damping(now, wanted)
    )
    drive = curves and gears and radius and engine
    axles = near(now.center_of_mass.x, wanted.center_of_mass.x)
    stiffness = wheels(lambda wheel: wheel.lat_stiff_value) and wheels(
        lambda wheel: wheel.lat_stiff_max_load
    )
    return {
        "mass": near(now.mass, wanted.mass),
        "yaw_inertia": near(now.mass, wanted.mass),
        "drag_area": near(now.drag_coefficient, wanted.drag_coefficient),
        "cg_height": near(now.center_of_mass.z, wanted.center_of_mass.z),
        "front_axle": axles,
        "rear_axle": axles,
        "wheel_radius": radius,
        "max_drive_force": drive,
        "max_power": drive,
        "max_speed": drive,
        "max_steer_angle": wheels(lambda wheel: wheel.max_steer_angle),
        "max_brake_force": radius and wheels(lambda wheel: wheel.max_brake_torque),
        "front_stiffness": stiffness,
        "rear_stiffness": stiffness,
        "engine_braking_force": drive,
        "steering": alike(now.steering_curve, wanted.steering_curve),
        "hand_brake": wheels(lambda wheel: wheel.max_handbrake_torque),
        "wheel_damping": wheels(lambda wheel: wheel.damping_rate),
        "wheel_stiffness": wheels(lambda wheel: wheel.long_stiff_value),
        _FRICTION: wheels(lambda wheel: wheel.tire_friction),
    }


def telemetry(vehicle: VehicleActor) -> list[Any]:
    """VehicleTelemetryData of the protocol.

    As in CARLA the slip of a tyre is an angle [rad] sideways and a ratio along the vehicle.
    """
    body = vehicle.body
    p = body.parameters
    speed = body.forward_speed()
    control = vehicle.control
    rest = p.mass * GRAVITY / _WHEELS
    wheels = []
    for tyre in body.wheel_forces():
        slip = tyre.longitudinal / (body.wheel_stiffness * GRAVITY) if body.wheel_stiffness else 0.0
        omega = speed * (1.0 + slip) / p.wheel_radius
        most = max(tyre.friction * tyre.load, 1.0)
        torque = tyre.longitudinal * p.wheel_radius
        wheels.append([tyre.friction, 0.0 - tyre.slip, slip, omega, tyre.load, tyre.load / rest,
                       torque, tyre.longitudinal, 0.0 - tyre.lateral, tyre.longitudinal / most,
                       0.0 - tyre.lateral / most])  # fmt: skip
    drag = p.drag_area
    return [
        speed,
        control.steer,
        control.throttle,
        control.brake,
        _rpm(p, abs(speed)) if body.gearbox is None else body.gearbox.rpm(speed),
        vehicle.gear(),
        drag,
        wheels,
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
    body = vehicle.body
    p = body.parameters
    (x, y, z), rotation = vehicle.state.transform
    along = p.front_axle if index < _FRONT else -p.rear_axle
    across = 0.5 * body.equipment.track * (1.0 if index % 2 else -1.0)
    sin, cos = sincos(radians(rotation.yaw))
    hub = Vector(  # the one place where the protocol has centimetres
        100.0 * (x + along * cos - across * sin),
        100.0 * (y + along * sin + across * cos),
        100.0 * (z + p.wheel_radius),
    )
    max_angle = degrees(p.max_steer_angle) if index < _FRONT else 0.0
    brake_torque = p.max_brake_force * p.wheel_radius / _WHEELS
    hand_brake = 4.0 * brake_torque
    if body.hand_brake_force is not None:
        hand_brake = body.hand_brake_force * p.wheel_radius
    damping = body.wheel_damping * p.mass * p.wheel_radius * p.wheel_radius / _WHEELS
    return [
        body.grips()[index],
        damping,
        max_angle,
        100.0 * p.wheel_radius,
        brake_torque,
        0.0 if index < _FRONT else 0.5 * hand_brake,
        STIFFEST_LOAD,
        (p.front_stiffness if index < _FRONT else p.rear_stiffness) / _at_rest(STIFFEST_LOAD),
        body.wheel_stiffness,
        hub,
    ]
