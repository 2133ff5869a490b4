# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Rays of this project against those of Embree, on the town with vehicles."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ros2_cosim.world.headless.maps import own_maps
from ros2_cosim.world.headless.sensing.axes import axes_of
from ros2_cosim.world.headless.sensing.rays import cast, nearby
from ros2_cosim.world.headless.sensing.scene import SceneBuilder
from ros2_cosim.world.headless.wire_types import Rotation, Transform
from ros2_cosim.world.headless.world import World

WHY = "the extra is missing: make setup EXTRAS=sensors"
rtcore: Any = pytest.importorskip("embreex.rtcore_scene", reason=WHY)
meshes: Any = pytest.importorskip("embreex.mesh_construction", reason=WHY)

REACH = 60.0
#: Embree computes with float32, and grazing rays may miss the edge that others meet.
TOLERANCE, MOST_APART = 2.0e-3, 0.002


def _ranges_of_the_oracle(points: Any, origin: Any, directions: Any) -> Any:
    """Distances by Embree; points are moved so that the eye is the origin."""
    scene = rtcore.EmbreeScene()
    meshes.TriangleMesh(scene, (points - origin).astype(np.float32))
    origins = np.zeros_like(directions, dtype=np.float32)
    hits = scene.run(origins, directions.astype(np.float32), query="INTERSECT", output=True)
    return np.where(hits["primID"] >= 0, hits["tfar"], np.inf)


@pytest.mark.parametrize("place", [20])
def test_ranges_are_those_of_embree(place: int) -> None:
    world = World(own_maps()[0].read_text(encoding="utf-8"), 0.05)
    poses = world.spawn_points()
    for pose in poses[:60]:
        world.spawn("vehicle.tesla.model3", pose)
    here = poses[place].location
    eye = axes_of(Transform(here._replace(z=here.z + 2.0), Rotation(3.0, 33.0, -2.0)))
    mesh = nearby(SceneBuilder().scene(world), eye, REACH)
    draws = np.random.default_rng(place).normal(size=(4000, 3))
    draws[:, 2] = 0.3 * draws[:, 2] - 0.2  # most towards what stands on the ground
    directions = draws / np.sqrt((draws * draws).sum(axis=1))[:, None]
    own = cast(mesh, eye, directions, REACH, both_sides=True)
    outside = eye._replace(origin=type(here)()).outside(directions)
    theirs = _ranges_of_the_oracle(mesh.points, np.array(eye.origin), outside)
    theirs[theirs > REACH] = np.inf
    met = np.isfinite(own.distances)
    assert met.sum() > 1500 and len(np.unique(mesh.actors[own.triangles[met]])) > 3
    apart = np.isfinite(theirs) != met
    both = met & np.isfinite(theirs)
    apart[both] |= np.abs(own.distances[both] - theirs[both]) > TOLERANCE * own.distances[both]
    assert apart.mean() <= MOST_APART
