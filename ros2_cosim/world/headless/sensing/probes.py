# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Rays that clients cast by a call: ``cast_ray``, ``project_point``, ``ground_projection``."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ros2_cosim.core.kernel.exactmath import sqrt
from ros2_cosim.world.headless.labels import TERRAIN
from ros2_cosim.world.headless.sensing.axes import BodyAxes, Floats
from ros2_cosim.world.headless.sensing.mesh import Flags, Mesh, joined
from ros2_cosim.world.headless.sensing.rays import cast
from ros2_cosim.world.headless.sensing.scene import BallTest, TriangleScene
from ros2_cosim.world.headless.wire_types import Vector

# Hits so close to each other [m] are one: paint on a road.
_SAME = 0.02
# Bodies are as large as their boxes. A hit on one lies so far behind its surface [m], so that no
# rounding puts it out of the box: programs ask ``BoundingBox.contains`` whose hit it is.
_BEHIND = 0.001
_MOST_HITS = 64


class Labelled(NamedTuple):
    """A place [m] and the label of what is there (the protocol's LabelledPoint)."""

    location: Vector = Vector()
    label: int = 0


def first_on(
    scene: TriangleScene, start: Vector, direction: Vector, distance: float
) -> Labelled | None:
    """What a ray meets first, None if there is nothing within a distance [m]."""
    found = _along(scene, start, direction, distance, 1)
    return found[0] if found else None


def all_between(scene: TriangleScene, start: Vector, end: Vector) -> list[Labelled]:
    """Everything on a straight way, in order; each actor once, the land ends it."""
    way = Vector(end.x - start.x, end.y - start.y, end.z - start.z)
    distance = sqrt(way.x * way.x + way.y * way.y + way.z * way.z)
    return _along(scene, start, way, distance, _MOST_HITS)


def _along(
    scene: TriangleScene, start: Vector, direction: Vector, distance: float, most: int
) -> list[Labelled]:
    x, y, z = direction
    size = sqrt(x * x + y * y + z * z)
    if not 0.0 < size < float("inf") or distance <= 0.0:
        return []
    unit = Vector(x / size, y / size, z / size)
    # Only the origin counts: the ray's direction is given in the world's own axes.
    eye = BodyAxes(start, Vector(1.0, 0.0, 0.0), Vector(0.0, 1.0, 0.0), Vector(0.0, 0.0, 1.0))
    mesh = joined([_beside(part, start, unit, distance) for part in (scene.map, scene.actors)])
    found: list[Labelled] = []
    last = float("-inf")
    while len(mesh) and len(found) < most:
        hits = cast(mesh, eye, np.array([unit]), distance, both_sides=True)
        triangle = int(hits.triangles[0])
        if triangle < 0:
            break
        way = float(hits.distances[0])
        actor, tag = int(mesh.actors[triangle]), int(mesh.tags[triangle])
        ground_below = actor == 0 and tag == TERRAIN and bool(found)
        if not ground_below and (actor or way > last + _SAME):
            far = way + _BEHIND if actor else way
            place = Vector(start.x + far * unit.x, start.y + far * unit.y, start.z + far * unit.z)
            found.append(Labelled(place, tag))
        if actor == 0:
            last = way
            if tag == TERRAIN:
                break
        # An actor is met once; of the map this triangle is behind us.
        gone = mesh.actors == actor
        if actor == 0:
            gone = np.arange(len(mesh)) == triangle
        mesh = mesh.take(~gone)
    return found


def is_hidden(scene: TriangleScene, start: Vector, end: Vector) -> bool:
    """Whether the map is between two places."""
    way = Vector(end.x - start.x, end.y - start.y, end.z - start.z)
    distance = sqrt(way.x * way.x + way.y * way.y + way.z * way.z)
    if distance <= 0.0:
        return False
    unit = Vector(way.x / distance, way.y / distance, way.z / distance)
    touching = _touching(start, unit, distance)
    mesh, which = scene.near(touching)[0]
    which = which[touching(mesh.centres.take(which, 0), mesh.radii.take(which))]
    if not len(which):
        return False
    eye = BodyAxes(start, Vector(1.0, 0.0, 0.0), Vector(0.0, 1.0, 0.0), Vector(0.0, 0.0, 1.0))
    hits = cast(mesh.take(which), eye, np.array([unit]), distance, both_sides=True)
    return int(hits.triangles[0]) >= 0


def _beside(mesh: Mesh, start: Vector, unit: Vector, distance: float) -> Mesh:
    """The triangles whose balls the way passes through."""
    return mesh.take(_touching(start, unit, distance)(mesh.centres, mesh.radii))


def _touching(start: Vector, unit: Vector, distance: float) -> BallTest:
    """Whether a way passes through balls."""

    def test(centres: Floats, radii: Floats) -> Flags:
        x, y, z = (centres[:, i] - start[i] for i in range(3))
        along = np.clip(x * unit.x + y * unit.y + z * unit.z, 0.0, distance)
        x, y, z = x - along * unit.x, y - along * unit.y, z - along * unit.z
        limit = radii * 1.000001 + 1.0e-6
        touched: Flags = x * x + y * y + z * z <= limit * limit
        return touched

    return test
