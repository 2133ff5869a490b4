# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What is drawn of a run, gathered from its topics: no ROS in here.

The visualisation node and the live view draw the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from ros2_cosim.core.messages.records import (
    ObjectList,
    Odometry,
    PlatoonStatus,
    RoadUsers,
    StaticObjects,
)
from ros2_cosim.world.pictures import markers
from ros2_cosim.world.pictures.markers import Cone, MarkerBox, MarkerData

#: Topics of the drawing.
ROAD_TOPIC = "/visualization/road"
OBSTACLE_TOPIC = "/visualization/obstacles"
SCENE_TOPIC = "/visualization/scene"
TRANSFORM_TOPIC = "/tf"


class TopicReader(NamedTuple):
    """A topic that the picture is made of: the record of its messages, and what takes one."""

    record: type
    take: Callable[[Any], None]
    latched: bool = False


class ScenePicture:
    """Everything that is drawn, as known now.

    :param vehicles: name -> size, in driving order
    :param sensors: the vehicles that have an object sensor
    :param cone: field of view of the sensors
    :param odometries: the topic of each vehicle's odometry, in the same order
    """

    def __init__(
        self,
        vehicles: Mapping[str, MarkerBox],
        sensors: Sequence[str],
        cone: Cone,
        odometries: Sequence[str],
    ) -> None:
        self._vehicles = dict(vehicles)
        self._odometries = dict(zip(odometries, vehicles, strict=True))
        self._sensors = tuple(sensors)
        self._cone = cone
        #: Vehicle -> where it is, of those that have told.
        self.poses: dict[str, Odometry] = {}
        #: The fixed objects, as soon as they are known.
        self.objects: StaticObjects | None = None
        self._seen: dict[str, ObjectList] = {}
        self._status: PlatoonStatus | None = None
        self._traffic = RoadUsers(())

    def readers(self) -> dict[str, TopicReader]:
        """Topic -> what takes its messages."""

        def pose_of(name: str) -> Callable[[Odometry], None]:
            return lambda record: self.poses.__setitem__(name, record)

        def seen_by(name: str) -> Callable[[ObjectList], None]:
            return lambda record: self._seen.__setitem__(name, record)

        found = {
            topic: TopicReader(Odometry, pose_of(name)) for topic, name in self._odometries.items()
        }
        found |= {
            f"/{name}/objects": TopicReader(ObjectList, seen_by(name)) for name in self._sensors
        }
        found["/platoon_status"] = TopicReader(PlatoonStatus, self._take_status)
        found["/traffic"] = TopicReader(RoadUsers, self._take_traffic)
        found["/static_objects"] = TopicReader(StaticObjects, self._take_objects, latched=True)
        return found

    def scene(self) -> list[MarkerData]:
        """Everything that moves."""
        scene: list[MarkerData] = []
        for number, (name, box) in enumerate(self._vehicles.items()):
            pose = self.poses.get(name)
            if pose is None:
                continue
            scene += markers.vehicle_markers(number, name, pose, box)
            if name in self._sensors:
                seen = self._seen.get(name)
                scene += markers.sensor_markers(number, pose, box, self._cone, seen)
        scene += markers.traffic_markers(self._traffic)
        if self._status is not None:
            poses = [self.poses.get(name) for name in self._vehicles]
            scene += markers.gap_markers(self._status, poses, list(self._vehicles.values()))
        return scene

    def obstacles(self) -> list[MarkerData]:
        """The fixed objects."""
        return [] if self.objects is None else markers.obstacle_markers(self.objects)

    def _take_status(self, status: PlatoonStatus) -> None:
        self._status = status

    def _take_traffic(self, traffic: RoadUsers) -> None:
        self._traffic = traffic

    def _take_objects(self, objects: StaticObjects) -> None:
        self.objects = objects
