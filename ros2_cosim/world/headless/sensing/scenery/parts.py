# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The scenery of a map as triangles, and as parts that clients list, hide and paint."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ros2_cosim.core.kernel.exactmath import PI, radians, sincos, sqrt
from ros2_cosim.world.headless.contact import OrientedBox
from ros2_cosim.world.headless.labels import ROAD_LINES, TERRAIN
from ros2_cosim.world.headless.sensing.axes import Floats
from ros2_cosim.world.headless.sensing.ground import MapGround
from ros2_cosim.world.headless.sensing.land import Land
from ros2_cosim.world.headless.sensing.mesh import SURFACE, Indices, Mesh, mesh_of
from ros2_cosim.world.headless.sensing.occluders import Walls, walls_of
from ros2_cosim.world.headless.sensing.scenery.dice import seed_of
from ros2_cosim.world.headless.sensing.scenery.free_ground import FreeGround, rectangle
from ros2_cosim.world.headless.sensing.scenery.layout import Placed, SceneryLayout
from ros2_cosim.world.headless.things import MapPart, Things
from ros2_cosim.world.headless.wire_types import Rotation, Transform, Vector
from ros2_cosim.world.map import RoadNetwork


class SceneryLayer(NamedTuple):
    """Triangles, and the number of the part (n) that each belongs to."""

    mesh: Mesh
    owners: Indices

    def by_day(self) -> SceneryLayer:
        """The same without what shines at night."""
        return self._replace(mesh=self.mesh.changed(glow=np.zeros_like(self.mesh.glow)))


class Scenery(NamedTuple):
    """What stands beside the roads of a map.

    :ivar parts: each thing but the street lamps, which come before them and have their names
    :ivar solid: what rays and cameras see
    :ivar details: what lies in the faces of that, for cameras that are near
    :ivar blocks: boxes in the map frame that vehicles collide with, and the numbers of their parts
    :ivar walls: of houses; and ``houses``: the number of the part that each belongs to
    :ivar ground: of the map, with hills where nothing stands
    """

    parts: list[MapPart]
    solid: SceneryLayer
    details: SceneryLayer
    blocks: list[tuple[int, OrientedBox]]
    walls: Walls
    houses: Indices
    ground: MapGround


def scenery_of(network: RoadNetwork, opendrive: str, ground: MapGround, things: Things) -> Scenery:
    """The scenery of a map.

    :param ground: without hills
    :param opendrive: the text of the map, by which numbers are drawn
    :param things: what the map itself has beside its roads: no scenery stands there
    """
    placed: list[Placed] = []
    if ground.land is not None:
        # Lines are painted on pavement.
        paved = ground.paved.points[~np.isin(ground.paved.tags, (TERRAIN, ROAD_LINES))]
        squares = FreeGround(paved)
        for thing in things.shown():
            squares.take(_covered(thing.pose, thing.half))
        seed = seed_of(opendrive)
        layout = SceneryLayout(network, squares, ground.land.height, seed, things.made_lamps())
        layout.fill()
        land = ground.land.with_hills(seed, np.concatenate(layout.level))
        placed = [_on_hills(each, ground.land, land) for each in layout.placed]
        ground = ground.on(land)
    world = [_triangles(each) for each in placed]
    lamps = len(things.made_lamps())
    parts = [_part(*each) for each in zip(placed[lamps:], world[lamps:], strict=True)]
    marks = _marks(placed)
    points = np.concatenate([*world, np.zeros((0, 3, 3))])
    solid, details = (_layer(points, marks, is_detail) for is_detail in (False, True))
    return Scenery(parts, solid, details, list(_blocks(placed)), *_walls(placed), ground)


def _on_hills(placed: Placed, level: Land, land: Land) -> Placed:
    """A form that was on level land, on the hills that have been made there."""
    if not placed.is_loose:
        return placed
    x, y, z = placed.place
    return placed._replace(place=(x, y, z + (land.height(x, y) - level.height(x, y))))


def _axes(heading: float) -> tuple[Floats, Floats]:
    """Unit vectors along a form's x and y axis."""
    sin, cos = sincos(heading)
    return np.array((cos, sin, 0.0)), np.array((0.0 - sin, cos, 0.0))


def _blocks(placed: list[Placed]) -> Iterator[tuple[int, OrientedBox]]:
    """What vehicles collide with."""
    for number, each in enumerate(placed):
        for block in each.form.blocks:
            (x0, y0, z0), (x1, y1, z1) = _in_world(each, np.array(block[:2])).tolist()
            dx, dy = x1 - x0, y1 - y0
            along = sqrt(dx * dx + dy * dy)
            low = min(z0, z1)
            half = 0.5 * (max(z0, z1) + block.high - low)
            # The map frame has its y axis to the left.
            yield number, OrientedBox(
                0.5 * (x0 + x1), -0.5 * (y0 + y1), low + half, 0.5 * along, block.half, half,
                dx / along, 0.0 - dy / along,
            )  # fmt: skip


def _walls(placed: list[Placed]) -> tuple[Walls, Indices]:
    """Walls of filled boxes, and the numbers of their parts."""
    boxes, numbers = [], []
    for number, each in enumerate(placed):
        if each.form.filled is not None:
            ends = np.array(each.form.filled)
            bits = np.arange(8)[:, None] >> np.arange(3) & 1
            boxes.append(_in_world(each, ends[bits, np.arange(3)]))
            numbers += [number] * 4
    corners = np.array(boxes).reshape(-1, 8, 3)
    return walls_of(corners), np.array(numbers, dtype=np.int64)


def _triangles(placed: Placed) -> Floats:
    """The triangles (n, 3, 3) of a form in its place."""
    return _in_world(placed, np.concatenate([piece.points for piece in placed.form.pieces]))


def _in_world(placed: Placed, points: Floats) -> Floats:
    """Points (..., 3) of a form's frame in the world."""
    ahead, right = _axes(placed.heading)
    world: Floats = points[..., 0:1] * ahead + points[..., 1:2] * right
    world[..., 2] += points[..., 2]
    return world + np.array(placed.place)


def _part(placed: Placed, world: Floats) -> MapPart:
    """What clients know of a form: the box around it, which is turned as the form is."""
    ahead, right = _axes(placed.heading)
    corners = world.reshape(-1, 3) - np.array(placed.place)
    local = np.stack((_along(corners, ahead), _along(corners, right), corners[:, 2]), axis=1)
    low, high = local.min(axis=0), local.max(axis=0)
    middle = 0.5 * (low + high)
    foot = np.array(placed.place) + middle[0] * ahead + middle[1] * right
    foot[2] += low[2]
    pose = Transform(Vector(*foot.tolist()), Rotation(0.0, placed.heading * 180.0 / PI, 0.0))
    half = Vector(*(0.5 * (high - low)).tolist())
    return MapPart(placed.name, placed.form.label, pose, half)


def _along(points: Floats, axis: Floats) -> Floats:
    result: Floats = points[:, 0] * axis[0] + points[:, 1] * axis[1]
    return result


def _marks(placed: list[Placed]) -> Indices:
    """Of each triangle: the number of its part, whether it is a detail, its label, its colour, and
    what it shines with at night: lamps of parked cars do not.
    """
    rows = [
        (
            len(piece.points), number, piece.is_detail, piece.label, *piece.colour,
            *((0, 0, 0) if piece.lamps else piece.shine),
        )
        for number, each in enumerate(placed)
        for piece in each.form.pieces
    ]  # fmt: skip
    table = np.array(rows, dtype=np.int64).reshape(-1, 10)
    return np.repeat(table[:, 1:], table[:, 0], axis=0)


def _layer(points: Floats, marks: Indices, is_detail: bool) -> SceneryLayer:
    chosen = marks[:, 1] == is_detail
    points, marks = points[chosen], marks[chosen]
    # The numbers of parts travel with it: a mesh leaves out triangles without area.
    mesh = mesh_of(
        points, marks[:, 2].astype(np.uint8), np.zeros(len(points), dtype=np.uint32),
        marks[:, 3:6].astype(np.uint8), np.full(len(points), SURFACE, dtype=np.uint8),
        glow=marks[:, 6:9].astype(np.uint8), things=marks[:, 0].astype(np.uint32),
    )  # fmt: skip
    return SceneryLayer(mesh, mesh.things.astype(np.int64))


def _covered(pose: Transform, half: Vector) -> Floats:
    """Points (n, 2) over a box that stands on the ground, with a metre around it."""
    sin, cos = sincos(radians(pose.rotation.yaw))
    size = (-half.x - 1.0, half.x + 1.0, -half.y - 1.0, half.y + 1.0)
    return rectangle(pose.location.x, pose.location.y, (cos, sin), size)
