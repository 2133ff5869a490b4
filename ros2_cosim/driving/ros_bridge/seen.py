# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What the bridge knows at one time: the newest records of the world."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from ros2_cosim.core.messages.records import (
    Acceleration,
    CollisionEvent,
    ControlCommand,
    Odometry,
    RoadUser,
    StaticObject,
)


class SeenVehicle(NamedTuple):
    """State of a vehicle, and the command that it obeys, if one has come."""

    odometry: Odometry
    acceleration: Acceleration
    command: ControlCommand | None


class SeenWorld(NamedTuple):
    """Everything at ``time`` [ns], after ``before`` activations.

    ``collisions`` are those that are new.
    """

    time: int
    before: int
    vehicles: Mapping[str, SeenVehicle]
    users: tuple[RoadUser, ...]
    static: tuple[StaticObject, ...]
    collisions: tuple[CollisionEvent, ...]
