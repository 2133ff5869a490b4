# SPDX-License-Identifier: Apache-2.0
"""The vehicle that a session steps, under pedals and road wheel angle, and its observable state.

Frames: world right-handed with z up (REP-103 ``map``, ENU), body x forward, y left, z up.
SI units, angles in rad, wheels in the order front left, front right, rear left, rear right.
"""

from __future__ import annotations

from math import nan
from typing import Final, NamedTuple

from ros2_cosim.kernel.exactmath import sincos
from ros2_cosim.kernel.time import to_seconds
from ros2_cosim.models.road import RoadNetwork
from ros2_cosim.models.vehicle import ActuatorCommand, RoadVehicle, Vehicle, VehicleParameters
from ros2_cosim.models.vehicle.levels import TwoTrackVehicle
from ros2_cosim.models.vehicle.parameters import GRAVITY

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
    """What acts between vehicle and road across the wheels.

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

    A vehicle without a track of its own is a bicycle: both wheels of an axle turn alike and bear
    the same load.

    :param parameters: type of vehicle
    :param vehicle: the vehicle at another level of detail, already in its place
    :param steering: geometry of the front wheels
    :param x: position of the centre of the footprint [m]
    :param y: [m]
    :param yaw: heading [rad]
    :param speed: along the heading [m/s]
    :param road: ground below; None: the plane z = 0
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
        self._on_road = None if road is None else RoadVehicle(road, self._vehicle)

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
        (self._on_road or self._vehicle).step(to_seconds(dt_ns), control)

    def state(self) -> PlantState:
        """The state now."""
        p, v, ground = self.parameters, self._vehicle, self._on_road
        roll, pitch = (0.0, 0.0) if ground is None else (ground.roll, ground.pitch)
        roll_rate = pitch_rate = 0.0
        track = 0.0
        if isinstance(v, TwoTrackVehicle):
            roll, pitch = roll + v.roll, pitch + v.pitch
            roll_rate, pitch_rate = v.roll_rate, v.pitch_rate
            track = v.body.track
            loads = v.wheel_loads()
        else:
            weight = p.mass * GRAVITY
            shift = p.mass * v.ax * p.cg_height / p.wheelbase
            front_load = 0.5 * max(0.0, weight * p.rear_axle / p.wheelbase - shift)
            rear_load = 0.5 * max(0.0, weight * p.front_axle / p.wheelbase + shift)
            loads = (front_load, front_load, rear_load, rear_load)
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
            vz=0.0,
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

    def forces(self) -> TyreForces:
        """Lateral forces of the wheels and force of the rack, now."""
        lateral = self._vehicle.wheel_forces()
        trail, arm = self._steering
        return TyreForces(lateral, 0.0 - (lateral[0] + lateral[1]) * trail / arm)


def _within(value: float, low: float, high: float) -> float:
    return low if value < low else high if value > high else value
