# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The ground below the four wheels of a vehicle: where it lies, how it slopes and is twisted."""

from __future__ import annotations

from typing import Final, Protocol

from ros2_cosim.core.kernel.exactmath import atan, sincos, sqrt
from ros2_cosim.world.map import RoadNetwork, RoadPosition
from ros2_cosim.world.vehicle.parameters import VehicleParameters
from ros2_cosim.world.vehicle.vehicle import Vehicle

WHEELS: Final = 4
#: Between the wheels of an axle, as a share of the width of the vehicle, if nothing is known.
TYPICAL_TRACK: Final = 0.84


class Ground(Protocol):
    """Something that vehicles stand on."""

    def height(self, wheel: int, x: float, y: float) -> float:
        """Height of the ground at a place [m].

        :param wheel: 0 to 3, which asks: its former place helps to find the next one
        """


class RoadGround:
    """The surface of roads, below one vehicle.

    :param network: the roads
    :param z: height near which the road is, where roads lie above each other [m]
    """

    def __init__(self, network: RoadNetwork, z: float | None = None) -> None:
        self._network = network
        self._found: list[RoadPosition | None] = [None] * WHEELS
        self._heights: list[float | None] = [z] * WHEELS

    def height(self, wheel: int, x: float, y: float) -> float:
        """Height of the road; beside it, of its surface drawn on."""
        network = self._network
        place = network.project(x, y, self._found[wheel], self._heights[wheel])
        self._found[wheel] = place
        z = network.roads[place.road_id].surface(place.s, place.t)[0]
        self._heights[wheel] = z
        return z


class WheelGround:
    """What the ground below four wheels means for the vehicle.

    ``z`` [m] lies below the centre of gravity. ``slope`` and ``cross`` are the rise over run ahead
    and to the left, ``roll`` and ``pitch`` [rad] the attitude of a vehicle that stands on it (fixed
    axes: positive pitch is nose down), ``roll_rate`` and ``pitch_rate`` [rad/s] how these change,
    ``twist`` [rad] is the roll below the front axle less that below the rear one.

    :param ground: tells the heights
    :param parameters: where the axles are
    :param track: between the wheels of an axle [m]
    """

    def __init__(self, ground: Ground, parameters: VehicleParameters, track: float) -> None:
        self._ground = ground
        front, rear, half = parameters.front_axle, -parameters.rear_axle, 0.5 * track
        self._places = ((front, half), (front, -half), (rear, half), (rear, -half))
        self._wheelbase = front - rear
        self._rear_axle = parameters.rear_axle
        self._track = track
        self.z = self.slope = self.cross = self.twist = 0.0
        self.roll = self.pitch = self.roll_rate = self.pitch_rate = 0.0

    def settle(self, vehicle: Vehicle, dt: float | None = None) -> None:
        """Look at the ground below each wheel.

        :param dt: since the last look [s]; None: the vehicle has just been put there
        """
        sine, cosine = sincos(vehicle.yaw)
        heights = [
            self._ground.height(
                number,
                vehicle.x + ahead * cosine - left * sine,
                vehicle.y + ahead * sine + left * cosine,
            )
            for number, (ahead, left) in enumerate(self._places)
        ]
        front, rear = 0.5 * (heights[0] + heights[1]), 0.5 * (heights[2] + heights[3])
        self.slope = (front - rear) / self._wheelbase
        self.z = rear + self.slope * self._rear_axle
        below_front = (heights[0] - heights[1]) / self._track
        below_rear = (heights[2] - heights[3]) / self._track
        self.cross = 0.5 * (below_front + below_rear)
        self.twist = atan(below_front) - atan(below_rear)
        pitch = 0.0 - atan(self.slope)
        roll = atan(self.cross / sqrt(1.0 + self.slope * self.slope))
        if dt is not None:
            self.roll_rate = (roll - self.roll) / dt
            self.pitch_rate = (pitch - self.pitch) / dt
        self.roll, self.pitch = roll, pitch
