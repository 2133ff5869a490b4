# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Pedestrians and objects of a storyboard: they are where their actions say, without physics."""

from __future__ import annotations

from ros2_cosim.core.kernel.exactmath import atan2
from ros2_cosim.core.messages.records import Odometry
from ros2_cosim.driving.openscenario.motion import STANDS, Mover
from ros2_cosim.driving.openscenario.story import Trajectory, Walking, Where
from ros2_cosim.driving.openscenario.traffic import Traffic
from ros2_cosim.driving.openscenario.trajectories import (
    PlannedPose,
    TrajectoryRun,
    far_from,
    ground_odometry,
    pose_of,
)

_NS = 1e9
#: Its direction on a trajectory is that to the point so far ahead [m].
_AHEAD = 0.01


class Walker(Mover):
    """Goes straight ahead, or along a trajectory and behind its end straight ahead.

    :param start: where and how fast
    """

    _walks = True

    def __init__(self, name: str, start: Walking) -> None:
        super().__init__(name, start.speed)
        self._centre = start.box.centre
        #: Of the point that places mean.
        self._pose = PlannedPose(start.x, start.y, start.heading)
        self._time = 0
        self._trajectory: TrajectoryRun | None = None

    def follow(self, action: Trajectory, traffic: Traffic) -> TrajectoryRun:
        """Begin a FollowTrajectoryAction.

        :raises ConfigurationError: it has no length, or its times do not grow
        """
        self._trajectory = found = TrajectoryRun(action, self.name, traffic)
        if found.is_timed:
            self._drive(found)
        return found

    def teleport(self, where: Where, traffic: Traffic) -> None:
        """Begin a TeleportAction: it goes on from there."""
        self._pose, self._trajectory = pose_of(where, traffic), None

    def vanish(self, traffic: Traffic) -> None:
        """It is out of the world from now on."""
        self._speed = 0.0
        self._drive(STANDS)
        self._pose, self._trajectory = far_from(self._pose, self.name, traffic), None

    def advance(self, time: int) -> None:
        """Go on to a time [ns], as it was last told."""
        way = self._speed * (time - self._time) / _NS
        self._time = time
        line = self._trajectory
        if line is not None:
            path = line.path
            here = path.way
            path.way = min(here + way, path.length)
            way -= path.way - here
            (x, y), (u, v) = path.at(path.way), path.at(path.way + _AHEAD)
            self._pose = PlannedPose(x, y, atan2(v - y, u - x))
            if path.way >= path.length:
                self._trajectory = None
        self._pose = self._pose.ahead(way, 0.0, 0.0)

    def decide(self, traffic: Traffic) -> None:
        """Take the speed that its action wants from now on."""
        self._speed = self._longitudinal.motion(traffic.time, traffic).speed

    def odometry(self, traffic: Traffic) -> Odometry:
        """Where it is, and how fast."""
        return ground_odometry(self._pose.ahead(self._centre, 0.0, 0.0), self._speed, traffic)
