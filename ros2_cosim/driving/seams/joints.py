# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A vehicle as its joints: what ros2_control's hardware and controllers exchange with one.

Names, order and signs are those of ``ackermann_steering_controller`` (ros-controls/ros2_controllers
at 94e74de, steering_controllers_library/src/steering_controllers_library.yaml): a wheel that rolls
forwards turns positively, and positive steering is to the left. The commands are also those of
PickNik's ``topic_based_ros2_control`` (at 0257de7, src/topic_based_system.cpp).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import Field

from ros2_cosim.core.documents.settings import Number, Section
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.exactmath import atan, tan, total
from ros2_cosim.core.messages.catalogue import DEFAULT
from ros2_cosim.core.messages.cdr import NS_PER_S
from ros2_cosim.core.messages.message_types import ODOMETRY
from ros2_cosim.core.messages.records import ControlCommand
from ros2_cosim.core.messages.seams import OutputSeam, SeamPlace
from ros2_cosim.driving.seams.control import (
    SpeedCommand,
    SpeedParameters,
    angle_for,
    dynamics_of,
    followed,
)
from ros2_cosim.world.vehicle import VehicleParameters

#: Distance of the wheels of an axle as a share of the vehicle's width, as of the headless server.
_TRACK_SHARE = 0.8

_Track = Annotated[Number, Field(gt=0)]


class JointParameters(Section):
    """The joints of a vehicle; of two, the left one is first."""

    rear_wheels: tuple[str, ...] = Field(
        ("rear_left_wheel_joint", "rear_right_wheel_joint"),
        min_length=2,
        max_length=2,
        description="joints of the rear wheels, left and right",
    )
    steering: tuple[str, ...] = Field(
        ("front_left_steering_joint", "front_right_steering_joint"),
        max_length=2,
        description="joints that steer, left and right; one: in the middle; none: the rear wheels "
        "say it by their difference",
    )
    track: _Track | None = Field(
        None, description="distance of the wheels of an axle [m]; default: 0.8 of the width"
    )


class JointStateParameters(JointParameters):
    """The joints of a vehicle that says what they do."""

    front_wheels: tuple[str, ...] = Field(
        ("front_left_wheel_joint", "front_right_wheel_joint"),
        max_length=2,
        description="joints of the front wheels, left and right; none: they are left out",
    )


class JointCommandParameters(SpeedParameters, JointParameters):
    """The joints of a vehicle, and how their speed is followed."""

    order: tuple[str, ...] = Field(
        (), description="joints of the values of an array; default: rear wheels, then steering"
    )


class ToJointStates(OutputSeam):
    """Angles and rates of wheels, and the steering that they have without slip.

    Rear wheels turn as far as they roll. Below 0.5 m/s the steering does not change.
    """

    Parameters = JointStateParameters
    source_types = (ODOMETRY,)
    target_type = "sensor_msgs/msg/JointState"
    has_state = True

    def __init__(self, place: SeamPlace, parameters: JointStateParameters) -> None:
        self._vehicle = _own(place)
        self._half = 0.5 * _track(self._vehicle, parameters)
        self._wheels = parameters.rear_wheels + parameters.front_wheels
        self._steering = parameters.steering
        self._record: Any = DEFAULT.record(self.target_type)
        self._time: int | None = None
        self._rates = [0.0] * len(self._wheels)
        self._angles = [0.0] * len(self._wheels)
        self._steered = [0.0] * len(self._steering)

    def convert(self, time: int, *records: Any) -> Any:
        """Positions [rad] and velocities [rad/s] of all joints."""
        (o,) = records
        p = self._vehicle
        rates = self._rolling(o.vx, o.wz)
        angles = self._steered
        if (middle := angle_for(p, o.wz, o.vx)) is not None:
            middle = min(max(middle, -p.max_steer_angle), p.max_steer_angle)
            angles = _wheel_angles(p.wheelbase, self._half, middle, len(self._steering))
        turns = [0.0] * len(angles)
        if self._time is not None and time > self._time:
            dt = (time - self._time) / NS_PER_S
            for place, rate in enumerate(rates):
                self._angles[place] += 0.5 * (rate + self._rates[place]) * dt
            turns = [(now - before) / dt for now, before in zip(angles, self._steered, strict=True)]
        self._time, self._rates, self._steered = time, rates, angles
        return self._record(
            name=(*self._wheels, *self._steering),
            position=(*self._angles, *angles),
            velocity=(*rates, *turns),
            effort=(),
        )

    def _rolling(self, speed: float, rate: float) -> list[float]:
        """Rates of the wheels [rad/s]: rear left and right, front left and right."""
        p = self._vehicle
        rear = [speed - rate * self._half, speed + rate * self._half]
        across = p.wheelbase * rate
        # Of a front wheel the speed along itself is the whole one, for it does not slip.
        front = [math.copysign(math.sqrt(v * v + across * across), v) for v in rear]
        return [v / p.wheel_radius for v in (*rear, *front)[: len(self._wheels)]]


class FromJoints(SpeedCommand):
    """Rates of the rear wheels and angles of the steering; those of other joints do not count.

    A command without a rate asks for no acceleration, one without steering for none. The arrays of
    a ``JointState`` have a value for each name, or only for the joints of their kind, in this
    order. Of a trajectory its last point counts, at once.
    """

    Parameters = JointCommandParameters
    source_types = (
        "sensor_msgs/msg/JointState",
        "trajectory_msgs/msg/JointTrajectory",
        "std_msgs/msg/Float64MultiArray",
    )

    def __init__(self, place: SeamPlace, parameters: JointCommandParameters) -> None:
        super().__init__(place, parameters)
        _own(place)
        self._half = 0.5 * _track(self._vehicle, parameters)
        self._wheels, self._steering = parameters.rear_wheels, parameters.steering
        self._order = parameters.order or (*self._wheels, *self._steering)
        known = {*self._wheels, *self._steering}
        if unknown := [name for name in self._order if name not in known]:
            raise ConfigurationError(
                f"{place.where}.order: found {', '.join(unknown)}; allowed are "
                f"{', '.join(sorted(known))}"
            )

    def follow(self, record: Any, speed: float) -> ControlCommand:
        """Follow the rates and angles."""
        rates, angles = self._told(record)
        p = self._vehicle
        angle = 0.0
        if self._steering:
            angle = _middle([angles[name] for name in self._steering if name in angles])
        elif len(rates) == len(self._wheels):
            left, right = (rates[name] * p.wheel_radius for name in self._wheels)
            angle = angle_for(p, (right - left) / (2.0 * self._half), speed) or 0.0
        if not rates:
            return self._demand(0.0, angle)
        wanted = total(rates.values()) / len(rates) * p.wheel_radius
        return self._to(wanted, followed(self._parameters, wanted, speed), speed, angle)

    def _told(self, record: Any) -> tuple[dict[str, float], dict[str, float]]:
        """Rates [rad/s] of rear wheels and angles [rad] of steering joints, by name."""
        if self._source == self.source_types[2]:
            values = dict(zip(self._order, record.data, strict=False))
            rates = {name: values[name] for name in self._wheels if name in values}
            return rates, {name: values[name] for name in self._steering if name in values}
        if self._source == self.source_types[1]:
            if not record.points:
                return {}, {}
            last = record.points[-1]
            names, rates_, angles_ = record.joint_names, last.velocities, last.positions
        else:
            names, rates_, angles_ = record.name, record.velocity, record.position
        return _named(names, rates_, self._wheels), _named(names, angles_, self._steering)


def _named(
    names: Sequence[str], values: Sequence[float], wanted: Sequence[str]
) -> dict[str, float]:
    """The values of the joints that are wanted, without those that are not finite.

    ``topic_based_ros2_control`` sends only the values of joints that are commanded so.
    """
    if len(values) != len(names):
        names = [name for name in names if name in wanted]
    pairs = zip(names, values, strict=False)
    return {name: value for name, value in pairs if name in wanted and math.isfinite(value)}


def _middle(angles: Sequence[float]) -> float:
    """The angle in the middle of an axle [rad]: its wheels turn about one point on the rear axle.

    The cotangents are distances to that point as shares of the wheelbase, so theirs is the mean.
    """
    tangents = [tan(angle) for angle in angles]
    if not tangents or 0.0 in tangents:
        return 0.0
    mean = total(1.0 / tangent for tangent in tangents) / len(tangents)
    return atan(1.0 / mean) if mean else 0.0


def _wheel_angles(base: float, half: float, middle: float, count: int) -> list[float]:
    """The angles of so many steered wheels [rad] for the one in the middle, left before right."""
    if count < 2:
        return [middle] * count
    tangent = tan(middle)
    return [atan(base * tangent / (base + side * half * tangent)) for side in (-1.0, 1.0)]


def _own(place: SeamPlace) -> VehicleParameters:
    """The dynamics of the vehicle behind the slash of the port's name.

    :raises ConfigurationError: the scene has no such vehicle
    """
    vehicles = place.scene.get("vehicles") or {}
    name = place.port.partition("/")[2]
    if name not in vehicles:
        raise ConfigurationError(
            f"{place.where}: found the port '{place.port}'; allowed is NAME/VEHICLE with one of "
            f"{', '.join(vehicles) or 'the vehicles of the scene, which has none'}"
        )
    return dynamics_of(place)


def _track(vehicle: VehicleParameters, parameters: JointParameters) -> float:
    """The distance of the wheels of an axle [m]."""
    return _TRACK_SHARE * vehicle.width if parameters.track is None else parameters.track
