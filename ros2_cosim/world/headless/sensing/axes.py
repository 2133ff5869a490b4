# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Axes of a pose, and points seen from it, in CARLA's left-handed frame."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ros2_cosim.core.kernel.exactmath import radians, sincos
from ros2_cosim.world.headless.wire_types import Transform, Vector

Floats = NDArray[np.float64]

#: Depth at which a picture begins [m].
NEAREST: Final = 0.1


class BodyAxes(NamedTuple):
    """A place [m] and the unit vectors forward, right and up of what stands there."""

    origin: Vector
    forward: Vector
    right: Vector
    up: Vector

    def inside(self, points: Floats) -> Floats:
        """World points (..., 3) in this frame; one operation after the other, no BLAS."""
        x = points[..., 0] - self.origin.x
        y = points[..., 1] - self.origin.y
        z = points[..., 2] - self.origin.z
        seen = np.empty_like(points)
        for i, axis in enumerate((self.forward, self.right, self.up)):
            seen[..., i] = x * axis.x + y * axis.y + z * axis.z
        return seen

    def directions_inside(self, directions: Floats) -> Floats:
        """World directions (..., 3) in this frame."""
        return self._replace(origin=Vector()).inside(directions)

    def outside(self, points: Floats) -> Floats:
        """Points of this frame (..., 3) in the world."""
        f, r, u, o = self.forward, self.right, self.up, self.origin
        a, b, c = points[..., 0], points[..., 1], points[..., 2]
        world = np.empty_like(points)
        world[..., 0] = o.x + (a * f.x + b * r.x + c * u.x)
        world[..., 1] = o.y + (a * f.y + b * r.y + c * u.y)
        world[..., 2] = o.z + (a * f.z + b * r.z + c * u.z)
        return world


def axes_of(pose: Transform) -> BodyAxes:
    """The axes of a pose."""
    (sp, cp), (sy, cy), (sr, cr) = (sincos(radians(angle)) for angle in pose.rotation)
    return BodyAxes(
        pose.location,
        Vector(cp * cy, cp * sy, sp),
        Vector(sr * sp * cy - cr * sy, sr * sp * sy + cr * cy, 0.0 - sr * cp),
        Vector(0.0 - (cr * sp * cy + sr * sy), sr * cy - cr * sp * sy, cr * cp),
    )
