# SPDX-License-Identifier: Apache-2.0
"""Remote methods of what stands beside the roads: things of the map, layers, street lights."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ros2_cosim.carla_headless.actors import compose
from ros2_cosim.carla_headless.decoding import (
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
from ros2_cosim.carla_headless.dispatch import AnswerForm, MethodTable
from ros2_cosim.carla_headless.labels import ANY
from ros2_cosim.carla_headless.signals import SignActor
from ros2_cosim.carla_headless.street_lights import LightState
from ros2_cosim.carla_headless.wire_types import BoundingBox, Transform
from ros2_cosim.carla_headless.world import CallError
from ros2_cosim.kernel.exactmath import total

if TYPE_CHECKING:
    from ros2_cosim.carla_headless.simulation import Simulation
    from ros2_cosim.carla_headless.world import World

TABLE = MethodTable()
_method = TABLE.method
VALUE, VOID, NONE = AnswerForm.VALUE, AnswerForm.VOID, AnswerForm.NONE

#: The parameter of materials that gives things their colour (``MaterialParameter.Diffuse``).
_DIFFUSE = 2
_MOST_PARAMETER = 3
#: Pixels of a texture; of them only the mean is used.
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


@_method("get_names_of_all_objects", VALUE)
def _names(simulation: Simulation) -> list[str]:
    return [thing.name for thing in simulation.world.things.labelled(ANY)]


@_method("get_environment_objects", VALUE, u8)
def _objects(simulation: Simulation, label: int) -> list[EnvironmentObject]:
    return [
        EnvironmentObject(thing.pose, thing.box(), thing.id, thing.name, thing.label)
        for thing in simulation.world.things.labelled(label)
    ]


@_method("enable_environment_objects", NONE, listing(u64), boolean)
def _enable(simulation: Simulation, ids: list[int], enabled: bool) -> None:
    simulation.world.things.show(ids, enabled)


@_method("get_all_level_BBs", VALUE, u8)
def _boxes(simulation: Simulation, label: int) -> list[BoundingBox]:
    world = simulation.world
    things = [thing.box() for thing in world.things.labelled(label)]
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


@_method("load_map_layer", VOID, u16)
def _load_layer(simulation: Simulation, layers: int) -> None:
    simulation.world.things.show_layers(layers, shown=True)


@_method("unload_map_layer", VOID, u16)
def _unload_layer(simulation: Simulation, layers: int) -> None:
    simulation.world.things.show_layers(layers, shown=False)


@_method("apply_color_texture_to_objects", VOID, listing(text), u8, _texture)
def _paint(simulation: Simulation, names: list[str], parameter: int, texture: Texture) -> None:
    _apply(simulation, names, parameter, texture, 1.0)


@_method("apply_float_color_texture_to_objects", VOID, listing(text), u8, _texture)
def _paint_floats(
    simulation: Simulation, names: list[str], parameter: int, texture: Texture
) -> None:
    _apply(simulation, names, parameter, texture, 255.0)


def _apply(
    simulation: Simulation, names: list[str], parameter: int, texture: Texture, scale: float
) -> None:
    """Paint things in the mean colour of a diffuse texture; others give them no colour."""
    pixels = texture.pixels
    if not 0 < texture.width * texture.height == len(pixels) <= _MOST_PIXELS:
        raise CallError(f"texture of {texture.width} x {texture.height} pixels has {len(pixels)}")
    if parameter > _MOST_PARAMETER:
        raise CallError(f"material parameter {parameter} must be from 0 to {_MOST_PARAMETER}")
    if any(len(pixel) != 4 for pixel in pixels):
        raise CallError("a pixel of a texture has red, green, blue and alpha")
    if parameter != _DIFFUSE:
        return
    red, green, blue = (
        min(255, max(0, int(scale * total(pixel[i] for pixel in pixels) / len(pixels) + 0.5)))
        for i in range(3)
    )
    for name in names:
        simulation.world.things.paint(name, (red, green, blue))


@_method("set_annotations_traverse_translucency", NONE, boolean)
def _translucency(_: Simulation, _traverse: bool) -> None:
    """Nothing here is translucent: annotations are the same either way."""


@_method("query_lights_state", VALUE, text)
def _lights(simulation: Simulation, _client: str) -> list[LightState]:
    return simulation.world.lamps.states()


@_method("update_lights_state", NONE, text, listing(_light_state), boolean)
def _set_lights(
    simulation: Simulation, _client: str, states: list[LightState], discard: bool
) -> None:
    # ``discard``: what a client sends after it has asked anew; then no client has to ask again.
    simulation.world.lamps.update(states, tell=not discard)


@_method("update_day_night_cycle", NONE, text, boolean)
def _day_night(simulation: Simulation, _client: str, active: bool) -> None:
    simulation.world.lamps.day_night_cycle = active
