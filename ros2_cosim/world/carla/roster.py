# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""All vehicles of a scene in one message.

A model that looks at many vehicles reads one port instead of one for each of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ros2_cosim.core.kernel.named_tuples import NEW
from ros2_cosim.core.kernel.participant import ModelContext
from ros2_cosim.core.messages.records import RoadUser, RoadUsers
from ros2_cosim.core.scene.scene import scene_settings
from ros2_cosim.world.map.frames import yaw_from_quaternion
from ros2_cosim.world.map.scene import scene_vehicles


class Roster:
    """Makes that message of the odometries.

    :param present: the vehicles that are there
    :raises ConfigurationError: one lacks its size
    """

    def __init__(self, context: ModelContext, present: Sequence[str]) -> None:
        vehicles, infos = scene_settings(context).vehicles, scene_vehicles(context)
        # A scenario need not say how high a vehicle is: 0 then.
        sizes = [(infos[n].id, n, infos[n], vehicles[n].height or 0.0) for n in present]
        #: Port of the odometry; what stands before the motion in a record, and what behind it.
        self._vehicles: list[tuple[str, tuple[Any, ...], tuple[Any, ...]]] = [
            (f"odometry/{name}", (number, info.classification), (info.length, info.width, height))
            for number, name, info, height in sorted(sizes)
        ]

    def of(self, outputs: Mapping[str, Any]) -> RoadUsers:
        """The message of a state.

        :param outputs: the odometry of each vehicle, as ``odometry/<vehicle>``
        """
        users = []
        for port, head, size in self._vehicles:
            # Numbers that stay as they are stay objects, where this is compiled, too.
            state: tuple[Any, ...] = outputs[port]
            x, y, z, qx, qy, qz, qw, vx, vy, _, _, _, _ = state
            yaw = yaw_from_quaternion(qx, qy, qz, qw)
            users.append(NEW(RoadUser, head + (x, y, z, yaw, vx, vy) + size))
        return RoadUsers(tuple(users))
