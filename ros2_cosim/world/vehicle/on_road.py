# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A vehicle on a road network: follows the road's height and knows where on the road it is.

Beside the roads it stands on the land, where there is one, with each of its wheels.
"""

from __future__ import annotations

from typing import Final

from ros2_cosim.core.kernel.exactmath import atan, sincos
from ros2_cosim.core.messages.records import Acceleration, Odometry
from ros2_cosim.world.map import OFF_ROAD, RoadNetwork, RoadPosition
from ros2_cosim.world.map.frames import Quaternion, quaternion_from_rpy
from ros2_cosim.world.vehicle.beside import LandHeights, lie_beside
from ros2_cosim.world.vehicle.parameters import VehicleParameters
from ros2_cosim.world.vehicle.vehicle import ActuatorCommand, Vehicle
from ros2_cosim.world.vehicle.wheel_ground import TYPICAL_TRACK

#: A road rises by no more under a vehicle in one step [m]: what does is above it.
_MOST_RISE: Final = 2.5
#: A road bends by so much [m] between the middle of a vehicle and its wheels.
_BEND: Final = 0.2


class RoadVehicle:
    """A vehicle, its road position and its attitude.

    ``z`` [m], ``roll`` and ``pitch`` [rad, fixed axes: positive pitch is nose down] follow
    from the road under the reference point. Gravity pulls along the slope in the vehicle's
    direction, and across by the bank of the road (superelevation). ``is_beside`` says whether a
    wheel is on the land.
    """

    __slots__ = (
        "_bank", "_land", "_settled_at", "_slope", "is_beside", "network", "pitch", "position",
        "roll", "vehicle", "z",
    )  # fmt: skip

    def __init__(
        self,
        network: RoadNetwork,
        vehicle: Vehicle,
        z: float | None = None,
        land: LandHeights | None = None,
    ) -> None:
        """Lie down on the road below the vehicle.

        :param z: height [m] near which the road is, where roads lie above each other
        :param land: the land around the roads; None: the road's surface goes on beside it
        """
        self.network = network
        self._land = land
        self.is_beside = False
        self.vehicle = vehicle
        self.position = network.project(vehicle.x, vehicle.y, z=z)
        self.z = network.pose(self.position.road_id, self.position.s, self.position.t)[2]
        self.pitch = self.roll = self._slope = self._bank = 0.0
        self.settle()

    @classmethod
    def on_lane(
        cls,
        network: RoadNetwork,
        parameters: VehicleParameters,
        road_id: int,
        lane_id: int,
        s: float,
        speed: float = 0.0,
    ) -> RoadVehicle:
        """Place a vehicle on the centre of a lane in driving direction.

        In a curve it starts with the yaw rate that the curve needs.

        :raises RoadError: there is no such place
        """
        x, y, _, heading = network.lane_pose(road_id, lane_id, s)
        vehicle = Vehicle(parameters, x, y, heading, speed)
        curvature = network.curvature(road_id, s, network.lane_centre(road_id, lane_id, s))
        vehicle.yaw_rate = speed * (curvature if lane_id < 0 else 0.0 - curvature)
        return cls(network, vehicle)

    def step(self, dt: float, control: ActuatorCommand) -> None:
        """Move by ``dt`` seconds; see ``Vehicle.step``."""
        vehicle = self.vehicle
        vehicle.step(dt, control, self._slope, self._bank)
        if (vehicle.x, vehicle.y, vehicle.yaw) != self._settled_at:
            self.settle()

    def settle(self) -> None:
        """Find the road below and lie down on it."""
        vehicle = self.vehicle
        self._settled_at = vehicle.x, vehicle.y, vehicle.yaw
        network = self.network
        position = network.project(vehicle.x, vehicle.y, self.position, self.z)
        self.position = position
        road_id, along, across, _, heading = position
        road = network.roads[road_id]
        z, slope, cross = road.surface(along, across)
        land = self._land
        if land is not None and not self._is_on_lanes(position, z):
            found = lie_beside(network, land, vehicle, position, self.z)
            if found is not None:
                self.is_beside = True
                self.z, self._slope, self._bank = found.z, found.slope, found.cross
                self.pitch, self.roll = found.pitch, found.roll
                return
        self.is_beside = False
        self.z = z
        if slope == 0.0 and cross == 0.0:
            self.pitch = self.roll = self._slope = self._bank = 0.0
            return
        s, c = sincos(vehicle.yaw - heading)
        self._slope = slope * c + cross * s
        # What a hill adds across a vehicle that does not head along the road is left to the tyres.
        self._bank = cross * c
        self.pitch = 0.0 - atan(self._slope)
        self.roll = 0.0 - atan(slope * s - cross * c)

    def _is_on_lanes(self, position: RoadPosition, z: float) -> bool:
        """Whether all wheels are on lanes of the road below, which is so high [m]."""
        road_id, along, across, lane_id, heading = position
        road = self.network.roads[road_id]
        if lane_id == OFF_ROAD or z - self.z > _MOST_RISE or not 0.0 < along < road.line.length:
            return False
        right, left = road.lanes.edges(along)
        room = across - right if across - right < left - across else left - across
        p = self.vehicle.parameters
        half = 0.5 * TYPICAL_TRACK * p.width
        length = p.front_axle if p.front_axle > p.rear_axle else p.rear_axle
        if room >= half + length:
            return True
        s, c = sincos(self.vehicle.yaw - heading)
        return room >= half * abs(c) + length * abs(s) + _BEND

    def slopes(self) -> tuple[float, float]:
        """Slopes of the ground along x and y of the map."""
        if self.is_beside:
            s, c = sincos(self.vehicle.yaw)
            return self._slope * c - self._bank * s, self._slope * s + self._bank * c
        place = self.position
        _, slope, cross = self.network.roads[place.road_id].surface(place.s, place.t)
        s, c = sincos(place.heading)
        return slope * c - cross * s, slope * s + cross * c

    def orientation(self) -> Quaternion:
        """Orientation in ``map``."""
        return quaternion_from_rpy(self.roll, self.pitch, self.vehicle.yaw)

    def odometry(self) -> Odometry:
        """Pose in ``map`` and twist in the body frame."""
        v = self.vehicle
        return Odometry(
            v.x, v.y, self.z, *self.orientation(), v.vx, v.vy, 0.0, 0.0, 0.0, v.yaw_rate
        )

    def acceleration(self) -> Acceleration:
        """Acceleration in the body frame, without gravity."""
        return Acceleration(self.vehicle.ax, self.vehicle.ay, 0.0)


def road_position(
    network: RoadNetwork, odometry: Odometry, hint: RoadPosition | None = None
) -> RoadPosition:
    """Where on the road a vehicle is that is known by its odometry."""
    return network.project(odometry.x, odometry.y, hint)
