# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What a scene is made of: map, step, vehicles, static objects. Checked on construction."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.guesses import did_you_mean
from ros2_cosim.core.kernel.time import format_ns
from ros2_cosim.core.scene.scene import DEFAULT_CAR, DEFAULT_DYNAMICS
from ros2_cosim.core.scene.sensors import SensorBlueprint, SensorForm, form_of
from ros2_cosim.core.scene.simulator import (
    SETTLE_TICKS,
    SIZE_TOLERANCE,
    WEATHER_PRESETS,
    Body,
    MapChoice,
    Size,
)
from ros2_cosim.world.drivers.manoeuvres import PlannedAction
from ros2_cosim.world.recorded.users import RecordedUser
from ros2_cosim.world.vehicle import VEHICLES

MAX_STEP_NS = 100_000_000
"""Longest step [ns] at which CARLA's physics is still usable."""

MAX_TRAFFIC = 500
"""Most background vehicles."""

MAX_SEED = 2**63 - 1
"""Greatest seed of the background traffic, as of a run."""

BARRIER = "static.prop.streetbarrier"

WALKER_MIDDLE = 0.93
"""Of CARLA's adults, above their feet [m]."""


@dataclass(frozen=True)
class DriverSpec:
    """A driver on the simulator's side: drives the manoeuvre, stops before an obstacle.

    Distances in m, bumper to bumper; accelerations in m/s^2. Without a manoeuvre it holds the
    initial speed.
    """

    stop_gap: float = 7.0
    deceleration: float = 2.5
    manoeuvre: tuple[PlannedAction, ...] = ()


@dataclass(frozen=True)
class VehicleSpec:
    """One vehicle: where it starts on the road and how it is driven.

    ``s`` [m] is the station of its centre on road ``road``, ``offset`` [m] how far that is to the
    left of the lane's centre, on a line that lane keeping keeps, ``turn`` [rad] how far it heads to
    the left of the lane's direction; ``speed`` [m/s] the initial speed,
    ``dynamics`` one of ``models.vehicle.VEHICLES`` (what driver and lane keeping assume).
    Without ``driver`` its pedals come from outside, and with ``steering`` ``command`` its
    steering, too, instead of from lane keeping.
    """

    name: str
    lane: int
    s: float
    speed: float
    blueprint: str = DEFAULT_CAR
    road: int = 1
    driver: DriverSpec | None = None
    dynamics: str = DEFAULT_DYNAMICS
    steering: str = "lane_keeping"
    placed: bool = False
    offset: float = 0.0
    size: Size = Size()
    turn: float = 0.0

    def __post_init__(self) -> None:
        """Check; ConfigurationError names what is wrong."""
        where = f"vehicle '{self.name}'"
        _require_finite(where, s=self.s, speed=self.speed, offset=self.offset, turn=self.turn)
        if not -10.0 <= self.speed <= 100.0:
            raise ConfigurationError(f"{where}: speed={self.speed} must lie in -10..100 m/s")
        if self.dynamics not in VEHICLES:
            raise ConfigurationError(
                f"{where}: dynamics: found '{self.dynamics}'; "
                f"{did_you_mean(self.dynamics, VEHICLES)}allowed are {', '.join(sorted(VEHICLES))}"
            )
        if not self.blueprint.startswith("vehicle."):
            raise ConfigurationError(f"{where}: blueprint '{self.blueprint}' is not a vehicle")
        if self.steering == "command" and self.driver is not None:
            raise ConfigurationError(
                f"{where}: steering=command; it has a driver, which takes no commands: allowed is "
                "lane_keeping"
            )


@dataclass(frozen=True)
class ObjectSpec:
    """One object on the road, ``offset`` [m] to the left of the lane's centre.

    It heads along the lane, turned to the left by ``turn`` [rad]. Commands move an object that is
    ``placed``; the others stand still.
    """

    name: str
    lane: int
    s: float
    offset: float = 0.0
    blueprint: str = BARRIER
    road: int = 1
    turn: float = 0.0
    placed: bool = False
    size: Size = Size()

    def __post_init__(self) -> None:
        """Check; ConfigurationError names what is wrong."""
        where = f"object '{self.name}'"
        _require_finite(where, s=self.s, offset=self.offset, turn=self.turn)


@dataclass(frozen=True)
class SensorSpec:
    """One sensor of the simulator on a vehicle.

    ``place`` [m] and ``turn`` (roll, pitch, yaw) [rad] are relative to the centre of the vehicle's
    footprint (x ahead, y to the left, z up); ``attributes`` are texts.
    """

    name: str
    vehicle: str
    blueprint: SensorBlueprint
    period_ns: int
    place: tuple[float, float, float]
    turn: tuple[float, float, float]
    attributes: Mapping[str, str]

    @property
    def form(self) -> SensorForm:
        """What it gives."""
        return form_of(self.blueprint)


#: Of barriers in a row, from centre to centre [m].
_SPACING: Final = 1.25


def roadblock(lane: int, s: float, *, road: int = 1, count: int = 3) -> tuple[ObjectSpec, ...]:
    """A row of barriers across a lane."""
    middle = 0.5 * (count - 1)
    return tuple(
        ObjectSpec(f"roadblock{i + 1}", lane, s, (i - middle) * _SPACING, BARRIER, road)
        for i in range(count)
    )


@dataclass(frozen=True)
class SceneParameters:
    """A scene on one map (``map`` names it or holds its OpenDRIVE text).

    Lane keeping and the drivers on the simulator's side act every ``control_period_ns`` (None:
    at every step); in between they hold what they decided.
    ``settle_ticks`` ticks pass between the spawning and state 0; in each of them the vehicles
    are put back to their start with their initial speed and pedals that hold it, so that no
    acceleration of the set-up is left.

    ``count`` says how many of the vehicles, the first ones, are there at all (None: all).
    ``traffic`` further vehicles drive in other lanes, placed by the seed ``traffic_seed``.
    ``reports_traffic`` says whether they, and vehicles of other clients, are reported.
    ``route`` names the roads that vehicles take at junctions, which they else pass straight on.
    ``traffic_lights`` says whether drivers stop at red and lights are reported.
    ``sensors`` measure at multiples of their periods, in state 0 for the first time.
    ``recorded`` road users move as recorded.
    """

    map: MapChoice
    step_ns: int
    vehicles: tuple[VehicleSpec, ...]
    objects: tuple[ObjectSpec, ...] = ()
    weather: str = "ClearNoon"
    settle_ticks: int = SETTLE_TICKS
    control_period_ns: int | None = None
    count: int | None = None
    traffic: int = 0
    traffic_seed: int = 1
    sensors: tuple[SensorSpec, ...] = ()
    route: tuple[int, ...] = ()
    reports_traffic: bool = False
    traffic_lights: bool = False
    recorded: tuple[RecordedUser, ...] = ()

    @property
    def present_sensors(self) -> tuple[SensorSpec, ...]:
        """The sensors whose vehicles are there."""
        there = {spec.name for spec in self.present}
        return tuple(spec for spec in self.sensors if spec.vehicle in there)

    @property
    def present(self) -> tuple[VehicleSpec, ...]:
        """The vehicles that are there."""
        return self.vehicles[: self.count]

    @property
    def lit(self) -> tuple[str, ...]:
        """The vehicles for which the scene reports the next traffic light."""
        return tuple(spec.name for spec in self.present) if self.traffic_lights else ()

    @property
    def standing(self) -> tuple[ObjectSpec, ...]:
        """The objects that stand still."""
        return tuple(spec for spec in self.objects if not spec.placed)

    @property
    def placed(self) -> tuple[str, ...]:
        """The vehicles that are there, and then the objects, that commands put elsewhere."""
        vehicles = [spec.name for spec in self.present if spec.placed]
        return (*vehicles, *(spec.name for spec in self.objects if spec.placed))

    @property
    def control_steps(self) -> int:
        """Steps from one action of lane keeping and drivers to the next."""
        return (self.control_period_ns or self.step_ns) // self.step_ns

    def __post_init__(self) -> None:
        """Check; ConfigurationError names what is wrong."""
        if bool(self.map.opendrive) == bool(self.map.name):
            raise ConfigurationError("scene: give either a map name or an OpenDRIVE text")
        if not 0 < self.step_ns <= MAX_STEP_NS:
            raise ConfigurationError(
                f"scene: step_ns={self.step_ns} must be above 0 and at most {MAX_STEP_NS}"
            )
        period_ns = self.control_period_ns
        if period_ns is not None and (
            period_ns % self.step_ns or not self.step_ns <= period_ns <= MAX_STEP_NS
        ):
            raise ConfigurationError(
                f"scene: control_period_ns={period_ns} must be a multiple of step_ns="
                f"{self.step_ns} and at most {MAX_STEP_NS}"
            )
        if self.weather not in WEATHER_PRESETS:
            raise ConfigurationError(
                f"scene.weather: found '{self.weather}'; "
                f"{did_you_mean(self.weather, WEATHER_PRESETS)}allowed are "
                f"{', '.join(sorted(WEATHER_PRESETS))}"
            )
        if self.settle_ticks < 1:
            raise ConfigurationError(f"scene: settle_ticks={self.settle_ticks} must be at least 1")
        if not self.vehicles:
            raise ConfigurationError("scene: at least one vehicle is needed")
        if self.count is not None and not 1 <= self.count <= len(self.vehicles):
            raise ConfigurationError(
                f"scene: vehicles={self.count} must be between 1 and {len(self.vehicles)}, the "
                "number of vehicles that the scene describes"
            )
        if not 0 <= self.traffic <= MAX_TRAFFIC:
            raise ConfigurationError(
                f"scene: traffic={self.traffic} must be between 0 and {MAX_TRAFFIC}"
            )
        if not 0 <= self.traffic_seed <= MAX_SEED:
            raise ConfigurationError(
                f"scene: traffic_seed={self.traffic_seed} must be between 0 and {MAX_SEED}"
            )
        for sensor in self.sensors:
            if sensor.period_ns % self.step_ns:
                raise ConfigurationError(
                    f"scene.sensors.{sensor.name}.period: found {format_ns(sensor.period_ns)}; "
                    f"allowed are multiples of the world's step, {format_ns(self.step_ns)}"
                )
        names = [vehicle.name for vehicle in self.vehicles]
        names += [entry.name for entry in self.objects]
        for name in names:
            if names.count(name) > 1:
                raise ConfigurationError(f"scene: the name '{name}' is used twice")


def _require_finite(where: str, **values: float) -> None:
    for name, value in values.items():
        if not math.isfinite(value):
            raise ConfigurationError(f"{where}: {name}={value} must be a finite number")


def check_size(where: str, stated: Size, body: Body) -> None:
    """Check whether a vehicle or object is as large in the simulator as the scenario says.

    :raises ConfigurationError: it is not
    """
    found = [2.0 * half for half in body.extent]
    # What follows length, width and height is not seen in a box.
    for key, wanted, there in zip(stated._fields[:3], stated[:3], found, strict=True):
        if wanted > 0.0 and abs(wanted - there) > SIZE_TOLERANCE:
            raise ConfigurationError(
                f"{where}.{key}: found {wanted:g} m; the simulator gives this blueprint no other "
                f"size than its own, {found[0]:.3f} m x {found[1]:.3f} m x {found[2]:.3f} m"
            )
