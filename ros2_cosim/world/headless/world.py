# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The world model: actors on roads, advanced in steps, without any socket.

Everything that comes in and goes out is in CARLA's frame and units (left-handed, metres,
m/s, degrees); vehicles move in the map frame of the roads inside their bodies. The world is
deterministic: the same calls give the same states to the last bit on any machine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final, NamedTuple

from ros2_cosim.core.kernel.errors import CosimError
from ros2_cosim.core.kernel.exactmath import atan, degrees
from ros2_cosim.world.headless import collisions
from ros2_cosim.world.headless.actors import AT_REST, Actor, VehicleActor, box_at, compose
from ros2_cosim.world.headless.blueprints import FRICTION_TRIGGER, LIBRARY, SPECTATOR, Blueprint
from ros2_cosim.world.headless.body import VehicleBody
from ros2_cosim.world.headless.contact import contact
from ros2_cosim.world.headless.debug_shapes import DebugShapes
from ros2_cosim.world.headless.lamp_places import lamps_of
from ros2_cosim.world.headless.land_below import LandBelow
from ros2_cosim.world.headless.meshes import of_mesh
from ros2_cosim.world.headless.signals import LightActor, SignActor, Signals
from ros2_cosim.world.headless.skeleton import BonePose
from ros2_cosim.world.headless.snapshot import ActorState
from ros2_cosim.world.headless.standing_boxes import StandingBoxes
from ros2_cosim.world.headless.street_lights import StreetLights
from ros2_cosim.world.headless.sway import Sway
from ros2_cosim.world.headless.things import MapPart, Things
from ros2_cosim.world.headless.walkers import WalkerActor
from ros2_cosim.world.headless.wire_types import (
    ORIGIN,
    AckermannControl,
    BoundingBox,
    Rotation,
    Transform,
    Vector,
    VehicleControl,
    WalkerControl,
)
from ros2_cosim.world.map import OFF_ROAD, RoadNetwork, frames
from ros2_cosim.world.vehicle.beside import ground_at

MAX_PHYSICS_STEP: Final = 0.1
"""A longer step of the world is made of several of the physics [s]."""

MAX_GONE: Final = 1000
"""Of so many destroyed actors the boxes are still known."""

_NS: Final = 1_000_000_000
#: In a lane [m], and on roads faster than 70 km/h: about as dense as in CARLA's towns, whose points
#: are in their levels (class estimate).
_SPAWN_SPACING, _FAST_SPACING = 16.0, 50.0
_SPAWN_POINT_HEIGHT: Final = 0.3
# Ground so far below the head of a walker counts when it is spawned [m].
_SPAWN_REACH: Final = 10.0
# Beyond these a value is a mistake, and far beyond them float32 has no number for it.
_MAX_COORDINATE: Final = 1.0e6  # m
_MAX_SPEED: Final = 1000.0  # m/s
_MAX_TURN: Final = 3600.0  # deg/s


class CallError(CosimError):
    """A call cannot be carried out; a remote client sees the text."""


class FeltContact(NamedTuple):
    """A contact in one frame as one of the two actors felt it; impulse [N s] in the world.

    :ivar other: 0: what stands beside the roads, which has a ``label`` of the protocol
    """

    frame: int
    actor: int
    other: int
    impulse: Vector
    label: int = 0


class World:
    """Actors on an OpenDRIVE road network.

    ``collisions`` holds what the actors report of their contacts in the last frame, by actor
    id: at most one contact per actor and frame. An actor that touches several others at once
    reports them in the following frames, in turn. So a sensor's stream never has more messages than
    the snapshot stream, and a client that takes messages in turn never falls behind with it.
    """

    def __init__(
        self, opendrive: str, step_s: float, *, has_scenery: bool = False, is_plain: bool = False
    ) -> None:
        """Start the first episode.

        :param opendrive: text of the map
        :param step_s: step size in seconds, until changed
        :param has_scenery: whether sensors see scenery beside the roads
        :param is_plain: pictures have neither shadows nor grain of surfaces
        :raises RoadError: if the map is not usable
        """
        self.step_s = step_s
        self.has_scenery = has_scenery
        self.is_plain = is_plain
        #: Makes scenery and land for what leaves the roads: what sees knows how.
        self.scenery_maker: Callable[[World], None] | None = None
        self.gravity = 9.81
        self.frame = 0
        self.episode = 0
        self._next_id = 1
        self.actors: dict[int, Actor] = {}
        self._gone: dict[int, BoundingBox] = {}  # of the last actors that have gone
        #: The first id that no frame has shown.
        self._unseen_from = 1
        self.load(opendrive)

    def load(self, opendrive: str) -> None:
        """Start a new episode: another map, no actors, time 0; frames and ids go on.

        :raises RoadError: if the map is not usable (the running episode then goes on)
        """
        network = RoadNetwork.from_xodr(opendrive)
        self.network = network
        self.opendrive = opendrive
        self.episode += 1
        self._elapsed_ns = 0
        for actor in self.actors.values():
            self._keep_box(actor)
        self.actors = {}
        self._vehicles: dict[int, VehicleActor] = {}
        self._walkers: dict[int, WalkerActor] = {}
        self._sensors: dict[int, Actor] = {}
        self._triggers: dict[int, Actor] = {}  # of friction
        self.collisions: list[FeltContact] = []
        # To report: actor -> other -> impulse; below 0: what stands there and has this label.
        self._contacts: dict[int, dict[int, Vector]] = {}
        self.things = Things(network)
        self.lamps = StreetLights(self.things, self._made_lamps)
        make = self._make_scenery if self.has_scenery else None
        self.standing = StandingBoxes(network, self.things, make)
        self.land = LandBelow(network, self._make_scenery)
        self.shapes = DebugShapes()
        self.signals = Signals(network, self._next_id)
        for sign in self.signals.actors:
            self.actors[sign.id] = sign
        self._next_id += len(self.signals.actors)
        start = self.spawn_points()[:1] or [Transform()]
        raised = start[0].location._replace(z=start[0].location.z + 10.0)
        self.spectator = self._add(SPECTATOR, Transform(raised, start[0].rotation), {}, 0)

    @property
    def elapsed_s(self) -> float:
        """Simulated seconds since the start of the episode."""
        return self._elapsed_ns / _NS

    # Actors ------------------------------------------------------------------------------

    def spawn(
        self,
        blueprint: str,
        pose: Transform,
        attributes: Mapping[str, str] | None = None,
        parent: int = 0,
        socket: str = "",
    ) -> Actor:
        """Spawn an actor.

        :param pose: in the world, or relative to the parent where there is one
        :param socket: name of the parent's bone that it is mounted on; none: on its root
        :raises CallError: unknown blueprint, attribute, parent or socket, or no free space
        """
        _require_below(_MAX_COORDINATE, "location", pose.location)
        known = LIBRARY.get(blueprint)
        if known is None:
            raise CallError(f"Spawn failed because of invalid actor description '{blueprint}'")
        known = _sized(known, attributes or {})
        if parent:
            self._mount(self.require(parent), socket)
        elif known.extent.x > 0.0 and not known.likeness:  # as in CARLA, a mesh has always room
            self._refuse_occupied(known, pose)
        return self._add(known, pose, dict(attributes or {}), parent, socket)

    def spawn_anywhere(
        self,
        blueprint: str,
        pose: Transform,
        attributes: Mapping[str, str],
        parent: int = 0,
        actor_id: int = 0,
    ) -> Actor:
        """Spawn an actor of which a recording says that it was there, whatever stands there now.

        Attributes that the blueprint does not have, or that cannot be set, are left out.

        :param actor_id: from which ids go on; 0: that of the next actor
        :raises CallError: unknown blueprint
        """
        known = LIBRARY.get(blueprint)
        if known is None:
            raise CallError(f"unknown blueprint '{blueprint}'")
        settable = {a.id: a for a in known.attributes if a.modifiable}
        chosen = {
            name: value
            for name, value in attributes.items()
            if name in settable and settable[name].accepts(value)
        }
        self._next_id = actor_id or self._next_id
        return self._add(_sized(known, chosen), pose, chosen, parent)

    def destroy(self, actor_id: int) -> None:
        """Remove an actor; what is attached to it stays where it is.

        :raises CallError: if there is no such actor, or it is the spectator
        """
        actor = self.require(actor_id)
        if actor is self.spectator:
            raise CallError("the spectator cannot be destroyed")
        if isinstance(actor, SignActor):
            raise CallError(f"actor {actor_id} belongs to the map: it cannot be destroyed")
        for other in self.actors.values():
            if other.parent == actor_id:
                other.state = ActorState(self.pose(other), *AT_REST)
                other.parent = 0
        self._contacts.pop(actor_id, None)
        for contacts in self._contacts.values():
            contacts.pop(actor_id, None)
        del self.actors[actor_id]
        self._keep_box(actor)
        self._vehicles.pop(actor_id, None)
        self._walkers.pop(actor_id, None)
        self._sensors.pop(actor_id, None)
        if self._triggers.pop(actor_id, None) is not None:
            self._feel_triggers()

    def require(self, actor_id: int) -> Actor:
        """The actor with this id.

        :raises CallError: if there is none
        """
        actor = self.actors.get(actor_id)
        if actor is None:
            raise CallError(f"unable to find actor {actor_id}")
        return actor

    def bounding_box(self, actor_id: int) -> BoundingBox:
        """The box of an actor, also of one of the last that have gone, alone or with their map.

        The threads of a client's traffic manager ask for the boxes of all vehicles that a list has
        named; an actor that is destroyed meanwhile must not end that client, which an error does.

        :raises CallError: there was no such actor lately
        """
        gone = self._gone.get(actor_id)
        return self.require(actor_id).bounding_box if gone is None else gone

    def require_vehicle(self, actor_id: int) -> VehicleActor:
        """The vehicle with this id.

        :raises CallError: if there is none
        """
        vehicle = self._vehicles.get(actor_id)
        if vehicle is None:
            raise CallError(f"actor {actor_id} is not a vehicle")
        return vehicle

    def require_walker(self, actor_id: int) -> WalkerActor:
        """The walker with this id.

        :raises CallError: if there is none
        """
        walker = self._walkers.get(actor_id)
        if walker is None:
            raise CallError(f"actor {actor_id} is not a walker")
        return walker

    def require_light(self, actor_id: int) -> LightActor:
        """The traffic light with this id.

        :raises CallError: if there is none
        """
        actor = self.actors.get(actor_id)
        if not isinstance(actor, LightActor):
            raise CallError(f"actor {actor_id} is not a traffic light")
        return actor

    def require_sign(self, actor_id: int) -> SignActor:
        """The traffic light or sign with this id.

        :raises CallError: if there is none
        """
        actor = self.actors.get(actor_id)
        if not isinstance(actor, SignActor):
            raise CallError(f"actor {actor_id} is not a traffic light or sign")
        return actor

    def vehicles(self) -> Iterator[VehicleActor]:
        """All vehicles in the order of their ids."""
        return iter(self._vehicles.values())

    def walkers(self) -> Iterator[WalkerActor]:
        """All walkers in the order of their ids."""
        return iter(self._walkers.values())

    def sensors(self) -> Iterator[Actor]:
        """All sensors that stream, in the order of their ids."""
        return iter(self._sensors.values())

    def collidable(self) -> list[Actor]:
        """All actors that can be hit, in the order of their ids."""
        return [actor for actor in self.actors.values() if actor.collides]

    def state(self, actor_id: int) -> ActorState:
        """State of an actor as clients see it (every number rounded to float32).

        :raises CallError: if there is no such actor
        """
        return self.require(actor_id).exposed()

    def pose(self, actor: Actor) -> Transform:
        """World pose of an actor, also of an attached one."""
        parent = self.actors.get(actor.parent)
        if parent is None:
            return actor.state.transform
        return compose(self._mount(parent, actor.socket), actor.relative)

    def _mount(self, parent: Actor, socket: str) -> Transform:
        """World pose of what something is mounted on: the root of an actor, or a bone of it."""
        if not socket:
            return self.pose(parent)
        for bone in self.bones(parent.id):
            if bone.name == socket:
                return bone.world
        has = ", ".join(bone.name for bone in self.bones(parent.id)) or "none"
        raise CallError(f"actor {parent.id} has no socket '{socket[:40]}'; it has: {has}")

    def bones(self, actor_id: int) -> list[BonePose]:
        """The bones of a walker or a vehicle (body and wheels); none of other actors.

        :raises CallError: if there is no such actor
        """
        actor = self.require(actor_id)
        pose = actor.state.transform
        if isinstance(actor, WalkerActor):
            return actor.skeleton.poses(pose)
        if not isinstance(actor, VehicleActor):
            return []
        found = [BonePose("Vehicle_Base", pose, ORIGIN, ORIGIN)]
        for wheel, (name, place) in enumerate(actor.wheels()):
            on_body = Transform(place, actor.wheel_rotation(wheel))
            found.append(BonePose(name, compose(pose, on_body), on_body, on_body))
        return found

    def bones_on_mesh(self, actor_id: int) -> list[Transform]:
        """The bones on the mesh that they belong to: a walker's stands at its feet.

        :raises CallError: if there is no such actor
        """
        actor = self.require(actor_id)
        feet = actor.bounding_box.extent.z if isinstance(actor, WalkerActor) else 0.0
        return [
            place._replace(location=place.location._replace(z=place.location.z + feet))
            for _, _, place, _ in self.bones(actor_id)
        ]

    def pose_to_set(self, actor_id: int) -> Transform:
        """The pose that ``set_transform`` replaces: relative to the parent if there is one."""
        actor = self.require(actor_id)
        return actor.relative if actor.parent in self.actors else actor.state.transform

    def records(self) -> list[bytes]:
        """Snapshot records of all actors."""
        records = []
        for actor in self.actors.values():
            numbers = actor.numbers
            if actor.parent:
                location, rotation = self.pose(actor)
                numbers = (*location, *rotation, *numbers[6:])
            records.append(actor.pack(numbers))
        return records

    # Commands ----------------------------------------------------------------------------

    def set_transform(self, actor_id: int, pose: Transform) -> None:
        """Teleport an actor (relative to the parent where there is one)."""
        actor = self.require(actor_id)
        _require_below(_MAX_COORDINATE, "location", pose.location)
        if actor.parent in self.actors:
            actor.relative = pose
        else:
            actor.place(pose)

    def set_target_velocity(self, actor_id: int, velocity: Vector) -> None:
        """Set the velocity [m/s, world frame]; of a vehicle once, physics goes on from there."""
        actor = self.require(actor_id)
        _require_below(_MAX_SPEED, "velocity", velocity)
        if isinstance(actor, VehicleActor):
            actor.body.set_velocity(velocity)
            actor.take_state()
        else:
            actor.state = actor.state._replace(velocity=velocity)

    def set_target_angular_velocity(self, actor_id: int, velocity: Vector) -> None:
        """Set the angular velocity [deg/s, world frame]; of a vehicle once."""
        actor = self.require(actor_id)
        _require_below(_MAX_TURN, "angular velocity", velocity)
        if isinstance(actor, VehicleActor):
            actor.body.set_turn(velocity)
            actor.take_state()
        else:
            actor.state = actor.state._replace(angular_velocity=velocity)

    def hold_velocity(self, actor_id: int, velocity: Vector | None = None) -> None:
        """Keep a vehicle at a velocity of its own frame [m/s], or let it go (None)."""
        _require_below(_MAX_SPEED, "velocity", velocity or Vector())
        self.require_vehicle(actor_id).body.hold_velocity(velocity)

    def add_impulse(self, actor_id: int, impulse: Vector) -> None:
        """Hit a vehicle with an impulse [N s, world frame]."""
        body = self.require_vehicle(actor_id).body
        _require_below(_MAX_SPEED * body.mass, "impulse", impulse)
        body.add_impulse(impulse)

    def add_angular_impulse(self, actor_id: int, impulse: Vector) -> None:
        """Turn a vehicle by an angular impulse [N m s, world frame]."""
        body = self.require_vehicle(actor_id).body
        _require_below(_MAX_TURN * body.parameters.yaw_inertia, "angular impulse", impulse)
        body.turn(impulse)

    def add_torque(self, actor_id: int, torque: Vector) -> None:
        """Turn a vehicle by a torque [N m, world frame] during the next step."""
        x, y, z = torque
        step = self.step_s
        self.add_angular_impulse(actor_id, Vector(x * step, y * step, z * step))

    def enable_gravity(self, actor_id: int, enabled: bool) -> None:
        """Switch a vehicle's gravity on or off.

        :raises CallError: the actor is not a vehicle, and gravity is to be switched off
        """
        actor = self.require(actor_id)
        if isinstance(actor, VehicleActor):
            actor.body.enable_gravity(enabled)
        elif not enabled:
            raise CallError(f"actor {actor_id}: only a vehicle's gravity can be switched off")

    def simulate_physics(self, actor_id: int, enabled: bool) -> None:
        """Let an actor move by itself, or hold it where it is; a vehicle in the air then falls."""
        actor = self.require(actor_id)
        before, actor.simulates_physics = actor.simulates_physics, enabled
        if enabled and not before:
            actor.place(actor.state.transform)

    def add_force(self, actor_id: int, force: Vector) -> None:
        """Push a vehicle with a force [N, world frame] during the next step."""
        x, y, z = force
        self.add_impulse(actor_id, Vector(x * self.step_s, y * self.step_s, z * self.step_s))

    def apply_control(self, actor_id: int, control: VehicleControl) -> None:
        """Set a vehicle's controls; they hold until changed."""
        vehicle = self.require_vehicle(actor_id)
        vehicle.control = control
        vehicle.ackermann.follow(None)

    def apply_ackermann(self, actor_id: int, control: AckermannControl) -> None:
        """Let a vehicle follow a speed and a steering angle; holds until changed."""
        self.require_vehicle(actor_id).ackermann.follow(control)

    def apply_walker_control(self, actor_id: int, control: WalkerControl) -> None:
        """Set a walker's control; it holds until changed."""
        _require_below(_MAX_SPEED, "direction", control.direction)
        walker = self.require_walker(actor_id)
        walker.control, walker.is_guided = control, False

    def follow_navigation(self, actor_id: int, feet: Transform, speed: float) -> None:
        """Put a walker where a client's navigation wants it.

        :param feet: pose of its feet
        :param speed: forwards [m/s]
        """
        _require_below(_MAX_COORDINATE, "location", feet.location)
        _require_below(_MAX_SPEED, "speed", Vector(speed))
        walker, (x, y, z) = self.require_walker(actor_id), feet.location
        middle = Vector(x, y, z + walker.bounding_box.extent.z)
        walker.follow(Transform(middle, feet.rotation), speed)

    # Time --------------------------------------------------------------------------------

    def is_unseen(self, actor_id: int) -> bool:
        """Whether an actor is so new that no frame has shown it."""
        return actor_id >= self._unseen_from and actor_id in self.actors

    def tick(self) -> int:
        """Advance by one step; returns the number of the new frame."""
        if self._triggers:
            self._feel_triggers()
        moving = [v for v in self._vehicles.values() if v.simulates_physics]
        parts = int(self.step_s / MAX_PHYSICS_STEP) + 1 if self.step_s > MAX_PHYSICS_STEP else 1
        for vehicle in moving:
            vehicle.body.begin_step()
        for walker in self._walkers.values():
            if not walker.simulates_physics and not walker.is_guided:
                walker.stride(self.step_s)
        for _ in range(parts):
            self._move(moving, self.step_s / parts)
        self.frame += 1
        self._unseen_from = self._next_id
        step_ns = int(self.step_s * _NS + 0.5)
        self._elapsed_ns += step_ns
        self.signals.step(step_ns)
        self.collisions = self._next_reports() if self._contacts else []
        for vehicle in moving:
            vehicle.body.end_step(self.step_s)
            vehicle.take_state()
            if not vehicle.sticky:
                vehicle.control = VehicleControl()
        if self.signals.are_obeyed:
            self.signals.watch(self._vehicles.values(), self._elapsed_ns)
        return self.frame

    def _move(self, vehicles: list[VehicleActor], dt: float) -> None:
        """One step of the physics."""
        for vehicle in vehicles:
            demand = vehicle.ackermann.demand
            if demand is not None:
                speed, most = vehicle.body.forward_speed(), vehicle.body.steer_range()
                vehicle.control = vehicle.ackermann.controls(demand, speed, most, dt)
            vehicle.body.step(dt, vehicle.control)
        for walker in self._walkers.values():
            if walker.simulates_physics:
                start = walker.state.transform.location
                walker.step(dt, self.gravity)
                self._stop_walker(walker, start)
        for actor, other, impulse in collisions.resolve(self.collidable()):
            self._contacts.setdefault(actor, {}).setdefault(other, impulse)
        for vehicle in vehicles:
            near = self.standing.near(vehicle)
            if near:
                for actor, other, impulse in collisions.resolve_standing(vehicle, near):
                    self._contacts.setdefault(actor, {}).setdefault(other, impulse)

    def _stop_walker(self, walker: WalkerActor, start: Vector) -> None:
        """Keep a walker that comes from a place out of what stands there."""
        place = walker.state.transform.location
        way = abs(place.x - start.x) + abs(place.y - start.y)
        if way == 0.0 or walker.is_guided:
            return
        near = self.standing.before(walker, way)
        if near:
            for actor, other, impulse in collisions.walk_against(walker, start, near):
                self._contacts.setdefault(actor, {}).setdefault(other, impulse)

    def _feel_triggers(self) -> None:
        """Give every wheel the friction of the newest trigger that it is in, else its own."""
        patches = [_Patch(self.pose(trigger), trigger) for trigger in self._triggers.values()]
        patches.reverse()
        for vehicle in self._vehicles.values():
            body = vehicle.body
            z = body.height()
            a, b, c, d = (
                next((patch.friction for patch in patches if patch.has(x, y, z)), None)
                for x, y in body.wheel_places()
            )
            body.set_patches((a, b, c, d))

    def _next_reports(self) -> list[FeltContact]:
        """Take the oldest unreported contact of every actor."""
        reports = []
        for actor in sorted(self._contacts):
            contacts = self._contacts[actor]
            if contacts:
                other = next(iter(contacts))
                impulse, number = contacts.pop(other), max(other, 0)
                reports.append(FeltContact(self.frame, actor, number, impulse, number - other))
            if not contacts:
                del self._contacts[actor]
        return reports

    # Map ---------------------------------------------------------------------------------

    def spawn_points(self) -> list[Transform]:
        """Recommended spawn points: on every driving lane, slightly above the road."""
        points = []
        found = self.network.spawn_points(_SPAWN_SPACING, fast=_FAST_SPACING)
        for x, y, z, heading, slope in found:
            location = Vector(*frames.vector_to_carla(x, y, z + _SPAWN_POINT_HEIGHT))
            rotation = Rotation(degrees(atan(slope)), frames.yaw_to_carla(heading))
            points.append(Transform(location, rotation))
        return points

    def ground_below(self, start: Vector, distance: float) -> Vector | None:
        """Point of the ground at most ``distance`` below ``start``, None if there is none."""
        x, y, _ = frames.vector_to_ros(*start)
        place, z, is_land = ground_at(self.network, self.land, x, y, None, start.z)
        if place.lane_id == OFF_ROAD and not is_land:
            return None
        return Vector(start.x, start.y, z) if 0.0 <= start.z - z <= distance else None

    # Internals ---------------------------------------------------------------------------

    def _made_lamps(self) -> Iterator[MapPart]:
        named = self.things.shown()
        return lamps_of(self.network, named) if self.has_scenery else iter(())

    def _make_scenery(self) -> None:
        if self.scenery_maker is not None:
            self.scenery_maker(self)

    def _keep_box(self, actor: Actor) -> None:
        self._gone[actor.id] = actor.bounding_box
        while len(self._gone) > MAX_GONE:
            del self._gone[next(iter(self._gone))]

    def _add(
        self,
        blueprint: Blueprint,
        pose: Transform,
        attributes: dict[str, str],
        parent: int,
        socket: str = "",
    ) -> Actor:
        try:
            description = blueprint.describe(attributes)
        except ValueError as error:
            raise CallError(f"Spawn failed because of invalid actor description: {error}") from None
        actor_id = self._next_id
        if blueprint.kind == "vehicle":
            if parent:
                raise CallError("Spawn failed: a vehicle cannot be attached to another actor")
            driven = blueprint.driven(attributes)
            sway = Sway(len(self._vehicles)) if blueprint.sways(attributes) else None
            body = VehicleBody(blueprint, self.network, pose, driven, sway, self.land)
            vehicle = VehicleActor(actor_id, blueprint, description, pose, body)
            self._vehicles[actor_id] = vehicle
            actor: Actor = vehicle
        elif blueprint.kind == "walker":
            if parent:
                raise CallError("Spawn failed: a walker cannot be attached to another actor")
            walker = WalkerActor(actor_id, blueprint, description, pose, self.network, self.land)
            self._walkers[actor_id] = walker
            actor = walker
        elif parent:
            mounted = compose(self._mount(self.require(parent), socket), pose)
            actor = Actor(actor_id, blueprint, description, mounted, parent, pose)
            actor.socket = socket
        else:
            actor = Actor(actor_id, blueprint, description, pose)
        self._next_id += 1
        self.actors[actor_id] = actor
        if blueprint.id == FRICTION_TRIGGER:
            self._triggers[actor_id] = actor
        if blueprint.streams:
            self._sensors[actor_id] = actor
        return actor

    def _refuse_occupied(self, blueprint: Blueprint, pose: Transform) -> None:
        if blueprint.kind == "walker":
            # It is put on the ground if it is named lower, as CARLA moves what is in the way of it.
            x, y, z = pose.location
            ground = self.ground_below(Vector(x, y, z + 2.0 * blueprint.extent.z), _SPAWN_REACH)
            low = z - blueprint.extent.z
            feet = low if ground is None else max(low, ground.z)
            pose = Transform(Vector(x, y, feet), pose.rotation)
        box = box_at(pose, blueprint.hull, blueprint.centre[0])
        for actor in self.collidable():
            if contact(box, actor.box()):
                raise CallError("Spawn failed because of collision at spawn position")


def _sized(blueprint: Blueprint, attributes: Mapping[str, str]) -> Blueprint:
    try:
        return of_mesh(blueprint.chosen_size(attributes), attributes)
    except ValueError as error:
        raise CallError(f"Spawn failed because of invalid actor description: {error}") from None


class _Patch:
    """The box of a trigger, whose half sizes are in cm, with its friction."""

    def __init__(self, pose: Transform, trigger: Actor) -> None:
        self._centre = frames.vector_to_ros(*pose.location)
        pitch, yaw, roll = pose.rotation
        self._turned = frames.rotation_to_ros(pitch, yaw, roll)
        half = [0.01 * trigger.number(f"extent_{axis}") for axis in "xyz"]
        self._length, self._width, self._height = half
        self.friction = trigger.number("friction")

    def has(self, x: float, y: float, z: float) -> bool:
        """Whether a place of the map frame is inside."""
        cx, cy, cz = self._centre
        ahead, left, above = frames.world_to_body(self._turned, (x - cx, y - cy, z - cz))
        return (
            abs(ahead) <= self._length and abs(left) <= self._width and abs(above) <= self._height
        )


def _require_below(limit: float, what: str, vector: Vector) -> None:
    if not all(-limit <= part <= limit for part in vector):
        raise CallError(f"{what} {tuple(vector)} exceeds {limit:g}")
