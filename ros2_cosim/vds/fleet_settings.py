# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Vehicles, actuators and sensor of a session as plain data, for files and scenarios."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, fields
from hashlib import sha256
from math import inf
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import Field, field_validator

from ros2_cosim.core.documents.files import cause_of, read_bounded
from ros2_cosim.core.documents.plain_data import read_mapping
from ros2_cosim.core.documents.settings import (
    Duration,
    Number,
    PositiveDuration,
    Section,
    read_section,
)
from ros2_cosim.core.documents.xml_reader import MAX_BYTES
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.time import to_seconds
from ros2_cosim.core.scene.scene import LaneStation
from ros2_cosim.vds.actuator import ActuatorLimits, ActuatorSettings
from ros2_cosim.vds.fleet import Fleet, SessionSettings, VehicleSession
from ros2_cosim.vds.vehicle_plant import (
    TYPICAL_STEERING,
    PlantState,
    SteeringParameters,
    VehiclePlant,
)
from ros2_cosim.world.map import RoadNetwork
from ros2_cosim.world.vehicle import VEHICLES, Vehicle, VehicleParameters
from ros2_cosim.world.vehicle.levels import (
    TYPICAL_TYRE,
    KinematicVehicle,
    MagicFormula,
    PacejkaVehicle,
    TwoTrackVehicle,
    typical_body,
)

MAX_VEHICLES = 64
#: What a file of a vehicle may say of its type.
PARAMETER_NAMES: Final = tuple(f.name for f in fields(VehicleParameters) if f.name != "name")

#: What else it may say.
_SECTIONS: Final = ("kind", "body", "steering")

_Positive = Annotated[Number, Field(gt=0)]


class ChannelSettings(Section):
    """Limits of one actuator; left out: none."""

    low: Number | None = Field(
        default=None, description="lowest value; default: of the channel itself"
    )
    high: Number | None = Field(
        default=None, description="highest value; default: of the channel itself"
    )
    rate: _Positive | None = Field(
        default=None, description="largest change per second; default: any"
    )

    def limits(self, low: float, high: float) -> ActuatorLimits:
        """The limits, within those of the channel itself."""
        return ActuatorLimits(
            low if self.low is None else self.low,
            high if self.high is None else self.high,
            inf if self.rate is None else self.rate,
        )


class TyreSettings(Section):
    """Tyres of a vehicle; what is left out is that of its type, or typical."""

    front_stiffness: _Positive | None = Field(
        default=None, description="lateral force per slip angle and load at no slip [1/rad]"
    )
    rear_stiffness: _Positive | None = Field(
        default=None, description="lateral force per slip angle and load at no slip [1/rad]"
    )
    friction: _Positive | None = Field(default=None, description="of tyre and road [1]")
    peak: _Positive = Field(
        default=TYPICAL_TYRE.peak,
        description="largest lateral force per load and friction (pacejka, two_track) [1]",
    )
    shape: Annotated[Number, Field(ge=1, le=2)] = Field(
        default=TYPICAL_TYRE.shape, description="C of the Magic Formula (pacejka, two_track) [1]"
    )
    curvature: Annotated[Number, Field(ge=-20, lt=1)] = Field(
        default=TYPICAL_TYRE.curvature,
        description="E of the Magic Formula (pacejka, two_track) [1]",
    )
    load_drop: Annotated[Number, Field(ge=0, lt=1)] = Field(
        default=TYPICAL_TYRE.load_drop,
        description="by how much the peak falls where the load doubles (pacejka, two_track) [1]",
    )


class BodySettings(Section):
    """Body on springs, for the level two_track; what is left out is typical of the type."""

    track: _Positive | None = Field(default=None, description="between left and right wheels [m]")
    roll_inertia: _Positive | None = Field(default=None, description="about the roll axis [kg m^2]")
    pitch_inertia: _Positive | None = Field(
        default=None, description="about the lateral axis [kg m^2]"
    )
    roll_centre: _Positive | None = Field(
        default=None, description="height of the roll axis below the centre of gravity [m]"
    )
    roll_stiffness: _Positive | None = Field(
        default=None, description="of springs and bars about the roll axis [N m/rad]"
    )
    roll_damping: _Positive | None = Field(
        default=None, description="of the dampers about the roll axis [N m s/rad]"
    )
    front_roll_share: Annotated[Number, Field(gt=0, lt=1)] | None = Field(
        default=None, description="of the roll stiffness [1]"
    )
    pitch_stiffness: _Positive | None = Field(
        default=None, description="of the springs about the lateral axis [N m/rad]"
    )
    pitch_damping: _Positive | None = Field(
        default=None, description="of the dampers about the lateral axis [N m s/rad]"
    )


class SteeringSettings(Section):
    """Geometry of the front wheels."""

    trail: _Positive = Field(
        default=TYPICAL_STEERING.trail,
        description="how far the lateral force acts behind the steering axis [m]",
    )
    arm: _Positive = Field(default=TYPICAL_STEERING.arm, description="of the tie rods [m]")


class StartSettings(LaneStation):
    """A place on a road, heading in the driving direction of the lane."""

    s: Annotated[Number, Field(ge=0)] = Field(description="station of the footprint's centre [m]")


class VehicleSettings(Section):
    """One vehicle: type, start (centre of the footprint, heading, speed), actuators, sensor."""

    kind: Literal["sedan", "van", "truck"] = Field(
        default="sedan", description="type of the vehicle"
    )
    level: Literal["kinematic", "linear", "pacejka", "two_track"] = Field(
        default="linear",
        description="level of detail: no slip; bicycle with linear tyres; with tyres by the Magic "
        "Formula; two tracks with load transfer, roll and pitch",
    )
    parameters: dict[str, _Positive] = Field(
        default_factory=dict, description="of the type of vehicle, to be others"
    )
    tyre: TyreSettings = Field(default=TyreSettings(), description="tyres")
    body: BodySettings = Field(default=BodySettings(), description="body on springs")
    solver_step: Annotated[PositiveDuration, Field(le=10_000_000)] = Field(
        default=10_000_000, description="longest step of the integration, at most 10 ms"
    )
    x: Number = Field(default=0.0, description="of the centre of the footprint, map frame [m]")
    y: Number = Field(default=0.0, description="of the centre of the footprint, map frame [m]")
    yaw: Number = Field(default=0.0, description="heading from x to y [rad]")
    start: StartSettings | None = Field(
        default=None, description="on the centre of a lane of the road, instead of x, y and yaw"
    )
    speed: Number = Field(default=0.0, description="at the start [m/s]")
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

        :param road: the ground below its wheels; None: the plane z = 0
        :raises ConfigurationError: step, delay or limits are out of range, or there is no such
            place on the road
        """
        actuator = ActuatorSettings(
            self.actuator_delay,
            self.steer.limits(-inf, inf),
            self.throttle.limits(0.0, 1.0),
            self.brake.limits(0.0, 1.0),
        )
        settings = SessionSettings(dt_ns, actuator, self.sensor_delay)
        return VehicleSession(self._plant(road), settings)

    def plant_at(self, state: PlantState, road: RoadNetwork | None) -> VehiclePlant:
        """The vehicle at the place and speed of a state, rather than at its start.

        :raises ConfigurationError: it cannot be made
        """
        place = {"start": None, "x": state.x, "y": state.y, "yaw": state.yaw}
        return self.model_copy(update={**place, "speed": max(state.vx, 0.0)})._plant(road)

    def _plant(self, road: RoadNetwork | None) -> VehiclePlant:
        parameters = self.vehicle_parameters()
        vehicle = self._vehicle(parameters, road)
        vehicle.longest_substep = to_seconds(self.solver_step)
        return VehiclePlant(parameters, road=road, vehicle=vehicle, steering=self._steering())

    def _steering(self) -> SteeringParameters:
        return TYPICAL_STEERING

    @field_validator("parameters")
    @classmethod
    def _known(cls, given: dict[str, float]) -> dict[str, float]:
        for name in given:
            if name not in PARAMETER_NAMES:
                raise ValueError(f"unknown key {name!r}; allowed are {', '.join(PARAMETER_NAMES)}")
        return given

    def vehicle_parameters(self) -> VehicleParameters:
        """Its type, with what the settings and the tyres say."""
        values = asdict(VEHICLES[self.kind]) | self.parameters
        tyre = self.tyre.model_dump(include={"front_stiffness", "rear_stiffness", "friction"})
        values.update({name: value for name, value in tyre.items() if value is not None})
        return VehicleParameters(**values)

    def _place(self, road: RoadNetwork | None) -> tuple[float, float, float]:
        """Position [m] and heading [rad] at the start."""
        if self.start is None:
            return self.x, self.y, self.yaw
        if road is None:
            raise ConfigurationError("start: found a place on a road, and no road; name its file")
        x, y, _, heading = road.lane_pose(self.start.road, self.start.lane, self.start.s)
        return x, y, heading

    def _vehicle(self, parameters: VehicleParameters, road: RoadNetwork | None) -> Vehicle:
        place = (*self._place(road), self.speed)
        t = self.tyre
        tyre = MagicFormula(t.peak, t.shape, t.curvature, t.load_drop)
        if self.level == "kinematic":
            return KinematicVehicle(parameters, *place)
        if self.level == "linear":
            return Vehicle(parameters, *place)
        if self.level == "pacejka":
            return PacejkaVehicle(parameters, *place, tyre=tyre)
        given = {k: v for k, v in self.body.model_dump().items() if v is not None}
        body = typical_body(parameters)._replace(**given)
        return TwoTrackVehicle(parameters, *place, tyre=tyre, body=body)


class FleetVehicleSettings(VehicleSettings):
    """One vehicle of a fleet, with its rack force."""

    steering: SteeringSettings = Field(
        default=SteeringSettings(), description="geometry of the front wheels"
    )

    def _steering(self) -> SteeringParameters:
        return SteeringParameters(self.steering.trail, self.steering.arm)


def read_vehicle(kind: str, vehicle: Path | None, tyre: Path | None) -> dict[str, Any]:
    """Settings of a vehicle out of its files, for :class:`FleetVehicleSettings`.

    The file of a vehicle has ``kind`` (whose values hold where the file says nothing), ``body``,
    ``steering`` and parameters of the type; that of the tyres what ``TyreSettings`` names.

    :param kind: type of the vehicle where no file names another one
    :raises ConfigurationError: a file cannot be read
    """
    return vehicle_of(
        kind,
        None if vehicle is None else read_mapping(vehicle, "vehicle file"),
        None if tyre is None else read_mapping(tyre, "tyre file"),
    )


def vehicle_of(
    kind: str, vehicle: Mapping[str, Any] | None, tyre: Mapping[str, Any] | None
) -> dict[str, Any]:
    """As :func:`read_vehicle`, from the content of the files."""
    settings: dict[str, Any] = {"kind": kind}
    if vehicle is not None:
        settings["parameters"] = {k: v for k, v in vehicle.items() if k not in _SECTIONS}
        settings.update({key: vehicle[key] for key in _SECTIONS if key in vehicle})
    if tyre is not None:
        settings["tyre"] = tyre
    return settings


class FleetSettings(Section):
    """Step, ground and vehicles of a fleet."""

    dt: Duration = 5_000_000
    road: str | None = Field(
        default=None, min_length=1, description="OpenDRIVE file: the ground; default: z = 0"
    )
    road_sha256: str | None = Field(
        default=None, description="digest of that file; one with another content is refused"
    )
    vehicles: Annotated[
        dict[
            Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,31}$")],
            FleetVehicleSettings,
        ],
        Field(min_length=1, max_length=MAX_VEHICLES),
    ]

    def network(self) -> RoadNetwork | None:
        """The road; None: the ground is the plane z = 0.

        :raises ConfigurationError: it cannot be read
        """
        return None if self.road is None else RoadNetwork.from_file(self.road)

    def fleet(self) -> Fleet:
        """Make the fleet.

        :raises ConfigurationError: step, delay or limits are out of range, or the road cannot be
            read, or is another one
        """
        if self.road is not None and self.road_sha256 not in (None, road_digest(self.road)):
            raise ConfigurationError(
                f"road: found another content of {self.road} than when the run was recorded"
            )
        road = self.network()
        return Fleet({name: v.session(self.dt, road) for name, v in self.vehicles.items()})


def road_digest(path: str) -> str:
    """SHA-256 of the file of a road.

    :raises ConfigurationError: it cannot be read
    """
    try:
        return sha256(read_bounded(Path(path), MAX_BYTES)).hexdigest()
    except OSError as error:
        raise ConfigurationError(f"road: {path}: {cause_of(error)}") from None


def read_settings(data: Mapping[str, Any], where: str, *, by_hand: bool = True) -> FleetSettings:
    """Check plain data.

    :param by_hand: whether a user wrote it: a time needs a unit then
    :raises ConfigurationError: naming the place and what is wrong there
    """
    return read_section(FleetSettings, data, origin=where, by_hand=by_hand)
