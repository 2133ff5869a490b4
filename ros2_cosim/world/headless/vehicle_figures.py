# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The figures of each vehicle of the catalogue, and where they are from.

A figure of a vehicle stands beside the key of its source. What a vehicle has no figure for follows
from those of its drive, its class, and its size: these are class estimates.
"""

from functools import cache
from typing import Annotated, Any, Final, Literal

from pydantic import Field, model_validator
from typing_extensions import Self

from ros2_cosim.core.documents.installed import package_table
from ros2_cosim.core.documents.settings import Number, Section, read_section

#: The source of what no source tells.
ESTIMATE: Final = "estimate"
_TABLE: Final = "world/headless/vehicle_figures.json"

_Positive = Annotated[Number, Field(gt=0.0)]
_Share = Annotated[Number, Field(gt=0.0, le=1.0)]
_Point = tuple[Annotated[Number, Field(ge=0.0)], Annotated[Number, Field(ge=0.0)]]
_Curve = Annotated[tuple[_Point, ...], Field(min_length=1, max_length=20)]
_Gears = Annotated[tuple[_Positive, ...], Field(min_length=1, max_length=12)]
_Range = tuple[_Positive, _Positive]
#: A number and the key of its source.
Figure = tuple[_Positive, str]


class DriveFigures(Section):
    """An engine of a kind, by its power; class estimates."""

    torque_per_power: _Positive = Field(description="largest torque [N m per kW]")
    gearing: _Positive = Field(description="speed at max_rpm in the last gear, over the top speed")
    peak: _Range | None = Field(
        description="speeds of the largest torque, as shares of max_rpm; null: down to standstill"
    )
    power_at: _Share = Field(description="engine speed of the largest power, as a share of max_rpm")
    low: _Share = Field(description="torque at standstill, as a share of the largest")
    high: _Share = Field(description="torque at max_rpm, as a share of that at the largest power")
    max_rpm: _Positive = Field(description="[1/min]")
    gears: _Gears
    switch_time: Annotated[Number, Field(ge=0.0)] = Field(description="[s]")
    inertia: _Positive = Field(description="per torque [kg m^2 per N m]")
    damping: tuple[_Positive, _Positive, _Positive] = Field(
        description="at full throttle, without it, and with an open clutch; per torque [s]"
    )


class ClassFigures(Section):
    """Vehicles of a ``base_type``; class estimates."""

    dynamics: str
    drive: str
    drag_coefficient: _Positive
    locked: _Positive = Field(description="of locked wheels on the usual tyres [m/s^2]")


class CommonFigures(Section):
    """What all vehicles have unless a figure of their own says else; class estimates."""

    tire_friction: _Positive
    max_steer_angle: Annotated[Number, Field(gt=0.0, le=80.0)] = Field(description="[deg]")
    steering_curve: _Curve = Field(description="speed [km/h], share of the steering")
    efficiency: _Share = Field(description="of the driveline: the torque is that at its end")
    box_share: _Share = Field(description="of the front of its box that a vehicle fills")
    track_share: _Share = Field(description="of the width of its box")
    clutch_per_torque: _Positive = Field(description="[s]")
    up: _Share = Field(description="share of max_rpm above which the next gear is taken")
    down: _Share
    wheel_damping: _Positive = Field(description="[N m s]")
    wheel_stiffness: _Positive
    hand_brake: _Share = Field(description="of the weight")
    locks_below: _Positive = Field(description="full brakes lock the wheels below this [m/s]")


class VehicleFigures(Section):
    """One vehicle of the catalogue."""

    vehicle_class: str | None = Field(default=None, alias="class")
    drive: str | None = None
    mass: Figure = Field(description="[kg]")
    wheelbase: Figure | None = Field(default=None, description="[m]")
    front_axle: Figure | None = Field(default=None, description="ahead of the centre of mass [m]")
    track: Figure | None = Field(default=None, description="[m]")
    wheel_radius: Figure | None = Field(default=None, description="[m]")
    drag_coefficient: Figure | None = None
    frontal_area: Figure | None = Field(default=None, description="[m^2]")
    power: Figure | None = Field(default=None, description="[kW]")
    torque: Figure | None = Field(default=None, description="largest [N m]")
    torque_curve: tuple[_Curve, str] | None = Field(default=None, description="[1/min], [N m]")
    peak: tuple[_Range, str] | None = Field(default=None, description="of the torque [1/min]")
    power_rpm: Figure | None = Field(default=None, description="of the largest power [1/min]")
    max_rpm: Figure | None = Field(default=None, description="[1/min]")
    efficiency: Figure | None = Field(
        default=None, description="what the wheels get of power and torque, which may be gross"
    )
    gears: tuple[_Gears, str] | None = None
    final_ratio: Figure | None = None
    tire_friction: Figure | None = None
    locked: Figure | None = Field(default=None, description="as that of the class [m/s^2]")
    max_steer_angle: Figure | None = Field(default=None, description="[deg]")
    # What is published about the product, to be seen beside what the vehicle does.
    to_100: Figure | None = Field(default=None, description="0 to 100 km/h [s]")
    to_60_mph: Figure | None = Field(default=None, description="0 to 60 mph [s]")
    from_100: Figure | None = Field(default=None, description="100 to 0 km/h [m]")
    from_60_mph: Figure | None = Field(default=None, description="60 to 0 mph [m]")
    top: Figure | None = Field(default=None, description="[km/h]")
    turning: Figure | None = Field(default=None, description="diameter of the circle [m]")

    def sources(self) -> dict[str, str]:
        """Key of the source of each figure that the vehicle has itself."""
        named = {name: value for name, value in self if isinstance(value, tuple)}
        return {name: str(value[-1]) for name, value in named.items()}


class FigureTable(Section):
    """The whole table."""

    sources: dict[str, str]
    drives: dict[str, DriveFigures]
    classes: dict[Literal["car", "van", "truck", "bus", "motorcycle", "bicycle"], ClassFigures]
    everywhere: CommonFigures = Field(alias="all")
    vehicles: dict[str, VehicleFigures]

    @model_validator(mode="after")
    def _are_known(self) -> Self:
        drives = {known.drive for known in self.classes.values()}
        for name, vehicle in self.vehicles.items():
            for figure, source in vehicle.sources().items():
                if source not in self.sources:
                    raise ValueError(f"vehicles.{name}.{figure}: there is no source '{source}'")
            if vehicle.vehicle_class not in (None, *self.classes):
                raise ValueError(f"vehicles.{name}: there is no class '{vehicle.vehicle_class}'")
            drives.add(vehicle.drive or next(iter(self.drives)))
        if drives - set(self.drives):
            raise ValueError(f"there is no drive {sorted(drives - set(self.drives))}")
        return self


@cache
def figure_table() -> FigureTable:
    """The figures of all vehicles.

    :raises ConfigurationError: the file is wrong; the message names the key
    """
    data: dict[str, Any] = package_table(_TABLE)
    return read_section(FigureTable, data, origin=_TABLE)
