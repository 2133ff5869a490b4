# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Markers and transforms of a run as messages, without ROS.

They are what the visualisation node publishes: the scene in the frame ``map``, and the transform
from there to each vehicle.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from ros2_cosim.core.kernel.errors import ProtocolError
from ros2_cosim.core.messages.catalogue import DEFAULT as CATALOGUE
from ros2_cosim.core.messages.catalogue import type_name
from ros2_cosim.core.messages.cdr import NS_PER_S
from ros2_cosim.core.scenario.drawing import drawing, undrawable
from ros2_cosim.core.scenario.pictures import Picture
from ros2_cosim.core.scenario.schema import Scenario
from ros2_cosim.world.map import RoadNetwork
from ros2_cosim.world.pictures import markers
from ros2_cosim.world.pictures.markers import Cone, MarkerBox, MarkerData
from ros2_cosim.world.pictures.road_markers import road_markers
from ros2_cosim.world.pictures.scene_picture import (
    OBSTACLE_TOPIC,
    ROAD_TOPIC,
    SCENE_TOPIC,
    TRANSFORM_TOPIC,
    ScenePicture,
)

MARKERS = "visualization_msgs/msg/MarkerArray"
MARKER = "visualization_msgs/msg/Marker"
TRANSFORMS = "tf2_msgs/msg/TFMessage"
#: Height of vehicles, which scenes do not have [m].
_HEIGHT = 1.5


class Drawing(Picture):
    """Draws a run from its messages.

    :ivar topics: topic -> type of what is drawn; not the transforms, where the run sends its own
    :ivar wanted: topics of the run that it is made of
    :ivar latched: those that hold until they are replaced
    :param scenario: has vehicles to draw
    """

    latched = frozenset((ROAD_TOPIC, OBSTACLE_TOPIC))

    def __init__(self, scenario: Scenario) -> None:
        found = drawing(scenario)
        boxes = {
            name: MarkerBox(length, width, _HEIGHT)
            for name, length, width in zip(
                found["vehicles"], found["lengths"], found["widths"], strict=True
            )
        }
        angle = math.radians(found.get("sensor_fov_deg", 0.0))
        cone = Cone(angle, found.get("sensor_range_m", 0.0))
        sensors = [name for name in found.get("sensors", ()) if name in boxes]
        self._picture = ScenePicture(boxes, sensors, cone, found["odometries"])
        self._road_file = Path(found["road_file"])
        self._start_ns = scenario.start_time
        outputs = [
            output
            for name in scenario.participants
            for output in scenario.outputs_of(name).values()
        ]
        own = {output.topic: output.type for output in outputs}
        self._takers: dict[str, Callable[[bytes], None]] = {
            topic: _decoding(reader.record, reader.take)
            for topic, reader in self._picture.readers().items()
            if own.get(topic) == type_name(reader.record)
        }
        self.wanted = self._takers.keys()
        transforms = {} if TRANSFORM_TOPIC in own else {TRANSFORM_TOPIC: TRANSFORMS}
        shown = (ROAD_TOPIC, OBSTACLE_TOPIC, SCENE_TOPIC)
        self.topics = {**dict.fromkeys(shown, MARKERS), **transforms}
        #: The newest message of each topic since the last time: only that is seen.
        self._newest: dict[str, bytes] = {}
        self._objects: object = None

    def take(self, topic: str, data: bytes) -> None:
        """Take a message of the run; those that are not drawn are ignored."""
        if topic in self._takers:
            self._newest[topic] = data

    def begin(self) -> Iterator[tuple[str, bytes]]:
        """(topic, message) of the road.

        :raises CosimError: it cannot be read
        """
        if self._road_file.is_file():
            road = road_markers(RoadNetwork.from_file(self._road_file))
            yield ROAD_TOPIC, self._message(road, 0)

    def draw(self, stamp_ns: int) -> Iterator[tuple[str, bytes]]:
        """(topic, message) of what has changed since the last time."""
        if not self._newest:
            return
        for topic, data in self._newest.items():
            self._takers[topic](data)
        self._newest.clear()
        if self._picture.objects is not self._objects:
            self._objects = self._picture.objects
            yield OBSTACLE_TOPIC, self._message(self._picture.obstacles(), stamp_ns)
        if not self._picture.poses:
            return
        yield SCENE_TOPIC, self._message(self._picture.scene(), stamp_ns)
        if TRANSFORM_TOPIC in self.topics:
            found = tuple(
                _transform(f"{name}/base_link", pose, stamp_ns)
                for name, pose in sorted(self._picture.poses.items())
            )
            message: Any = CATALOGUE.record(TRANSFORMS)
            codec = CATALOGUE.codec(TRANSFORMS, start_ns=self._start_ns)
            yield TRANSFORM_TOPIC, codec.encode(0, 0, message(found))

    def _message(self, data: Sequence[MarkerData], stamp_ns: int) -> bytes:
        """A whole picture: the markers that are there go first."""
        array: Any = CATALOGUE.record(MARKERS)
        clear = _part(MARKER)(header=_header(stamp_ns), action=_DELETE_ALL)
        shown = (_marker(marker, stamp_ns) for marker in data)
        codec = CATALOGUE.codec(MARKERS, start_ns=self._start_ns)
        return codec.encode(0, 0, array((clear, *shown)))


def drawing_of(scenario: Scenario) -> Picture:
    """What draws a scenario; nothing where it has no vehicles."""
    return Picture() if undrawable(scenario) else Drawing(scenario)


#: Constants of that definition.
_DELETE_ALL = 3
_SHAPES = {
    markers.CUBE: 1,
    markers.LINE_STRIP: 4,
    markers.LINE_LIST: 5,
    markers.TEXT: 9,
    markers.TRIANGLES: 11,
}


def _decoding(record: type, take: Callable[[Any], None]) -> Callable[[bytes], None]:
    codec = CATALOGUE.codec(type_name(record))

    def taken(data: bytes) -> None:
        with suppress(ProtocolError):  # of a program that is not ours: there is nothing to draw
            take(codec.decode(data)[2])

    return taken


def _part(name: str) -> Any:
    return CATALOGUE.part(name)


def _header(stamp_ns: int) -> Any:
    time = _part("builtin_interfaces/msg/Time")(*divmod(stamp_ns, NS_PER_S))
    return _part("std_msgs/msg/Header")(time, "map")


def _marker(data: MarkerData, stamp_ns: int) -> Any:
    point = _part("geometry_msgs/msg/Point")
    pose = _part("geometry_msgs/msg/Pose")(
        point(*data.position), _part("geometry_msgs/msg/Quaternion")(*data.orientation)
    )
    return _part(MARKER)(
        header=_header(stamp_ns),
        ns=data.namespace,
        id=data.id,
        type=_SHAPES[data.shape],
        pose=pose,
        scale=_part("geometry_msgs/msg/Vector3")(*data.scale),
        color=_part("std_msgs/msg/ColorRGBA")(*data.colour),
        points=tuple(point(*place) for place in data.points),
        text=data.text,
    )


def _transform(frame: str, pose: Any, stamp_ns: int) -> Any:
    move = _part("geometry_msgs/msg/Vector3")(pose.x, pose.y, pose.z)
    turn = _part("geometry_msgs/msg/Quaternion")(pose.qx, pose.qy, pose.qz, pose.qw)
    place = _part("geometry_msgs/msg/Transform")(move, turn)
    return _part("geometry_msgs/msg/TransformStamped")(_header(stamp_ns), frame, place)
