# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Vehicle and tyre files of a fleet that runs: a page shows what they say, and changes it.

A vehicle that is changed goes on at its place and speed, with the springs at rest.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, Final

from ros2_cosim.core.documents.plain_data import parse_value
from ros2_cosim.core.documents.settings import read_section
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.vds.data_port.messages import VehicleFilesRequest
from ros2_cosim.vds.fleet import Fleet
from ros2_cosim.vds.fleet_settings import (
    BodySettings,
    FleetVehicleSettings,
    SteeringSettings,
    TyreSettings,
    vehicle_of,
)
from ros2_cosim.world.map import RoadNetwork
from ros2_cosim.world.vehicle import VehicleParameters
from ros2_cosim.world.vehicle.levels import typical_body

#: What the fields of a form mean.
_HELP: Final = {
    name: field.description
    for section in (TyreSettings, BodySettings, SteeringSettings)
    for name, field in section.model_fields.items()
}


class VehicleFiles:
    """What the files of the vehicles of a fleet say now.

    :param fleet: the vehicles
    :param vehicles: their settings at the start
    :param road: the ground below them; None: the plane z = 0
    :param refusal: why nothing may be changed; empty: it may
    """

    def __init__(
        self,
        fleet: Fleet,
        vehicles: Mapping[str, FleetVehicleSettings],
        road: RoadNetwork | None,
        refusal: str = "",
    ) -> None:
        self._fleet = fleet
        self._vehicles = dict(vehicles)
        self._road = road
        self._refusal = refusal
        self._types = {name: found.vehicle_parameters() for name, found in vehicles.items()}
        self._lock = threading.Lock()

    def parameters(self, vehicle: str) -> VehicleParameters:
        """The type of a vehicle as it is now."""
        return self._types[vehicle]

    def plain(self, vehicle: str) -> dict[str, Any]:
        """Both files of a vehicle with all their keys, and what may be chosen."""
        with self._lock:
            now = self._vehicles[vehicle]
            parameters = self._types[vehicle]
        values = {k: v for k, v in asdict(parameters).items() if k != "name"}
        tyre = now.tyre.model_dump()
        tyre |= {key: values.pop(key) for key in tyre if key in values}
        given = {k: v for k, v in now.body.model_dump().items() if v is not None}
        body = typical_body(parameters)._asdict() | given
        return {
            "vehicle": vehicle,
            "level": now.level,
            "levels": _choices("level"),
            "kinds": _choices("kind"),
            "vehicle_file": {"kind": now.kind, **values}
            | {"body": body, "steering": now.steering.model_dump()},
            "tyre_file": tyre,
            "help": _HELP,
            "refusal": self._refusal,
        }

    def change(self, request: VehicleFilesRequest) -> None:
        """Give a vehicle other files, from its next tick on.

        :raises ConfigurationError: they are wrong, or nothing may be changed
        """
        if self._refusal:
            raise ConfigurationError(f"vehicle: {self._refusal}")
        with self._lock:
            now = self._vehicles[request.vehicle]
            level = request.level or now.level
            texts = request.vehicle_file, request.tyre_file
            vehicle, tyre = (
                None if text is None else _mapping(text, place)
                for text, place in zip(texts, ("vehicle file", "tyre file"), strict=True)
            )
            data = now.model_dump(mode="json", exclude_defaults=True) | {"level": level}
            if vehicle is not None:
                data |= {"body": {}, "steering": {}} | vehicle_of(now.kind, vehicle, None)
            if tyre is not None:
                data["tyre"] = tyre
            wanted = read_section(FleetVehicleSettings, data, origin=request.vehicle, by_hand=False)
            session, road = self._fleet[request.vehicle], self._road
            wanted.plant_at(session.state(), road)  # what is wrong with it is said here
            session.replace_plant(lambda state: wanted.plant_at(state, road))
            self._vehicles[request.vehicle] = wanted
            self._types[request.vehicle] = wanted.vehicle_parameters()


def _choices(key: str) -> list[str]:
    schema = FleetVehicleSettings.model_json_schema()["properties"][key]
    return list(schema["enum"])


def _mapping(text: str, place: str) -> dict[str, Any]:
    data = parse_value(text, place)
    if not isinstance(data, dict) or not all(isinstance(key, str) for key in data):
        raise ConfigurationError(f"{place}: found no mapping; allowed are lines 'key: value'")
    return data
