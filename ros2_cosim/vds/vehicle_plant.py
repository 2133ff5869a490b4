# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The vehicle that a session steps, under pedals and road wheel angle, and its observable state.

Frames: world right-handed with z up (REP-103 ``map``, ENU), body x forward, y left, z up.
SI units, angles in rad, wheels in the order front left, front right, rear left, rear right.
"""

from __future__ import annotations

from math import nan
from typing import Final, NamedTuple

from ros2_cosim.core.kernel.exactmath import sincos, sqrt
from ros2_cosim.core.kernel.time import to_seconds
from ros2_cosim.world.map import RoadNetwork
from ros2_cosim.world.vehicle import ActuatorCommand, Vehicle, VehicleParameters
from ros2_cosim.world.vehicle.levels import TwoTrackVehicle
from ros2_cosim.world.vehicle.parameters import GRAVITY
from ros2_cosim.world.vehicle.wheel_ground import TYPICAL_TRACK, RoadGround, WheelGround

#: Values of ``VehicleCommand.gear``; every positive number drives forward, negative backward.
FORWARD, NEUTRAL, REVERSE = 1, 0, -1

Four = tuple[float, float, float, float]


class VehicleCommand(NamedTuple):
    """A command to one vehicle.

    ``steer`` is the wanted angle of the front wheels [rad], positive to the left; the pedals are
    0..1. ``acceleration`` [m/s^2] and ``speed`` [m/s] are the values that the pedals
    aim at, NaN if there are none; they are passed on, the plant obeys the pedals alone.
    """

    steer: float = 0.0
    throttle: float = 0.0
    brake: float = 0.0
    gear: int = FORWARD
    handbrake: bool = False
    acceleration: float = nan
    speed: float = nan


#: No pedal, straight on.
IDLE = VehicleCommand()
#: The command of the watchdog: moderate braking, straight on.
FAIL_SAFE = VehicleCommand(brake=0.3)


class PlantState(NamedTuple):
    """What can be observed of a vehicle; the fields of a VDS1 state packet.

    Position of the centre of the footprint [m], attitude about z, y, x [rad], velocity [m/s],
    angular velocity [rad/s] and acceleration [m/s^2] in the body frame, speed of the wheels
    [rad/s], angle of the front wheels [rad], wheel radius [m], wheel loads [N].
    """

    x: float
    y: float
    z: float
    roll: float
    pitch: float
    yaw: float
    vx: float
    vy: float
    vz: float
    roll_rate: float
    pitch_rate: float
    yaw_rate: float
    ax: float
    ay: float
    wheel_spin: Four
    steer: float
    wheel_radius: float
    wheel_load: Four


class TyreForces(NamedTuple):
    """The forces between vehicle and road across the wheels.

    Lateral forces of the wheels, positive to the left [N], and the force along the rack that
    their aligning moments cause, positive if it turns the wheels to the left [N].
    """

    lateral: Four
    rack: float


class SteeringParameters(NamedTuple):
    """How far the lateral force acts behind the steering axis, and arm of the tie rods [m]."""

    trail: float = 0.05
    arm: float = 0.13


TYPICAL_STEERING: Final = SteeringParameters()


class VehiclePlant:
    """A vehicle on level ground or on a road; the state changes by ``step`` alone.

    A vehicle without its own track is a bicycle: both wheels of an axle turn alike and bear
    the same load.

    :param parameters: type of vehicle
    :param vehicle: the vehicle at another level of detail, already in its place
    :param steering: geometry of the front wheels
    :param x: position of the centre of the footprint [m]
    :param y: [m]
    :param yaw: heading [rad]
    :param speed: along the heading [m/s]
    :param road: ground below each wheel; None: the plane z = 0
    """

    def __init__(
        self,
        parameters: VehicleParameters,
        *,
        x: float = 0.0,
        y: float = 0.0,
        yaw: float = 0.0,
        speed: float = 0.0,
        road: RoadNetwork | None = None,
        vehicle: Vehicle | None = None,
        steering: SteeringParameters = TYPICAL_STEERING,
    ) -> None:
        self.parameters = parameters
        self._vehicle = vehicle or Vehicle(parameters, x, y, yaw, speed)
        self._steering = steering
        self._two_track: TwoTrackVehicle | None = None
        self._track = 0.0
        if isinstance(self._vehicle, TwoTrackVehicle):
            self._two_track = self._vehicle
            self._track = self._vehicle.body.track
        self._ground: WheelGround | None = None
        if road is not None:
            track = self._track or TYPICAL_TRACK * parameters.width
            self._ground = WheelGround(RoadGround(road), parameters, track)
            self._ground.settle(self._vehicle)

    def step(self, command: VehicleCommand, dt_ns: int) -> None:
        """Move by ``dt_ns`` nanoseconds (at most 1 s) under a constant command.

        Values out of range count as the end of the range.
        """
        full = self.parameters.max_steer_angle
        control = ActuatorCommand(
            _within(command.throttle, 0.0, 1.0) if command.gear != NEUTRAL else 0.0,
            _within(command.brake, 0.0, 1.0),
            _within(command.steer, -full, full) / full,
            command.gear < 0,
            command.handbrake,
        )
        dt, ground = to_seconds(dt_ns), self._ground
        if ground is None:
            self._vehicle.step(dt, control)
            return
        self._vehicle.step(dt, control, ground.slope, ground.cross)
        rolled, pitched = ground.roll_rate, ground.pitch_rate
        ground.settle(self._vehicle, dt)
        body = self._two_track
        if body is not None:
            # The body does not follow at once: its lean is that against the ground.
            body.roll_rate -= ground.roll_rate - rolled
            body.pitch_rate -= ground.pitch_rate - pitched
            body.twist = ground.twist

    def state(self) -> PlantState:
        """The state now."""
        p, v, ground, body = self.parameters, self._vehicle, self._ground, self._two_track
        roll = pitch = roll_rate = pitch_rate = up = 0.0
        if ground is not None:
            roll, pitch = ground.roll, ground.pitch
            roll_rate, pitch_rate = ground.roll_rate, ground.pitch_rate
        if body is not None:
            roll, pitch = roll + body.roll, pitch + body.pitch
            roll_rate, pitch_rate = roll_rate + body.roll_rate, pitch_rate + body.pitch_rate
            up = v.vx * sincos(body.pitch)[0] - v.vy * sincos(body.roll)[0]
            loads = body.wheel_loads()
        else:
            loads = self._loads_of_axles()
        if ground is not None:
            # Rates of the angles into those about the axes of the body.
            (sine_roll, cosine_roll), (sine_pitch, cosine_pitch) = sincos(roll), sincos(pitch)
            roll_rate -= v.yaw_rate * sine_pitch
            pitch_rate = pitch_rate * cosine_roll + v.yaw_rate * sine_roll * cosine_pitch
        track = self._track
        sine, cosine = sincos(v.steer_angle)
        across = (v.vy + p.front_axle * v.yaw_rate) * sine
        aside = 0.5 * track * v.yaw_rate
        spins = (
            ((v.vx - aside) * cosine + across) / p.wheel_radius,
            ((v.vx + aside) * cosine + across) / p.wheel_radius,
            (v.vx - aside) / p.wheel_radius,
            (v.vx + aside) / p.wheel_radius,
        )
        return PlantState(
            x=v.x,
            y=v.y,
            z=0.0 if ground is None else ground.z,
            roll=roll,
            pitch=pitch,
            yaw=v.yaw,
            vx=v.vx,
            vy=v.vy,
            vz=up,
            roll_rate=roll_rate,
            pitch_rate=pitch_rate,
            yaw_rate=v.yaw_rate,
            ax=v.ax,
            ay=v.ay,
            wheel_spin=spins,
            steer=v.steer_angle,
            wheel_radius=p.wheel_radius,
            wheel_load=loads,
        )

    def _loads_of_axles(self) -> Four:
        """Loads of the wheels of a bicycle, alike on both sides; with a slope, what it shifts."""
        p, v, ground = self.parameters, self._vehicle, self._ground
        slope = 0.0 if ground is None else ground.slope
        weight, forward = p.mass * GRAVITY, v.ax
        if slope != 0.0:
            cosine = 1.0 / sqrt(1.0 + slope * slope)
            weight, forward = weight * cosine, forward + GRAVITY * slope * cosine
        shift = p.mass * forward * p.cg_height / p.wheelbase
        front = 0.5 * max(0.0, weight * p.rear_axle / p.wheelbase - shift)
        rear = 0.5 * max(0.0, weight * p.front_axle / p.wheelbase + shift)
        return front, front, rear, rear

    def forces(self) -> TyreForces:
        """Lateral forces of the wheels and force of the rack, now."""
        lateral = self._vehicle.wheel_forces()
        trail, arm = self._steering
        return TyreForces(lateral, 0.0 - (lateral[0] + lateral[1]) * trail / arm)


def _within(value: float, low: float, high: float) -> float:
    return low if value < low else high if value > high else value
