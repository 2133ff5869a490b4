# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Steering that keeps a vehicle on the centre of its lane.

Pure pursuit (R. C. Coulter, CMU-RI-TR-92-01, 1992) from the centre of gravity, relative to the
course instead of the heading, so that the slip angle in a curve leaves no offset; the wheel
angle for the wanted curvature comes from the vehicle's understeer.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.exactmath import atan
from ros2_cosim.core.messages.records import Odometry
from ros2_cosim.world.map import (
    OFF_ROAD,
    RoadError,
    RoadNetwork,
    RoadPosition,
    driving_direction,
    lateral_error,
)
from ros2_cosim.world.map.frames import forward_axis
from ros2_cosim.world.vehicle.parameters import GRAVITY, VehicleParameters

MIN_LOOKAHEAD: Final = 6.0
LOOKAHEAD_TIME: Final = 0.8
# Below this speed the course is too noisy to be told from the heading [m/s].
_COURSE_SPEED: Final = 1.0
# Further than ways in bends differ from stations in one call [m].
_MORE_WAY: Final = 5.0


def understeer_gradient(p: VehicleParameters) -> float:
    """Wheel angle needed per lateral acceleration beyond the kinematic one [rad s^2/m]."""
    return (1.0 / p.front_stiffness - 1.0 / p.rear_stiffness) / GRAVITY


class LaneKeeper:
    """Steers one vehicle along one lane; remembers where it was, so call it in order of time.

    A change of lane is a smooth shift: the point that is steered to moves from the centre of one
    lane to that of the other, without a jump of the lateral acceleration (minimum jerk; T. Flash,
    N. Hogan, J. Neurosci. 5 (1985)).

    ``position`` and ``lateral_error`` [m, positive to the left] are those of the last call.
    """

    __slots__ = (
        "_offset", "_progress", "_shape", "_shift", "_shift_rate", "_understeer", "_wheelbase",
        "lane_id", "lateral_error", "network", "parameters", "position",
    )  # fmt: skip

    def __init__(
        self,
        network: RoadNetwork,
        parameters: VehicleParameters,
        lane_id: int,
        offset: float = 0.0,
    ) -> None:
        """Keep the lane with this id, and the lanes that follow it.

        :param offset: of the line that is kept from the lane's centre, towards larger t [m]
        :raises ConfigurationError: lane_id is 0, which is not a lane
        """
        if lane_id == 0:
            raise ConfigurationError("lane keeping: lane_id=0 is not a lane; ids are 1, -1, 2, ...")
        self.network = network
        self.parameters = parameters
        self.lane_id = lane_id
        self.position: RoadPosition | None = None
        self.lateral_error = 0.0
        # Of a change of lane: how much is left at its begin [m], done 0..1, and per call.
        self._shift = 0.0
        self._progress = 1.0
        self._shift_rate = 1.0
        self._shape: Callable[[float], float] = _minimum_jerk
        # Of the line that is kept, from the centre of the lane towards larger t [m].
        self._offset = offset
        self._understeer = understeer_gradient(parameters)
        self._wheelbase = parameters.wheelbase

    def steer(self, odometry: Odometry, position: RoadPosition | None = None) -> float:
        """Steering command -1..1, positive to the left.

        :param position: where the vehicle is on the road, if the caller knows it already
        :raises RoadError: the lane does not exist where the vehicle is
        """
        position = self._locate(odometry, position)
        self.lateral_error = lateral_error(self.network, position, self.lane_id)
        speed = max(odometry.vx, 0.0)
        lookahead = max(MIN_LOOKAHEAD, LOOKAHEAD_TIME * speed)
        road_id, lane_id, s = self.network.advance(
            position.road_id, self.lane_id, position.s, lookahead
        )
        if self._progress < 1.0 or self._offset != 0.0:
            x, y = self._shifted(road_id, lane_id, s)
        else:
            x, y = self.network.lane_point(road_id, lane_id, s)
        return self.steer_to(odometry, x, y)

    def steer_to(self, odometry: Odometry, x: float, y: float) -> float:
        """Steering command -1..1 that leads through a point of the map ahead."""
        speed = max(odometry.vx, 0.0)
        curvature = self._pursue(odometry, x - odometry.x, y - odometry.y)
        angle = atan(self._wheelbase * curvature) + self._understeer * speed * speed * curvature
        return min(max(angle / self.parameters.max_steer_angle, -1.0), 1.0)

    def change_lane(
        self,
        lane_id: int,
        calls: int,
        *,
        offset: float = 0.0,
        shape: Callable[[float], float] | None = None,
        against: bool = False,
    ) -> None:
        """Begin to change to another lane of the road, or to another place in the own one.

        :param calls: so many calls of :meth:`steer` it takes
        :param offset: of the line that is kept then from the lane's centre, positive towards
            larger t [m]
        :param shape: share of the way that is done, over the share of time; both 0..1
        :param against: whether it may be a lane of the other direction, driven along against that
        :raises ConfigurationError: the road has no such driving lane here
        """
        here = self.position
        if here is None:
            raise ConfigurationError("lane keeping: a change of lane needs a first position")
        lanes = [
            lane
            for lane in self.network.lane_ids(here.road_id, here.s, "driving")
            if against or (lane > 0) == (self.lane_id > 0)
        ]
        if lane_id != self.lane_id and lane_id not in lanes:
            raise ConfigurationError(
                f"lane change: found lane {lane_id}; allowed on road {here.road_id} at s="
                f"{here.s:.1f} m are {', '.join(map(str, lanes))}"
            )
        left = (1.0 - self._shape(self._progress)) * self._shift
        own = self.network.lane_centre(here.road_id, self.lane_id, here.s)
        centre = self.network.lane_centre(here.road_id, lane_id, here.s)
        self._shift = own + self._offset + left - (centre + offset)
        if (lane_id > 0) != (self.lane_id > 0):
            # The way is still that of the own lane: the other one is a place beside it.
            lane_id, offset = self.lane_id, centre + offset - own
        self._offset = offset
        self._shape = shape or _minimum_jerk
        self._progress = 0.0
        self._shift_rate = 1.0 / max(calls, 1)
        self.lane_id = lane_id

    def _shifted(self, road_id: int, lane_id: int, s: float) -> tuple[float, float]:
        """The point of the lane's centre, with what is left of a change of lane."""
        self._progress = min(1.0, self._progress + self._shift_rate)
        left = (1.0 - self._shape(self._progress)) * self._shift
        centre = self.network.lane_centre(road_id, lane_id, s) + self._offset
        x, y, _, _ = self.network.pose(road_id, s, centre + left)
        return x, y

    def _locate(self, odometry: Odometry, known: RoadPosition | None) -> RoadPosition:
        """Project onto the road; where the lane's id changes on the way, follow it."""
        network, before = self.network, self.position
        here = known or network.project(odometry.x, odometry.y, before)
        self.position = here
        if before is None:
            return here
        lanes = network.road(here.road_id).lanes
        if here.road_id != before.road_id or (
            len(lanes.sections) > 1 and lanes.index(here.s) != lanes.index(before.s)
        ):
            self.lane_id = self._lane_behind(before, here)
        return here

    def _lane_behind(self, before: RoadPosition, here: RoadPosition) -> int:
        """The id of the lane on another road or section, the lane there where it does not go on.

        In a junction a vehicle that is pushed off its way is taken where it is.
        """
        network = self.network
        lane_id = self.lane_id
        try:
            way = network.distance(before, here) * driving_direction(lane_id)
            way = max(way, 0.0)
            road_id, lane_id, _ = network.advance(before.road_id, lane_id, before.s, way)
            if road_id != here.road_id:
                lane_id = self._lane_on(here.road_id, before, way)
        except RoadError:
            if not network.junctions:
                raise
        known = network.roads[here.road_id].lanes.section(here.s).lanes
        return lane_id if lane_id in known or here.lane_id == OFF_ROAD else here.lane_id

    def _lane_on(self, road_id: int, before: RoadPosition, way: float) -> int:
        """The id of the lane on a road that was entered a little earlier than the way says.

        Ways in bends are measured beside the reference line, stations along it.
        """
        for stretch in self.network.lane_ahead(
            before.road_id, self.lane_id, before.s, way + _MORE_WAY
        ):
            if stretch.road_id == road_id:
                return stretch.lane_id
        return self.lane_id

    @staticmethod
    def _pursue(odometry: Odometry, dx: float, dy: float) -> float:
        """Curvature [1/m] of the circle along the course through a point (map frame offset)."""
        # Body x axis on the ground, turned by the slip angle.
        cos, sin = forward_axis(odometry.qx, odometry.qy, odometry.qz, odometry.qw)
        slip = odometry.vy / odometry.vx if odometry.vx > _COURSE_SPEED else 0.0
        square = dx * dx + dy * dy
        across = (dy * cos - dx * sin) - slip * (dx * cos + dy * sin)
        return 2.0 * across / square if square > 1.0 else 0.0


def _minimum_jerk(share: float) -> float:
    """From 0 to 1 with neither speed nor acceleration at both ends."""
    return share * share * share * (10.0 + share * (6.0 * share - 15.0))
