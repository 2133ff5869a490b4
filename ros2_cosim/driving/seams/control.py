# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Commands in standard messages, at the port of a world that takes ControlCommand.

None but ``carla_control`` knows pedals: the world finds those for the demanded acceleration itself
(a ControlCommand whose pedals are not numbers). Where a message demands a speed, the acceleration
follows from its difference to the speed that the world sent last.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

from pydantic import Field

from ros2_cosim.core.documents.settings import Number, Section
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.exactmath import atan
from ros2_cosim.core.messages.message_types import ACCELERATION, CONTROL
from ros2_cosim.core.messages.records import ControlCommand
from ros2_cosim.core.messages.seams import InputSeam, NoParameters, SeamPlace
from ros2_cosim.core.scene.scene import DEFAULT_DYNAMICS, read_scene
from ros2_cosim.world.vehicle import VEHICLES, VehicleParameters, pedals_for

_Positive = Annotated[Number, Field(gt=0)]
#: Slower than this, a yaw rate says nothing about the wheels [m/s].
_STEERING_SPEED = 0.5
#: Slower than this, a vehicle may change between forward and reverse gear [m/s].
_STANDING = 0.1


class SpeedParameters(Section):
    """How a demanded speed becomes an acceleration."""

    gain: _Positive = Field(
        default=1.0, description="acceleration per difference of speed [m/s^2 per m/s]"
    )
    max_acceleration: _Positive = Field(default=3.0, description="largest demand [m/s^2]")
    max_deceleration: _Positive = Field(default=6.0, description="largest demand to brake [m/s^2]")


class _Command(InputSeam):
    """What the seams of this module share: a vehicle, named by the port behind the slash."""

    target_type = CONTROL

    def __init__(self, place: SeamPlace, parameters: Any) -> None:
        self._source = place.source
        self._odometry = f"odometry/{place.port.partition('/')[2]}"
        self._vehicle = dynamics_of(place)
        if self.looks_at_outputs and self._odometry not in place.outputs:
            raise ConfigurationError(
                f"{place.where}: a demanded speed needs the vehicle's own; the participant has no "
                f"output '{self._odometry}'"
            )

    def _demand(self, acceleration: float, angle: float = 0.0) -> ControlCommand:
        """A command by acceleration [m/s^2] and angle of the front wheels [rad]."""
        share = angle / self._vehicle.max_steer_angle
        return ControlCommand(acceleration, math.nan, math.nan, min(max(share, -1.0), 1.0))

    def _to(self, wanted: float, acceleration: float, speed: float, angle: float) -> ControlCommand:
        """A command that leads to a wanted speed; where it is backwards, with pedals.

        The world finds those for forward motion only.
        """
        command = self._demand(acceleration, angle)
        if not _goes_backwards(wanted, speed):
            return command
        throttle, brake = pedals_for(self._vehicle, 0.0 - acceleration, 0.0 - speed)
        return command._replace(throttle=0.0 - throttle, brake=brake)

    def _speed(self, sent: Mapping[str, Any]) -> float | None:
        """The vehicle's speed when the participant sent it last [m/s]."""
        odometry = sent.get(self._odometry)
        return None if odometry is None else float(odometry.vx)


class FromAcceleration(_Command):
    """Plain acceleration along the vehicle."""

    Parameters = NoParameters
    source_types = (ACCELERATION, "geometry_msgs/msg/Accel")

    def convert(self, record: Any, sent: Mapping[str, Any]) -> ControlCommand:
        """Demand ``linear.x``."""
        return self._demand(record.ax if self._source == ACCELERATION else record.linear.x)


class SpeedCommand(_Command):
    """A speed that is followed; there is no command before the vehicle's own is known."""

    Parameters: ClassVar[type[Section]] = SpeedParameters
    looks_at_outputs = True

    def __init__(self, place: SeamPlace, parameters: SpeedParameters) -> None:
        super().__init__(place, parameters)
        self._parameters = parameters

    def convert(self, record: Any, sent: Mapping[str, Any]) -> ControlCommand | None:
        """Follow the speed."""
        speed = self._speed(sent)
        return None if speed is None else self.follow(record, speed)

    @abstractmethod
    def follow(self, record: Any, speed: float) -> ControlCommand:
        """The command at the vehicle's own speed [m/s]."""


class FromTwist(SpeedCommand):
    """Speed ``linear.x`` and yaw rate ``angular.z``."""

    source_types = ("geometry_msgs/msg/TwistStamped", "geometry_msgs/msg/Twist")

    def follow(self, record: Any, speed: float) -> ControlCommand:
        """Follow the speed, and the yaw rate by the bicycle model without slip."""
        twist = record.twist if self._source.endswith("Stamped") else record
        demand = followed(self._parameters, twist.linear.x, speed)
        angle = angle_for(self._vehicle, twist.angular.z, speed) or 0.0
        return self._to(twist.linear.x, demand, speed, angle)


class FromAckermann(SpeedCommand):
    """Speed and steering angle; a non-zero ``acceleration`` bounds how the speed is followed."""

    source_types = ("ackermann_msgs/msg/AckermannDriveStamped", "ackermann_msgs/msg/AckermannDrive")

    def follow(self, record: Any, speed: float) -> ControlCommand:
        """Follow the speed."""
        drive = record.drive if self._source.endswith("Stamped") else record
        demand = followed(self._parameters, drive.speed, speed)
        bound = abs(drive.acceleration)
        if bound > 0.0:
            demand = min(max(demand, -bound), bound)
        return self._to(drive.speed, demand, speed, drive.steering_angle)


class FromAutoware(SpeedCommand):
    """Of Autoware: its acceleration, else its velocity, and the angle of the front wheels."""

    source_types = ("autoware_control_msgs/msg/Control",)

    def convert(self, record: Any, sent: Mapping[str, Any]) -> ControlCommand | None:
        """The demand, and where it has none that for the speed."""
        wanted = record.longitudinal
        if wanted.is_defined_acceleration:
            return self._demand(wanted.acceleration, record.lateral.steering_tire_angle)
        return super().convert(record, sent)

    def follow(self, record: Any, speed: float) -> ControlCommand:
        """The command for the demanded speed."""
        wanted = record.longitudinal.velocity
        demand = followed(self._parameters, wanted, speed)
        return self._to(wanted, demand, speed, record.lateral.steering_tire_angle)


class FromCarla(_Command):
    """Pedals, steering and reverse gear as CARLA's client has them."""

    source_types = ("carla_msgs/msg/CarlaEgoVehicleControl",)

    def convert(self, record: Any, sent: Mapping[str, Any]) -> ControlCommand:
        """Take the pedals over; CARLA steers to the right, this project to the left."""
        # A gear is chosen by hand where the message says so, else by the flag alone.
        backwards = record.gear < 0 if record.manual_gear_shift else record.reverse
        throttle = 0.0 - record.throttle if backwards else record.throttle
        brake = 1.0 if record.hand_brake else record.brake
        return ControlCommand(0.0, throttle, brake, 0.0 - record.steer)


def angle_for(vehicle: VehicleParameters, rate: float, speed: float) -> float | None:
    """The angle of the front wheels [rad] for a yaw rate [rad/s] by the bicycle model without slip.

    None: the vehicle is too slow [m/s] to tell.
    """
    return atan(vehicle.wheelbase * rate / speed) if abs(speed) >= _STEERING_SPEED else None


def dynamics_of(place: SeamPlace) -> VehicleParameters:
    """The dynamics of the vehicle that a port belongs to; a sedan where the scene has none."""
    vehicles = read_scene(place.scene).vehicles
    settings = vehicles.get(place.port.partition("/")[2])
    return VEHICLES[(settings.dynamics if settings else None) or DEFAULT_DYNAMICS]


def _goes_backwards(wanted: float, speed: float) -> bool:
    """Whether a vehicle is to drive in the reverse gear, or to stop in it."""
    return speed < -_STANDING or (wanted < 0.0 and speed <= _STANDING)


def followed(parameters: SpeedParameters, wanted: float, speed: float) -> float:
    """The acceleration [m/s^2] by which a speed follows the wanted one [m/s]."""
    demand = parameters.gain * (wanted - speed)
    return min(max(demand, -parameters.max_deceleration), parameters.max_acceleration)
