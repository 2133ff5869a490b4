# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What a sensor reports of the boxes that it can see: places along the lane, noise, misses."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import inf
from typing import Any, Final

from ros2_cosim.core.kernel.named_tuples import NEW
from ros2_cosim.core.kernel.random_streams import RandomStream
from ros2_cosim.core.kernel.sample import Sample
from ros2_cosim.core.messages.records import DetectedObject, ObjectList, RoadUsers, StaticObjects
from ros2_cosim.driving.sensors.atmosphere import Atmosphere
from ros2_cosim.driving.sensors.field_of_view import FieldOfView
from ros2_cosim.world.map.lane_boxes import LaneBoxes, Sighting, VehicleSource
from ros2_cosim.world.map.lane_frame import LaneBox, ahead_of, fixed_box
from ros2_cosim.world.map.vehicle_info import VehicleInfo

#: Margin with which objects beyond the range are left out early [m].
_MORE_REACH: Final = 1.0
#: Compiled, a constant of the module need not be looked for.
_DETECTED: Final = DetectedObject


class Detector:
    """The sensor of one vehicle; see :class:`~.object_sensor.ObjectSensor` for what it reports.

    :param boxes: the road with what is on it
    :param ego: name of the vehicle that carries it
    :param info: identity and size of that vehicle
    :param fleet: the vehicles to look at, this one among them
    :param view: what it can see
    :param mounting: of the sensor ahead of and left of the vehicle's centre [m], sine and cosine
        of the direction in which it looks
    :param max_lateral: objects further to the side are not reported [m]
    :param probability: of a visible object to be reported, in clear air [1]
    :param atmosphere: between sensor and objects; None: it takes nothing
    :param noise: standard deviations of distance [m], speed [m/s] and lateral offset [m]
    :param stream: gives the random stream of a name
    """

    def __init__(
        self,
        boxes: LaneBoxes,
        *,
        ego: str,
        info: VehicleInfo,
        fleet: VehicleSource,
        view: FieldOfView,
        mounting: tuple[float, float, float, float],
        max_lateral: float,
        probability: float,
        atmosphere: Atmosphere | None,
        noise: tuple[float, float, float],
        stream: Callable[[str], RandomStream],
    ) -> None:
        self._boxes = boxes
        self._view = view
        #: Input of the own odometry.
        self.ego_port = f"odometry/{ego}"
        self._own = info
        self._fleet = fleet
        #: Where the vehicles, and the own one, were at the last look.
        self._positions = fleet.nowhere()
        self._position: Any = None
        self._user_hints: dict[int, Any] = {}
        self._ahead, self._left, self._sin, self._cos = mounting
        self._max_lateral = max_lateral
        self._probability = probability
        self._atmosphere = atmosphere
        self._distance_noise, self._speed_noise, self._lateral_noise = noise
        self._stream = stream
        self._streams: dict[int, RandomStream] = {}
        self._static: StaticObjects | None = None
        self._static_boxes: list[LaneBox] = []
        self._static_ids: list[Any] = []

    def detect(self, latest: Mapping[str, Sample | None]) -> ObjectList:
        """Look once; an empty list while the own odometry is missing.

        :param latest: input port -> newest sample
        """
        own = latest[self.ego_port]
        if own is None:
            return ObjectList(())
        look = self._fleet.look(self._positions, latest)
        self._positions = look.positions
        ego = self._boxes.vehicle(own.value, self._own.length, self._own.width, self._position)
        self._position = ego.position
        boxes, identities = self._others(ego, look)
        users = latest.get("traffic")
        if users is not None:
            self._add_users(ego, users.value, boxes, identities)
        static = latest.get("static_objects")
        if static is not None:
            if static.value is not self._static:
                self._take_static(static.value)
            boxes += self._static_boxes
            identities += self._static_ids
        ahead, left = self._ahead, self._left
        x = ego.x + ahead * ego.cos - left * ego.sin
        y = ego.y + ahead * ego.sin + left * ego.cos
        c = ego.cos * self._cos - ego.sin * self._sin
        s = ego.sin * self._cos + ego.cos * self._sin
        found: list[DetectedObject] = []
        for index in self._view.visible(x, y, c, s, boxes):
            number, classification = identities[index]
            box = boxes[index]
            probability = self._probability
            if self._atmosphere is not None:
                probability *= self._atmosphere.share(box.x - x, box.y - y)
            item = self._measure(ego, box, number, classification, probability)
            if item is not None:
                at = len(found)
                while at > 0 and _is_farther(found[at - 1], item):
                    at -= 1
                found.insert(at, item)
        return ObjectList(tuple(found))

    def _others(self, ego: LaneBox, look: Sighting) -> tuple[list[LaneBox], list[Any]]:
        """The other vehicles that may be in reach, and their identities."""
        reach = self._view.reach + abs(self._ahead) + abs(self._left) + _MORE_REACH
        boxes: list[LaneBox] = []
        identities: list[Any] = []
        own: int = self._own.id
        for number in look.near(ego.x, ego.y, reach):
            box = look.boxes[number]
            dx, dy = box.x - ego.x, box.y - ego.y
            limit = reach + box.length + box.width
            if dx * dx + dy * dy <= limit * limit:
                identity = look.identities[number]
                known: int = identity[0]
                if known != own:
                    boxes.append(box)
                    identities.append(identity)
        return boxes, identities

    def _add_users(
        self,
        ego: LaneBox,
        users: RoadUsers,
        boxes: list[LaneBox],
        identities: list[Any],
    ) -> None:
        """Add the vehicles that are not participants', as far as they may be in reach."""
        before = self._user_hints
        hints: dict[int, Any] = {}
        self._user_hints = hints
        for user in users.users:
            dx, dy = user.x - ego.x, user.y - ego.y
            reach = self._view.reach + abs(self._ahead) + abs(self._left) + user.length + user.width
            if dx * dx + dy * dy <= reach * reach:
                box = self._boxes.road_user(user, before.get(user.id))
                hints[user.id] = box.position
                boxes.append(box)
                identities.append((user.id, user.classification))

    def _take_static(self, static: StaticObjects) -> None:
        self._static = static
        road = self._boxes.road
        self._static_boxes = [
            fixed_box(road, o.x, o.y, o.yaw, o.length, o.width) for o in static.objects
        ]
        self._static_ids = [(o.id, o.classification) for o in static.objects]

    def _measure(
        self,
        ego: LaneBox,
        box: LaneBox,
        identity: int,
        classification: int,
        probability: float,
    ) -> DetectedObject | None:
        """Return what is reported of a visible object, or None if it is missed or not ahead."""
        gap, relative, offset, _, _ = ahead_of(self._boxes.road, ego, box)
        if gap + box.half < 0.0 or gap == inf:
            return None
        if not -self._max_lateral <= offset <= self._max_lateral:
            return None
        stream = self._streams.get(identity)
        if stream is None:
            stream = self._streams[identity] = self._stream(f"object/{identity}")
        detected = stream.bernoulli(probability)
        distance = gap + self._distance_noise * stream.normal()
        relative += self._speed_noise * stream.normal()
        offset += self._lateral_noise * stream.normal()
        if not detected:
            return None
        return NEW(
            _DETECTED,
            (
                identity, classification, distance, relative, offset, box.length, box.width,
                probability,
            ),
        )  # fmt: skip


def _is_farther(item: DetectedObject, other: DetectedObject) -> bool:
    """Whether the other one comes first: by distance, then by identity."""
    distance, nearer = item.distance, other.distance
    return distance > nearer or (distance == nearer and item.id > other.id)
