# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Bodies of walkers in the pose of their bones: each corner of a triangle follows one bone."""

from __future__ import annotations

from functools import cache
from typing import Final

import numpy as np

from ros2_cosim.world.headless.sensing.axes import Floats, axes_of
from ros2_cosim.world.headless.sensing.bodies import PERSON_LIMBS, person_body
from ros2_cosim.world.headless.sensing.mesh import Indices
from ros2_cosim.world.headless.skeleton import LIMBS, Skeleton
from ros2_cosim.world.headless.wire_types import Vector

_NUMBERS: Final = {name: number for number, name in enumerate(LIMBS)}


@cache
def _followed(extent: Vector) -> Indices:
    """The number of the bone that each corner (n, 3) of a person's body follows."""
    size = 2.0 * extent.x, 2.0 * extent.y, 2.0 * extent.z
    found = []
    pieces = person_body(size, (0, 0, 0), 0).pieces
    for piece, (low, high) in zip(pieces, PERSON_LIMBS, strict=True):
        heights = piece.points[..., 2]
        upper = heights > 0.5 * (heights.min() + heights.max())
        found.append(np.where(upper, _NUMBERS[high], _NUMBERS[low]))
    return np.concatenate(found)


def posed(points: Floats, extent: Vector, skeleton: Skeleton) -> Floats:
    """The corners (n, 3, 3) of a person's body, from those at rest to where the bones are."""
    bones = _followed(extent)
    local = points - np.array(skeleton.resting_limbs())[bones]
    axes = np.array([axes_of(limb) for limb in skeleton.limbs()])[bones]
    moved: Floats = axes[..., 0, :] + (
        local[..., 0:1] * axes[..., 1, :] + local[..., 1:2] * axes[..., 2, :]
        + local[..., 2:3] * axes[..., 3, :]
    )  # fmt: skip
    return moved
