# SPDX-License-Identifier: Apache-2.0
"""What rays and cameras see in one frame: the map, which stands still, and the actors."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ros2_cosim.world.headless.materials import PLAIN, Material
from ros2_cosim.world.headless.sensing.axes import Floats, axes_of
from ros2_cosim.world.headless.sensing.ground import MapGround, ground_of
from ros2_cosim.world.headless.sensing.mesh import (
    Flags,
    Indices,
    Mesh,
    joined,
    length,
    mesh_of,
)
from ros2_cosim.world.headless.sensing.shapes import BodyShape, look_of, shape_of
from ros2_cosim.world.headless.sensing.standing import mesh_of_things
from ros2_cosim.world.headless.sensing.tiles import Tiles, tiles_of
from ros2_cosim.world.headless.wire_types import Transform

if TYPE_CHECKING:
    from ros2_cosim.world.headless.actors import Actor
    from ros2_cosim.world.headless.things import Thing
    from ros2_cosim.world.headless.world import World
    from ros2_cosim.world.road import RoadNetwork


class TriangleScene(NamedTuple):
    """The triangles of one frame.

    :ivar tiles: of the map, None: each of its triangles is looked at
    """

    map: Mesh
    actors: Mesh
    tiles: Tiles | None = None

    def near(self, test: Callable[[Floats, Floats], Flags]) -> list[tuple[Mesh, Indices]]:
        """Both meshes with the triangles that a test of balls leaves: of centres and radii."""
        found = []
        for mesh, tiles in ((self.map, self.tiles), (self.actors, None)):
            if tiles is None:
                found.append((mesh, np.flatnonzero(test(mesh.centres, mesh.radii))))
                continue
            which = tiles.of(test(tiles.centres, tiles.radii))
            kept = test(mesh.centres.take(which, 0), mesh.radii.take(which))
            found.append((mesh, which[kept]))
        return found


class SceneBuilder:
    """Makes scenes, and keeps of each what the next one has in common with it."""

    def __init__(self) -> None:
        self._network: RoadNetwork | None = None
        self._ground: MapGround | None = None
        #: The map with its things, and the version of those.
        self._map: tuple[tuple[int, int], Mesh, Tiles] | None = None
        self._shapes: dict[tuple[int, int, Material], BodyShape | None] = {}
        self._made: tuple[object, ...] = ()
        self._scene: TriangleScene | None = None

    def scene(self, world: World) -> TriangleScene:
        """The scene of the present moment."""
        whole, tiles = self._whole_map(world)
        seen, looks = [], []
        painted = world.things.painted
        for actor in world.actors.values():
            key = actor.id, look_of(actor), painted.get(actor.id, PLAIN)
            if key not in self._shapes:
                self._shapes[key] = shape_of(actor, key[2])
            shape = self._shapes[key]
            if shape is not None:
                seen.append((actor, world.pose(actor), shape))
                looks.append((*key, seen[-1][1]))
        made = whole, *looks
        if self._scene is None or not self._is_made(made):
            self._scene = TriangleScene(whole, _placed(seen), tiles)
            self._made = made
            if len(self._shapes) > 4 * len(world.actors) + 64:
                self._shapes.clear()
        return self._scene

    def _whole_map(self, world: World) -> tuple[Mesh, Tiles]:
        if self._ground is None or self._network is not world.network:
            self._ground, self._network = ground_of(world.network), world.network
            self._map = None
            self._shapes.clear()
        world.things.take_surfaces(self._ground.surfaces)
        version = world.things.version, world.lamps.version
        if self._map is None or self._map[0] != version:
            ground = _as_shown(self._ground, world.things.surfaces())
            whole = joined([ground, mesh_of_things(world.things, world.lamps)])
            self._map = version, whole, tiles_of(whole)
        return self._map[1:]

    def complete(self, world: World) -> None:
        """Name the surfaces of the map among its things."""
        if not world.things.surfaces():
            self._whole_map(world)

    def _is_made(self, made: tuple[object, ...]) -> bool:
        """Whether the last scene is one of the same map and the same actors in their places."""
        return bool(self._made) and made[0] is self._made[0] and made[1:] == self._made[1:]


def _as_shown(ground: MapGround, surfaces: tuple[Thing, ...]) -> Mesh:
    """The ground without the surfaces that clients have hidden, and as they have painted it."""
    mesh = ground.mesh
    changed = [n for n, thing in enumerate(surfaces) if thing.material != PLAIN]
    if changed:
        colours, shades, glow = mesh.colours.copy(), mesh.shades.copy(), mesh.glow.copy()
        for number in changed:
            own = ground.owners == number
            first = tuple(mesh.colours[own][0].tolist())
            look = surfaces[number].material.mean().look(first, 0, 0, 1)
            colours[own], glow[own] = look.colour, look.glow
            if any(look.tilt):
                # A road's texture lies with its right side to the east, its top to the north.
                right, down, out = look.tilt
                shades[own] = np.array((right, down, 0.0)) + mesh.normals[own] * out
                shades[own] /= length(shades[own])[:, None]
        mesh = mesh.changed(colours=colours, shades=shades, glow=glow)
    hidden = [n for n, thing in enumerate(surfaces) if not thing.is_shown]
    return mesh.take(~np.isin(ground.owners, hidden)) if hidden else mesh


def _placed(seen: list[tuple[Actor, Transform, BodyShape]]) -> Mesh:
    """The shapes of actors where the actors are."""
    if not seen:
        none = np.zeros(0, dtype=np.uint8)
        return mesh_of(np.zeros((0, 3, 3)), none, none.astype(np.uint32), none.reshape(0, 3), none)
    counts = [len(shape.points) for _, _, shape in seen]
    local = np.concatenate([shape.points for _, _, shape in seen])
    axes = np.array([axes_of(pose) for _, pose, _ in seen])
    axes = np.repeat(axes, counts, axis=0)[:, None]
    points = axes[:, :, 0] + (
        local[..., 0:1] * axes[:, :, 1] + local[..., 1:2] * axes[:, :, 2]
        + local[..., 2:3] * axes[:, :, 3]
    )  # fmt: skip
    ids = np.repeat(np.array([actor.id for actor, _, _ in seen], dtype=np.uint32), counts)
    tags, colours, levels, shades, glow = (
        np.concatenate([shape[part] for _, _, shape in seen]) for part in (1, 2, 3, 4, 5)
    )
    turned = shades
    if shades.any():  # of what clients have painted
        forward, right, up = (axes[:, 0, part] for part in (1, 2, 3))
        turned = shades[:, 0:1] * forward + shades[:, 1:2] * right + shades[:, 2:3] * up
    return mesh_of(points, tags, ids, colours, levels, turned, glow)
