# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What rays and cameras see in one frame: the map, which stands still, and the actors."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ros2_cosim.world.headless.actors import VehicleActor
from ros2_cosim.world.headless.materials import PLAIN, Material
from ros2_cosim.world.headless.sensing.axes import Floats, axes_of
from ros2_cosim.world.headless.sensing.ground import MapGround, ground_of
from ros2_cosim.world.headless.sensing.limbs import posed
from ros2_cosim.world.headless.sensing.mesh import (
    Flags,
    Indices,
    Mesh,
    joined,
    length,
    mesh_of,
)
from ros2_cosim.world.headless.sensing.occluders import Walls
from ros2_cosim.world.headless.sensing.scenery.parts import Scenery, SceneryLayer, scenery_of
from ros2_cosim.world.headless.sensing.shapes import BodyShape, look_of, shape_of
from ros2_cosim.world.headless.sensing.standing import mesh_of_things
from ros2_cosim.world.headless.sensing.tiles import Tiles, tiles_of
from ros2_cosim.world.headless.walkers import WalkerActor
from ros2_cosim.world.headless.wire_types import Transform

if TYPE_CHECKING:
    from ros2_cosim.world.headless.actors import Actor
    from ros2_cosim.world.headless.things import Thing
    from ros2_cosim.world.headless.world import World
    from ros2_cosim.world.map import RoadNetwork


#: Which balls (centres, radii) are chosen.
BallTest = Callable[[Floats, Floats], Flags]


class TriangleScene(NamedTuple):
    """The triangles of one frame.

    :ivar tiles: of the map, None: each of its triangles is looked at
    :ivar details: what lies in faces of the map, as windows; None: nothing
    :ivar walls: what hides tiles as a whole
    """

    map: Mesh
    actors: Mesh
    tiles: Tiles | None = None
    details: tuple[Mesh, Tiles] | None = None
    walls: Walls | None = None

    def near(
        self, test: BallTest, details: BallTest | None = None, hidden: BallTest | None = None
    ) -> list[tuple[Mesh, Indices]]:
        """The meshes with their triangles that may pass a test: those of tiles that do.

        :param details: the test for details, which come second; None: they are left out
        :param hidden: tiles that this one chooses are left out
        """
        found = [(self.map, _near(self.map, self.tiles, test, hidden))]
        if details is not None and self.details is not None:
            found.append((self.details[0], _near(*self.details, details, hidden)))
        return [*found, (self.actors, np.arange(len(self.actors)))]


def _near(mesh: Mesh, tiles: Tiles | None, test: BallTest, hidden: BallTest | None) -> Indices:
    if tiles is None:
        return np.arange(len(mesh))
    chosen = test(tiles.centres, tiles.radii)
    if hidden is not None:
        left = np.flatnonzero(chosen)
        chosen[left] = ~hidden(tiles.centres[left], tiles.radii[left])
    return tiles.of(chosen)


class _Map(NamedTuple):
    """What stands still: its triangles by tiles, and the details in their faces."""

    mesh: Mesh
    tiles: Tiles
    details: tuple[Mesh, Tiles] | None
    walls: Walls | None


class SceneBuilder:
    """Makes scenes, and keeps of each what the next one has in common with it."""

    def __init__(self) -> None:
        self._network: RoadNetwork | None = None
        self._ground: MapGround | None = None
        self._scenery: Scenery | None = None
        #: The map with its things, and the version of those.
        self._map: tuple[tuple[int, int], _Map] | None = None
        self._shapes: dict[tuple[int, int, Material], BodyShape | None] = {}
        #: The last bodies of walkers that are not at rest: from which shape, in which pose.
        self._posed: dict[int, tuple[BodyShape, tuple[float, ...], BodyShape]] = {}
        self._made: tuple[object, ...] = ()
        self._scene: TriangleScene | None = None

    def scene(self, world: World) -> TriangleScene:
        """The scene of the present moment."""
        whole = self._whole_map(world)
        seen, looks = [], []
        painted = world.things.painted
        for actor in world.actors.values():
            key = actor.id, look_of(actor), painted.get(actor.id, PLAIN)
            if key not in self._shapes:
                self._shapes[key] = shape_of(actor, key[2])
            shape = self._shapes[key]
            if shape is not None:
                pose: tuple[float, ...] = ()
                lights = 0
                if isinstance(actor, WalkerActor):
                    pose = actor.skeleton.look()
                    shape = self._posed_body(actor, shape, pose)
                elif isinstance(actor, VehicleActor) and actor.lights:
                    lights = actor.lights
                    shape = shape.lit(lights)
                seen.append((actor, world.pose(actor), shape))
                looks.append((*key, pose, lights, seen[-1][1]))
        made = whole, *looks
        if self._scene is None or not self._is_made(made):
            self._scene = TriangleScene(
                whole.mesh, _placed(seen), whole.tiles, whole.details, whole.walls
            )
            self._made = made
            if len(self._shapes) > 4 * len(world.actors) + 64:
                self._shapes.clear()
                self._posed.clear()
        return self._scene

    def _posed_body(
        self, walker: WalkerActor, rest: BodyShape, pose: tuple[float, ...]
    ) -> BodyShape:
        """The body of a walker in the pose of its bones, () at rest."""
        if not pose:
            return rest
        last = self._posed.get(walker.id)
        if last is None or last[0] is not rest or last[1] != pose:
            points = posed(rest.points, walker.bounding_box.extent, walker.skeleton)
            last = rest, pose, rest._replace(points=points)
            self._posed[walker.id] = last
        return last[2]

    def _whole_map(self, world: World) -> _Map:
        if self._ground is None or self._network is not world.network:
            self._ground, self._network = ground_of(world.network), world.network
            self._scenery = None
            world.lamps.complete()
            if world.has_scenery:
                self._scenery = scenery_of(
                    world.network, world.opendrive, self._ground, world.things
                )
                self._ground = self._scenery.ground
            self._map = None
            self._shapes.clear()
            self._posed.clear()
        scenery = self._scenery
        world.things.take_parts([*self._ground.parts, *(scenery.parts if scenery else ())])
        first = len(self._ground.parts)
        world.land.take(None if self._ground.land is None else self._ground.height)
        parts = world.things.parts()
        made = world.things.made_lamps() + parts[first:]
        if scenery is not None:
            world.standing.take((made[number], box) for number, box in scenery.blocks)
        version = world.things.version, world.lamps.version
        if self._map is None or self._map[0] != version:
            ground = _as_shown(
                SceneryLayer(self._ground.mesh, self._ground.owners), parts[:first]
            ).mesh
            pieces, owners = [ground], [np.full(len(ground), -1)]
            details = walls = None
            if scenery is not None:
                lit = world.lamps.are_windows_lit
                windows = scenery.details if lit else scenery.details.by_day()
                solid, flat = (_as_shown(layer, made) for layer in (scenery.solid, windows))
                ids = np.array([thing.id for thing in made], dtype=np.uint32)
                solid, flat = (
                    part._replace(mesh=part.mesh.changed(things=ids.take(part.owners)))
                    for part in (solid, flat)
                )
                pieces.append(solid.mesh)
                owners.append(solid.owners)
                if len(flat.mesh):
                    details = flat.mesh, tiles_of(*flat)
                shown = np.array([thing.is_shown for thing in made], dtype=bool)
                walls = scenery.walls.take(shown[scenery.houses])
            pieces.append(mesh_of_things(world.things, world.lamps))
            owners.append(np.full(len(pieces[-1]), -1))
            whole = joined(pieces)
            self._map = (
                version,
                _Map(whole, tiles_of(whole, np.concatenate(owners)), details, walls),
            )
        return self._map[1]

    def complete(self, world: World) -> None:
        """Name the parts of the map among its things."""
        if not world.things.parts():
            self._whole_map(world)

    def _is_made(self, made: tuple[object, ...]) -> bool:
        """Whether the last scene is one of the same map and the same actors in their places."""
        return bool(self._made) and made[0] is self._made[0] and made[1:] == self._made[1:]


def _as_shown(layer: SceneryLayer, parts: tuple[Thing, ...]) -> SceneryLayer:
    """A layer without the parts that clients have hidden, and as they have painted it."""
    mesh, owners = layer
    changed = [n for n, thing in enumerate(parts) if thing.material != PLAIN]
    if changed:
        colours, shades, glow = mesh.colours.copy(), mesh.shades.copy(), mesh.glow.copy()
        for number in changed:
            own = owners == number
            if not own.any():  # it has no details
                continue
            first = tuple(mesh.colours[own][0].tolist())
            look = parts[number].material.mean().look(first, 0, 0, 1)
            colours[own], glow[own] = look.colour, look.glow
            if any(look.tilt):
                # A road's texture lies with its right side to the east, its top to the north.
                right, down, out = look.tilt
                shades[own] = np.array((right, down, 0.0)) + mesh.normals[own] * out
                shades[own] /= length(shades[own])[:, None]
        mesh = mesh.changed(colours=colours, shades=shades, glow=glow)
    hidden = [n for n, thing in enumerate(parts) if not thing.is_shown]
    if hidden:
        kept = ~np.isin(owners, hidden)
        mesh, owners = mesh.take(kept), owners[kept]
    return SceneryLayer(mesh, owners)


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
