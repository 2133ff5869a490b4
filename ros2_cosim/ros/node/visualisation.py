# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The visualisation node: an observer that turns topics into markers and transforms.

It publishes ``/visualization/road`` and ``/visualization/obstacles`` (latched),
``/visualization/scene`` and ``/tf`` (``map`` -> ``<vehicle>/base_link``). It takes part in
nothing: it reads best effort and draws at its own rate in wall time, so a slow or dead
visualisation changes no run.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from builtin_interfaces.msg import Time
from geometry_msgs.msg import Point as PointMessage
from geometry_msgs.msg import TransformStamped
from rclpy.event_handler import PublisherEventCallbacks
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from tf2_msgs.msg import TFMessage
from visualization_msgs.msg import Marker, MarkerArray

from ros2_cosim.core.kernel.errors import ConfigurationError, ProtocolError
from ros2_cosim.core.messages import catalogue
from ros2_cosim.core.messages.cdr import NS_PER_S
from ros2_cosim.core.messages.namespaces import inside
from ros2_cosim.core.messages.records import Odometry
from ros2_cosim.ros.node.node_parameters import DRAWING, declare
from ros2_cosim.ros.node.qos_overrides import make_publisher
from ros2_cosim.ros.node.session import until_shut_down, wall_timer
from ros2_cosim.ros.node.writers import message_class
from ros2_cosim.world.pictures import markers
from ros2_cosim.world.pictures.markers import Cone, MarkerBox, MarkerData
from ros2_cosim.world.pictures.road_markers import Roads, road_markers
from ros2_cosim.world.pictures.scene_picture import (
    OBSTACLE_TOPIC,
    ROAD_TOPIC,
    SCENE_TOPIC,
    TRANSFORM_TOPIC,
    ScenePicture,
)

_SHAPES = {
    markers.CUBE: Marker.CUBE,
    markers.LINE_STRIP: Marker.LINE_STRIP,
    markers.LINE_LIST: Marker.LINE_LIST,
    markers.TRIANGLES: Marker.TRIANGLE_LIST,
    markers.TEXT: Marker.TEXT_VIEW_FACING,
}
_STREAM = QoSProfile(depth=10, reliability=ReliabilityPolicy.BEST_EFFORT)
_LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)


def marker_message(data: MarkerData, stamp_ns: int) -> Any:
    """A ``visualization_msgs/Marker`` in ``map``."""
    message = Marker()
    message.header.frame_id = "map"
    message.header.stamp = time_message(stamp_ns)
    message.ns, message.id, message.type = data.namespace, data.id, _SHAPES[data.shape]
    position, orientation = message.pose.position, message.pose.orientation
    position.x, position.y, position.z = data.position
    orientation.x, orientation.y, orientation.z, orientation.w = data.orientation
    message.scale.x, message.scale.y, message.scale.z = data.scale
    colour = message.color
    colour.r, colour.g, colour.b, colour.a = data.colour
    message.points = [PointMessage(x=x, y=y, z=z) for x, y, z in data.points]
    message.text = data.text
    return message


def transform_message(frame: str, pose: Odometry, stamp_ns: int) -> Any:
    """A ``geometry_msgs/TransformStamped`` from ``map`` to a vehicle's frame."""
    message = TransformStamped()
    message.header.frame_id = "map"
    message.header.stamp = time_message(stamp_ns)
    message.child_frame_id = frame
    move, turn = message.transform.translation, message.transform.rotation
    move.x, move.y, move.z = pose.x, pose.y, pose.z
    turn.x, turn.y, turn.z, turn.w = pose.qx, pose.qy, pose.qz, pose.qw
    return message


def time_message(stamp_ns: int) -> Any:
    """A ``builtin_interfaces/Time``."""
    seconds, nanoseconds = divmod(stamp_ns, NS_PER_S)
    return Time(sec=seconds, nanosec=nanoseconds)


class Visualisation:
    """Draws what arrives, on a node.

    Parameters of the node: ``vehicles`` (names, in driving order), ``lengths``, ``widths``,
    ``heights`` [m] (one value for all, or one for each), ``odometries`` (the topic of each; default
    ``/NAME/odometry``), ``sensors`` (names of the vehicles that have an object sensor),
    ``sensor_fov_deg``, ``sensor_range_m``, ``road_file`` (OpenDRIVE, empty for none) and ``rate``
    (pictures per second of wall time).

    :param node: gives the parameters and carries publishers, readers and the timer
    :param load_roads: reads an OpenDRIVE file
    :raises ConfigurationError: a parameter is wrong
    """

    def __init__(self, node: Node, load_roads: Callable[[Path], Roads]) -> None:
        self._node = node
        self._vehicles = self._names("vehicles", ["leader", "follower1", "follower2"])
        if not self._vehicles or len(set(self._vehicles)) != len(self._vehicles):
            raise _wrong("vehicles", self._vehicles, "are names that differ")
        self._boxes = [
            MarkerBox(*size)
            for size in zip(
                self._sizes("lengths", 4.6),
                self._sizes("widths", 1.9),
                self._sizes("heights", 1.5),
                strict=True,
            )
        ]
        self._sensors = self._names("sensors", self._vehicles[1:] or [""])
        unknown = sorted(set(self._sensors) - set(self._vehicles))
        if unknown:
            raise _wrong("sensors", unknown, f"are {self._vehicles}")
        fov = self._number("sensor_fov_deg", 30.0)
        self._cone = Cone(math.radians(fov), self._number("sensor_range_m", 120.0))
        rate = self._number("rate", 25.0)
        road_file = self._text("road_file", "")

        self._stamp = 0
        odometries = self._names("odometries", [""])
        odometries = odometries or [f"/{name}/odometry" for name in self._vehicles]
        if len(set(odometries)) != len(self._vehicles):
            raise _wrong("odometries", odometries, "is one topic for each vehicle")
        vehicles = dict(zip(self._vehicles, self._boxes, strict=True))
        self._picture = ScenePicture(vehicles, self._sensors, self._cone, odometries)
        self._shown: dict[tuple[str, int], str] = {}
        self._fresh = False
        self._begins = True
        self._refused: set[str] = set()

        # A run may stand for long: what comes late is shown all that is known.
        late = PublisherEventCallbacks(matched=self._on_match)
        self._scene = make_publisher(node, MarkerArray, SCENE_TOPIC, 10, event_callbacks=late)
        self._obstacles = make_publisher(node, MarkerArray, OBSTACLE_TOPIC, _LATCHED)
        self._road = make_publisher(node, MarkerArray, ROAD_TOPIC, _LATCHED)
        self._transforms = make_publisher(
            node, TFMessage, TRANSFORM_TOPIC, 100, event_callbacks=late
        )
        if road_file:
            self._road.publish(_whole(road_markers(load_roads(Path(road_file))), 0))
        self._subscribe_all()
        # Wall time on purpose: pictures are for a person, whose time is not simulated.
        wall_timer(node, 1.0 / rate, self.draw)

    def draw(self) -> None:
        """Publish scene and transforms, if anything has changed since the last time."""
        if not self._fresh:
            return
        self._fresh = False
        scene = self._picture.scene()
        array = _array(scene, self._stamp)
        if self._begins:
            # What a former run has left in a viewer that stays open.
            array.markers.insert(0, _delete_all())
            self._begins = False
        for namespace, number in markers.vanished(self._shown, scene):
            gone = Marker(ns=namespace, id=number, action=Marker.DELETE)
            gone.header.frame_id = "map"
            array.markers.append(gone)
        self._shown = {(m.namespace, m.id): m.shape for m in scene}
        self._scene.publish(array)
        self._transforms.publish(
            TFMessage(
                transforms=[
                    transform_message(f"{name}/base_link", pose, self._stamp)
                    for name, pose in sorted(self._picture.poses.items())
                ]
            )
        )

    def _on_match(self, status: Any) -> None:
        self._fresh = self._fresh or (status.current_count_change > 0 and bool(self._picture.poses))

    def _subscribe_all(self) -> None:
        for topic, (record, take, latched) in self._picture.readers().items():
            if latched:
                self._listen(topic, record, self._then_obstacles(take), _LATCHED)
            else:
                self._listen(topic, record, take)

    def _then_obstacles(self, take: Callable[[Any], None]) -> Callable[[Any], None]:
        def taken(record: Any) -> None:
            take(record)
            self._obstacles.publish(_whole(self._picture.obstacles(), self._stamp))

        return taken

    def _listen(
        self,
        topic: str,
        record: type,
        take: Callable[[Any], None],
        qos: QoSProfile = _STREAM,
    ) -> None:
        """Subscribe to the bytes of a topic: decoding them here is much faster than rclpy's."""
        type_name = catalogue.type_name(record)
        codec = catalogue.codec(type_name)

        def receive(data: bytes) -> None:
            try:
                stamp, _, value = codec.decode(data)
            except ProtocolError as error:
                if topic not in self._refused:  # once is enough
                    self._refused.add(topic)
                    self._node.get_logger().warning(f"{topic}: {error}")
                return
            self._stamp = max(self._stamp, stamp)
            take(value)
            self._fresh = True

        guarded = until_shut_down(self._node, receive)
        name = inside(self._node, topic)
        self._node.create_subscription(message_class(type_name), name, guarded, qos, raw=True)

    def _parameter(self, name: str, default: Any) -> Any:
        # All is read once.
        told = DRAWING[name]._replace(any_type=True)
        try:
            return declare(self._node, name, default, told)
        except ConfigurationError as error:
            raise ConfigurationError(f"visualisation: {error}") from None

    def _text(self, name: str, default: str) -> str:
        value = self._parameter(name, default)
        if not isinstance(value, str):
            raise _wrong(name, value, "is a text")
        return value

    def _names(self, name: str, default: list[str]) -> list[str]:
        value = self._parameter(name, default)
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise _wrong(name, value, "is a list of names")
        return [item for item in value if item]

    def _number(self, name: str, default: float) -> float:
        value = self._parameter(name, default)
        if not _is_positive(value):
            raise _wrong(name, value, f"is {DRAWING[name].allowed}")
        return float(value)

    def _sizes(self, name: str, default: float) -> list[float]:
        value = self._parameter(name, [default])
        count = len(self._vehicles)
        values = list(value) if isinstance(value, Sequence) else [value]
        if len(values) not in (1, count) or not all(map(_is_positive, values)):
            raise _wrong(name, values, f"is one number above 0, or {count}")
        return [float(v) for v in values] * (count if len(values) == 1 else 1)


def _wrong(parameter: str, value: Any, allowed: str) -> ConfigurationError:
    return ConfigurationError(f"visualisation: {parameter}: found {value!r}; allowed {allowed}")


def _is_positive(value: Any) -> bool:
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return number and math.isfinite(value) and value > 0.0


def _delete_all() -> Any:
    marker = Marker(action=Marker.DELETEALL)
    marker.header.frame_id = "map"
    return marker


def _array(data: Sequence[MarkerData], stamp_ns: int) -> Any:
    return MarkerArray(markers=[marker_message(marker, stamp_ns) for marker in data])


def _whole(data: Sequence[MarkerData], stamp_ns: int) -> Any:
    """All markers of a topic: those that are there go first."""
    array = _array(data, stamp_ns)
    array.markers.insert(0, _delete_all())
    return array
