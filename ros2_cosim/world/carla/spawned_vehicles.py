# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Vehicles that come into a scene, and leave it, while the run goes on.

They have physics and no driver: they stay where they are put, roll, and are pushed.
"""

from __future__ import annotations

import logging
from typing import Final

from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.messages.records import Odometry, RoadUser
from ros2_cosim.core.scene.entities import FIRST_SPAWNED_ID, EntityCommand
from ros2_cosim.core.scene.simulator import Body, Simulator
from ros2_cosim.world.carla.observation import placed_pose, reading, road_user
from ros2_cosim.world.map import frames

_POINT: Final = Body((0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
#: So far above the ground its place is looked whether it is free [m].
_RAISED: Final = 0.3
_logger = logging.getLogger(__name__)


class SpawnedVehicle:
    """``state`` is that of the last step, or what orders have made of it since."""

    # Named, for a saved state makes vehicles that came while the run went on.
    __slots__ = ("actor", "body", "number", "state")

    def __init__(self, number: int, actor: int, body: Body, state: Odometry) -> None:
        self.number, self.actor, self.body, self.state = number, actor, body, state


class SpawnedVehicles:
    """The vehicles that orders have spawned.

    :param simulator: what moves them
    """

    def __init__(self, simulator: Simulator) -> None:
        self._simulator = simulator
        self._there: dict[str, SpawnedVehicle] = {}
        #: Each order to spawn takes a number, whatever comes of it.
        self._count = 0

    def __contains__(self, name: object) -> bool:
        return name in self._there

    def spawn(self, command: EntityCommand) -> tuple[int, int] | None:
        """Spawn a vehicle; where something stands it does not come.

        :returns: its actor, and its number in messages
        """
        number = FIRST_SPAWNED_ID + self._count
        self._count += 1
        pose = command.pose or (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0)
        there = moved(pose, command.velocity or (0.0, 0.0, 0.0))
        raised = placed_pose(there, _POINT, _RAISED)
        try:
            if command.name in self._there:
                raise ConfigurationError(f"{command.name}: it is there already")
            actor, body = self._simulator.spawn(command.blueprint, command.name, raised)
        except ConfigurationError as error:
            _logger.warning("entities: not spawned: %s", error)
            return None
        self._there[command.name] = SpawnedVehicle(number, actor, body, there)
        self._place(self._there[command.name])
        return actor, number

    def delete(self, name: str) -> None:
        """Take a vehicle away."""
        self._simulator.destroy(self._there.pop(name).actor)

    def set(self, command: EntityCommand) -> None:
        """Put a vehicle elsewhere, or give it another velocity."""
        spawned = self._there[command.name]
        spawned.state = ordered(command, spawned.state)
        self._place(spawned)

    def observe(self) -> list[RoadUser]:
        """Those that are there after a step, as messages have them."""
        users = []
        for each in self._there.values():
            motion = self._simulator.motion(each.actor)
            each.state = reading(motion, each.body).odometry
            users.append(road_user(each.number, motion, each.body))
        return users

    def _place(self, spawned: SpawnedVehicle) -> None:
        there = spawned.state
        velocity = frames.vector_to_carla(*frames.body_to_world(there[3:7], there[7:10]))
        self._simulator.place(spawned.actor, placed_pose(there, spawned.body), velocity)


def ordered(command: EntityCommand, state: Odometry) -> Odometry:
    """Where a command wants a vehicle, and how fast; the rest does not change."""
    velocity = command.velocity or frames.body_to_world(state[3:7], state[7:10])
    return moved(command.pose or state[0:7], velocity)


def moved(pose: tuple[float, ...], velocity: tuple[float, float, float]) -> Odometry:
    """A pose and a velocity, both in the map."""
    x, y, z, qx, qy, qz, qw = pose
    vx, vy, vz = frames.world_to_body((qx, qy, qz, qw), velocity)
    return Odometry(x, y, z, qx, qy, qz, qw, vx, vy, vz, 0.0, 0.0, 0.0)
