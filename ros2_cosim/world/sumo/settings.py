# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""``simulator.options`` of the simulator ``sumo``."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from ros2_cosim.core.documents.settings import Name, Number, Section, Whole

#: As many of SUMO's own vehicles as can be requested.
MAX_VEHICLES = 10_000

#: Car-following models of SUMO that can drive a vehicle of the scene, or SUMO's own vehicles.
CarFollowing = Literal["Krauss", "IDM", "EIDM", "ACC", "CACC", "Wiedemann", "W99"]

Path = Annotated[str, Field(min_length=1, max_length=4096)]


class DrivenVehicle(Section):
    """A vehicle of the scene that SUMO drives; commands for it have no effect."""

    model: CarFollowing = Field(default="CACC", description="SUMO's car-following model")
    time_gap: Number = Field(default=1.0, gt=0, le=10, description="SUMO's tau [s]")
    min_gap: Number = Field(default=2.0, ge=0, le=50, description="at standstill [m]")
    speed: Number = Field(default=38.0, gt=0, le=100, description="on a free road [m/s]")


class SumoTrafficOptions(Section):
    """SUMO's own vehicles."""

    vehicles: Whole = Field(
        default=0, ge=0, le=MAX_VEHICLES, description="SUMO's own vehicles, at drawn places"
    )
    model: CarFollowing = Field(default="Krauss", description="car-following model of these")
    speed: Number = Field(
        default=25.0, gt=0, le=100, description="of these on a free road, at most [m/s]"
    )
    clearance: Number = Field(
        default=30.0,
        ge=0,
        le=10_000,
        description="of these from those of the scene at t = 0 [m]",
    )
    routes: tuple[Path, ...] = Field(
        default=(), max_length=20, description="your own route files: their vehicles drive, too"
    )
    network: Path | None = Field(
        default=None,
        description=".net.xml file of the same map; default: converted by netconvert",
    )


class SumoOptions(SumoTrafficOptions):
    """Parameters of SUMO."""

    drives: dict[Name, DrivenVehicle] = Field(
        default_factory=dict, description="vehicle of the scene -> how SUMO drives it"
    )
