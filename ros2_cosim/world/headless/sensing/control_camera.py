# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The camera whose pictures are CARLA's input for Cosmos Transfer: lines on black.

Lines, colours and thicknesses are those of ``ACosmosControlSensor`` (carla-simulator/carla
b5272b0d, ``Unreal/CarlaUE4/Plugins/Carla/Source/Carla/Sensor/CosmosControlSensor.cpp``), without
its routes, which maps of OpenDRIVE do not have.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, Final

import numpy as np

from ros2_cosim.core.kernel.exactmath import sincos
from ros2_cosim.world.headless.actors import VehicleActor
from ros2_cosim.world.headless.debug_shapes import DebugShape, Kind
from ros2_cosim.world.headless.labels import POLES
from ros2_cosim.world.headless.materials import Colour
from ros2_cosim.world.headless.sensing.axes import axes_of
from ros2_cosim.world.headless.sensing.cameras import Camera, packed, painted
from ros2_cosim.world.headless.sensing.device import SensedFrame
from ros2_cosim.world.headless.sensing.drawn import mesh_of_shapes
from ros2_cosim.world.headless.sensing.raster import View, render
from ros2_cosim.world.headless.sensing.scene import TriangleScene
from ros2_cosim.world.headless.signals import LightActor, SignActor
from ros2_cosim.world.headless.walkers import WalkerActor
from ros2_cosim.world.headless.wire_types import Rotation, Transform, Vector
from ros2_cosim.world.map import frames
from ros2_cosim.world.map.stop_lines import stop_lines

if TYPE_CHECKING:
    from ros2_cosim.world.headless.world import World
    from ros2_cosim.world.map import RoadNetwork
    from ros2_cosim.world.map.objects import RoadObject

_BLACK = b"\x00\x00\x00\xff"
_EDGE, _STROKE = 0.1, 0.2  # m, thickness of a box's edges and of other lines
_VEHICLE: Final[Colour] = (255, 0, 0)
_PERSON: Final[Colour] = (0, 255, 0)
_LIGHT: Final[Colour] = (109, 144, 136)
_SIGN: Final[Colour] = (214, 144, 137)
_POLE: Final[Colour] = (58, 4, 124)
_STOP_LINE: Final[Colour] = (255, 0, 0)
_CROSSWALK: Final[Colour] = (202, 132, 58)


class ControlCamera(Camera):
    """Boxes of actors, poles, stop lines, crosswalks, and what clients have drawn."""

    sensor_type = 16

    def measure(self, moment: SensedFrame) -> list[bytes]:
        """The picture; nothing but lines is rendered for it."""
        world = moment.world
        mesh = mesh_of_shapes(
            [
                *control_lines(world, self.sensor.ignored),
                *world.shapes.alive(world.elapsed_s, world.step_s),
            ]
        )
        if mesh is None:
            return [self.message(moment, _BLACK * (self.lens.width * self.lens.height))]
        lines = TriangleScene(mesh, mesh.take(np.zeros(len(mesh), dtype=bool)))
        view = render(lines, axes_of(moment.pose), self.lens)
        return [self.message(moment, self.pixels(moment, view))]

    def pixels(self, moment: SensedFrame, view: View) -> bytes | memoryview:
        """The colours of the lines."""
        red, green, blue = view.mesh.colours.astype(np.uint32).T
        return painted(view, packed(red, green, blue), 0)


def control_lines(world: World, ignored: Collection[int] = ()) -> Iterator[DebugShape]:
    """What CARLA draws of a world in its frame, without some vehicles."""
    for actor in world.actors.values():
        if actor.id in ignored:
            continue
        if isinstance(actor, VehicleActor | WalkerActor):
            box, pose = actor.bounding_box, world.pose(actor)
            middle = Vector(*axes_of(pose).outside(np.array(box.location)).tolist())
            colour = _VEHICLE if isinstance(actor, VehicleActor) else _PERSON
            yield _box(Transform(middle, pose.rotation), box.extent, colour)
        elif isinstance(actor, SignActor):
            box = actor.head()
            colour = _LIGHT if isinstance(actor, LightActor) else _SIGN
            yield _box(Transform(box.location, box.rotation), box.extent, colour)
            if isinstance(actor, LightActor):
                yield from _stop_lines(world.network, actor.signal.id)
    for thing in world.things.labelled(POLES):
        if thing.is_shown and thing.half.z >= max(thing.half.x, thing.half.y):
            x, y, z = thing.pose.location
            yield _line(Vector(x, y, z), Vector(x, y, z + 2.0 * thing.half.z), _POLE)
    for road in world.network.roads.values():
        for found in road.objects:
            if found.type.lower() == "crosswalk" and 0.0 <= found.s <= road.length:
                yield from _outline(world.network, found)


def _box(pose: Transform, half: Vector, colour: Colour) -> DebugShape:
    place, rotation = pose
    return DebugShape(Kind.BOX, False, place, half, rotation, _EDGE, 0.0, "", colour, None)


def _line(start: Vector, end: Vector, colour: Colour) -> DebugShape:
    return DebugShape(Kind.LINE, False, start, end, Rotation(), _STROKE, 0.0, "", colour, None)


def _stop_lines(network: RoadNetwork, signal: str) -> Iterator[DebugShape]:
    for road_id, lane_id, s in stop_lines(network, signal):
        ends = [network.pose(road_id, s, t) for t in network.lane_borders(road_id, lane_id, s)]
        start, end = (Vector(*frames.vector_to_carla(x, y, z)) for x, y, z, _ in ends)
        yield _line(start, end, _STOP_LINE)


def _outline(network: RoadNetwork, found: RoadObject) -> Iterator[DebugShape]:
    x, y, z, heading = network.pose(found.road_id, found.s, found.t)
    sin, cos = sincos(heading + found.heading)
    corners = [
        Vector(*frames.vector_to_carla(x + (u * cos - v * sin), y + (u * sin + v * cos), z))
        for u, v, _ in found.outline
    ]
    for start, end in zip(corners, corners[1:] + corners[:1], strict=True):
        yield _line(start, end, _CROSSWALK)
