# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The storyboard of a file of OpenSCENARIO XML: what its entities are, and what they do."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

from pydantic import Field

from ros2_cosim.core.documents.settings import Section, read_section
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.exactmath import atan2, wrap_angle
from ros2_cosim.core.scenario.scenario_error import ScenarioError
from ros2_cosim.driving.openscenario.catalogues import Catalogues
from ros2_cosim.driving.openscenario.document import Element, Findings, declared, parsed_document
from ros2_cosim.driving.openscenario.places import Places, Spot
from ros2_cosim.driving.openscenario.story import Storyboard, Trajectory, Where
from ros2_cosim.driving.openscenario.trajectories import (
    OUTSIDE,
    OUTSIDE_STEP,
    PlannedPose,
    points_of,
)
from ros2_cosim.driving.openscenario.trajectories import Path as Way
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
from ros2_cosim.world.map import RoadNetwork
from ros2_cosim.world.vehicle import VEHICLES as DYNAMICS

#: Entities of one scenario.
MAX_ENTITIES: Final = 200
#: The direction of a trajectory is that to the point so far ahead [m].
_AHEAD: Final = 0.01

_Plain = dict[str, Any]


class StoryboardParameters(Section):
    """The file that is played; it travels with the scenario."""

    documents: tuple[str, ...] = Field(
        min_length=1, description="XML of the file, and of each catalogue that it uses"
    )
    parameters: dict[str, str] = Field(
        default_factory=dict, description="parameters of the file: values before those it declares"
    )
    external: tuple[str, ...] = Field(
        default=(), description="entities that other participants drive"
    )


def read_storyboard(parameters: StoryboardParameters, network: RoadNetwork) -> Storyboard:
    """The storyboard of a participant on a map, read once in a process.

    :raises ScenarioError: a document or parameter is wrong
    """
    return _read_storyboard(parameters.model_dump_json(), network)


@lru_cache(maxsize=4)
def _read_storyboard(text: str, network: RoadNetwork) -> Storyboard:
    given = StoryboardParameters.model_validate_json(text)
    documents = [
        parsed_document(document.encode(), f"documents.{number}", "utf-8")
        for number, document in enumerate(given.documents)
    ]
    root = with_parameters(documents[0], given.parameters)
    reader = Reader(root, Catalogues(lambda: documents[1:]), network, given.external)
    reader.read()
    if reader.findings.faults:
        raise ScenarioError(reader.findings.faults)
    return reader.storyboard()


def with_parameters(root: Element, given: Mapping[str, Any]) -> Element:
    """A file where parameters hold: those given before those that it declares.

    :raises ConfigurationError: it does not declare one that is given
    """
    parameters = declared(root, given)
    for name in given:
        if name not in parameters:
            raise ConfigurationError(
                f"openscenario.parameters: found '{name}'; allowed are those of {root.source}, "
                + (", ".join(parameters) or "none")
            )
    return root.within(parameters)


class Reader:
    """Reads one storyboard on a map.

    :param root: of the file, with its parameters
    :param external: entities that others drive
    """

    def __init__(
        self, root: Element, catalogues: Catalogues, network: RoadNetwork, external: Sequence[str]
    ) -> None:
        self._root = root
        self._catalogues = catalogues
        self._given_external = external
        self.findings = Findings()
        self.places = Places(network, self.findings, catalogues.entry)
        #: Entity -> vehicle of the scene.
        self.names: dict[str, str] = {}
        self.vehicles: dict[str, DescribedVehicle] = {}
        #: Entity that stands still -> object of the scene.
        self.objects: dict[str, str] = {}
        self.standing: dict[str, StandingKind] = {}
        #: Vehicle or object of the scene -> its speed at the start [m/s].
        self.speeds: dict[str, float] = {}
        #: Vehicles and objects of the scene that are not there at the start.
        self.absent: list[str] = []
        #: Entity -> how far it is turned from its lane at the start [rad].
        self.turns: dict[str, float] = {}
        self._init: list[_Plain] = []
        self._stories: list[_Plain] = []
        self._stop: list[list[_Plain]] = []
        self._translator = Translator(
            self.places, self.names, self.objects, self.findings, catalogues.entry
        )

    @property
    def external(self) -> list[str]:
        """The vehicles of the scene that others drive."""
        return [self.names[name] for name in self._given_external if name in self.names]

    def read(self) -> None:
        """Read all of it; what is wrong is in :attr:`findings`."""
        self._translator.values.update(changed_values(self._root))
        storyboard = self._root.one("Storyboard")
        self._entities(self._root.one("Entities"))
        self._start(storyboard.one("Init", "Actions"))
        for element in storyboard.each("Story"):
            with self.findings.collected(element):
                self._stories.append(self._translator.story(element))
        self._place_others(self._stories)
        self._stop = self._translator.trigger(storyboard.find("StopTrigger")) or []
        self._translator.note_unknown_elements()
        for name in self._given_external:
            if name not in self.names:
                self.findings.faults.append(
                    f"{self._root.source}: openscenario.external: found '{name}'; allowed are "
                    + (", ".join(self.names) or "none")
                )

    def storyboard(self) -> Storyboard:
        """What has been read, if nothing is wrong.

        :raises ConfigurationError: an element is out of bounds
        """
        acting = _acting(self._stories, [*self._stop, *self._init])
        teleported = _teleported(self._stories, self._init, list(self.names.values()))
        external = self.external
        plain: _Plain = {
            "boxes": {name: vehicle.box.seen() for name, vehicle in self.vehicles.items()},
            "performance": {
                name: vehicle.performance
                for name, vehicle in self.vehicles.items()
                if vehicle.performance and name not in external
            },
            "standing": {},
            "walking": {},
            "teleported": [name for name in teleported if name not in external],
            "absent": self.absent,
            "values": self._translator.values,
            "external": external,
            "init": self._init,
            "stories": self._stories,
            "stop": [] if is_constant(self._stop) else self._stop,
        }
        for entity, name in self.objects.items():
            spot = self.places.starts[entity]
            x, y = self.places.point(spot)
            heading = self.heading(spot) + self.turns[entity]
            there = {"x": x, "y": y, "heading": heading, "box": self.standing[name].box.seen()}
            if name in acting:
                plain["walking"][name] = {**there, "speed": self.speeds.get(name, 0.0)}
            else:
                plain["standing"][name] = there
        return read_section(Storyboard, plain, origin=self._root.source)

    def heading(self, spot: Spot) -> float:
        """The direction of the lane at a place [rad]."""
        return self.places.network.lane_pose(spot.road, spot.lane, spot.s).heading

    # Entities ----------------------------------------------------------------------------

    def _entities(self, entities: Element) -> None:
        found = entities.each("ScenarioObject")
        if len(found) > MAX_ENTITIES:
            raise entities.error(f"found {len(found)} entities; allowed are {MAX_ENTITIES}")
        for selection in entities.each("EntitySelection"):
            self.findings.faults.append(str(selection.error("not supported")))
            selection.leave()
        for entity in found:
            with self.findings.collected(entity):
                self._entity(entity)
        known = {*self.names, *self.objects}
        self._translator.wrong = {entity.label() for entity in found} - known
        if not self.names and not self.findings.faults:
            raise entities.error("found no Vehicle; allowed is at least one")

    def _entity(self, entity: Element) -> None:
        for controller in entity.each("ObjectController"):
            self.findings.note(controller, f"has no effect: {DRIVEN}")
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
        if name in self.names or name in self.objects:
            raise entity.error(f"name: found '{name}' twice")
        scene_name = _scene_name(name, {*self.names.values(), *self.objects.values()})
        if kind.tag == "Vehicle":
            self.names[name] = scene_name
            self._translator.tags[scene_name] = kind.tag
            self.vehicles[scene_name] = vehicle = read_vehicle(kind)
            for text in vehicle.differences:
                self.findings.notes.append(f"{kind.place}: {text}")
        elif kind.tag in STANDING:
            self.objects[name] = scene_name
            self._translator.tags[scene_name] = kind.tag
            self.standing[scene_name] = read_standing(kind)
        else:
            raise kind.error(f"not supported; supported are Vehicle, {', '.join(STANDING)}")

    # Init --------------------------------------------------------------------------------

    def _start(self, actions: Element) -> None:
        kinds = ("GlobalAction", "UserDefinedAction", "Private")
        waiting = [action for kind in kinds for action in actions.each(kind)]
        # A place may be relative to that of an entity that stands further below.
        for _ in range(len(waiting)):
            waiting = [action for action in waiting if not self._placed(action)]
        for action in waiting:
            self._take(action)

    def _take(self, action: Element) -> None:
        with self.findings.collected(action):
            if action.tag == "Private":
                self._private(action)
                return
            plain = self._translator.action(action)
            if "appear" in plain:
                self._add_at_start(action.one("EntityAction"))
            elif "change" in plain or "vanish" in plain:
                self._init.append({"actors": [], **plain})

    def _add_at_start(self, action: Element) -> None:
        """An AddEntityAction of Init: the entity starts there."""
        name, position = action.text("entityRef"), action.one("AddEntityAction", "Position")
        if name in self.objects:
            self._start_at(name, *self.places.standing_at(position))
        else:
            self._start_at(name, *self.places.start_of_vehicle(position))

    def _place_others(self, stories: list[_Plain]) -> None:
        """Vehicles without a place begin where their first trajectory does; others are refused."""
        first: dict[str, _Plain] = {}
        for action in (*self._init, *_actions(stories)):
            if "trajectory" in action:
                for name in action["actors"]:
                    first.setdefault(name, action["trajectory"])
        storyboard = self._root.one("Storyboard")
        for entity, name in (*self.names.items(), *self.objects.items()):
            if entity in self.places.starts or self.findings.faults:
                continue
            begin = _begin(first[name]) if name in first else None
            added = next((a for a in _actions(stories) if "appear" in a and a["of"] == name), None)
            if added is not None:
                self.absent.append(name)
                if added["appear"].get("to") is None:
                    where = added["appear"]
                    begin = PlannedPose(where["x"], where["y"], where.get("heading", 0.0))
                else:
                    begin = PlannedPose(*self.places.anywhere())
            if begin is None:
                self.findings.faults.append(
                    str(storyboard.error(f"'{entity}' has no TeleportAction, AddEntityAction or "
                                         "trajectory that begins in a place"))
                )  # fmt: skip
                return
            with self.findings.collected(storyboard):
                x, y, heading = begin
                if name in self.absent:
                    spot = self.places.at_point(x, y)
                    aside = OUTSIDE + OUTSIDE_STEP * len(self.absent)
                    self._start_at(entity, spot._replace(offset=aside), 0.0)
                    continue
                if entity in self.objects:
                    spot = self.places.at_point(x, y)
                    self._start_at(entity, spot, wrap_angle(heading - self.heading(spot)))
                    continue
                spot = self.places.near(storyboard, x, y)
                off = wrap_angle(heading - self.heading(spot))
                self._start_at(entity, *self.places.facing(spot, off))

    def _placed(self, action: Element) -> bool:
        """Take in the actions of an entity unless its place is relative to an unknown one."""
        positions = [
            private.find("TeleportAction", "Position") for private in action.each("PrivateAction")
        ]
        if action.tag == "GlobalAction":
            positions.append(action.find("EntityAction", "AddEntityAction", "Position"))
        for position in positions:
            if position is None:
                continue
            kind = position.choice()
            if kind.has("entityRef") and kind.text("entityRef") not in self.places.starts:
                return False
        self._take(action)
        return True

    def _private(self, private: Element) -> None:
        name = private.text("entityRef")
        if name not in self.names and name not in self.objects:
            private.leave()
            if name not in self._translator.wrong:
                raise private.error(f"entityRef: found '{name}'; no such entity")
            return
        for action in private.each("PrivateAction"):
            with self.findings.collected(action):
                self._init_action(name, action)

    def _init_action(self, name: str, action: Element) -> None:
        position = action.find("TeleportAction", "Position")
        vehicle = self.objects[name] if name in self.objects else self.names[name]
        self._translator.actors = [vehicle]
        if position is not None and name in self.objects:
            self._start_at(name, *self.places.standing_at(position))
            return
        if position is not None:
            self._start_at(name, *self.places.start_of_vehicle(position))
            return
        plain = self._translator.action(action)
        speed = plain.get("speed")
        if speed is not None and speed["dynamics"]["shape"] == "step":
            if "target" in speed:
                self.speeds[vehicle] = self._checked_speed(action, vehicle, speed["target"])
                return
            relative = speed["relative"]
            if relative["to"] in self.speeds and not relative["continuous"]:
                other = self.speeds[relative["to"]]
                wanted = relative["value"] * other if relative["factor"] else other
                wanted += 0.0 if relative["factor"] else relative["value"]
                self.speeds[vehicle] = self._checked_speed(action, vehicle, wanted)
                return
        if "nothing" not in plain:
            self._init.append({"actors": [vehicle], **plain})

    def _checked_speed(self, action: Element, name: str, speed: float) -> float:
        """A speed at the start.

        :raises ConfigurationError: the vehicle cannot have it
        """
        most, least = MAX_SPEED, 0.0
        if name in self.vehicles:
            vehicle = self.vehicles[name]
            most = min(most, vehicle.performance.get("max_speed", most))
            least = -DYNAMICS[vehicle.dynamics].max_reverse_speed
        if not least <= speed <= most:
            raise action.error(
                f"found a speed of {speed:g} m/s; supported is {least:g} to {most:g} m/s"
            )
        return speed

    def _start_at(self, name: str, spot: Spot, turn: float) -> None:
        self.places.starts[name], self.turns[name] = spot, turn
        self.places.headings[name] = self.heading(spot) + turn


def _actions(stories: list[_Plain]) -> Iterator[_Plain]:
    """All actions, in the order of the file, each with the actors of its group."""
    for group in (group for story in stories for act in story["acts"] for group in act["groups"]):
        for event in (event for maneuver in group["maneuvers"] for event in maneuver["events"]):
            for action in event["actions"]:
                yield {**action, "actors": group["actors"], "triggering": group.get("triggering")}


def _acting(stories: list[_Plain], others: list[Any]) -> set[str]:
    """What actions are for, and what conditions look at."""
    found: set[str] = set()
    for action in _actions(stories):
        if "of" in action:
            found.add(action["of"])
        elif "nothing" not in action and "change" not in action:
            found.update(action["actors"])
    waiting: list[Any] = [*stories, *others]
    while waiting:
        part = waiting.pop()
        if isinstance(part, list):
            waiting += part
        elif isinstance(part, dict):
            waiting += part.values()
            found.update(part.get("vehicles", ()))
    for part in others:
        if isinstance(part, dict):
            found.update((part["of"],) if "of" in part else part["actors"])
    return found


def _teleported(stories: list[_Plain], init: list[_Plain], vehicles: list[str]) -> list[str]:
    """The vehicles that actions put elsewhere, in order."""
    found: set[str] = set()
    for action in (*init, *_actions(stories)):
        if "of" in action:
            found.add(action["of"])
        elif "teleport" in action or action.get("keep_distance", {}).get("jumps"):
            found.update(vehicles if action.get("triggering") else action["actors"])
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
