# SPDX-License-Identifier: Apache-2.0
"""Contact of oriented boxes: do two boxes overlap, along which normal and how deep?

Boxes stand upright: they are rectangles in the x-y plane with a range of heights. The test is
that of separating axes: two convex shapes overlap unless an edge normal of one of them
separates their projections; the axis of least overlap is the direction to push them apart.
Works in any frame; all boxes must be given in the same one.
"""

from __future__ import annotations

from typing import NamedTuple


class OrientedBox(NamedTuple):
    """An upright oriented box: centre, half sizes, heading as cosine and sine."""

    x: float
    y: float
    z: float
    half_length: float
    half_width: float
    half_height: float
    cos: float
    sin: float


class BoxContact(NamedTuple):
    """Unit normal from the first box to the second and depth of the overlap [m]."""

    normal_x: float
    normal_y: float
    depth: float


def contact(a: OrientedBox, b: OrientedBox) -> BoxContact | None:
    """The contact between two boxes, or None if they do not overlap."""
    dx = b.x - a.x
    dy = b.y - a.y
    reach = a.half_length + a.half_width + b.half_length + b.half_width
    if dx > reach or dx < -reach or dy > reach or dy < -reach:
        return None
    dz = b.z - a.z
    height = a.half_height + b.half_height
    if dz >= height or dz <= -height:
        return None
    best: BoxContact | None = None
    # |cos| and |sin| of the angle between the boxes give the shadow of one on the axes of the other
    cross = abs(a.cos * b.cos + a.sin * b.sin)
    along = abs(a.cos * b.sin - a.sin * b.cos)
    axes = (
        (a.cos, a.sin, a.half_length + b.half_length * cross + b.half_width * along),
        (-a.sin, a.cos, a.half_width + b.half_length * along + b.half_width * cross),
        (b.cos, b.sin, b.half_length + a.half_length * cross + a.half_width * along),
        (-b.sin, b.cos, b.half_width + a.half_length * along + a.half_width * cross),
    )
    for axis_x, axis_y, extent in axes:
        distance = dx * axis_x + dy * axis_y
        depth = extent - abs(distance)
        if depth <= 0.0:
            return None
        if best is None or depth < best.depth:
            sign = -1.0 if distance < 0.0 else 1.0
            best = BoxContact(sign * axis_x, sign * axis_y, depth)
    return best
