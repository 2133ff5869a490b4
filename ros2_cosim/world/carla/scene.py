# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The CARLA functional part: builds a scene in a simulator, steps it, reads it.

The user of a scene owns simulated time: state n belongs to time n * step. The scene drives
the vehicles that have their own driver, keeps the others in their lane where a command
leaves the steering open, and turns CARLA's values into records (REP-103, SI).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from math import isfinite
from typing import Final, NamedTuple

from ros2_cosim.core.kernel.errors import ConfigurationError, RunError
from ros2_cosim.core.kernel.exactmath import float32, hypot, wrap_angle
from ros2_cosim.core.messages.records import (
    CollisionEvent,
    Odometry,
    RedLightsPassed,
    RoadUser,
    RoadUsers,
    StaticObject,
    StaticObjects,
    TrafficLightAhead,
)
from ros2_cosim.core.scene.entities import EntityCommand
from ros2_cosim.core.scene.scene import FIRST_OBJECT_ID, FIRST_TRAFFIC_ID
from ros2_cosim.core.scene.sensors import Measurement
from ros2_cosim.core.scene.simulator import SIZE_TOLERANCE, Body, Contact, Pose, Simulator, Size
from ros2_cosim.world.carla.inprocess_world import InProcessWorld, standing_box
from ros2_cosim.world.carla.lights import REACH, LightsAhead
from ros2_cosim.world.carla.observation import (
    VehicleReading,
    carla_pose,
    placed_pose,
    placed_user,
    reading,
    reading_of,
    road_user,
    static_object,
)
from ros2_cosim.world.carla.parameters import (
    WALKER_MIDDLE,
    ObjectSpec,
    SceneParameters,
    VehicleSpec,
    check_size,
)
from ros2_cosim.world.carla.recorded_users import RecordedUsers
from ros2_cosim.world.carla.scene_vehicle import PlacedObject, SceneVehicle, StaticObstacle
from ros2_cosim.world.carla.sensor_rig import SensorRig
from ros2_cosim.world.carla.spawned_vehicles import SpawnedVehicles, ordered
from ros2_cosim.world.carla.traffic import BackgroundTraffic, Driven, lane_ahead
from ros2_cosim.world.carla.traffic_placement import place_traffic
from ros2_cosim.world.drivers.leader_driver import LongitudinalCommand
from ros2_cosim.world.drivers.light_stop import LightStop
from ros2_cosim.world.drivers.manoeuvres import Room
from ros2_cosim.world.headless.contact import OrientedBox
from ros2_cosim.world.headless.contact import contact as meeting
from ros2_cosim.world.map import (
    LanePoint,
    RoadError,
    RoadNetwork,
    RoadPosition,
    driving_direction,
    frames,
)
from ros2_cosim.world.vehicle import VEHICLES, pedals_for

FIRST_STRANGER_ID: Final = 1_000_000
"""Vehicles that the scene has not spawned are numbered from here, by their ids in the simulator."""
_SPAWN_HEIGHT: Final = 0.3  # above the road, so that wheels do not start inside it
_NS: Final = 1e9
_REVERSE_BELOW: Final = 0.5  # m/s forwards
_LEAST_WANTED: Final = 0.1  # m/s, what a vehicle that is to stand still wants all the same


class SceneCollision(NamedTuple):
    """A contact that began at state ``step``."""

    step: int
    event: CollisionEvent


class ActorCommand(NamedTuple):
    """What drives a vehicle: pedals 0..1, and ``steer`` -1..1 (None: lane keeping steers).

    A ``throttle`` below zero is that of the reverse gear; while the vehicle rolls forwards it is
    zero.
    """

    throttle: float
    brake: float
    steer: float | None = None


class Scene:
    """A scene in a simulator. Vehicles are numbered from 1 in the order of the parameters,
    background traffic from ``FIRST_TRAFFIC_ID``.
    """

    def __init__(self, simulator: Simulator, parameters: SceneParameters) -> None:
        """Nothing happens in the simulator before ``initialise``."""
        self._simulator = simulator
        self._parameters = parameters
        self._step_s = parameters.step_ns / _NS
        self._vehicles: dict[str, SceneVehicle] = {}
        self._numbers: dict[int, int] = {}
        #: Those that the scene has not spawned, as far as they are reported.
        self._strangers: dict[int, int] = {}
        self._readings: dict[str, VehicleReading] = {}
        self._objects: tuple[StaticObject, ...] = ()
        self._obstacles: list[StaticObstacle] = []
        #: Objects that commands move.
        self._moved: dict[str, PlacedObject] = {}
        self._recorded = RecordedUsers(parameters.recorded, parameters.step_ns)
        self._spawned = SpawnedVehicles(simulator)
        #: Where orders have put vehicles since the last step.
        self._ordered: dict[str, Odometry] = {}
        self._steps = 0
        self._control_steps = parameters.control_steps
        self._touching: dict[tuple[int, int], int] = {}
        self._network: RoadNetwork | None = None

        #: Vehicles that commands steer.
        self.steered = frozenset(v.name for v in parameters.vehicles if v.steering == "command")
        self._traffic: BackgroundTraffic | None = None
        self._traffic_readings: list[VehicleReading] = []
        self._traffic_decides_at = 0
        self._rig = SensorRig(simulator, parameters.present_sensors, parameters.step_ns)
        self._measured: Mapping[str, Measurement] = {}
        self._users: RoadUsers | None = None
        self._lights: LightsAhead | None = None

    @property
    def simulator(self) -> Simulator:
        """What moves the scene."""
        return self._simulator

    def initialise(self) -> None:
        """Set up the world, spawn everything and reach state 0.

        :raises ConnectionFailedError: no simulator answers
        :raises ConfigurationError: map, blueprint or start position are not usable
        """
        parameters = self._parameters
        try:
            self._simulator.prepare(parameters.map, parameters.weather, self._step_s)
            network = RoadNetwork.from_xodr(self._simulator.opendrive(), "map of the scene")
            self._network = network.along(parameters.route)
            if parameters.traffic_lights:
                self._simulator.begin_lights()
                self._lights = LightsAhead(self._network)
            self._spawn_vehicles(self._network)
            self._spawn_objects(self._network)
            self._numbers.update(self._recorded.spawn(self._simulator, self._network))
            self._spawn_traffic(self._network)
            self._settle()
            self._steps = 0
            self._observe()
        except BaseException:
            self.dismantle()
            raise

    def put(self, name: str, there: Odometry) -> None:
        """Put a vehicle or object elsewhere at the begin of the next step, with a velocity.

        A vehicle drives on from there; an object goes on with that velocity until the next call.

        :raises RunError: a value is not a finite number
        """
        if not all(isfinite(value) for value in there):
            raise RunError(f"place/{name}: found {there}; allowed are finite numbers")
        if name in self._moved:
            self._moved[name].put(there, self._steps)
            return
        vehicle = self._vehicles[name]
        velocity = frames.vector_to_carla(*frames.body_to_world(there[3:7], there[7:10]))
        self._simulator.place(vehicle.actor, placed_pose(there, vehicle.body), velocity)
        assert self._network is not None
        vehicle.keep_anew(self._network, there)

    def order(self, command: EntityCommand) -> None:
        """Carry out a command about an entity at the begin of the next step.

        About one that is not there, nothing happens: its spawning may have come to nothing.
        """
        name = command.name
        if command.do == "spawn":
            spawned = self._spawned.spawn(command)
            if spawned is not None:
                actor, self._numbers[actor] = spawned
        elif name in self._spawned:
            if command.do == "delete":
                self._spawned.delete(name)
            else:
                self._spawned.set(command)
        elif command.do == "set" and name in self._vehicles:
            before = self._ordered.get(name, self._readings[name].odometry)
            self._ordered[name] = there = ordered(command, before)
            self.put(name, there)

    def step(self, commands: Mapping[str, ActorCommand | None]) -> None:
        """Advance by one step.

        :param commands: vehicle name -> command for the step; a vehicle without command coasts
            in its lane, vehicles with their own driver take no commands
        :raises ConfigurationError: a command for a vehicle that takes none
        :raises RunError: a command that is not a finite number
        :raises ConnectionFailedError: the simulator went away
        """
        for name in commands:
            taker = self._vehicles.get(name)
            if taker is None or taker.driver is not None:
                raise ConfigurationError(
                    f"no vehicle '{name}' takes commands; those that do: "
                    + ", ".join(v.spec.name for v in self._vehicles.values() if not v.driver)
                )
        if self._traffic is not None:
            self._drive(self._traffic)
        for name, vehicle in self._vehicles.items():
            self._send(vehicle, self._control(vehicle, commands.get(name)))
        for moved in self._moved.values():
            self._move(moved)
        self._recorded.move(self._simulator, self._steps + 1)
        self._simulator.tick()
        self._steps += 1
        self._ordered.clear()
        self._observe()

    def read(self) -> Mapping[str, VehicleReading]:
        """Odometry and acceleration of every vehicle in the current state."""
        if not self._readings:
            raise RunError("the scene is not initialised")
        return self._readings

    def road_users(self) -> RoadUsers | None:
        """The vehicles that are not participants', None if the scene does not report them."""
        return self._users

    def lights_ahead(self) -> Mapping[str, TrafficLightAhead]:
        """The next traffic light of every vehicle; of none if lights are not looked at."""
        if self._lights is None:
            return {}
        return {name: vehicle.light for name, vehicle in self._vehicles.items()}

    def red_lights_passed(self) -> RedLightsPassed | None:
        """How many stop lines were passed at red so far, None if lights are not looked at."""
        if self._lights is None:
            return None
        counts = {False: 0, True: 0}
        for number, count in self._lights.passed.items():
            counts[number >= FIRST_TRAFFIC_ID] += count
        return RedLightsPassed(counts[False], counts[True])

    def take_measurements(self) -> Mapping[str, Measurement]:
        """What the sensors have measured in the current state, of those that have; given once."""
        found, self._measured = self._measured, {}
        return found

    def pedals(self, name: str, acceleration: float) -> tuple[float, float]:
        """(throttle, brake) that give a vehicle an acceleration [m/s^2] at its present speed.

        :raises RunError: the acceleration is not a finite number
        """
        if not isfinite(acceleration):
            raise RunError(
                f"vehicle '{name}': found the acceleration {acceleration} in a command without "
                "pedals; allowed is a finite number"
            )
        dynamics = VEHICLES[self._vehicles[name].spec.dynamics]
        return pedals_for(dynamics, acceleration, self._readings[name].odometry.vx)

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
        Ids are those of vehicles, static objects, traffic and strangers that are reported; 0 stands
        for anything else.
        """
        begun = []
        for contact in self._simulator.contacts():
            pair = (contact.actor, contact.other)
            if self._touching.get(pair) != contact.tick - 1:
                begun.append(self._collision(contact))
            self._touching[pair] = contact.tick
        return tuple(begun)

    def finish(self) -> None:
        """The last step is done.

        :raises CausalityError: another client has moved the world, too
        """
        self._simulator.finish()

    def dismantle(self) -> None:
        """Remove everything from the simulator and let it run freely again; never raises."""
        self._simulator.close()
        self._vehicles.clear()
        self._readings = {}
        self._measured = {}
        self._users = None
        self._traffic = None
        self._lights = None
        self._moved.clear()

    # Internals ---------------------------------------------------------------------------

    def _spawn_vehicles(self, network: RoadNetwork) -> None:
        for number, spec in enumerate(self._parameters.present, start=1):
            self._vehicles[spec.name] = self._spawn(network, number, spec)

    def _spawn_traffic(self, network: RoadNetwork) -> None:
        specs = place_traffic(network, self._parameters)
        vehicles = [
            self._spawn(network, number, spec)
            for number, spec in enumerate(specs, start=FIRST_TRAFFIC_ID)
        ]
        self._traffic = None
        if self._lights is not None:
            for vehicle in vehicles:
                self._let_stop(vehicle, network, self._lights)
        if vehicles:
            period = self._control_steps * self._step_s
            self._traffic = BackgroundTraffic(
                network, vehicles, self._obstacles, self._lights, period
            )
        self._traffic_decides_at = 0

    def _let_stop(self, vehicle: SceneVehicle, network: RoadNetwork, lights: LightsAhead) -> None:
        """Let a background vehicle start as slow as it must be to stop at the next light."""
        spec = vehicle.spec
        way = network.lane_ahead(spec.road, spec.lane, spec.s, REACH)
        distance = lights.ahead(way, vehicle.body.extent[0]).distance
        vehicle.start_speed = min(spec.speed, LightStop.speed_before(distance))

    def _spawn(self, network: RoadNetwork, number: int, spec: VehicleSpec) -> SceneVehicle:
        start = start_place(network, spec)
        vehicle = SceneVehicle(number, spec, network, start, self._control_steps * self._step_s)
        raised = start._replace(z=start.z + _SPAWN_HEIGHT)
        vehicle.actor, vehicle.body = self._spawn_actor("vehicles", spec, raised)
        self._numbers[vehicle.actor] = number
        return vehicle

    def _spawn_actor(
        self, section: str, spec: VehicleSpec | ObjectSpec, pose: Pose
    ) -> tuple[int, Body]:
        """Spawn what has its own size, or that of its blueprint."""
        if spec.size == Size():
            return self._simulator.spawn(spec.blueprint, spec.name, pose)
        actor, body = self._simulator.spawn_sized(spec.blueprint, spec.name, pose, spec.size)
        check_size(f"scene.{section}.{spec.name}", spec.size, body)
        return actor, body

    def _move(self, moved: PlacedObject) -> None:
        """Let an object be where it is to be at the end of the step, on the ground there."""
        there = moved.at(self._steps + 1, self._step_s)
        pose = placed_pose(there, moved.body, moved.height)
        self._simulator.place(moved.actor, pose, (0.0, 0.0, 0.0))

    def _spawn_objects(self, network: RoadNetwork) -> None:
        objects = []
        for number, spec in enumerate(self._parameters.objects, start=FIRST_OBJECT_ID):
            pose = object_place(network, spec)
            actor, body = self._spawn_actor("objects", spec, pose)
            self._numbers[actor] = number
            if spec.placed:
                start = object_start(spec, pose)
                moved = PlacedObject(number, actor, body, _height(spec), start)
                self._moved[spec.name] = moved
                continue
            found = static_object(number, Pose(*map(float32, pose)), body)
            objects.append(found)
            self._obstacles.append(
                StaticObstacle(network.project(found.x, found.y), 0.5 * found.length)
            )
        self._objects = tuple(objects)

    def _settle(self) -> None:
        """Let actuators and suspensions come to rest at the initial speed.

        Every tick starts one step before the start pose, so that it ends there.
        """
        vehicles = list(self._vehicles.values())
        if self._traffic is not None:
            vehicles += self._traffic.vehicles
        for vehicle in vehicles:
            speed = vehicle.start_speed
            throttle, brake = pedals_for(VEHICLES[vehicle.spec.dynamics], 0.0, abs(speed))
            throttle = -throttle if speed < 0.0 else throttle
            self._simulator.control(vehicle.actor, throttle, 0.0, brake)
        for tick in range(1, self._parameters.settle_ticks + 1):
            if tick == self._parameters.settle_ticks:
                self._rig.attach({n: (v.actor, v.body) for n, v in self._vehicles.items()})
            for vehicle in vehicles:
                start, velocity = vehicle.start, _along(vehicle.start, vehicle.start_speed)
                dx, dy, dz = (self._step_s * part for part in velocity)
                before = start._replace(x=start.x - dx, y=start.y - dy, z=start.z - dz)
                self._simulator.place(vehicle.actor, before, velocity)
            self._recorded.move(self._simulator, 0)
            self._simulator.tick()

    def _observe(self) -> None:
        simulator = self._simulator
        here = simulator if isinstance(simulator, InProcessWorld) else None
        self._readings = {
            name: reading(simulator.motion(vehicle.actor), vehicle.body)
            if here is None
            else reading_of(here.numbers(vehicle.actor), vehicle.body)
            for name, vehicle in self._vehicles.items()
        }
        if self._traffic is not None:
            self._traffic_readings = [
                reading(self._simulator.motion(vehicle.actor), vehicle.body)
                for vehicle in self._traffic.vehicles
            ]
        if self._lights is not None:
            self._see_lights(self._lights)
        if self._parameters.reports_traffic:
            self._users = self._others()
        self._measured = self._rig.measure(self._steps, self._numbers)

    def _see_lights(self, lights: LightsAhead) -> None:
        assert self._network is not None
        lights.show(self._simulator.lights())
        for vehicle in self._vehicles.values():
            way = lane_ahead(self._network, vehicle, self._place(vehicle), REACH)
            vehicle.light = lights.ahead(way, vehicle.body.extent[0])
            driven = max(self._speed_of(vehicle), 0.0) * self._step_s
            lights.watch(vehicle.number, vehicle.light, driven)

    def _others(self) -> RoadUsers:
        """Objects that are moved, background and recorded road users, and what others brought."""
        users: list[RoadUser] = []
        for moved in self._moved.values():
            there = moved.at(self._steps, self._step_s)
            users.append(placed_user(moved.number, there, moved.body))
        traffic = () if self._traffic is None else self._traffic.vehicles
        for vehicle in traffic:
            motion = self._simulator.motion(vehicle.actor)
            users.append(road_user(vehicle.number, motion, vehicle.body))
        users += self._recorded.seen(self._steps)
        users += self._spawned.observe()
        for actor, body, motion in self._simulator.strangers():
            self._strangers[actor] = FIRST_STRANGER_ID + actor
            users.append(road_user(self._strangers[actor], motion, body))
        return RoadUsers(tuple(users))

    def _send(self, vehicle: SceneVehicle, control: tuple[float, float, float]) -> None:
        """Give (throttle, brake, steer) to the simulator unless it has them."""
        throttle, brake, steer = control
        if vehicle.sent is not None:
            sent_throttle, sent_brake, sent_steer = vehicle.sent
            if throttle == sent_throttle and brake == sent_brake and steer == sent_steer:
                return
        vehicle.sent = control
        self._simulator.control(vehicle.actor, throttle, frames.steer_to_carla(steer), brake)

    def _drive(self, traffic: BackgroundTraffic) -> None:
        """Let the background vehicles' drivers act, once per control period."""
        if self._steps < self._traffic_decides_at:
            return
        self._traffic_decides_at = self._next_decision()
        traffic.decide(
            [found.odometry for found in self._traffic_readings],
            [self._driven(vehicle) for vehicle in self._vehicles.values()],
        )
        for vehicle in traffic.vehicles:
            demand = vehicle.demand
            self._send(vehicle, (demand.throttle, demand.brake, vehicle.steer))

    def _next_decision(self) -> int:
        return (self._steps // self._control_steps + 1) * self._control_steps

    def _control(
        self, vehicle: SceneVehicle, command: ActorCommand | None
    ) -> tuple[float, float, float]:
        """(throttle, brake, steer) of a vehicle for the next step."""
        if command is None:
            self._decide(vehicle)
            return vehicle.demand.throttle, vehicle.demand.brake, vehicle.steer
        throttle, brake, given = command
        if given is None:
            self._decide(vehicle)
        steer = vehicle.steer if given is None else given
        # Of what is not finite the difference is NaN; compiled, that is faster than to ask.
        if not throttle - throttle == brake - brake == steer - steer == 0.0:
            raise RunError(
                f"vehicle '{vehicle.spec.name}': {command}: throttle and brake must be finite "
                "numbers, steer one or None (lane keeping)"
            )
        if throttle < 0.0 and self._readings[vehicle.spec.name].odometry.vx > _REVERSE_BELOW:
            throttle = 0.0  # a gearbox refuses the reverse gear while the vehicle rolls forwards
        return throttle, brake, steer

    def _decide(self, vehicle: SceneVehicle) -> None:
        """Let lane keeping and driver act, once per control period."""
        if self._steps < vehicle.decides_at:
            return
        vehicle.decides_at = self._next_decision()
        odometry = self._readings[vehicle.spec.name].odometry
        vehicle.steer = vehicle.keeper.steer(odometry)
        driver = vehicle.driver
        if driver is None:
            return
        gap, slope = self._way_ahead(vehicle)
        if vehicle.manoeuvre is None:
            vehicle.demand = driver.update(odometry.vx, gap, slope)
            self._restrain(vehicle, driver.cruise_speed, slope)
            return
        vehicle.travelled += odometry.vx * driver.period
        time = self._steps * self._parameters.step_ns
        look = partial(self._room, vehicle, gap)
        motion, change = vehicle.manoeuvre.update(time, vehicle.travelled, look)
        if change is not None:
            calls = change.duration // (self._control_steps * self._parameters.step_ns)
            try:
                vehicle.keeper.change_lane(change.lane, calls, against=change.against_traffic)
            except ConfigurationError as error:
                raise ConfigurationError(f"scene.vehicles.{vehicle.spec.name}: {error}") from None
        wanted, rate = motion.speed, motion.acceleration
        if self._lights is not None:
            # After a stop at red the profile is far ahead: the driver gets there as usual.
            nearest = odometry.vx + driver.max_acceleration
            wanted, rate = (nearest, 0.0) if wanted > nearest + 1.0 else (wanted, rate)
        vehicle.demand = driver.follow(odometry.vx, wanted, rate, gap, slope)
        self._restrain(vehicle, max(motion.speed, odometry.vx), slope)

    def _restrain(self, vehicle: SceneVehicle, wanted: float, slope: float) -> None:
        """Let a vehicle with a driver keep its distance to background traffic, and stop at red."""
        speed, dynamics = self._speed_of(vehicle), VEHICLES[vehicle.spec.dynamics]
        if self._traffic is not None:
            most = self._traffic.restraint(self._driven(vehicle), max(wanted, _LEAST_WANTED))
            if most is not None and most < vehicle.demand.acceleration:
                vehicle.demand = LongitudinalCommand(
                    most, *pedals_for(dynamics, most, speed, slope)
                )
        if self._lights is not None:
            light = vehicle.light
            most = vehicle.light_stop.most(max(speed, 0.0), light.state, light.distance)
            if most is not None and most < vehicle.demand.acceleration:
                vehicle.demand = LongitudinalCommand(
                    most, *pedals_for(dynamics, most, speed, slope)
                )
                if vehicle.driver is not None:
                    vehicle.driver.held_back(most)

    def _driven(self, vehicle: SceneVehicle) -> Driven:
        return vehicle, self._readings[vehicle.spec.name].odometry, self._place(vehicle)

    def _room(self, vehicle: SceneVehicle, obstacle: float | None, of: str | None) -> Room | None:
        """Gap from a vehicle to another one, or to what is next ahead in its lane."""
        if of is not None:
            other = self._vehicles.get(of)
            way = None if other is None else self._way_to(vehicle, self._place(other))
            return None if other is None or way is None else self._room_to(vehicle, other, way)
        best = None if obstacle is None else Room(obstacle, self._speed_of(vehicle))
        for other in self._vehicles.values():
            place = self._place(other)
            if other is vehicle or place.lane_id != vehicle.keeper.lane_id:
                continue
            way = self._way_to(vehicle, place)
            if way is not None and way > 0.0:
                room = self._room_to(vehicle, other, way)
                if best is None or room.gap < best.gap:
                    best = room
        return best

    def _room_to(self, vehicle: SceneVehicle, other: SceneVehicle, way: float) -> Room:
        """Bumper to bumper, whichever of the two is ahead."""
        gap = abs(way) - vehicle.body.extent[0] - other.body.extent[0]
        closing = self._speed_of(vehicle) - self._speed_of(other)
        return Room(max(gap, 0.0), closing if way > 0.0 else -closing, way > 0.0)

    def _place(self, vehicle: SceneVehicle) -> RoadPosition:
        assert self._network is not None
        odometry = self._readings[vehicle.spec.name].odometry
        return self._network.project(odometry.x, odometry.y, vehicle.keeper.position)

    def _way_to(self, vehicle: SceneVehicle, there: RoadPosition) -> float | None:
        """From the centre of a vehicle along the road [m], None where no road leads there."""
        network, here = self._network, vehicle.keeper.position
        assert network is not None and here is not None
        try:
            return driving_direction(vehicle.keeper.lane_id) * network.distance(here, there)
        except RoadError:
            return None

    def _speed_of(self, vehicle: SceneVehicle) -> float:
        return self._readings[vehicle.spec.name].odometry.vx

    def _way_ahead(self, vehicle: SceneVehicle) -> tuple[float | None, float]:
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
            self._numbers.get(contact.other) or self._strangers.get(contact.other, 0),
            hypot(*contact.impulse),
        )
        return SceneCollision(contact.tick - self._parameters.settle_ticks, event)


def check_places(parameters: SceneParameters, network: RoadNetwork) -> None:
    """Check whether all vehicles, objects and background traffic find their place on a road.

    Lanes that vehicles are to change to have to be somewhere on the roads.

    :param network: the roads, along the route of the scene

    :raises ConfigurationError: one does not
    """
    boxes: list[tuple[str, OrientedBox]] = []
    present = {spec.name for spec in parameters.present}
    for spec in parameters.vehicles:
        try:
            start = start_place(network, spec)
            SceneVehicle(1, spec, network, start, parameters.step_ns / _NS)
        except ConfigurationError as error:
            raise ConfigurationError(f"scene.vehicles.{spec.name}: {error}") from None
        _check_lane_changes(spec, network)
        box = standing_box(spec.blueprint, spec.size, start)
        if box is not None and spec.name in present:
            _require_free(f"scene.vehicles.{spec.name}", box, boxes)
    for entry in parameters.objects:
        where = f"scene.objects.{entry.name}"
        try:
            start = object_place(network, entry)
        except ConfigurationError as error:
            raise ConfigurationError(f"{where}: {error}") from None
        on_ground = start._replace(z=start.z - _height(entry))
        box = standing_box(entry.blueprint, entry.size, on_ground)
        if box is not None:
            _require_free(where, box, boxes)
    place_traffic(network, parameters)


def _require_free(where: str, box: OrientedBox, others: list[tuple[str, OrientedBox]]) -> None:
    """Check that a box overlaps none of the others, and take it in."""
    for other, there in others:
        found = meeting(there, box)
        if found is not None:
            raise ConfigurationError(
                f"{where}: found a start inside {other}, by {found.depth:.2f} m; allowed is one "
                "that is free"
            )
    others.append((where, box))


def _check_lane_changes(spec: VehicleSpec, network: RoadNetwork) -> None:
    """Check whether the lanes of a manoeuvre are driving lanes of any road."""
    for number, planned in enumerate(spec.driver.manoeuvre if spec.driver else ()):
        change = planned.action.lane_change
        if change is not None and change.lane not in (known := _driving_lanes(network)):
            raise ConfigurationError(
                f"scene.vehicles.{spec.name}.driver.manoeuvre.{number}.lane_change.lane: found "
                f"{change.lane}; allowed are {', '.join(map(str, sorted(known)))}"
            )


def _driving_lanes(network: RoadNetwork) -> set[int]:
    return {
        lane
        for road_id, road in network.roads.items()
        for section in road.lanes.sections
        for lane in network.lane_ids(road_id, section.start, "driving")
    }


def start_place(network: RoadNetwork, spec: VehicleSpec) -> Pose:
    """Where a vehicle starts, as an actor."""
    direction = driving_direction(spec.lane)
    slope = direction * network.slope(spec.road, spec.s)
    point = network.lane_pose(spec.road, spec.lane, spec.s)
    if spec.offset != 0.0:
        x, y, z = _beside(network, spec)
        point = LanePoint(x, y, z, point.heading)
    if spec.turn != 0.0:
        point, slope = point._replace(heading=wrap_angle(point.heading + spec.turn)), 0.0
    return carla_pose(point, slope)


def _beside(network: RoadNetwork, spec: VehicleSpec | ObjectSpec) -> tuple[float, float, float]:
    """(x, y, z) of a place beside the centre of its lane."""
    centre = network.lane_centre(spec.road, spec.lane, spec.s)
    aside = driving_direction(spec.lane) * spec.offset
    return network.pose(spec.road, spec.s, centre + aside)[:3]


def object_place(network: RoadNetwork, spec: ObjectSpec) -> Pose:
    """Where an object stands at the start, as an actor."""
    direction = driving_direction(spec.lane)
    x, y, z = _beside(network, spec)
    heading = network.lane_pose(spec.road, spec.lane, spec.s).heading
    slope = direction * network.slope(spec.road, spec.s) if spec.turn == 0.0 else 0.0
    heading = heading if spec.turn == 0.0 else wrap_angle(heading + spec.turn)
    return carla_pose(LanePoint(x, y, z, heading), slope, _height(spec))


def object_start(spec: ObjectSpec, pose: Pose) -> Odometry:
    """The same of one that messages place, as a record."""
    q = frames.rotation_to_ros(pose.pitch, pose.yaw, pose.roll)
    x, y, z = frames.vector_to_ros(pose.x, pose.y, pose.z - _height(spec))
    return Odometry(x, y, z, *q, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)


def _height(spec: ObjectSpec) -> float:
    """Of an object's origin above the ground [m]: that of a walker is its middle."""
    if not spec.blueprint.startswith("walker."):
        return 0.0
    given = spec.size.height
    other = given > 0.0 and abs(given - 2.0 * WALKER_MIDDLE) > SIZE_TOLERANCE
    return 0.5 * given if other else WALKER_MIDDLE


def _along(pose: Pose, speed: float) -> tuple[float, float, float]:
    """Velocity [m/s, CARLA's world frame] along the heading of a pose."""
    q = frames.rotation_to_ros(pose.pitch, pose.yaw, pose.roll)
    return frames.vector_to_carla(*frames.body_to_world(q, (speed, 0.0, 0.0)))
