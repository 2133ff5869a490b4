# SPDX-License-Identifier: Apache-2.0
"""A vehicle of a running scene, and what stands in its way."""

from __future__ import annotations

from typing import NamedTuple

from ros2_cosim.carla_bridge.parameters import VehicleSpec
from ros2_cosim.interfaces.simulator import Body, Pose
from ros2_cosim.models.lane_keeping import LaneKeeper
from ros2_cosim.models.leader_driver import LeaderDriver, LongitudinalCommand
from ros2_cosim.models.manoeuvres import ManoeuvreRun
from ros2_cosim.models.road import RoadNetwork, RoadPosition, driving_direction
from ros2_cosim.models.vehicle import VEHICLES


class StaticObstacle(NamedTuple):
    """A static object as the drivers see it; ``half_length`` in m."""

    position: RoadPosition
    half_length: float


class SceneVehicle:
    """A vehicle of the running scene.

    ``steer`` and ``demand`` are what lane keeping and driver decided last; they hold before step
    ``decides_at``. ``sent`` is the control that the simulator has.
    """

    def __init__(
        self, number: int, spec: VehicleSpec, network: RoadNetwork, start: Pose, period: float
    ) -> None:
        self.number = number
        self.spec = spec
        self.start = start
        self.actor = 0
        self.body = Body((0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
        dynamics = VEHICLES[spec.dynamics]
        self.keeper = LaneKeeper(network, dynamics, spec.lane)
        self.steer = 0.0
        self.demand = LongitudinalCommand(0.0, 0.0, 0.0)
        self.decides_at = 0
        self.sent: tuple[float, float, float] | None = None
        self.obstacle: StaticObstacle | None = None
        self.driver: LeaderDriver | None = None
        self.manoeuvre: ManoeuvreRun | None = None
        self.travelled = 0.0
        if spec.driver is not None:
            self.driver = LeaderDriver(
                dynamics,
                cruise_speed=max(spec.speed, 0.1),
                stop_gap=spec.driver.stop_gap,
                deceleration=spec.driver.deceleration,
                period=period,
            )
            if spec.driver.manoeuvre:
                self.manoeuvre = ManoeuvreRun(spec.driver.manoeuvre, spec.speed)

    def gap_to(self, obstacle: StaticObstacle, network: RoadNetwork) -> float | None:
        """Way from the front bumper to an obstacle [m], None if it is not ahead in the lane."""
        position, lane = self.keeper.position, self.keeper.lane_id
        if position is None or obstacle.position.lane_id != lane:
            return None
        way = driving_direction(lane) * network.distance(position, obstacle.position)
        half_length = self.body.extent[0]
        gap = way - obstacle.half_length - half_length
        return gap if gap > -half_length else None
