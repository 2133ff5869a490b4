# SPDX-License-Identifier: Apache-2.0
"""The CARLA functional part: builds a scene in a simulator, steps it, reads it.

Whoever uses a scene owns simulated time: state n belongs to time n * step. The scene drives
the vehicles that have a driver of their own, keeps the others in their lane where a command
leaves the steering open, and turns CARLA's values into records (REP-103, SI).
"""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite, isnan
from typing import NamedTuple

from ros2_cosim.carla_bridge.observation import Reading, carla_pose, reading, static_object
from ros2_cosim.carla_bridge.parameters import ObjectSpec, SceneParameters, VehicleSpec
from ros2_cosim.carla_bridge.simulator import Body, Contact, Pose, Simulator
from ros2_cosim.interfaces.records import (
    CollisionEvent,
    ControlCommand,
    StaticObject,
    StaticObjects,
)
from ros2_cosim.kernel.errors import ConfigurationError, RunError
from ros2_cosim.kernel.exactmath import float32, hypot
from ros2_cosim.models import frames
from ros2_cosim.models.lane_keeping import LaneKeeper
from ros2_cosim.models.leader_driver import LeaderDriver, LongitudinalCommand
from ros2_cosim.models.road import LanePoint, RoadNetwork, RoadPosition, driving_direction
from ros2_cosim.models.vehicle import VEHICLES, pedals_for

FIRST_OBJECT_ID = 101
_SPAWN_HEIGHT = 0.3  # above the road, so that wheels do not start inside it
_NS = 1e9


class SceneCollision(NamedTuple):
    """A contact that began at state ``step``."""

    step: int
    event: CollisionEvent


class _Obstacle(NamedTuple):
    """A static object as the drivers see it; ``half_length`` in m."""

    position: RoadPosition
    half_length: float


class _Vehicle:
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
        self.obstacle: _Obstacle | None = None
        self.driver: LeaderDriver | None = None
        if spec.driver is not None:
            self.driver = LeaderDriver(
                dynamics,
                cruise_speed=max(spec.speed, 0.1),
                stop_gap=spec.driver.stop_gap,
                deceleration=spec.driver.deceleration,
                period=period,
            )

    def gap_to(self, obstacle: _Obstacle, network: RoadNetwork) -> float | None:
        """Way from the front bumper to an obstacle [m], None if it is not ahead in the lane."""
        position, lane = self.keeper.position, self.keeper.lane_id
        if position is None or obstacle.position.lane_id != lane:
            return None
        way = driving_direction(lane) * network.distance(position, obstacle.position)
        half_length = self.body.extent[0]
        gap = way - obstacle.half_length - half_length
        return gap if gap > -half_length else None


class Scene:
    """A scene in a simulator. Vehicles are numbered from 1 in the order of the parameters."""

    def __init__(self, simulator: Simulator, parameters: SceneParameters) -> None:
        """Nothing happens in the simulator before ``initialise``."""
        self._simulator = simulator
        self._parameters = parameters
        self._step_s = parameters.step_ns / _NS
        self._vehicles: dict[str, _Vehicle] = {}
        self._numbers: dict[int, int] = {}
        self._readings: dict[str, Reading] = {}
        self._objects: tuple[StaticObject, ...] = ()
        self._obstacles: list[_Obstacle] = []
        self._steps = 0
        self._control_steps = parameters.control_steps
        self._touching: dict[tuple[int, int], int] = {}
        self._network: RoadNetwork | None = None

    def initialise(self) -> None:
        """Set up the world, spawn everything and reach state 0.

        :raises ConnectionFailedError: no simulator answers
        :raises ConfigurationError: map, blueprint or start position are not usable
        """
        parameters = self._parameters
        try:
            self._simulator.prepare(parameters.map, parameters.weather, self._step_s)
            self._network = RoadNetwork.from_xodr(self._simulator.opendrive(), "map of the scene")
            self._spawn_vehicles(self._network)
            self._spawn_objects(self._network)
            self._settle()
            self._observe()
            self._steps = 0
        except BaseException:
            self.dismantle()
            raise

    def step(self, commands: Mapping[str, ControlCommand | None]) -> None:
        """Advance by one step.

        :param commands: vehicle name -> command for the step; NaN as ``steer`` means lane
            keeping, a vehicle without command coasts in its lane; vehicles with a driver of
            their own take no commands
        :raises ConfigurationError: a command for a vehicle that takes none
        :raises RunError: a command that is not a finite number
        :raises ConnectionFailedError: the simulator went away
        """
        for name in commands:
            if name not in self._vehicles or self._vehicles[name].driver:
                raise ConfigurationError(
                    f"no vehicle '{name}' takes commands; those that do: "
                    + ", ".join(v.spec.name for v in self._vehicles.values() if not v.driver)
                )
        for name, vehicle in self._vehicles.items():
            control = self._control(vehicle, commands.get(name))
            if control != vehicle.sent:
                vehicle.sent = throttle, brake, steer = control
                steer = frames.steer_to_carla(steer)
                self._simulator.control(vehicle.actor, throttle, steer, brake)
        self._simulator.tick()
        self._steps += 1
        self._observe()

    def read(self) -> Mapping[str, Reading]:
        """Odometry and acceleration of every vehicle in the current state."""
        if not self._readings:
            raise RunError("the scene is not initialised")
        return self._readings

    def dimensions(self) -> Mapping[str, tuple[float, float, float]]:
        """Length, width and height of every vehicle [m]."""
        return {
            name: (2.0 * x, 2.0 * y, 2.0 * z)
            for name, vehicle in self._vehicles.items()
            for x, y, z in (vehicle.body.extent,)
        }

    def static_objects(self) -> StaticObjects:
        """All static objects, numbered from ``FIRST_OBJECT_ID``."""
        return StaticObjects(self._objects)

    def collisions(self) -> tuple[SceneCollision, ...]:
        """Contacts that began, as far as known since the last call.

        They are known ``simulator.CONTACT_DELAY_TICKS`` steps after they happened.
        A contact lasts as long as it is felt step after step; only its begin is reported.
        Ids are those of vehicles and static objects, 0 stands for anything else.
        """
        begun = []
        for contact in self._simulator.contacts():
            pair = (contact.actor, contact.other)
            if self._touching.get(pair) != contact.tick - 1:
                begun.append(self._collision(contact))
            self._touching[pair] = contact.tick
        return tuple(begun)

    def dismantle(self) -> None:
        """Remove everything from the simulator and let it run freely again; never raises."""
        self._simulator.close()
        self._vehicles.clear()
        self._readings = {}

    # Internals ---------------------------------------------------------------------------

    def _spawn_vehicles(self, network: RoadNetwork) -> None:
        for number, spec in enumerate(self._parameters.vehicles, start=1):
            start = _place(network, spec.road, spec.lane, spec.s)
            period = self._control_steps * self._step_s
            vehicle = _Vehicle(number, spec, network, start, period)
            raised = start._replace(z=start.z + _SPAWN_HEIGHT)
            vehicle.actor, vehicle.body = self._simulator.spawn(spec.blueprint, spec.name, raised)
            self._vehicles[spec.name] = vehicle
            self._numbers[vehicle.actor] = number

    def _spawn_objects(self, network: RoadNetwork) -> None:
        objects = []
        for number, spec in enumerate(self._parameters.objects, start=FIRST_OBJECT_ID):
            pose = _place_object(network, spec)
            actor, body = self._simulator.spawn(spec.blueprint, spec.name, pose)
            self._numbers[actor] = number
            found = static_object(number, Pose(*map(float32, pose)), body)
            objects.append(found)
            self._obstacles.append(_Obstacle(network.project(found.x, found.y), 0.5 * found.length))
        self._objects = tuple(objects)

    def _settle(self) -> None:
        """Let actuators and suspensions come to rest at the initial speed.

        Every tick starts one step before the start pose, so that it ends there.
        """
        for vehicle in self._vehicles.values():
            throttle, brake = pedals_for(VEHICLES[vehicle.spec.dynamics], 0.0, vehicle.spec.speed)
            self._simulator.control(vehicle.actor, throttle, 0.0, brake)
        for _ in range(self._parameters.settle_ticks):
            for vehicle in self._vehicles.values():
                start, velocity = vehicle.start, _along(vehicle.start, vehicle.spec.speed)
                dx, dy, dz = (self._step_s * part for part in velocity)
                before = start._replace(x=start.x - dx, y=start.y - dy, z=start.z - dz)
                self._simulator.place(vehicle.actor, before, velocity)
            self._simulator.tick()

    def _observe(self) -> None:
        self._readings = {
            name: reading(self._simulator.motion(vehicle.actor), vehicle.body)
            for name, vehicle in self._vehicles.items()
        }

    def _control(
        self, vehicle: _Vehicle, command: ControlCommand | None
    ) -> tuple[float, float, float]:
        """(throttle, brake, steer) of a vehicle for the next step."""
        if command is None:
            self._decide(vehicle)
            return vehicle.demand.throttle, vehicle.demand.brake, vehicle.steer
        steer = command.steer
        if isnan(steer):
            self._decide(vehicle)
            steer = vehicle.steer
        if not (isfinite(command.throttle) and isfinite(command.brake) and isfinite(steer)):
            raise RunError(
                f"vehicle '{vehicle.spec.name}': {command}: throttle and brake must be finite "
                "numbers, steer one or NaN (lane keeping)"
            )
        return command.throttle, command.brake, steer

    def _decide(self, vehicle: _Vehicle) -> None:
        """Let lane keeping and driver act, once per control period."""
        if self._steps < vehicle.decides_at:
            return
        vehicle.decides_at = (self._steps // self._control_steps + 1) * self._control_steps
        odometry = self._readings[vehicle.spec.name].odometry
        vehicle.steer = vehicle.keeper.steer(odometry)
        if vehicle.driver is not None:
            vehicle.demand = vehicle.driver.update(odometry.vx, *self._way_ahead(vehicle))

    def _way_ahead(self, vehicle: _Vehicle) -> tuple[float | None, float]:
        """Gap to the next obstacle in the own lane (None: no obstacle) and slope of the road."""
        network, position = self._network, vehicle.keeper.position
        if network is None or position is None:
            raise RunError(f"vehicle '{vehicle.spec.name}' is not on a road")
        # Obstacles stand still: the next one stays the next one until it is passed.
        gap = vehicle.gap_to(vehicle.obstacle, network) if vehicle.obstacle else None
        if gap is None:
            for obstacle in self._obstacles:
                found = vehicle.gap_to(obstacle, network)
                if found is not None and (gap is None or found < gap):
                    gap, vehicle.obstacle = found, obstacle
        direction = driving_direction(vehicle.keeper.lane_id)
        return gap, direction * network.slope(position.road_id, position.s)

    def _collision(self, contact: Contact) -> SceneCollision:
        event = CollisionEvent(
            self._numbers.get(contact.actor, 0),
            self._numbers.get(contact.other, 0),
            hypot(*contact.impulse),
        )
        return SceneCollision(contact.tick - self._parameters.settle_ticks, event)


def _place(network: RoadNetwork, road: int, lane: int, s: float) -> Pose:
    point = network.lane_pose(road, lane, s)
    return carla_pose(point, driving_direction(lane) * network.slope(road, s))


def _place_object(network: RoadNetwork, spec: ObjectSpec) -> Pose:
    direction = driving_direction(spec.lane)
    centre = network.lane_centre(spec.road, spec.lane, spec.s)
    x, y, z, _ = network.pose(spec.road, spec.s, centre + direction * spec.offset)
    heading = network.lane_pose(spec.road, spec.lane, spec.s).heading
    return carla_pose(LanePoint(x, y, z, heading), direction * network.slope(spec.road, spec.s))


def _along(pose: Pose, speed: float) -> tuple[float, float, float]:
    """Velocity [m/s, CARLA's world frame] along the heading of a pose."""
    q = frames.rotation_to_ros(pose.pitch, pose.yaw, pose.roll)
    return frames.vector_to_carla(*frames.body_to_world(q, (speed, 0.0, 0.0)))
