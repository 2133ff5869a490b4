# SPDX-License-Identifier: Apache-2.0
"""The storyboard as a participant: it sees all vehicles, drives its own, ends the run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from ros2_cosim.core.documents.settings import Section
from ros2_cosim.core.kernel.errors import ConfigurationError, ParticipantError
from ros2_cosim.core.kernel.model import FullModel, Port, Report, Traits
from ros2_cosim.core.kernel.participant import ModelContext, Step
from ros2_cosim.core.messages.message_types import COLLISION, CONTROL, ODOMETRY
from ros2_cosim.core.messages.records import ControlCommand, Odometry
from ros2_cosim.core.scene.scene import FIRST_OBJECT_ID, SceneSettings, scene_settings
from ros2_cosim.driving.openscenario.motion import Actor
from ros2_cosim.driving.openscenario.stage import Cast, Stage
from ros2_cosim.driving.openscenario.story import (
    Action,
    Condition,
    Storyboard,
    Trajectory,
    ValueChange,
    ValueOf,
)
from ros2_cosim.driving.openscenario.traffic import Traffic
from ros2_cosim.driving.openscenario.walkers import Walker
from ros2_cosim.world.geometry.scene import scene_road
from ros2_cosim.world.road import RoadError, driving_direction
from ros2_cosim.world.vehicle import VEHICLES

#: Events that the summary names.
_MAX_EVENTS: Final = 200


class StoryboardPlayer(FullModel):
    """Plays a storyboard of OpenSCENARIO, to be activated periodically.

    Inputs: ``odometry/<vehicle>`` of each vehicle, and ``collision``, handled. Output at every
    activation: ``control/<vehicle>`` of each vehicle that is not ``external``; before all vehicles
    are seen the command has no acceleration. ``place/<name>`` is sent at every activation for what
    walks, and when a vehicle is put elsewhere. Sets ``stop_reason`` when the stop trigger fires, or
    all stories are complete where there is no such trigger.

    :raises ConfigurationError: an unknown vehicle, or the road cannot be read
    """

    Parameters = Storyboard
    traits = Traits(cost_ns=400_000)

    input_ports = (
        Port("odometry/{vehicle}", ODOMETRY, description="of each vehicle"),
        Port("collision", COLLISION, required=False, description="handled one by one"),
    )
    output_ports = (
        Port("control/{driven}", CONTROL, description="of each that is not external"),
        Port("place/{placed}", ODOMETRY, schedule="sparse", description="of what is moved"),
    )
    other_ports = False

    @classmethod
    def port_names(
        cls, context: ModelContext, parameters: Storyboard
    ) -> Mapping[str, Sequence[str]]:
        """The vehicles of the storyboard, and those that it drives."""
        vehicles = list(parameters.boxes)
        driven = [name for name in vehicles if name not in parameters.external]
        placed = [*parameters.teleported, *parameters.walking]
        return {"vehicle": vehicles, "driven": driven, "placed": placed}

    @classmethod
    def check_settings(cls, context: ModelContext, parameters: Storyboard) -> None:
        """See whether the scene has the vehicles and a road."""
        scene = scene_settings(context)
        for name in (*parameters.boxes, *parameters.performance, *_named(parameters)):
            if name in parameters.standing or name in parameters.walking:
                continue
            scene.require_vehicle(name, context.where)
            if name not in parameters.boxes:
                raise ConfigurationError(f"{context.where}.boxes.{name}: missing")
            _lane(scene, name, context)
        for place, value in _values(parameters, context.where):
            if value not in parameters.values:
                raise ConfigurationError(
                    f"{place}.of: found '{value}'; {context.where}.values has "
                    f"{', '.join(parameters.values) or 'none'}"
                )
        scene_road(context)

    def __init__(self, context: ModelContext, parameters: Storyboard) -> None:
        scene = scene_settings(context)
        network = scene_road(context)
        self._name = context.name
        boxes = dict(parameters.boxes)
        boxes.update((name, found.box) for name, found in parameters.walking.items())
        self._traffic = Traffic(network, boxes, parameters.standing)
        self._walkers = {name: Walker(name, found) for name, found in parameters.walking.items()}
        self._ports = {name: f"odometry/{name}" for name in parameters.boxes}
        period = context.period_ns or 20_000_000
        actors = {}
        for name in parameters.boxes:
            if name not in parameters.external:
                vehicle = scene.vehicles[name]
                dynamics, speed = vehicle.dynamics or "sedan", vehicle.speed or 0.0
                lane = _lane(scene, name, context)
                aside = driving_direction(lane) * vehicle.offset
                actors[name] = Actor(
                    name, network, dynamics, lane, aside, speed=speed, period=period,
                    length=parameters.boxes[name].length, limits=parameters.performance.get(name),
                )  # fmt: skip
        self._actors = actors
        self._stage = Stage(parameters, Cast(actors, self._walkers, self._traffic))
        self._judged = bool(parameters.stop)
        self._collisions = 0
        #: As collisions name them.
        self._bodies = dict(enumerate(scene.vehicles, start=1))
        self._bodies |= dict(enumerate(scene.objects, start=FIRST_OBJECT_ID))

    def handle_message(self, port: str, step: Step) -> Mapping[str, Any]:
        """Note a collision."""
        event = step.samples[port][0].value
        pair = (self._bodies.get(event.vehicle, ""), self._bodies.get(event.other, ""))
        self._traffic.touched.add(frozenset(pair))
        return {}

    def activate(self, step: Step) -> Mapping[str, Any]:
        """Look, play one period, drive."""
        odometry: dict[str, Odometry] = {}
        for name, port in self._ports.items():
            sample = step.latest[port]
            if sample is None:
                idle = ControlCommand(0.0, 0.0, 0.0, 0.0)
                return {f"control/{driven}": idle for driven in self._actors}
            odometry[name] = sample.value
        collision = step.latest.get("collision")
        self._collisions = 0 if collision is None else collision.seq + 1
        try:
            for name, walker in self._walkers.items():
                walker.advance(step.time)
                odometry[name] = walker.odometry(self._traffic)
            self._traffic.look(step.time, odometry)
            for name, actor in self._actors.items():
                actor.locate(odometry[name], self._traffic)
            self._stage.play()
            self._traffic.touched.clear()
            commands: dict[str, Any] = {
                f"control/{name}": actor.command(odometry[name], self._traffic)
                for name, actor in self._actors.items()
            }
            for name, actor in self._actors.items():
                there = actor.placed(self._traffic)
                if there is not None:
                    commands[f"place/{name}"] = there
            for name, walker in self._walkers.items():
                walker.decide(self._traffic)
                commands[f"place/{name}"] = walker.odometry(self._traffic)
        except (ConfigurationError, RoadError) as error:
            raise ParticipantError(f"{self._name}: {error}") from error
        if self.stop_reason is None:
            self.stop_reason = self._stage.ended
        return commands

    def report(self) -> Report:
        """Figures: ``collisions``, ``events`` (begin [s] and name), ``travelled_m``.

        Where the storyboard has a stop trigger, the verdict ``stop_trigger`` says whether it fired.
        """
        events = [[time / 1e9, name] for time, name in self._stage.begun]
        figures = {
            "collisions": self._collisions,
            "events": events[:_MAX_EVENTS],
            "travelled_m": {name: round(way, 3) for name, way in self._traffic.travelled.items()},
        }
        verdicts = []
        if self._judged:
            stopped = self._stage.stopped
            verdict = {"name": "stop_trigger", "value": stopped, "limit": True, "passed": stopped}
            verdicts.append(verdict)
        return Report(figures=figures, verdicts=verdicts)


def _lane(scene: SceneSettings, name: str, context: ModelContext) -> int:
    """The lane that a vehicle starts in."""
    vehicle = scene.vehicles[name]
    if not vehicle.lane:
        raise ConfigurationError(f"scene.vehicles.{name}.lane: found {vehicle.lane}; it has none")
    dynamics = vehicle.dynamics or "sedan"
    if dynamics not in VEHICLES:
        raise ConfigurationError(
            f"scene.vehicles.{name}.dynamics: found '{dynamics}'; allowed are "
            + ", ".join(sorted(VEHICLES))
        )
    return vehicle.lane


def _named(storyboard: Storyboard) -> list[str]:
    """All vehicles that a storyboard names."""
    names = list(storyboard.external)
    triggers = [storyboard.stop]
    actions = list(storyboard.init)
    for story in storyboard.stories:
        for act in story.acts:
            triggers += [act.start or (), act.stop or ()]
            for group in act.groups:
                names += group.actors
                for event in (e for m in group.maneuvers for e in m.events):
                    triggers.append(event.start or ())
                    actions += event.actions
    for condition in (c for trigger in triggers for group in trigger for c in group):
        names += _of_condition(condition)
    for action in actions:
        names += _of_action(action)
    return list(dict.fromkeys(names))


def _values(part: Any, place: str) -> Iterator[tuple[str, str]]:
    """Where parameters and variables are changed or asked for, and their names."""
    if isinstance(part, ValueChange | ValueOf):
        yield place, part.of
    elif isinstance(part, Section):
        for key, value in part:
            yield from _values(value, f"{place}.{key}")
    elif isinstance(part, tuple):
        for number, value in enumerate(part):
            yield from _values(value, f"{place}.{number}")


def _of_condition(condition: Condition) -> list[str]:
    names = list(condition.vehicles)
    relations = (condition.headway, condition.time_to_collision, condition.distance)
    names += [asked.to for asked in relations if asked is not None and asked.to is not None]
    places = [asked.place for asked in relations if asked is not None and asked.place is not None]
    if condition.reach is not None:
        places.append(condition.reach.place)
    names += [place.to for place in places if place.to is not None]
    if condition.clearance is not None:
        names += condition.clearance.others
    if condition.collision is not None:
        names.append(condition.collision)
    if condition.relative_speed is not None:
        names.append(condition.relative_speed.to)
    return names


def _of_action(action: Action) -> list[str]:
    names = list(action.actors)
    if action.speed is not None and action.speed.relative is not None:
        names.append(action.speed.relative.to)
    if action.keep_distance is not None:
        names.append(action.keep_distance.to)
    if action.keep_aside is not None:
        names.append(action.keep_aside.to)
    if action.synchronize is not None:
        names.append(action.synchronize.master)
        places = (action.synchronize.place, action.synchronize.master_place)
        names += [place.to for place in places if place.to is not None]
    if action.trajectory is not None:
        names += _of_trajectory(action.trajectory)
    if action.teleport is not None and action.teleport.to is not None:
        names.append(action.teleport.to)
    for aside in (action.lane_change, action.lane_offset):
        if aside is not None and aside.relative_to is not None:
            names.append(aside.relative_to)
    return names


def _of_trajectory(trajectory: Trajectory) -> list[str]:
    points = [*(trajectory.polyline or ())]
    if trajectory.nurbs is not None:
        points += trajectory.nurbs.points
    places = [point.at for point in points]
    places += [segment.at for segment in trajectory.spline or () if segment.at is not None]
    return [place.to for place in places if place.to is not None]
