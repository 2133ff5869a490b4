# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Remote methods of what stands beside the roads: things of the map, layers, street lights."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from ros2_cosim.world.headless.actors import compose
from ros2_cosim.world.headless.decoding import (
    boolean,
    color,
    listing,
    real,
    structure,
    text,
    u8,
    u16,
    u32,
    u64,
    vector,
)
from ros2_cosim.world.headless.dispatch import AnswerForm, MethodTable, by_simulation, by_world
from ros2_cosim.world.headless.labels import ANY
from ros2_cosim.world.headless.materials import EMISSIVE, grid_of
from ros2_cosim.world.headless.signals import SignActor
from ros2_cosim.world.headless.street_lights import LightState
from ros2_cosim.world.headless.wire_types import BoundingBox, Transform
from ros2_cosim.world.headless.world import CallError

if TYPE_CHECKING:
    from ros2_cosim.world.headless.simulation import Simulation
    from ros2_cosim.world.headless.things import Things
    from ros2_cosim.world.headless.world import World

TABLE = MethodTable()
_method = TABLE.method
VALUE, VOID, NONE = AnswerForm.VALUE, AnswerForm.VOID, AnswerForm.NONE

#: Pixels of a texture.
_MOST_PIXELS = 4096 * 4096


class EnvironmentObject(NamedTuple):
    """A thing of the map as the protocol has it."""

    transform: Transform
    bounding_box: BoundingBox
    id: int
    name: str
    type: int


class Texture(NamedTuple):
    """A picture: rows of pixels with red, green, blue and alpha."""

    width: int
    height: int
    pixels: list[list[float]]


_light_state = structure(LightState, u32, vector, real, u8, color, boolean)
_texture = structure(Texture, u32, u32, listing(listing(real)))


def _things(simulation: Simulation) -> Things:
    """The things of the map with its parts."""
    simulation.sensors.name_parts(simulation.world)
    return simulation.world.things


def _painted_actors(world: World) -> dict[str, int]:
    """The actors that have a look, by their names as objects."""
    return {
        f"{actor.blueprint.id}_{actor.id}": actor.id
        for actor in world.actors.values()
        if isinstance(actor, SignActor) or min(actor.bounding_box.extent) > 0.0
    }


@_method("get_names_of_all_objects", VALUE)
def _names(simulation: Simulation) -> list[str]:
    things = [thing.name for thing in _things(simulation).labelled(ANY)]
    return [*things, *_painted_actors(simulation.world)]


@_method("get_environment_objects", VALUE, u8)
def _objects(simulation: Simulation, label: int) -> list[EnvironmentObject]:
    return [
        EnvironmentObject(thing.pose, thing.box(), thing.id, thing.name, thing.label)
        for thing in _things(simulation).labelled(label)
    ]


@_method("get_all_level_BBs", VALUE, u8)
def _boxes(simulation: Simulation, label: int) -> list[BoundingBox]:
    world = simulation.world
    things = [thing.box() for thing in _things(simulation).labelled(label)]
    return things + _boxes_of_actors(world, label)


def _boxes_of_actors(world: World, label: int) -> list[BoundingBox]:
    """The boxes of actors in the world; of lights and signs those of lamps and plates."""
    found = []
    for actor in world.actors.values():
        if label not in (ANY, actor.blueprint.semantic_tag):
            continue
        if isinstance(actor, SignActor):
            found.append(actor.head()._replace(actor_id=actor.id))
        elif min(actor.bounding_box.extent) > 0.0:
            box = actor.bounding_box
            pose = compose(world.pose(actor), Transform(box.location))
            found.append(BoundingBox(pose.location, box.extent, pose.rotation, actor.id))
    return found


def _apply(
    scale: float, simulation: Simulation, names: list[str], parameter: int, texture: Texture
) -> None:
    """Put a texture on objects: things and parts of the map, and actors."""
    pixels = texture.pixels
    if not 0 < texture.width * texture.height == len(pixels) <= _MOST_PIXELS:
        raise CallError(f"texture of {texture.width} x {texture.height} pixels has {len(pixels)}")
    if parameter > EMISSIVE:
        raise CallError(f"material parameter {parameter} must be from 0 to {EMISSIVE}")
    if any(len(pixel) != 4 for pixel in pixels):
        raise CallError("a pixel of a texture has red, green, blue and alpha")
    things, actors = _things(simulation), _painted_actors(simulation.world)
    grid = grid_of(texture.width, texture.height, pixels, scale)
    found = False
    for name in names:
        if name in actors:
            things.paint_actor(actors[name], parameter, grid)
            found = True
        else:
            found |= things.paint(name, parameter, grid)
    if not found:
        raise CallError(f"no object '{names[0][:40] if names else ''}' to paint")


@_method("set_annotations_traverse_translucency", NONE, boolean)
def _translucency(_: Simulation, _traverse: bool) -> None:
    """Nothing here is translucent: annotations are the same either way."""


@_method("update_lights_state", NONE, text, listing(_light_state), boolean)
def _set_lights(
    simulation: Simulation, _client: str, states: list[LightState], discard: bool
) -> None:
    # ``discard``: what a client sends after it has asked anew; then no client has to ask again.
    simulation.world.lamps.update(states, tell=not discard)


@_method("update_day_night_cycle", NONE, text, boolean)
def _day_night(simulation: Simulation, _client: str, active: bool) -> None:
    simulation.world.lamps.day_night_cycle = active


# Clients ask while they connect, and wait for seconds only: no scenery is made for it.
TABLE.methods(
    VALUE, by_world, ("query_lights_state", lambda world, _client: world.lamps.states(), text)
)
TABLE.methods(
    NONE,
    by_simulation,
    ("enable_environment_objects", lambda s, *of: _things(s).show(*of), listing(u64), boolean),
)
TABLE.methods(
    VOID,
    by_simulation,
    ("load_map_layer", lambda s, layers: _things(s).show_layers(layers, shown=True), u16),
    ("unload_map_layer", lambda s, layers: _things(s).show_layers(layers, shown=False), u16),
    ("apply_color_texture_to_objects", partial(_apply, 255.0), listing(text), u8, _texture),
    ("apply_float_color_texture_to_objects", partial(_apply, 1.0), listing(text), u8, _texture),
)
