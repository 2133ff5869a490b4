# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A file of OpenSCENARIO XML as a scenario: its scene, the world, and the player."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from ros2_cosim.core.documents.one_line import printable
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.exactmath import cos, sin, wrap_angle
from ros2_cosim.core.scene.world_outputs import base_link, world_outputs
from ros2_cosim.driving.openscenario.catalogues import find_catalogues
from ros2_cosim.driving.openscenario.document import Element, as_text, read_document
from ros2_cosim.driving.openscenario.importing import Imported, ImportRequest
from ros2_cosim.driving.openscenario.passed_over import refuse_unread
from ros2_cosim.driving.openscenario.places import Spot
from ros2_cosim.driving.openscenario.reader import Reader, with_parameters
from ros2_cosim.driving.openscenario.story import Storyboard
from ros2_cosim.driving.openscenario.vehicles import DescribedVehicle
from ros2_cosim.world.map import RoadError, RoadNetwork

_Plain = dict[str, Any]
#: Of a run whose end no trigger brings.
_DURATION = "120s"
#: In which the storyboard looks and drives.
_PERIOD = "20ms"


def import_xosc(request: ImportRequest) -> Imported:
    """Read a file and what it refers to.

    :raises ConfigurationError: file or map cannot be read; what is not supported is in ``faults``
    """
    path = request.file
    root = with_parameters(read_document(path), request.parameters)
    root.one("FileHeader").leave()
    if root.find("Storyboard") is None:
        raise root.error(
            "missing Storyboard; a catalogue is not a scenario, and cosim sweep runs all rows of a "
            "ParameterValueDistribution"
        )
    catalogues = find_catalogues(root, path.parent)
    map_file = _map_file(root, request)
    try:
        network = RoadNetwork.from_file(map_file)
    except (RoadError, ValueError) as error:
        raise ConfigurationError(printable(str(error))) from None
    reader = Reader(root, catalogues, network, request.external)
    reader.read()
    findings = reader.findings
    refuse_unread(root, findings)
    for entry in catalogues.used if not findings.faults else ():
        refuse_unread(entry, findings)
    faults, notes = list(dict.fromkeys(findings.faults)), list(dict.fromkeys(findings.notes))
    if faults:
        return Imported({}, faults, notes)
    scenario = _Scenario(request, root, reader, os.path.relpath(map_file, request.base_directory))
    documents = dict.fromkeys(each.document() for each in (root, *catalogues.used))
    return Imported(scenario.plain(list(documents)), [], notes)


def _map_file(root: Element, request: ImportRequest) -> Path:
    logic = root.find("RoadNetwork", "LogicFile")
    if request.map is not None:
        if logic is not None:
            logic.leave()
        given = request.base_directory / request.map
        if not given.is_file():
            raise ConfigurationError(
                f"openscenario.map: found '{request.map}'; there is no file {given}"
            )
        return given
    name = "" if logic is None else logic.text("filepath", "")
    if logic is None or not name.endswith(".xodr"):
        raise (logic or root).error(
            f"filepath: found '{name}'; allowed is an OpenDRIVE file (.xodr), or another one "
            "given as openscenario.map"
        )
    found = request.file.parent / name
    if not found.is_file():
        raise logic.error(f"filepath: found '{name}'; there is no file {found}")
    return found


class _Scenario:
    """The scenario of what has been read."""

    def __init__(self, request: ImportRequest, root: Element, reader: Reader, road: str) -> None:
        self._request = request
        self._root = root
        self._reader = reader
        self._places = reader.places
        self._map = road
        self._story: Storyboard = reader.storyboard()
        self._vehicles = list(reader.names.values())
        self._driven = [name for name in self._vehicles if name not in self._story.external]
        self._placed = [*self._story.teleported, *self._story.walking]

    def plain(self, documents: list[str]) -> _Plain:
        """Plain data of it.

        :param documents: XML of the file, and of the catalogues that it uses
        """
        scene: _Plain = {"map": self._map, "vehicles": self._scene_vehicles()}
        objects = self._scene_objects()
        if objects:
            scene["objects"] = objects
        return {
            "name": "openscenario",
            "description": self._root.one("FileHeader").text("description", "")[:200],
            "duration": _DURATION,
            "scene": scene,
            "participants": {"world": self._world(), "storyboard": self._player(documents)},
        }

    def _scene_vehicles(self) -> _Plain:
        reader, vehicles = self._reader, {}
        for entity, name in reader.names.items():
            vehicle, spot = reader.vehicles[name], self._places.starts[entity]
            centre, turn = self._centre(spot, vehicle, round(reader.turns[entity], 6))
            vehicles[name] = {
                "road": centre.road,
                "lane": centre.lane,
                "s": round(centre.s, 6),
                "speed": reader.speeds.get(name, 0.0),
                **vehicle.box.size(),
                **vehicle.chassis,
                "blueprint": vehicle.blueprint,
                "dynamics": vehicle.dynamics,
                "steering": "command",
            }
            if _to_the_left(centre):
                vehicles[name]["offset"] = _to_the_left(centre)
            if round(turn, 6):
                vehicles[name]["turn"] = round(turn, 6)
            if name in self._placed:
                vehicles[name]["placed"] = True
        return vehicles

    def _scene_objects(self) -> _Plain:
        reader, objects = self._reader, {}
        for entity, name in reader.objects.items():
            spot, standing = self._places.starts[entity], reader.standing[name]
            x, y = self._places.point(spot)
            heading = reader.heading(spot) + reader.turns[entity]
            ahead = standing.box.centre
            if ahead:
                # The scene places the middle of a box.
                spot = self._places.at_point(x + ahead * cos(heading), y + ahead * sin(heading))
            objects[name] = {
                "road": spot.road,
                "lane": spot.lane,
                "s": round(spot.s, 6),
                "offset": _to_the_left(spot),
                **standing.box.size(),
                "blueprint": standing.blueprint,
            }
            turned = round(wrap_angle(heading - reader.heading(spot)), 6)
            if turned:
                objects[name]["turn"] = turned
            if name in self._placed:
                objects[name]["placed"] = True
        return objects

    def _centre(self, spot: Spot, vehicle: DescribedVehicle, turn: float) -> tuple[Spot, float]:
        """Where the centre of a vehicle is whose rear axle is at a place, and how far it is turned
        from the lane there [rad].
        """
        places, ahead = self._places, vehicle.box.centre
        if not turn:
            try:
                return places.moved(spot, ahead), 0.0
            except RoadError:
                return spot, 0.0
        x, y = places.point(spot)
        heading = self._reader.heading(spot) + turn
        x, y = x + ahead * cos(heading), y + ahead * sin(heading)
        found = places.network.project(x, y)
        if found.road_id == spot.road:
            # It keeps the lane of its axle, wherever the turned box reaches.
            t = places.network.lane_centre(spot.road, spot.lane, found.s)
            there = Spot(spot.road, spot.lane, found.s, found.t - t)
        else:
            there = places.at_point(x, y)
        off = wrap_angle(heading - self._reader.heading(there))
        return places.facing(there, off)

    def _world(self) -> _Plain:
        outputs = world_outputs(self._vehicles)
        if self._placed:
            outputs["traffic"] = {"type": "ros2_cosim/msg/RoadUsers", "topic": "/traffic"}
        return {
            **self._request.world,
            "inputs": {
                port: {"from": f"storyboard.{port}", "delayed": True}
                for port in (
                    *(f"control/{name}" for name in self._driven),
                    *(f"place/{name}" for name in self._placed),
                )
            },
            "outputs": outputs,
        }

    def _player(self, documents: list[str]) -> _Plain:
        request = self._request
        parameters: _Plain = {"documents": documents}
        if request.parameters:
            given = request.parameters.items()
            parameters["parameters"] = {name: as_text(value) for name, value in given}
        if request.external:
            parameters["external"] = list(request.external)
        inputs = {f"odometry/{name}": f"world.odometry/{name}" for name in self._vehicles}
        places = {
            f"place/{name}": {
                "type": "nav_msgs/msg/Odometry",
                "topic": f"/{name}/place",
                "schedule": "sparse",
                "child_frame_id": base_link(name),
            }
            for name in self._placed
        }
        return {
            "model": "storyboard",
            "period": _PERIOD,
            "parameters": parameters,
            "inputs": {**inputs, "collision": {"from": "world.collision", "handled": True}},
            "outputs": {
                f"control/{name}": {
                    "type": "ros2_cosim/msg/ControlCommand",
                    "topic": f"/{name}/control",
                    "frame_id": base_link(name),
                }
                for name in self._driven
            }
            | places,
        }


def _to_the_left(spot: Spot) -> float:
    """How far a place is to the left of its lane's centre, in the direction of the lane [m]."""
    return round(spot.offset if spot.lane < 0 else -spot.offset, 6)
