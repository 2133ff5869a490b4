# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""All that is on a road, for the one measure (``encounters.py``): from messages, live or recorded.

Referee, report and dashboard make their road users here, so that they see the same ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from ros2_cosim.core.kernel.exactmath import wrap_angle
from ros2_cosim.core.messages.records import Odometry, RoadUsers, StaticObjects
from ros2_cosim.core.scene.scene import FIRST_OBJECT_ID, FIRST_TRAFFIC_ID
from ros2_cosim.world.map.encounters import MovingBox
from ros2_cosim.world.map.lane_boxes import LaneBoxes
from ros2_cosim.world.map.lane_frame import fixed_box
from ros2_cosim.world.map.vehicle_info import VehicleInfo

#: Stands before the numbers of vehicles that are not participants'.
TRAFFIC: Final = "traffic "


def traffic_name(identity: int) -> str:
    """The name of what is not a vehicle of the scene, by its number in messages."""
    return f"{TRAFFIC}{identity}"


def obstacle_name(identity: int) -> str:
    """The name of a fixed object, by its number in messages."""
    return f"obstacle {identity}"


def name_of(identity: int, vehicles: Mapping[str, VehicleInfo]) -> str:
    """The name of what a collision names by its number.

    :param vehicles: those of the scene by name
    """
    own = next((name for name, info in vehicles.items() if info.id == identity), None)
    if own is not None:
        return own
    if identity >= FIRST_TRAFFIC_ID:
        return traffic_name(identity)
    return obstacle_name(identity) if identity >= FIRST_OBJECT_ID else f"object {identity}"


class Movers:
    """Makes road users of messages, each from its place before.

    :param boxes: the road with what is on it
    :param vehicles: those of the scene by name
    """

    def __init__(self, boxes: LaneBoxes, vehicles: Mapping[str, VehicleInfo]) -> None:
        self._boxes = boxes
        self._vehicles = dict(vehicles)
        self._hints: dict[str, Any] = {}
        #: Of the traffic: road position and yaw [rad] at the last look, and its time [ns].
        self._traffic: dict[int, tuple[Any, float]] = {}
        self._traffic_time = 0

    def vehicle(self, name: str, odometry: Odometry) -> MovingBox:
        """One of the scene."""
        info = self._vehicles[name]
        box = self._boxes.vehicle(odometry, info.length, info.width, self._hints.get(name))
        self._hints[name] = box.position
        return MovingBox(name, box, odometry.vx, odometry.vy, odometry.wz)

    def traffic(self, time: int, users: RoadUsers) -> list[MovingBox]:
        """The traffic, with yaw rates from the look before: its messages have none.

        :param time: of the message [ns]
        """
        seconds = (time - self._traffic_time) / 1e9
        found = []
        newest: dict[int, tuple[Any, float]] = {}
        for user in users.users:
            hint, yaw = self._traffic.get(user.id, (None, user.yaw))
            box = self._boxes.road_user(user, hint)
            newest[user.id] = (box.position, user.yaw)
            rate = wrap_angle(user.yaw - yaw) / seconds if seconds > 0.0 else 0.0
            found.append(MovingBox(traffic_name(user.id), box, user.vx, user.vy, rate))
        if seconds > 0.0 or not self._traffic:
            self._traffic, self._traffic_time = newest, time
        return found

    def fixed(self, static: StaticObjects) -> list[MovingBox]:
        """What does not move."""
        road = self._boxes.road
        return [
            MovingBox(
                obstacle_name(item.id),
                fixed_box(road, item.x, item.y, item.yaw, item.length, item.width),
            )
            for item in static.objects
        ]
