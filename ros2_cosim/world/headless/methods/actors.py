# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Remote methods that concern any actor: blueprints, spawning, poses, forces."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ros2_cosim.world.headless.actors import Actor, compose
from ros2_cosim.world.headless.blueprints import LIBRARY
from ros2_cosim.world.headless.components import Component, components_of
from ros2_cosim.world.headless.decoding import (
    actor_description,
    boolean,
    listing,
    text,
    transform,
    u8,
    u32,
    vector,
)
from ros2_cosim.world.headless.dispatch import AnswerForm, MethodTable, by_simulation, by_world
from ros2_cosim.world.headless.wire_types import (
    ORIGIN,
    ActorDescription,
    ActorRecord,
    Transform,
    Vector,
)
from ros2_cosim.world.headless.world import CallError, World

if TYPE_CHECKING:
    from ros2_cosim.world.headless.simulation import Simulation

TABLE = MethodTable()
_method = TABLE.method
VALUE, VOID, NONE = AnswerForm.VALUE, AnswerForm.VOID, AnswerForm.NONE


@_method("get_actor_definitions", VALUE)
def _definitions(_: Simulation) -> list[Any]:
    return [blueprint.to_wire() for blueprint in LIBRARY.values()]


@_method("get_actors_by_id", VALUE, listing(u32))
def _actors_by_id(simulation: Simulation, ids: list[int]) -> list[ActorRecord]:
    actors = simulation.world.actors
    return [simulation.record(actors[i]) for i in ids if i in actors]


@_method("spawn_actor_with_parent", VALUE, actor_description, transform, u32, u8, text)
def _spawn_attached(
    simulation: Simulation,
    description: ActorDescription,
    pose: Transform,
    parent: int,
    _attachment: int,
    socket: str,
) -> ActorRecord:
    return simulation.record(simulation.spawn(description, pose, parent, socket))


@_method("destroy_actor", VALUE, u32)
def _destroy(simulation: Simulation, actor: int) -> bool:
    simulation.world.destroy(actor)
    return True


@_method("set_actor_location", NONE, u32, vector)
def _set_location(simulation: Simulation, actor: int, location: Vector) -> None:
    world = simulation.world
    world.set_transform(actor, Transform(location, world.pose_to_set(actor).rotation))


@_method("add_actor_impulse_at_location", NONE, u32, vector, vector)
def _impulse_at(simulation: Simulation, actor: int, impulse: Vector, at: Vector) -> None:
    turn = _lever(simulation, actor, impulse, at)
    simulation.world.add_impulse(actor, impulse)
    simulation.world.add_angular_impulse(actor, turn)


@_method("add_actor_force_at_location", NONE, u32, vector, vector)
def _force_at(simulation: Simulation, actor: int, force: Vector, at: Vector) -> None:
    turn = _lever(simulation, actor, force, at)
    simulation.world.add_force(actor, force)
    simulation.world.add_torque(actor, turn)


def _lever(simulation: Simulation, actor: int, pull: Vector, at: Vector) -> Vector:
    """What a force or an impulse at a place in the world turns the vehicle by."""
    vehicle = simulation.world.require_vehicle(actor)
    height = Transform(Vector(0.0, 0.0, vehicle.body.parameters.cg_height))
    centre = compose(vehicle.state.transform, height).location
    x, y, z = (a - b for a, b in zip(at, centre, strict=True))
    return Vector(y * pull.z - z * pull.y, z * pull.x - x * pull.z, x * pull.y - y * pull.x)


@_method("set_actor_collisions", VOID, u32, boolean)
def _collisions(simulation: Simulation, actor: int, enabled: bool) -> None:
    simulation.world.require(actor).collides = enabled


@_method("get_actor_component_world_transform", VALUE, u32, text)
def _component_world(simulation: Simulation, actor: int, name: str) -> Transform:
    world = simulation.world
    found = world.require(actor)
    return compose(world.pose(found), _component(found, name).on_root)


@_method("get_actor_component_relative_transform", VALUE, u32, text)
def _component_relative(simulation: Simulation, actor: int, name: str) -> Transform:
    world = simulation.world
    component = _component(world.require(actor), name)
    # As in CARLA the root is where the actor is: in the world, or on its parent.
    return world.pose_to_set(actor) if component.on_root == ORIGIN else component.on_root


def _component(actor: Actor, name: str) -> Component:
    components = components_of(actor)
    for component in components:
        if component.name == name:
            return component
    has = ", ".join(component.name for component in components)
    raise CallError(f"actor {actor.id} has no component '{name[:40]}'; it has: {has}")


TABLE.methods(
    NONE,
    by_world,
    ("set_actor_transform", World.set_transform, u32, transform),
    ("set_actor_target_velocity", World.set_target_velocity, u32, vector),
    ("set_actor_target_angular_velocity", World.set_target_angular_velocity, u32, vector),
    ("enable_actor_constant_velocity", World.hold_velocity, u32, vector),
    ("disable_actor_constant_velocity", World.hold_velocity, u32),
    ("add_actor_impulse", World.add_impulse, u32, vector),
    ("add_actor_force", World.add_force, u32, vector),
    ("add_actor_angular_impulse", World.add_angular_impulse, u32, vector),
    ("add_actor_torque", World.add_torque, u32, vector),
    ("set_actor_enable_gravity", World.enable_gravity, u32, boolean),
    # The traffic manager lives in the client.
    ("set_actor_autopilot", lambda world, actor, _: world.require(actor), u32, boolean),
)
TABLE.methods(VOID, by_world, ("set_actor_simulate_physics", World.simulate_physics, u32, boolean))
TABLE.methods(
    VALUE,
    by_world,
    ("get_actor_bounding_box", World.bounding_box, u32),
    ("get_actor_component_names", lambda w, a: [c.name for c in components_of(w.require(a))], u32),
    # As in CARLA every bone is a socket: actors can be attached to it by its name.
    ("get_actor_socket_names", lambda w, a: [bone.name for bone in w.bones(a)], u32),
    ("get_actor_bone_names", lambda w, a: [bone.name for bone in w.bones(a)], u32),
    ("get_actor_socket_world_transforms", lambda w, a: [b.world for b in w.bones(a)], u32),
    ("get_actor_bone_world_transforms", lambda w, a: [b.world for b in w.bones(a)], u32),
    ("get_vehicle_bone_world_transforms", lambda w, a: [b.world for b in w.bones(a)], u32),
    # As in CARLA places of sockets are on the actor's root, those of bones on their mesh.
    ("get_actor_socket_relative_transforms", lambda w, a: [b.component for b in w.bones(a)], u32),
    ("get_actor_bone_relative_transforms", lambda w, a: w.bones_on_mesh(a), u32),
)
TABLE.methods(
    VALUE,
    by_simulation,
    ("get_spectator", lambda simulation: simulation.record(simulation.world.spectator)),
    ("spawn_actor", lambda s, *given: s.record(s.spawn(*given)), actor_description, transform),
)
