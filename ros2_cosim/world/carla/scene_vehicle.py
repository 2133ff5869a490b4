# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A vehicle of a running scene, what stands in its way, and what is moved by commands."""

from __future__ import annotations

from typing import NamedTuple

from ros2_cosim.core.messages.records import Odometry
from ros2_cosim.core.scene.simulator import Body, Pose
from ros2_cosim.world.carla.lights import NONE_AHEAD
from ros2_cosim.world.carla.parameters import VehicleSpec
from ros2_cosim.world.drivers.lane_keeping import LaneKeeper
from ros2_cosim.world.drivers.leader_driver import LeaderDriver, LongitudinalCommand
from ros2_cosim.world.drivers.light_stop import LightStop
from ros2_cosim.world.drivers.manoeuvres import ManoeuvreRun
from ros2_cosim.world.map import RoadNetwork, RoadPosition, driving_direction, frames
from ros2_cosim.world.vehicle import VEHICLES, loaded


class StaticObstacle(NamedTuple):
    """A static object as the drivers see it; ``half_length`` in m."""

    position: RoadPosition
    half_length: float


class PlacedObject:
    """An object that commands move: it goes on from its last place with the velocity given there.

    :param height: of the actor's origin above the ground [m]
    :param start: where it is at first
    """

    def __init__(self, number: int, actor: int, body: Body, height: float, start: Odometry) -> None:
        self.number = number
        self.actor = actor
        self.body = body
        self.height = height
        self._place = start
        self._since = 0

    def put(self, there: Odometry, step: int) -> None:
        """Be there at a step."""
        self._place, self._since = there, step

    def at(self, step: int, step_s: float) -> Odometry:
        """Where it is at a step, ``step_s`` [s] long; it does not turn on its own."""
        place = self._place
        time = (step - self._since) * step_s
        dx, dy, dz = frames.body_to_world(place[3:7], place[7:10])
        return place._replace(x=place.x + dx * time, y=place.y + dy * time, z=place.z + dz * time)


class SceneVehicle:
    """A vehicle of the running scene.

    ``steer`` and ``demand`` are what lane keeping and driver decided last; they hold before step
    ``decides_at``. ``sent`` is the control that the simulator has,
    ``light`` the traffic light that is next.
    """

    def __init__(
        self, number: int, spec: VehicleSpec, network: RoadNetwork, start: Pose, period: float
    ) -> None:
        self.number = number
        self.spec = spec
        self.start = start
        self.start_speed = spec.speed
        self.actor = 0
        self.body = Body((0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
        # Its driver and its lane keeping know what the file says of its steering alone.
        dynamics = loaded(
            VEHICLES[spec.dynamics], 0.0, 0.0, max_steer_angle=spec.size.max_steer_angle
        )
        self.keeper = LaneKeeper(
            network, dynamics, spec.lane, driving_direction(spec.lane) * spec.offset
        )
        self.steer = 0.0
        self.demand = LongitudinalCommand(0.0, 0.0, 0.0)
        self.decides_at = 0
        self.sent: tuple[float, float, float] | None = None
        self.obstacle: StaticObstacle | None = None
        self.driver: LeaderDriver | None = None
        self.manoeuvre: ManoeuvreRun | None = None
        self.travelled = 0.0
        self.light = NONE_AHEAD
        self.light_stop = LightStop()
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

    def keep_anew(self, network: RoadNetwork, there: Odometry) -> None:
        """It has been put elsewhere: keep the lane of that place, if it is in one."""
        lane = network.project(there.x, there.y, None, there.z).lane_id
        self.keeper = LaneKeeper(network, self.keeper.parameters, lane or self.keeper.lane_id)
        self.obstacle = None
        self.decides_at = 0

    def gap_to(self, obstacle: StaticObstacle, network: RoadNetwork) -> float | None:
        """Way from the front bumper to an obstacle [m], None if it is not ahead in the lane."""
        position, lane = self.keeper.position, self.keeper.lane_id
        if position is None or obstacle.position.lane_id != lane:
            return None
        way = driving_direction(lane) * network.distance(position, obstacle.position)
        half_length = self.body.extent[0]
        gap = way - obstacle.half_length - half_length
        return gap if gap > -half_length else None
