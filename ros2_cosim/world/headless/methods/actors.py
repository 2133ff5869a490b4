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
from ros2_cosim.world.headless.dispatch import AnswerForm, MethodTable
from ros2_cosim.world.headless.wire_types import (
    ORIGIN,
    ActorDescription,
    ActorRecord,
    BoundingBox,
    Transform,
    Vector,
)
from ros2_cosim.world.headless.world import CallError

if TYPE_CHECKING:
    from ros2_cosim.world.headless.simulation import Simulation

TABLE = MethodTable()
_method = TABLE.method
VALUE, VOID, NONE = AnswerForm.VALUE, AnswerForm.VOID, AnswerForm.NONE


@_method("get_actor_definitions", VALUE)
def _definitions(_: Simulation) -> list[Any]:
    return [blueprint.to_wire() for blueprint in LIBRARY.values()]


@_method("get_spectator", VALUE)
def _spectator(simulation: Simulation) -> ActorRecord:
    return simulation.record(simulation.world.spectator)


@_method("get_actors_by_id", VALUE, listing(u32))
def _actors_by_id(simulation: Simulation, ids: list[int]) -> list[ActorRecord]:
    actors = simulation.world.actors
    return [simulation.record(actors[i]) for i in ids if i in actors]


@_method("spawn_actor", VALUE, actor_description, transform)
def _spawn(simulation: Simulation, description: ActorDescription, pose: Transform) -> ActorRecord:
    return simulation.record(simulation.spawn(description, pose))


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


@_method("set_actor_transform", NONE, u32, transform)
def _set_transform(simulation: Simulation, actor: int, pose: Transform) -> None:
    simulation.world.set_transform(actor, pose)


@_method("set_actor_target_velocity", NONE, u32, vector)
def _set_velocity(simulation: Simulation, actor: int, velocity: Vector) -> None:
    simulation.world.set_target_velocity(actor, velocity)


@_method("set_actor_target_angular_velocity", NONE, u32, vector)
def _set_angular_velocity(simulation: Simulation, actor: int, velocity: Vector) -> None:
    simulation.world.set_target_angular_velocity(actor, velocity)


@_method("enable_actor_constant_velocity", NONE, u32, vector)
def _hold_velocity(simulation: Simulation, actor: int, velocity: Vector) -> None:
    simulation.world.hold_velocity(actor, velocity)


@_method("disable_actor_constant_velocity", NONE, u32)
def _release_velocity(simulation: Simulation, actor: int) -> None:
    simulation.world.hold_velocity(actor, None)


@_method("add_actor_impulse", NONE, u32, vector)
def _impulse(simulation: Simulation, actor: int, impulse: Vector) -> None:
    simulation.world.add_impulse(actor, impulse)


@_method("add_actor_force", NONE, u32, vector)
def _force(simulation: Simulation, actor: int, force: Vector) -> None:
    simulation.world.add_force(actor, force)


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


@_method("add_actor_angular_impulse", NONE, u32, vector)
def _angular_impulse(simulation: Simulation, actor: int, impulse: Vector) -> None:
    simulation.world.add_angular_impulse(actor, impulse)


@_method("add_actor_torque", NONE, u32, vector)
def _torque(simulation: Simulation, actor: int, torque: Vector) -> None:
    simulation.world.add_torque(actor, torque)


@_method("set_actor_simulate_physics", VOID, u32, boolean)
def _simulate_physics(simulation: Simulation, actor: int, enabled: bool) -> None:
    simulation.world.simulate_physics(actor, enabled)


@_method("set_actor_collisions", VOID, u32, boolean)
def _collisions(simulation: Simulation, actor: int, enabled: bool) -> None:
    simulation.world.require(actor).collides = enabled


@_method("set_actor_enable_gravity", NONE, u32, boolean)
def _gravity(simulation: Simulation, actor: int, enabled: bool) -> None:
    simulation.world.enable_gravity(actor, enabled)


@_method("set_actor_autopilot", NONE, u32, boolean)
def _autopilot(simulation: Simulation, actor: int, _enabled: bool) -> None:
    simulation.world.require(actor)  # the traffic manager lifecycles in the client


@_method("get_actor_bounding_box", VALUE, u32)
def _bounding_box(simulation: Simulation, actor: int) -> BoundingBox:
    return simulation.world.bounding_box(actor)


@_method("get_actor_component_names", VALUE, u32)
def _components(simulation: Simulation, actor: int) -> list[str]:
    return [component.name for component in components_of(simulation.world.require(actor))]


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


# As in CARLA every bone is a socket: actors can be attached to it by its name.
@_method("get_actor_socket_names", VALUE, u32)
@_method("get_actor_bone_names", VALUE, u32)
def _bone_names(simulation: Simulation, actor: int) -> list[str]:
    return [bone.name for bone in simulation.world.bones(actor)]


@_method("get_actor_socket_world_transforms", VALUE, u32)
@_method("get_actor_bone_world_transforms", VALUE, u32)
@_method("get_vehicle_bone_world_transforms", VALUE, u32)
def _bones_in_world(simulation: Simulation, actor: int) -> list[Transform]:
    return [bone.world for bone in simulation.world.bones(actor)]


@_method("get_actor_socket_relative_transforms", VALUE, u32)
@_method("get_actor_bone_relative_transforms", VALUE, u32)
def _bones_on_parents(simulation: Simulation, actor: int) -> list[Transform]:
    return [bone.relative for bone in simulation.world.bones(actor)]
