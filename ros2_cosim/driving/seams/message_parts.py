# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Messages that many standard messages are built of."""

from __future__ import annotations

from typing import Any

from ros2_cosim.core.messages.catalogue import Catalogue
from ros2_cosim.core.messages.cdr import NS_PER_S
from ros2_cosim.core.messages.records import Odometry


class MessageParts:
    """Makes them by the records of a catalogue.

    ``vector``, ``point``, ``quaternion`` take their numbers, ``pose_of`` a point and a quaternion,
    ``posed`` a pose and its covariance, ``moving`` a twist and its covariance.
    """

    def __init__(self, catalogue: Catalogue) -> None:
        geometry = "geometry_msgs/msg/"
        self.vector: Any = catalogue.part(f"{geometry}Vector3")
        self.point: Any = catalogue.part(f"{geometry}Point")
        self.quaternion: Any = catalogue.part(f"{geometry}Quaternion")
        self.pose_of: Any = catalogue.part(f"{geometry}Pose")
        self.posed: Any = catalogue.part(f"{geometry}PoseWithCovariance")
        self.moving: Any = catalogue.part(f"{geometry}TwistWithCovariance")
        self._accel: Any = catalogue.part(f"{geometry}Accel")
        self._twist: Any = catalogue.part(f"{geometry}Twist")
        self._header: Any = catalogue.part("std_msgs/msg/Header")
        self._time: Any = catalogue.part("builtin_interfaces/msg/Time")

    def pose(self, o: Odometry) -> Any:
        """The pose in an odometry."""
        return self.pose_of(self.point(o.x, o.y, o.z), self.quaternion(o.qx, o.qy, o.qz, o.qw))

    def twist(self, linear: tuple[float, float, float], angular: tuple[float, float, float]) -> Any:
        """A twist of its two vectors."""
        return self._twist(self.vector(*linear), self.vector(*angular))

    def accel(self, linear: tuple[float, float, float]) -> Any:
        """An acceleration [m/s^2]; that of rates is not known."""
        return self._accel(linear=self.vector(*linear))

    def header(self, time: int, frame_id: str) -> Any:
        """A header with a time in ns."""
        return self._header(self._time(*divmod(time, NS_PER_S)), frame_id)
