# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The storyboard as a participant: it sees all vehicles, drives its own, ends the run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from ros2_cosim.core.kernel.errors import ConfigurationError, ParticipantError
from ros2_cosim.core.kernel.model import FullModel, Port, Report, Traits
from ros2_cosim.core.kernel.participant import ModelContext, Step
from ros2_cosim.core.messages.message_types import COLLISION, CONTROL, ODOMETRY
from ros2_cosim.core.messages.records import ControlCommand, Odometry
from ros2_cosim.core.scene.scene import FIRST_OBJECT_ID, SceneSettings, scene_settings
from ros2_cosim.driving.openscenario.motion import StoryActor
from ros2_cosim.driving.openscenario.reader import StoryboardParameters, read_storyboard
from ros2_cosim.driving.openscenario.stage import Cast, Stage
from ros2_cosim.driving.openscenario.story import Storyboard
from ros2_cosim.driving.openscenario.traffic import Traffic
from ros2_cosim.driving.openscenario.walkers import Walker
from ros2_cosim.world.map import RoadError, driving_direction
from ros2_cosim.world.map.scene import scene_road
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

    Parameters = StoryboardParameters
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
        cls, context: ModelContext, parameters: StoryboardParameters
    ) -> Mapping[str, Sequence[str]]:
        """The vehicles of the storyboard, and those that it drives."""
        story = _storyboard(context, parameters)
        vehicles = list(story.boxes)
        driven = [name for name in vehicles if name not in story.external]
        placed = [*story.teleported, *story.walking]
        return {"vehicle": vehicles, "driven": driven, "placed": placed}

    @classmethod
    def check_settings(cls, context: ModelContext, parameters: StoryboardParameters) -> None:
        """Check whether the scene has the vehicles and a road."""
        scene = scene_settings(context)
        for name in _storyboard(context, parameters).boxes:
            scene.require_vehicle(name, context.where)
            _lane(scene, name, context)

    def __init__(self, context: ModelContext, parameters: StoryboardParameters) -> None:
        story = _storyboard(context, parameters)
        scene = scene_settings(context)
        network = scene_road(context)
        self._name = context.name
        boxes = dict(story.boxes)
        boxes.update((name, found.box) for name, found in story.walking.items())
        self._traffic = Traffic(network, boxes, story.standing)
        self._traffic.gone.update(story.absent)
        self._walkers = {name: Walker(name, found) for name, found in story.walking.items()}
        self._ports = {name: f"odometry/{name}" for name in story.boxes}
        period = context.period_ns or 20_000_000
        actors = {}
        for name in story.boxes:
            if name not in story.external:
                vehicle = scene.vehicles[name]
                dynamics, speed = vehicle.dynamics or "sedan", vehicle.speed or 0.0
                lane = _lane(scene, name, context)
                aside = driving_direction(lane) * vehicle.offset
                actors[name] = StoryActor(
                    name, network, dynamics, lane, aside, speed=speed, period=period,
                    length=story.boxes[name].length, limits=story.performance.get(name),
                    chassis=(vehicle.mass or 0.0, vehicle.wheelbase or 0.0,
                             vehicle.wheel_radius or 0.0, vehicle.max_steer_angle or 0.0),
                )  # fmt: skip
        self._actors = actors
        self._stage = Stage(story, Cast(actors, self._walkers, self._traffic))
        self._judged = bool(story.stop)
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


def _storyboard(context: ModelContext, parameters: StoryboardParameters) -> Storyboard:
    return read_storyboard(parameters, scene_road(context))


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
