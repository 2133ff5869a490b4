# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Recorded road users in a scene: actors that are put where the recording says, step after step.

They have no physics: nothing pushes them away. Before a road user is there, and when it has gone,
its actor stands far beside the map.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from ros2_cosim.core.messages.records import (
    CLASS_CAR,
    CLASS_TRUCK,
    CLASS_UNKNOWN,
    Odometry,
    RoadUser,
)
from ros2_cosim.core.scene.recorded import FIRST_RECORDED_ID
from ros2_cosim.core.scene.simulator import Body, Simulator, Size
from ros2_cosim.world.carla.observation import placed_pose
from ros2_cosim.world.carla.parameters import WALKER_MIDDLE, check_size
from ros2_cosim.world.map import RoadNetwork, frames
from ros2_cosim.world.recorded.tracks import Kind
from ros2_cosim.world.recorded.users import RecordedPlace, RecordedUser


class _Actor(NamedTuple):
    """What stands for a kind of road user, and its class in messages."""

    blueprint: str
    classification: int


_ACTORS: Final[dict[Kind, _Actor]] = {
    "car": _Actor("vehicle.tesla.model3", CLASS_CAR),
    "van": _Actor("vehicle.mercedes.sprinter", CLASS_CAR),
    "truck": _Actor("vehicle.carlamotors.european_hgv", CLASS_TRUCK),
    "bus": _Actor("vehicle.mitsubishi.fusorosa", CLASS_TRUCK),
    "motorcycle": _Actor("vehicle.kawasaki.ninja", CLASS_UNKNOWN),
    "bicycle": _Actor("vehicle.diamondback.century", CLASS_UNKNOWN),
    "pedestrian": _Actor("walker.pedestrian.0001", CLASS_UNKNOWN),
    "unknown": _Actor("static.prop.streetbarrier", CLASS_UNKNOWN),
}
#: The first place beside the map, and the distance from one to the next [m].
_ASIDE: Final = (-200_000.0, -200_000.0)
_APART: Final = 120.0
_POINT: Final = Body((0.0, 0.0, 0.0), (0.0, 0.0, 0.0))


class _Present(NamedTuple):
    number: int
    actor: int
    body: Body
    height: float
    user: RecordedUser
    aside: RecordedPlace


class RecordedUsers:
    """The recorded road users of a scene.

    :param users: where they are at which time
    :param step_ns: of the scene
    """

    def __init__(self, users: Sequence[RecordedUser], step_ns: int) -> None:
        self._users = tuple(users)
        self._step_ns = step_ns
        self._there: tuple[_Present, ...] = ()
        #: Whether each stands beside the map.
        self._aside: list[bool] = []

    def spawn(self, simulator: Simulator, road: RoadNetwork) -> dict[int, int]:
        """Spawn an actor for each, beside the map.

        :returns: actor -> number in messages
        :raises ConfigurationError: the simulator does not have the kind of actor in this size
        """
        there = []
        self._aside = [False] * len(self._users)
        for position, recorded in enumerate(self._users):
            user = recorded.on_ground(road)
            x, y = _ASIDE
            aside = RecordedPlace(x - _APART * position, y, 0.0, 0.0, 0.0, 0.0)
            kind = _ACTORS[user.kind]
            height = _height(user) if user.kind == "pedestrian" else 0.0
            pose = placed_pose(_odometry(aside), _POINT, height)
            if user.size == Size():
                actor, body = simulator.spawn(kind.blueprint, user.name, pose)
            else:
                actor, body = simulator.spawn_sized(kind.blueprint, user.name, pose, user.size)
                check_size(f"scene.recorded.{user.name}", user.size, body)
            simulator.hold(actor)
            number = FIRST_RECORDED_ID + position
            there.append(_Present(number, actor, body, height, user, aside))
        self._there = tuple(there)
        return {each.actor: each.number for each in there}

    def move(self, simulator: Simulator, step: int) -> None:
        """Let each be where it is to be at the end of the step that leads to state ``step``."""
        for position, each in enumerate(self._there):
            place = each.user.at(step * self._step_ns)
            was_aside, self._aside[position] = self._aside[position], place is None
            if place is None and was_aside:
                continue
            there = _odometry(place or each.aside)
            pose = placed_pose(there, each.body, each.height)
            velocity = frames.body_to_world(there[3:7], there[7:10])
            simulator.place(each.actor, pose, frames.vector_to_carla(*velocity))

    def seen(self, step: int) -> list[RoadUser]:
        """Those that are there in a state, as messages have them."""
        found = []
        for each in self._there:
            place = each.user.at(step * self._step_ns)
            if place is not None:
                length, width, height = (2.0 * half for half in each.body.extent)
                kind = _ACTORS[each.user.kind].classification
                found.append(
                    RoadUser(
                        each.number, kind, place.x, place.y, place.z, place.yaw, place.vx, place.vy,
                        length, width, height,
                    )
                )  # fmt: skip
        return found


def _height(user: RecordedUser) -> float:
    """Of a walker's origin, which is its middle, above the ground [m]."""
    return 0.5 * user.size.height if user.size.height > 0.0 else WALKER_MIDDLE


def _odometry(place: RecordedPlace) -> Odometry:
    q = frames.quaternion_from_yaw(place.yaw)
    return Odometry(place.x, place.y, place.z, *q, place.vx, place.vy, 0.0, 0.0, 0.0, 0.0)
