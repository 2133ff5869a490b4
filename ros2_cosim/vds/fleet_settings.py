# SPDX-License-Identifier: Apache-2.0
"""Vehicles, actuators and sensor of a session as plain data, for files and scenarios."""

from __future__ import annotations

from collections.abc import Mapping
from math import inf
from typing import Annotated, Any, Literal

from pydantic import Field

from ros2_cosim.documents.settings import Duration, Section, read_section
from ros2_cosim.models.road import RoadNetwork
from ros2_cosim.models.vehicle import VEHICLES
from ros2_cosim.vds.actuator import ActuatorLimits, ActuatorSettings
from ros2_cosim.vds.fleet import Fleet, SessionSettings, VehicleSession
from ros2_cosim.vds.vehicle_plant import VehiclePlant

MAX_VEHICLES = 64


class ChannelSettings(Section):
    """Limits of one actuator; left out: none."""

    low: float | None = Field(
        default=None, description="lowest value; default: of the channel itself"
    )
    high: float | None = Field(
        default=None, description="highest value; default: of the channel itself"
    )
    rate: Annotated[float, Field(gt=0)] | None = Field(
        default=None, description="largest change per second; default: any"
    )

    def limits(self, low: float, high: float) -> ActuatorLimits:
        """The limits, within those of the channel itself."""
        return ActuatorLimits(
            low if self.low is None else self.low,
            high if self.high is None else self.high,
            inf if self.rate is None else self.rate,
        )


class VehicleSettings(Section):
    """One vehicle: type, start (centre of the footprint, heading, speed), actuators, sensor."""

    kind: Literal["sedan", "van", "truck"] = Field(
        default="sedan", description="type of the vehicle"
    )
    x: float = Field(default=0.0, description="of the centre of the footprint, map frame [m]")
    y: float = Field(default=0.0, description="of the centre of the footprint, map frame [m]")
    yaw: float = Field(default=0.0, description="heading from x to y [rad]")
    speed: float = Field(default=0.0, description="at the start [m/s]")
    actuator_delay: Duration = Field(default=0, description="from command to actuator")
    steer: ChannelSettings = Field(
        default=ChannelSettings(), description="limits of steering [rad]"
    )
    throttle: ChannelSettings = Field(
        default=ChannelSettings(), description="limits of the throttle"
    )
    brake: ChannelSettings = Field(default=ChannelSettings(), description="limits of the brake")
    sensor_delay: Duration = Field(default=0, description="from state to measurement")

    def session(self, dt_ns: int, road: RoadNetwork | None = None) -> VehicleSession:
        """Make the session of the vehicle.

        :raises ConfigurationError: step, delay or limits are out of range
        """
        plant = VehiclePlant(
            VEHICLES[self.kind], x=self.x, y=self.y, yaw=self.yaw, speed=self.speed, road=road
        )
        actuator = ActuatorSettings(
            self.actuator_delay,
            self.steer.limits(-inf, inf),
            self.throttle.limits(0.0, 1.0),
            self.brake.limits(0.0, 1.0),
        )
        return VehicleSession(plant, SessionSettings(dt_ns, actuator, self.sensor_delay))


class FleetSettings(Section):
    """Step and vehicles of a fleet."""

    dt: Duration = 5_000_000
    vehicles: Annotated[
        dict[
            Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,31}$")],
            VehicleSettings,
        ],
        Field(min_length=1, max_length=MAX_VEHICLES),
    ]

    def fleet(self, road: RoadNetwork | None = None) -> Fleet:
        """Make the fleet.

        :param road: ground of all vehicles; None: the plane z = 0
        :raises ConfigurationError: step, delay or limits are out of range
        """
        return Fleet({name: v.session(self.dt, road) for name, v in self.vehicles.items()})


def read_settings(data: Mapping[str, Any], where: str) -> FleetSettings:
    """Check plain data.

    :raises ConfigurationError: naming the place and what is wrong there
    """
    return read_section(FleetSettings, data, origin=where)
