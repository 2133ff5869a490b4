# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Replays a recording in the world: its actors appear and move as they were recorded.

Between two recorded frames positions are interpolated. Replayed actors have no physics until the
replay ends; then they stay where they are, with physics.
"""

from __future__ import annotations

from collections.abc import Container, Iterator

from ros2_cosim.world.headless.actors import compose, relative_to
from ros2_cosim.world.headless.blueprints import SPECTATOR
from ros2_cosim.world.headless.recording import (
    SENSOR,
    VEHICLE,
    WALKER,
    Added,
    RecordedFrame,
    Recording,
)
from ros2_cosim.world.headless.signals import LightActor
from ros2_cosim.world.headless.walkers import WalkerActor
from ros2_cosim.world.headless.wire_types import Rotation, Transform, Vector, VehicleControl
from ros2_cosim.world.headless.world import CallError, World


class Replayer:
    """Replays one recording."""

    def __init__(
        self,
        recording: Recording,
        world: World,
        start: float,
        duration: float,
        *,
        ignore_hero: bool,
        ignore_spectator: bool = True,
        sensors: bool = False,
    ) -> None:
        """Go to the start.

        :param start: seconds from the beginning of the recording, from its end if negative
        :param duration: seconds to replay, 0 for all that follows
        :param ignore_spectator: leave the spectator where it is
        :param sensors: also let recorded sensors appear
        """
        ends = [frame.elapsed for frame in recording.frames()]
        whole = ends[-1] if ends else 0.0
        begin = max(0.0, whole + start if start < 0.0 else start)
        self._end = min(whole, begin + duration) if duration > 0.0 else whole
        self.time_factor = 1.0
        self._world = world
        self._ignore_hero = ignore_hero
        self._ignore_spectator = ignore_spectator
        self._sensors = sensors
        #: Recorded number of an actor -> its number now.
        self.actors: dict[int, int] = {}
        self._frames: Iterator[RecordedFrame] = recording.frames()
        self._before: RecordedFrame | None = None
        self._after: RecordedFrame | None = next(self._frames, None)
        self._now = begin
        self._followed, self._offset = 0, Transform()
        self._show()

    def follow(self, actor: int, offset: Transform) -> None:
        """Let the spectator follow a recorded actor at a place on it; 0: none."""
        self._followed, self._offset = actor, offset
        self._look()

    def _look(self) -> None:
        actor = self._world.actors.get(self.actors.get(self._followed, 0))
        if actor is not None:
            pose = compose(self._world.pose(actor), self._offset)
            self._world.set_transform(self._world.spectator.id, pose)

    def step(self, dt: float) -> bool:
        """Go on by ``dt`` seconds of the world; False when the end is reached."""
        self._now = min(self._end, self._now + dt * self.time_factor)
        self._show()
        self._look()
        return self._now < self._end

    def stop(self, *, keep: bool) -> None:
        """Give the actors back to physics, or remove them; walkers stop."""
        for number in self.actors.values():
            if number not in self._removable():
                continue
            if keep:
                actor = self._world.actors[number]
                if isinstance(actor, WalkerActor):
                    actor.follow(actor.state.transform, 0.0)
                self._world.simulate_physics(number, True)
            else:
                self._world.destroy(number)
        self.actors.clear()

    def _show(self) -> None:
        while self._after is not None and self._after.elapsed <= self._now:
            self._events(self._after)
            self._before, self._after = self._after, next(self._frames, None)
        before, after = self._before, self._after
        if before is None:
            return
        share = 0.0
        if after is not None and after.elapsed > before.elapsed:
            share = (self._now - before.elapsed) / (after.elapsed - before.elapsed)
        paces = dict(before.paces)
        for number, pose in before.places.items():
            actor = self.actors.get(number)
            if actor is None or actor not in self._world.actors:
                continue
            later = after.places.get(number, pose) if after is not None else pose
            place = _between(pose, later, share)
            if number in paces:
                self._world.require_walker(actor).follow(place, paces[number])
            else:
                self._world.set_transform(actor, place)
        for drive in before.drives:
            vehicle = self.actors.get(drive.id)
            if vehicle is not None and vehicle in self._world.actors:
                self._world.apply_control(
                    vehicle,
                    VehicleControl(
                        drive.throttle, drive.steer, drive.brake, drive.hand_brake,
                        drive.gear < 0, False, drive.gear,
                    ),
                )  # fmt: skip
        for lamp in before.lamps:
            light = self._world.actors.get(lamp.id)
            if isinstance(light, LightActor):
                light.light.state = lamp.state

    def _events(self, frame: RecordedFrame) -> None:
        for added in frame.added:
            if added.description.id == SPECTATOR.id:
                if not self._ignore_spectator:
                    self.actors[added.id] = self._world.spectator.id
            elif added.kind == SENSOR:
                if self._sensors:
                    self._add_sensor(added, dict(frame.parents).get(added.id, 0), frame)
            elif self._wanted(added):
                self._add(added)
        for number in frame.deleted:
            actor = self.actors.pop(number, None)
            if actor is not None and actor in self._removable():
                self._world.destroy(actor)

    def _removable(self) -> Container[int]:
        """The actors of the world without the spectator, which is there always."""
        return self._world.actors.keys() - {self._world.spectator.id}

    def _add_sensor(self, added: Added, recorded: int, frame: RecordedFrame) -> None:
        """Mount a sensor on the actor that replays the one that it was on."""
        parent = self._world.actors.get(self.actors.get(recorded, 0))
        pose = added.pose
        if parent is not None:
            # Where its parent was recorded: it may have appeared in the same frame.
            there = next((a.pose for a in frame.added if a.id == recorded), None)
            before = frame.places.get(recorded, there)
            pose = relative_to(before or self._world.pose(parent), pose)
        chosen = {a.id: a.value for a in added.description.attributes}
        number = 0 if parent is None else parent.id
        try:
            sensor = self._world.spawn_anywhere(added.description.id, pose, chosen, number)
        except CallError:
            return  # a sensor that this server does not have is not replayed
        self.actors[added.id] = sensor.id

    def _wanted(self, added: Added) -> bool:
        if added.kind not in (VEHICLE, WALKER):
            return added.description.id.startswith("static.")
        attributes = {a.id: a.value for a in added.description.attributes}
        return not (self._ignore_hero and attributes.get("role_name") == "hero")

    def _add(self, added: Added) -> None:
        chosen = {a.id: a.value for a in added.description.attributes}
        try:
            actor = self._world.spawn_anywhere(added.description.id, added.pose, chosen)
        except CallError:
            return  # an actor that this server does not have is not replayed
        self._world.simulate_physics(actor.id, False)
        actor.collides = False
        self.actors[added.id] = actor.id


def _between(a: Transform, b: Transform, share: float) -> Transform:
    def mix(p: float, q: float) -> float:
        return p + share * (q - p)

    def turn(p: float, q: float) -> float:
        return p + share * ((q - p + 180.0) % 360.0 - 180.0)

    if share == 0.0:
        return a
    return Transform(
        Vector(*map(mix, a.location, b.location)), Rotation(*map(turn, a.rotation, b.rotation))
    )
