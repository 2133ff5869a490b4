# SPDX-License-Identifier: Apache-2.0
"""Poses relative to a parent actor, in CARLA's frame."""

from __future__ import annotations

from ros2_cosim.carla_headless.wire_types import ORIGIN, Rotation, Transform, Vector
from ros2_cosim.models import frames

_NO_ROTATION = Rotation()


def compose(parent: Transform, relative: Transform) -> Transform:
    """World pose of something mounted at ``relative`` on ``parent``."""
    if relative == ORIGIN:
        return parent
    parent_q = frames.rotation_to_ros(*parent.rotation)
    offset = frames.body_to_world(parent_q, frames.vector_to_ros(*relative.location))
    dx, dy, dz = frames.vector_to_carla(*offset)
    x, y, z = parent.location
    location = Vector(x + dx, y + dy, z + dz)
    if relative.rotation == _NO_ROTATION:
        return Transform(location, parent.rotation)
    q = frames.multiply(parent_q, frames.rotation_to_ros(*relative.rotation))
    return Transform(location, Rotation(*frames.rotation_to_carla(*q)))
