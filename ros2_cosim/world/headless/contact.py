# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Contact of oriented boxes: do two boxes overlap, along which normal and how deep?

Boxes stand upright: they are rectangles in the x-y plane with a range of heights. The test is
that of separating axes: two convex shapes overlap unless an edge normal of one of them
separates their projections; the axis of least overlap is the direction to push them apart.
Works in any frame; all boxes must be given in the same one.
"""

from __future__ import annotations

from typing import NamedTuple


class OrientedBox:
    """An upright oriented box: centre, half sizes, heading as cosine and sine."""

    __slots__ = ("cos", "half_height", "half_length", "half_width", "sin", "x", "y", "z")

    def __init__(
        self, x: float, y: float, z: float, half_length: float, half_width: float,
        half_height: float, cos: float, sin: float,
    ) -> None:  # fmt: skip
        self.x, self.y, self.z = x, y, z
        self.half_length, self.half_width = half_length, half_width
        self.half_height, self.cos, self.sin = half_height, cos, sin


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
    # |cos| and |sin| of the angle between the boxes give the shadow of one on the axes of the other
    cross = abs(a.cos * b.cos + a.sin * b.sin)
    along = abs(a.cos * b.sin - a.sin * b.cos)
    a_length = a.half_length + b.half_length * cross + b.half_width * along
    a_width = a.half_width + b.half_length * along + b.half_width * cross
    b_length = b.half_length + a.half_length * cross + a.half_width * along
    b_width = b.half_width + a.half_length * along + a.half_width * cross
    a_length -= abs(dx * a.cos + dy * a.sin)
    a_width -= abs(dy * a.cos - dx * a.sin)
    b_length -= abs(dx * b.cos + dy * b.sin)
    b_width -= abs(dy * b.cos - dx * b.sin)
    depth = min(min(a_length, a_width), min(b_length, b_width))
    if depth <= 0.0:
        return None
    box = a if depth in (a_length, a_width) else b
    is_along = depth == (a_length if box is a else b_length)
    x, y = (box.cos, box.sin) if is_along else (-box.sin, box.cos)
    sign = -1.0 if dx * x + dy * y < 0.0 else 1.0
    return BoxContact(sign * x, sign * y, depth)
