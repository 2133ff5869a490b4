# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The section ``scene`` of a scenario: what all models share of the world.

One class says which keys there are; every reader takes it from :func:`scene_settings`.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal

from pydantic import BeforeValidator, Field

from ros2_cosim.core.documents.settings import Name, Number, Section, Whole, read_section
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.participant import ModelContext
from ros2_cosim.core.scene.manoeuvres import Manoeuvre
from ros2_cosim.core.scene.recorded import RecordedSettings
from ros2_cosim.core.scene.sensors import SensorSettings

#: Identities are unsigned 32-bit numbers in messages.
_MAX_ID = 2**32 - 1
#: Kind in CARLA, and dynamics, of a vehicle for which a scenario names none.
DEFAULT_CAR: Final = "vehicle.tesla.model3"
DEFAULT_DYNAMICS: Final = "sedan"
#: Length, width and height of that kind [m].
DEFAULT_SIZE: Final = (4.792, 2.163, 1.488)
#: Fixed objects and traffic are numbered from here, as collisions name them; vehicles from 1.
FIRST_OBJECT_ID: Final = 101
FIRST_TRAFFIC_ID: Final = 1001
_Positive = Annotated[Number, Field(gt=0)]
_Size = Annotated[Number, Field(ge=0.1, le=100)] | None
_Identity = Annotated[Whole, Field(ge=0, le=_MAX_ID)]
Flag = Annotated[bool, Field(strict=True)]


class DriverSettings(Section):
    """A driver on the simulator's side: drives the manoeuvre, stops before an obstacle."""

    stop_gap: Annotated[Number, Field(ge=0)] = Field(
        default=7.0, description="gap to the obstacle at standstill, bumper to bumper [m]"
    )
    deceleration: _Positive = Field(default=2.5, description="usual deceleration [m/s^2]")
    manoeuvre: Manoeuvre = Field(
        default=(), description="actions, one after the other; default: hold the initial speed"
    )


class LaneStation(Section):
    """A place on a lane."""

    lane: Whole = Field(description="OpenDRIVE lane")
    s: Number = Field(description="station of the centre on the road [m]")
    road: Whole = Field(default=1, description="OpenDRIVE road")


class BoxSettings(Section):
    """The box of a vehicle or an object, and how it stands in its lane."""

    length: _Size = Field(default=None, description="of its box; default: its kind's [m]")
    width: _Size = Field(default=None, description="of its box; default: its kind's [m]")
    height: _Size = Field(default=None, description="of its box; default: its kind's [m]")
    offset: Number = Field(
        default=0.0,
        description="at the start to the left of the lane's centre; lane keeping keeps it [m]",
    )
    turn: Number = Field(
        default=0.0,
        description="of its heading at the start, from the lane's direction to the left [rad]",
    )
    placed: Flag = Field(
        default=False,
        description="whether input place/NAME of the world puts it elsewhere; output traffic "
        "reports such an object, not static_objects",
    )


class SceneVehicleSettings(BoxSettings):
    """One vehicle: identity and size, for models, and its start, for the simulator."""

    id: _Identity | None = Field(default=None, description="identity; default: position from 1")
    mass: Annotated[Number, Field(ge=1, le=100_000)] | None = Field(
        default=None, description="default: that of its class [kg]"
    )
    wheelbase: _Size = Field(default=None, description="default: that of its class [m]")
    wheel_radius: Annotated[Number, Field(ge=0.05, le=2)] | None = Field(
        default=None, description="default: that of its class [m]"
    )
    max_steer_angle: Annotated[Number, Field(ge=0.01, le=1.4)] | None = Field(
        default=None, description="of its front wheels; default: that of its class [rad]"
    )
    track: _Size = Field(
        default=None, description="between the wheels of an axle; default: by its width [m]"
    )
    lane: Whole | None = Field(default=None, description="OpenDRIVE lane that it starts in")
    s: Number | None = Field(default=None, description="station of its centre on the road [m]")
    speed: Annotated[Number, Field(ge=-10, le=100)] | None = Field(
        default=None, description="initial speed, below 0 backwards [m/s]"
    )
    road: Whole | None = Field(
        default=None, description="OpenDRIVE road that it starts on; default: 1"
    )
    blueprint: str | None = Field(default=None, pattern=r"^vehicle\.", description="kind in CARLA")
    dynamics: str | None = Field(default=None, description="vehicle parameters that drivers assume")
    driver: DriverSettings | None = Field(
        default=None,
        description="driver of the simulator; without one the pedals come from outside",
    )
    steering: Literal["lane_keeping", "command"] = Field(
        default="lane_keeping",
        description="what steers: the simulator's lane keeping, or steer of the control command",
    )


class ObjectSettings(BoxSettings, LaneStation):
    """One object on the road: it stands still, unless messages of an input place it."""

    blueprint: str | None = Field(
        default=None, description="kind in CARLA; default: a street barrier"
    )


class RoadblockSettings(LaneStation):
    """A row of barriers across a lane."""

    count: Annotated[Whole, Field(ge=1, le=100)] = Field(
        default=3, description="number of barriers"
    )


class ConditionSettings(Section):
    """Air and sun for object sensors; what is left out is that of the weather preset."""

    rain: Annotated[Number, Field(ge=0, le=300)] | None = Field(
        default=None, description="intensity [mm/h]"
    )
    visibility: Annotated[Number, Field(ge=5, le=100_000)] | None = Field(
        default=None, description="in fog, meteorological optical range [m]"
    )
    sun_altitude: Annotated[Number, Field(ge=-1.5708, le=1.5708)] | None = Field(
        default=None, description="above the horizon [rad]"
    )
    sun_azimuth: Number | None = Field(
        default=None, description="direction of the sun in the map, from x to y [rad]"
    )
    cloudiness: Annotated[Number, Field(ge=0, le=1)] | None = Field(
        default=None, description="share of the sky [1]"
    )


def _none_is_empty(value: object) -> object:
    return {} if value is None else value


class SceneSettings(Section):
    """Road, vehicles and fixed objects."""

    map: str = Field(
        default="", description="OpenDRIVE file (.xodr), or a map that the simulator has"
    )
    route: tuple[Whole, ...] = Field(
        default=(),
        description="OpenDRIVE roads, one after the other and without those inside junctions: "
        "there vehicles turn so; default: straight on",
    )
    traffic_lights: Flag = Field(
        default=False,
        description="whether the simulator's drivers and background traffic stop at red, and the "
        "world reports its traffic lights; default: all ignore them",
    )
    weather: str = Field(default="ClearNoon", description="weather preset of CARLA")
    conditions: Annotated[ConditionSettings, BeforeValidator(_none_is_empty)] = Field(
        ConditionSettings(), description="rain, fog and sun, instead of those of the preset"
    )
    vehicles: Annotated[dict[str, SceneVehicleSettings], BeforeValidator(_none_is_empty)] = Field(
        default_factory=dict, description="name: settings, numbered from 1 in this order"
    )
    objects: Annotated[dict[str, ObjectSettings], BeforeValidator(_none_is_empty)] = Field(
        default_factory=dict, description="static objects, name: settings"
    )
    roadblock: RoadblockSettings | None = Field(default=None, description="barriers across a lane")
    recorded: Annotated[dict[Name, RecordedSettings], BeforeValidator(_none_is_empty)] = Field(
        default_factory=dict, description="recorded road users, name of a recording: settings"
    )
    sensors: Annotated[dict[Name, SensorSettings], BeforeValidator(_none_is_empty)] = Field(
        default_factory=dict, description="sensors of the simulator on vehicles, name: settings"
    )
    platoon: tuple[str, ...] = Field(
        default=(), description="vehicles of the platoon, front to rear"
    )

    def identity(self, name: str) -> int:
        """The identity of a vehicle: as given, or its position from 1."""
        given = self.vehicles[name].id
        return list(self.vehicles).index(name) + 1 if given is None else given

    def require_vehicle(self, name: str, where: str, beside: str = "") -> None:
        """Check that there is a vehicle of that name.

        :param where: how messages call the place that names it
        :param beside: the vehicle that it must not be
        :raises ConfigurationError: there is none
        """
        others = self.vehicles.keys() - {beside}
        if name not in others:
            known = ", ".join(sorted(others)) or "none"
            raise ConfigurationError(f"{where}: found vehicle {name!r}; allowed are {known}")


def scene_settings(context: ModelContext) -> SceneSettings:
    """Read the scene that a participant's model shares with the others.

    :raises ConfigurationError: something in it is wrong; the message begins with ``scene``
    """
    return read_scene(context.scene)


def read_scene(section: Mapping[str, Any]) -> SceneSettings:
    """Read the section ``scene`` of a scenario.

    :raises ConfigurationError: something in it is wrong; the message begins with ``scene``
    """
    if _read and _read[-1][0] is section:
        return _read[-1][2]
    key = repr(section)
    if _read and _read[-1][1] == key:
        return _read[-1][2]
    scene = read_section(SceneSettings, dict(section), place="scene")
    for index, name in enumerate(scene.platoon):
        scene.require_vehicle(name, f"scene.platoon.{index}")
    for name, sensor in scene.sensors.items():
        scene.require_vehicle(sensor.vehicle, f"scene.sensors.{name}.vehicle")
    _read[:] = [(section, key, scene)]
    return scene


#: The scene that was read last, which all models of a scenario share: the section itself (nothing
#: changes one that is read), its text and what it says.
_read: list[tuple[Mapping[str, Any], str, SceneSettings]] = []
