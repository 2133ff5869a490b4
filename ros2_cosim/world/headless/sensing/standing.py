# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What the things of a map look like: boxes; a street lamp has a head that shines."""

from __future__ import annotations

import numpy as np

from ros2_cosim.world.headless.sensing.axes import axes_of
from ros2_cosim.world.headless.sensing.mesh import Mesh, MeshBuilder
from ros2_cosim.world.headless.sensing.painted import box_corners, painted_box
from ros2_cosim.world.headless.street_lights import StreetLights
from ros2_cosim.world.headless.things import Thing, Things
from ros2_cosim.world.headless.wire_types import Transform

# Half sizes of a lamp's head [m]; its lower side is where the light is.
_HEAD = (0.35, 0.2, 0.08)
_DARK = (70, 72, 74)


def mesh_of_things(things: Things, lights: StreetLights) -> Mesh:
    """The triangles of the things that are shown."""
    builder = MeshBuilder()
    colours = {state.id: state.color for state in lights.burning()}
    for thing in things.shown():
        _box(builder, thing, thing.half, thing.half.z, thing.colour)
    for lamp in things.lamps():
        if lamp.is_shown and lamp.lamp is not None:
            above = lamp.lamp.z + _HEAD[2] - lamp.pose.location.z
            foot = Transform(lamp.lamp._replace(z=lamp.pose.location.z), lamp.pose.rotation)
            shine = colours.get(lamp.id, (0, 0, 0))
            _box(builder, lamp, _HEAD, above, colours.get(lamp.id, _DARK), foot, shine)
    return builder.build()


def _box(
    builder: MeshBuilder,
    thing: Thing,
    half: tuple[float, float, float],
    middle: float,
    colour: tuple[int, int, int],
    foot: Transform | None = None,
    shine: tuple[int, int, int] = (0, 0, 0),
) -> None:
    """A box above the thing's foot, or another one, whose middle is so high [m].

    :param shine: of what is on; black: what clients have painted shines as they say
    """
    corners = box_corners(*half) + np.array((0.0, 0.0, middle))
    placed = axes_of(foot or thing.pose).outside(corners)
    for piece in painted_box(placed, colour, thing.material):
        glow = shine if any(shine) else piece.glow
        builder.add(piece.points, thing.label, piece.colour, glow=glow, shade=piece.shade,
                    thing=thing.id)  # fmt: skip
