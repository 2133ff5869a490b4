# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The frames of CARLA's ROS bridge: vehicles in the map, sensors on them."""

from __future__ import annotations

from typing import Any

from ros2_cosim.core.messages.catalogue import DEFAULT as CATALOGUE
from ros2_cosim.core.scene.scene import SceneSettings
from ros2_cosim.core.scene.sensors import SensorForm
from ros2_cosim.driving.ros_bridge.ros_bridge_ports import bridge_frame
from ros2_cosim.driving.ros_bridge.seen import SeenWorld
from ros2_cosim.driving.seams.message_parts import MessageParts
from ros2_cosim.world.map import frames

#: From the mount of a camera, x ahead, to its optical frame: z ahead, x to the right.
_OPTICAL = (-0.5, 0.5, -0.5, 0.5)


class FrameMessages:
    """Makes ``tf2_msgs/TFMessage``."""

    def __init__(self, scene: SceneSettings) -> None:
        self._message: Any = CATALOGUE.record("tf2_msgs/msg/TFMessage")
        self._stamped: Any = CATALOGUE.part("geometry_msgs/msg/TransformStamped")
        self._transform: Any = CATALOGUE.part("geometry_msgs/msg/Transform")
        self._part = MessageParts(CATALOGUE)
        self._mounts = []
        for name, sensor in scene.sensors.items():
            turn = frames.quaternion_from_rpy(sensor.roll, sensor.pitch, sensor.yaw)
            if sensor.form is SensorForm.IMAGE:
                turn = frames.multiply(turn, _OPTICAL)
            place = (sensor.x, sensor.y, sensor.z)
            self._mounts.append((sensor.vehicle, bridge_frame(sensor.vehicle, name), place, turn))

    def make(self, seen: SeenWorld) -> Any:
        """The frames of all vehicles that are known, and of their sensors."""
        found = []
        for name, vehicle in seen.vehicles.items():
            o = vehicle.odometry
            place, turn = (o.x, o.y, o.z), (o.qx, o.qy, o.qz, o.qw)
            found.append(self._one(seen.time, "map", bridge_frame(name), place, turn))
        for name, frame, place, turn in self._mounts:
            if name in seen.vehicles:
                found.append(self._one(seen.time, bridge_frame(name), frame, place, turn))
        return self._message(tuple(found))

    def _one(
        self, time: int, parent: str, child: str, place: frames.Vector, turn: frames.Quaternion
    ) -> Any:
        part = self._part
        move = self._transform(part.vector(*place), part.quaternion(*turn))
        return self._stamped(part.header(time, parent), child, move)
