# SPDX-License-Identifier: Apache-2.0
"""A file of OpenSCENARIO XML as the plain data of a scenario."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from ros2_cosim.core.documents.one_line import printable
from ros2_cosim.core.documents.settings import read_section
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.exactmath import atan2, cos, sin, wrap_angle
from ros2_cosim.core.kernel.time import format_ns
from ros2_cosim.core.scene.world_outputs import base_link, world_outputs
from ros2_cosim.driving.openscenario.catalogues import Catalogues
from ros2_cosim.driving.openscenario.document import Element, Findings, declared, read_document
from ros2_cosim.driving.openscenario.importing import Imported, ImportRequest
from ros2_cosim.driving.openscenario.passed_over import refuse_unread
from ros2_cosim.driving.openscenario.places import Places, Spot
from ros2_cosim.driving.openscenario.story import Trajectory, Where
from ros2_cosim.driving.openscenario.trajectories import Path as Way
from ros2_cosim.driving.openscenario.trajectories import PlannedPose, points_of
from ros2_cosim.driving.openscenario.translate import (
    DRIVEN,
    MAX_SPEED,
    Translator,
    changed_values,
    is_constant,
)
from ros2_cosim.driving.openscenario.vehicles import (
    STANDING,
    DescribedVehicle,
    StandingKind,
    read_standing,
    read_vehicle,
)
from ros2_cosim.world.road import RoadError, RoadNetwork

#: Entities of one scenario.
MAX_ENTITIES: Final = 200
#: The direction of a trajectory is that to the point so far ahead [m].
_AHEAD: Final = 0.01

_Plain = dict[str, Any]


def import_xosc(request: ImportRequest) -> Imported:
    """Read a file and what it refers to.

    :raises ConfigurationError: file or map cannot be read; what is not supported is in ``faults``
    """
    return _Import(read_document(request.file), request).scenario()


class _Import:
    """One scenario on its way."""

    def __init__(self, root: Element, settings: ImportRequest) -> None:
        path = settings.file
        self._settings = settings
        self._base_directory = settings.base_directory
        self._findings = Findings()
        parameters = declared(root, settings.parameters)
        for name in settings.parameters:
            if name not in parameters:
                raise ConfigurationError(
                    f"openscenario.parameters: found '{name}'; allowed are those of {path}, "
                    + (", ".join(parameters) or "none")
                )
        self._root = root.within(parameters)
        self._root.one("FileHeader").leave()
        if self._root.find("Storyboard") is None:
            raise root.error("missing Storyboard; a catalogue or a set of values is no scenario")
        self._catalogues = Catalogues(self._root, path.parent)
        self._map = self._map_file(path)
        try:
            network = RoadNetwork.from_file(self._map)
        except (RoadError, ValueError) as error:
            raise ConfigurationError(printable(str(error))) from None
        self._places = Places(network, self._findings, self._catalogues.entry)
        #: Entity -> vehicle of the scene.
        self._names: dict[str, str] = {}
        self._vehicles: dict[str, DescribedVehicle] = {}
        #: Entity that stands still -> object of the scene.
        self._objects: dict[str, str] = {}
        self._standing: dict[str, StandingKind] = {}
        self._speeds: dict[str, float] = {}
        #: Entity -> how far it is turned from its lane at the start [rad].
        self._turns: dict[str, float] = {}
        self._init: list[_Plain] = []
        self._translator = Translator(
            self._places, self._names, self._objects, self._findings, self._catalogues.entry
        )

    def scenario(self) -> Imported:
        """The scenario, with what is wrong."""
        self._translator.values.update(changed_values(self._root))
        storyboard = self._root.one("Storyboard")
        self._entities(self._root.one("Entities"))
        self._start(storyboard.one("Init", "Actions"))
        stories = []
        for element in storyboard.each("Story"):
            with self._findings.collected(element):
                stories.append(self._translator.story(element))
        self._place_others(stories)
        stop = self._translator.trigger(storyboard.find("StopTrigger")) or []
        external = [self._names[name] for name in self._settings.external if name in self._names]
        for name in self._settings.external:
            if name not in self._names:
                self._findings.faults.append(
                    f"{self._settings.file}: openscenario.external: found '{name}'; allowed are "
                    + (", ".join(self._names) or "none")
                )
        refuse_unread(self._root, self._findings)
        for entry in self._catalogues.used if not self._findings.faults else ():
            refuse_unread(entry, self._findings)
        faults, notes = list(self._findings.faults), list(self._findings.notes)
        if faults:
            return Imported({}, list(dict.fromkeys(faults)), notes)
        acting = _acting(stories, [*stop, *self._init])
        teleported = _teleported(stories, list(self._names.values()))
        story: _Plain = {
            "boxes": {name: vehicle.box.seen() for name, vehicle in self._vehicles.items()},
            "performance": {
                name: vehicle.performance
                for name, vehicle in self._vehicles.items()
                if vehicle.performance and name not in external
            },
            "standing": {},
            "walking": {name: {} for name in self._objects.values() if name in acting},
            "teleported": [name for name in teleported if name not in external],
            "values": self._translator.values,
            "external": external,
            "init": self._init,
            "stories": stories,
            "stop": [] if is_constant(stop) else stop,
        }
        return Imported(self._whole(story), [], list(dict.fromkeys(notes)))

    def _map_file(self, path: Path) -> Path:
        logic = self._root.find("RoadNetwork", "LogicFile")
        if self._settings.map is not None:
            if logic is not None:
                logic.leave()
            given = self._base_directory / self._settings.map
            if not given.is_file():
                raise ConfigurationError(
                    f"openscenario.map: found '{self._settings.map}'; there is no file {given}"
                )
            return given
        name = "" if logic is None else logic.text("filepath", "")
        if logic is None or not name.endswith(".xodr"):
            raise (logic or self._root).error(
                f"filepath: found '{name}'; allowed is an OpenDRIVE file (.xodr), or another one "
                "given as openscenario.map"
            )
        found = path.parent / name
        if not found.is_file():
            raise logic.error(f"filepath: found '{name}'; there is no file {found}")
        return found

    # Entities ----------------------------------------------------------------------------

    def _entities(self, entities: Element) -> None:
        found = entities.each("ScenarioObject")
        if len(found) > MAX_ENTITIES:
            raise entities.error(f"found {len(found)} entities; allowed are {MAX_ENTITIES}")
        for selection in entities.each("EntitySelection"):
            self._findings.faults.append(str(selection.error("not supported")))
            selection.leave()
        for entity in found:
            with self._findings.collected(entity):
                self._entity(entity)

    def _entity(self, entity: Element) -> None:
        for controller in entity.each("ObjectController"):
            self._findings.note(controller, f"has no effect: {DRIVEN}")
        content = [c for c in entity.children() if c.tag != "ObjectController"]
        if len(content) != 1:
            raise entity.error(
                "allowed is one of Vehicle, MiscObject, Pedestrian and CatalogReference"
            )
        kind = content[0]
        if kind.tag == "CatalogReference":
            kind = self._catalogues.entry(kind)
        else:
            kind = kind.within(declared(kind, {}))
        name = entity.text("name")
        if name in self._names or name in self._objects:
            raise entity.error(f"name: found '{name}' twice")
        scene_name = _scene_name(name, {*self._names.values(), *self._objects.values()})
        if kind.tag == "Vehicle":
            self._names[name] = scene_name
            self._vehicles[scene_name] = vehicle = read_vehicle(kind)
            for text in vehicle.differences:
                self._findings.notes.append(f"{kind.place}: {text}")
        elif kind.tag in STANDING:
            self._objects[name] = scene_name
            self._standing[scene_name] = read_standing(kind)
        else:
            raise kind.error(f"not supported; supported are Vehicle, {', '.join(STANDING)}")

    # Init --------------------------------------------------------------------------------

    def _start(self, actions: Element) -> None:
        for action in actions.each("GlobalAction") + actions.each("UserDefinedAction"):
            with self._findings.collected(action):
                plain = self._translator.action(action)
                if "change" in plain:
                    self._init.append({"actors": [], **plain})
        waiting = actions.each("Private")
        # A place may be relative to that of an entity that stands further below.
        for _ in range(len(waiting)):
            waiting = [private for private in waiting if not self._placed(private)]
        for private in waiting:
            with self._findings.collected(private):
                self._private(private)

    def _place_others(self, stories: list[_Plain]) -> None:
        """Vehicles without a place begin where their first trajectory does; others are refused."""
        first: dict[str, _Plain] = {}
        for action in (*self._init, *_actions(stories)):
            if "trajectory" in action:
                for name in action["actors"]:
                    first.setdefault(name, action["trajectory"])
        storyboard = self._root.one("Storyboard")
        for entity, name in (*self._names.items(), *self._objects.items()):
            if entity in self._places.starts or self._findings.faults:
                continue
            begin = _begin(first[name]) if name in first else None
            if begin is None:
                self._findings.faults.append(
                    str(storyboard.error(f"'{entity}' has no TeleportAction, nor a trajectory that "
                                         "begins in a place; entities that are added later are not "
                                         "supported"))
                )  # fmt: skip
                return
            with self._findings.collected(storyboard):
                x, y, heading = begin
                if entity in self._objects:
                    spot = self._places.at_point(x, y)
                    self._start_at(entity, spot, wrap_angle(heading - self._heading(spot)))
                    continue
                spot = self._places.near(storyboard, x, y)
                off = wrap_angle(heading - self._heading(spot))
                self._start_at(entity, *self._places.facing(storyboard, spot, off))

    def _placed(self, private: Element) -> bool:
        """Take in the actions of an entity unless its place is relative to an unknown one."""
        for teleport in private.each("PrivateAction"):
            position = teleport.find("TeleportAction", "Position")
            if position is None:
                continue
            kind = position.choice()
            if kind.has("entityRef") and kind.text("entityRef") not in self._places.starts:
                return False
        with self._findings.collected(private):
            self._private(private)
        return True

    def _private(self, private: Element) -> None:
        name = private.text("entityRef")
        if name not in self._names and name not in self._objects:
            private.leave()
            if not self._findings.faults:  # else it may be one of those that are wrong
                raise private.error(f"entityRef: found '{name}'; no such entity")
            return
        for action in private.each("PrivateAction"):
            with self._findings.collected(action):
                self._init_action(name, action)

    def _init_action(self, name: str, action: Element) -> None:
        position = action.find("TeleportAction", "Position")
        vehicle = self._objects[name] if name in self._objects else self._names[name]
        self._translator.actors = [vehicle]
        if position is not None and name in self._objects:
            self._start_at(name, *self._places.standing_at(position))
            return
        if position is not None:
            self._start_at(name, *self._places.start_of_vehicle(position))
            return
        plain = self._translator.action(action)
        speed = plain.get("speed")
        if speed is not None and speed["dynamics"]["shape"] == "step":
            if "target" in speed:
                self._speeds[vehicle] = self._checked_speed(action, vehicle, speed["target"])
                return
            relative = speed["relative"]
            if relative["to"] in self._speeds and not relative["continuous"]:
                other = self._speeds[relative["to"]]
                wanted = relative["value"] * other if relative["factor"] else other
                wanted += 0.0 if relative["factor"] else relative["value"]
                self._speeds[vehicle] = self._checked_speed(action, vehicle, wanted)
                return
        if "nothing" not in plain:
            self._init.append({"actors": [vehicle], **plain})

    def _checked_speed(self, action: Element, name: str, speed: float) -> float:
        """A speed at the start.

        :raises ConfigurationError: the vehicle cannot have it
        """
        limits = self._vehicles[name].performance if name in self._vehicles else {}
        most = min(MAX_SPEED, limits.get("max_speed", MAX_SPEED))
        if not 0.0 <= speed <= most:
            raise action.error(f"found a speed of {speed:g} m/s; supported is 0 to {most:g} m/s")
        return speed

    def _start_at(self, name: str, spot: Spot, turn: float) -> None:
        self._places.starts[name], self._turns[name] = spot, turn
        self._places.headings[name] = self._heading(spot) + turn

    # The whole ---------------------------------------------------------------------------

    def _whole(self, story: _Plain) -> _Plain:
        vehicles = {}
        for entity, name in self._names.items():
            vehicle, spot = self._vehicles[name], self._places.starts[entity]
            centre, turn = self._centre(spot, vehicle, round(self._turns[entity], 6))
            vehicles[name] = {
                "road": centre.road,
                "lane": centre.lane,
                "s": round(centre.s, 6),
                "speed": self._speeds.get(name, 0.0),
                **vehicle.box.size(),
                "blueprint": vehicle.blueprint,
                "dynamics": vehicle.dynamics,
                "steering": "command",
            }
            if _to_the_left(centre):
                vehicles[name]["offset"] = _to_the_left(centre)
            if round(turn, 6):
                vehicles[name]["turn"] = round(turn, 6)
            if name in story["teleported"]:
                vehicles[name]["placed"] = True
        objects: _Plain = {}
        for entity, name in self._objects.items():
            spot, standing = self._places.starts[entity], self._standing[name]
            x, y = self._places.point(spot)
            heading = self._heading(spot) + self._turns[entity]
            there = {"x": x, "y": y, "heading": heading, "box": standing.box.seen()}
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
            turned = round(wrap_angle(heading - self._heading(spot)), 6)
            if turned:
                objects[name]["turn"] = turned
            if name in story["walking"]:
                objects[name]["placed"] = True
                story["walking"][name] = {**there, "speed": self._speeds.get(name, 0.0)}
            else:
                story["standing"][name] = there
        scene: _Plain = {
            "map": os.path.relpath(self._map, self._base_directory),
            "vehicles": vehicles,
        }
        if objects:
            scene["objects"] = objects
        driven = [name for name in vehicles if name not in story["external"]]
        placed = [*story["teleported"], *story["walking"]]
        header = self._root.one("FileHeader")
        return {
            "name": "openscenario",
            "description": header.text("description", "")[:200],
            "duration": format_ns(self._settings.duration),
            "scene": scene,
            "participants": {
                "world": self._world(list(vehicles), driven, placed),
                "storyboard": self._player(list(vehicles), driven, placed, story),
            },
        }

    def _heading(self, spot: Spot) -> float:
        """The direction of the lane at a place [rad]."""
        return self._places.network.lane_pose(spot.road, spot.lane, spot.s).heading

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
        heading = self._heading(spot) + turn
        x, y = x + ahead * cos(heading), y + ahead * sin(heading)
        found = places.network.project(x, y)
        if found.road_id == spot.road:
            # It keeps the lane of its axle, wherever the turned box reaches.
            t = places.network.lane_centre(spot.road, spot.lane, found.s)
            there = Spot(spot.road, spot.lane, found.s, found.t - t)
        else:
            there = places.at_point(x, y)
        off = wrap_angle(heading - self._heading(there))
        return places.facing(self._root, there, off)

    def _world(self, vehicles: list[str], driven: list[str], placed: list[str]) -> _Plain:
        world = self._settings.world
        outputs = world_outputs(vehicles)
        if placed:
            outputs["traffic"] = {"type": "ros2_cosim/msg/RoadUsers", "topic": "/traffic"}
        return {
            "model": world["model"],
            "period": format_ns(world["period"]),
            "parameters": dict(world["parameters"]),
            "inputs": {
                port: {"from": f"storyboard.{port}", "delayed": True}
                for port in (
                    *(f"control/{name}" for name in driven),
                    *(f"place/{name}" for name in placed),
                )
            },
            "outputs": outputs,
        }

    def _player(
        self, vehicles: list[str], driven: list[str], placed: list[str], story: _Plain
    ) -> _Plain:
        inputs = {f"odometry/{name}": f"world.odometry/{name}" for name in vehicles}
        places = {
            f"place/{name}": {
                "type": "nav_msgs/msg/Odometry",
                "topic": f"/{name}/place",
                "schedule": "sparse",
                "child_frame_id": base_link(name),
            }
            for name in placed
        }
        return {
            "model": "storyboard",
            "period": format_ns(self._settings.period),
            "parameters": story,
            "inputs": {**inputs, "collision": {"from": "world.collision", "handled": True}},
            "outputs": {
                f"control/{name}": {
                    "type": "ros2_cosim/msg/ControlCommand",
                    "topic": f"/{name}/control",
                    "frame_id": base_link(name),
                }
                for name in driven
            }
            | places,
        }


def _to_the_left(spot: Spot) -> float:
    """How far a place is to the left of its lane's centre, in the direction of the lane [m]."""
    return round(spot.offset if spot.lane < 0 else -spot.offset, 6)


def _actions(stories: list[_Plain]) -> Iterator[_Plain]:
    """All actions, in the order of the file, each with the actors of its group."""
    for group in (group for story in stories for act in story["acts"] for group in act["groups"]):
        for event in (event for maneuver in group["maneuvers"] for event in maneuver["events"]):
            for action in event["actions"]:
                yield {**action, "actors": group["actors"]}


def _acting(stories: list[_Plain], others: list[Any]) -> set[str]:
    """What actions are for, and what conditions look at."""
    found: set[str] = set()
    for action in _actions(stories):
        if "nothing" not in action and "change" not in action:
            found.update(action["actors"])
    waiting: list[Any] = [*stories, *others]
    while waiting:
        part = waiting.pop()
        if isinstance(part, list):
            waiting += part
        elif isinstance(part, dict):
            waiting += part.values()
            found.update(part.get("vehicles", ()))
    found.update(name for part in others if isinstance(part, dict) for name in part["actors"])
    return found


def _teleported(stories: list[_Plain], vehicles: list[str]) -> list[str]:
    """The vehicles that actions put elsewhere, in order."""
    found: set[str] = set()
    for group in (group for story in stories for act in story["acts"] for group in act["groups"]):
        events = (event for maneuver in group["maneuvers"] for event in maneuver["events"])
        if any("teleport" in action for event in events for action in event["actions"]):
            found.update(vehicles if group.get("triggering") else group["actors"])
    return [name for name in vehicles if name in found]


def _begin(trajectory: _Plain) -> PlannedPose | None:
    """Where a trajectory begins, and its direction there; None: that depends on something else."""
    known = True

    def pose(where: Where) -> PlannedPose:
        nonlocal known
        known = known and where.to is None
        return PlannedPose(where.x, where.y, where.heading)

    line = read_section(Trajectory, trajectory)
    way = Way([(x, y) for x, y, _ in points_of(line, "", pose)])
    if not known or way.length <= 0.0:
        return None
    (x, y), (u, v) = way.at(line.start), way.at(line.start + _AHEAD)
    return PlannedPose(x, y, atan2(v - y, u - x))


def _scene_name(name: str, taken: set[str]) -> str:
    """An entity's name as topics may have it."""
    plain = re.sub(r"[^A-Za-z0-9_]+", "_", name).strip("_")
    plain = re.sub(r"__+", "_", plain)
    if not re.match(r"[A-Za-z]", plain):
        plain = f"entity_{plain}".rstrip("_")
    result, number = plain, 2
    while result in taken:
        result, number = f"{plain}_{number}", number + 1
    return result
