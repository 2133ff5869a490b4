# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The dynamics that the vehicles of CARLA 0.9.16 move with.

What clients drive has the figures of its product (``vehicle_figures``): masses, axles, drag,
engine and gears. What scenarios drive has forces, powers and resistances of its class, scaled to a
mass, because the controllers of scenarios know those.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final, NamedTuple

from ros2_cosim.core.kernel.exactmath import PI, radians
from ros2_cosim.world.headless.gearbox import TO_RPM, Curve, DriveEngine, Gear
from ros2_cosim.world.headless.vehicle_figures import (
    CommonFigures,
    DriveFigures,
    Figure,
    VehicleFigures,
    figure_table,
)
from ros2_cosim.world.headless.wire_types import Vector
from ros2_cosim.world.vehicle.parameters import GRAVITY, VEHICLES, VehicleParameters

#: Friction of the tyres of CARLA's vehicles sideways (``tire_friction``): they take bends at more
#: than gravity, and CARLA's traffic manager counts on it. Along the vehicle that of its class
#: holds.
TYRE_FRICTION: Final = 3.5

#: Lateral stiffness of the tyres of CARLA's vehicles [1/rad] and the load up to which it grows,
#: over that at rest (``lat_stiff_value``, ``lat_stiff_max_load``): what CARLA 0.9.15 told of its
#: MKZ 2020 (VennIntelligence/jev-drive 9e7ec92a, experiments/b2d_controller/results/b2d-controller/
#: results/calibration-physics.json). By PhysX's law 19/27 of it are there at rest.
LATERAL_STIFFNESS, STIFFEST_LOAD = 20.0, 3.0
#: What of that law acts: the rear axle of that MKZ drifted more (24deb895 there, todos/
#: 2026-09-23-controller-next/lateral-physics.md); why is not known.
ACTING_STIFFNESS: Final = 0.85
_AT_REST: Final = ACTING_STIFFNESS * LATERAL_STIFFNESS * 19.0 / 27.0

#: CARLA's engine turns the wheels from straight on to their largest angle in 0.4 s, without any
#: other lag [rad/s, s], and back in 0.2 s (``SteeringInputRate`` in OpenHUTB/engine 4cce899b,
#: Engine/Plugins/Runtime/PhysXVehicles/.../WheeledVehicleMovementComponent.cpp).
_STEER_RATE, _STEER_LAG, _UNWINDING = 3.05, 0.001, 2.0

#: Highest centre of mass as a share of the wheelbase. The traffic manager brakes hard in bends at
#: 100 km/h; with more load on the front axle short vehicles, two-wheelers above all, turn around.
_LOW_CENTRE: Final = 0.12
#: Of what clients drive, whose tyres hold as much in front as behind, as PhysX's do.
_LOWER_CENTRE: Final = 0.08

#: Kinds of vehicles whose class has another name.
_CLASSES: Final = {"car": "sedan", "bus": "truck"}
#: No power limits an engine of a torque curve [W].
_MOST_POWER: Final = 9.0e8
_KILO: Final = 1000.0
_KMH: Final = 3.6
#: Beyond the speed up to which an electric engine has its largest torque, at these multiples of it.
_FALLING: Final = (1.25, 1.6, 2.0, 2.6, 3.4, 4.5, 6.0)


class Equipment(NamedTuple):
    """What a vehicle has beside ``VehicleParameters``.

    :ivar engine: None: an ideal drive of constant force, then of constant power
    :ivar steering_curve: share of the steering range over the speed [km/h]; (): all of it
    :ivar track: between the wheels of an axle [m]
    :ivar frontal_area: [m^2]
    :ivar hand_brake_force: [N]; None: it locks the rear axle
    :ivar wheel_damping: of a wheel [N m s]
    :ivar wheel_stiffness: along the vehicle [N per slip and m/s^2]; 0: no wheel slips
    :ivar inner: half the track over the wheelbase, if the angle of the steering is that of the
        wheel on the inner side of the bend
    :ivar unwinding: the steering turns back so many times as fast
    :ivar soft: whether the tyres hold sideways as those of PhysX do
    :ivar locked: deceleration of locked wheels for each friction of the tyres [m/s^2]; 0: brakes
        lock none
    :ivar locks_below: full brakes lock the wheels of a vehicle that is slower [m/s]
    """

    engine: DriveEngine | None
    steering_curve: Curve
    track: float
    frontal_area: float
    hand_brake_force: float | None = None
    wheel_damping: float = 0.0
    wheel_stiffness: float = 0.0
    inner: float = 0.0
    unwinding: float = 1.0
    soft: bool = False
    locked: float = 0.0
    locks_below: float = 0.0


class EquippedVehicle(NamedTuple):
    """How a vehicle moves."""

    parameters: VehicleParameters
    equipment: Equipment


def dynamics_of(
    name: str, base_type: str, extent: Vector, mass: float, hull_width: float = 0.0
) -> tuple[EquippedVehicle, EquippedVehicle]:
    """A vehicle as clients drive it, and as scenarios drive it.

    The second has the dynamics of its class, scaled to ``mass`` and length, and the steering of a
    real car; ``mass`` 0 means that of the class, and its centre of mass.

    :param extent: half sizes of the box [m]
    :param hull_width: half width without mirrors [m], 0 where that is the box
    """
    base = VEHICLES[_CLASSES.get(base_type, base_type)]
    length = 2.0 * extent.x
    real = replace(
        base,
        name=name,
        length=length,
        width=2.0 * extent.y,
        height=2.0 * extent.z,
        lateral_grip=TYRE_FRICTION / base.friction,
    )
    if mass:
        heavier, longer = mass / base.mass, length / base.length
        real = replace(
            real,
            mass=mass,
            yaw_inertia=base.yaw_inertia * heavier * longer * longer,
            front_axle=base.front_axle * longer,
            rear_axle=base.rear_axle * longer,
            max_power=base.max_power * heavier,
            max_drive_force=base.max_drive_force * heavier,
            engine_braking_force=base.engine_braking_force * heavier,
            max_brake_force=base.max_brake_force * heavier,
        )
        real = replace(real, cg_height=min(real.cg_height, _LOW_CENTRE * real.wheelbase))
    width = 2.0 * (hull_width or extent.y)
    own = _own(name, base_type, extent, width)
    track = figure_table().everywhere.track_share * width
    return own, EquippedVehicle(real, Equipment(None, (), track, own.equipment.frontal_area))


def _own(name: str, base_type: str, extent: Vector, width: float) -> EquippedVehicle:
    """A vehicle with its own figures; ``width`` is that of what fills its box."""
    table = figure_table()
    every, own = table.everywhere, table.vehicles[name.removeprefix("vehicle.")]
    kind = table.classes[own.vehicle_class or base_type]  # type: ignore[index]
    drive = table.drives[own.drive or kind.drive]
    base = VEHICLES[kind.dynamics]
    length, height = 2.0 * extent.x, 2.0 * extent.z
    mass, longer = own.mass[0], length / base.length
    heavier = mass / base.mass
    wheelbase = _or(own.wheelbase, base.wheelbase * longer)
    front = _or(own.front_axle, wheelbase * base.front_axle / base.wheelbase)
    radius = _or(own.wheel_radius, base.wheel_radius)
    area = _or(own.frontal_area, every.box_share * width * height)
    engine = _engine(own, drive, every, base, radius, heavier)
    force, top = engine.largest_force(), engine.top_speed()
    track = _or(own.track, every.track_share * width)
    # The outer wheel follows from the inner one: ``computeAckermannSteerAngles`` in
    # NVIDIAGameWorks/PhysX-3.4 238605d8, PhysX_3.4/Source/PhysXVehicle/src/PxVehicleUpdate.cpp.
    inner = 0.5 * track / wheelbase
    parameters = replace(
        base,
        name=name,
        length=length,
        width=2.0 * extent.y,
        height=height,
        mass=mass,
        yaw_inertia=base.yaw_inertia * heavier * longer * longer,
        front_axle=front,
        rear_axle=wheelbase - front,
        cg_height=min(base.cg_height, _LOWER_CENTRE * wheelbase),
        wheel_radius=radius,
        drag_area=_or(own.drag_coefficient, kind.drag_coefficient) * area,
        max_drive_force=force,
        max_power=min(force * top, _MOST_POWER),
        max_speed=top,
        engine_braking_force=max(base.engine_braking_force * heavier, engine.largest_drag()),
        max_brake_force=base.max_brake_force * heavier,
        front_stiffness=_AT_REST,
        rear_stiffness=_AT_REST,
        lateral_grip=_or(own.tire_friction, every.tire_friction) / base.friction,
        max_steer_angle=radians(_or(own.max_steer_angle, every.max_steer_angle)),
        max_steer_rate=_STEER_RATE,
        steer_lag=_STEER_LAG,
    )
    return EquippedVehicle(
        parameters,
        Equipment(
            engine,
            every.steering_curve,
            track,
            area,
            every.hand_brake * mass * GRAVITY,
            every.wheel_damping,
            every.wheel_stiffness,
            inner,
            _UNWINDING,
            True,
            _or(own.locked, kind.locked) / every.tire_friction,
            every.locks_below,
        ),
    )


def _engine(
    own: VehicleFigures,
    drive: DriveFigures,
    every: CommonFigures,
    base: VehicleParameters,
    radius: float,
    heavier: float,
) -> DriveEngine:
    """The engine with its gears; its torque is that which the wheels get."""
    most = _or(own.max_rpm, drive.max_rpm)
    gears = drive.gears if own.gears is None else own.gears[0]
    curve = _torque_curve(own, drive, most, base.max_power * heavier / _KILO)
    passed_on = _or(own.efficiency, every.efficiency)
    curve = tuple((rpm, passed_on * torque) for rpm, torque in curve)
    largest = max(torque for _, torque in curve)
    # Without a ratio of its own it is geared for its own top speed, or for that of its class.
    top = drive.gearing * (base.max_speed if own.top is None else own.top[0] / _KMH)
    final = _or(own.final_ratio, most / TO_RPM * radius / (top * gears[-1]))
    full, engaged, apart = (rate * largest for rate in drive.damping)
    return DriveEngine(
        curve,
        most,
        tuple(Gear(ratio * final, every.down, every.up) for ratio in gears),
        drive.switch_time,
        True,
        radius,
        drive.inertia * largest,
        (full, engaged),
        every.clutch_per_torque * largest,
        final,
        apart,
    )


def _torque_curve(own: VehicleFigures, drive: DriveFigures, most: float, usual: float) -> Curve:
    """Torque [N m] over engine speed [1/min]: flat at its peak, then through the largest power.

    :param most: largest engine speed [1/min]
    :param usual: power of the class [kW]
    """
    if own.torque_curve is not None:
        return own.torque_curve[0]
    power = _or(own.power, usual)
    # What turns faster has less torque.
    slower = min(1.0, drive.max_rpm / most)
    torque = _or(own.torque, drive.torque_per_power * power * slower)
    if drive.peak is None:
        corner = power * _KILO / torque * TO_RPM
        falling = [corner * share for share in _FALLING if corner * share < most]
        ends = [(rpm, torque * corner / rpm) for rpm in (*falling, most) if rpm > corner]
        return ((0.0, torque), (min(corner, most), torque), *ends)
    first, last = own.peak[0] if own.peak else (drive.peak[0] * most, drive.peak[1] * most)
    # The largest power ends the peak, if the class would hold it for longer, and there is no more
    # of it at higher speeds.
    last = max(first, min(last, power * _KILO / torque * TO_RPM))
    at = max(_or(own.power_rpm, drive.power_at * most), last)
    there = min(torque, power * _KILO * 60.0 / (2.0 * PI * at))
    points = [(0.0, drive.low * torque), (first, torque), (last, torque), (at, there)]
    points += [(most, min(drive.high, at / most) * there)]
    return tuple(point for n, point in enumerate(points) if n == 0 or point[0] > points[n - 1][0])


def _or(figure: Figure | None, otherwise: float) -> float:
    return otherwise if figure is None else figure[0]
