# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What walls hide from an eye as a whole, so that no camera has to look at it.

A ball is hidden by a wall if it lies behind the wall, inside of the pyramid from the eye through
the wall's corners. Whatever hides by several walls together only is looked at: the picture is the
same, with or without this.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ros2_cosim.world.headless.sensing.axes import Floats
from ros2_cosim.world.headless.sensing.mesh import Flags, cross, dot, length
from ros2_cosim.world.headless.wire_types import Vector

# So many walls are asked, those that cover most of what the eye sees.
_MOST = 24
# A wall hides nothing from an eye that is so near to its plane [m]: a picture may begin behind it.
_NEAREST = 2.0
# A ball is hidden by more than rounding [m].
_SLACK = 1.0e-6


class Walls(NamedTuple):
    """Upright rectangles that nothing is seen through.

    :ivar corners: (n, 4, 3) [m], around each wall
    :ivar normals: (n, 3) unit vectors out of the house
    """

    corners: Floats
    normals: Floats

    def take(self, which: Flags) -> Walls:
        """Some of the walls."""
        return Walls(self.corners[which], self.normals[which])


def walls_of(boxes: Floats) -> Walls:
    """The four walls of each of several upright boxes (n, 8, 3).

    :param boxes: corners; bit 0 of a number is along, bit 1 across, bit 2 up
    """
    around = boxes[:, [[0, 1, 5, 4], [1, 3, 7, 5], [3, 2, 6, 7], [2, 0, 4, 6]]].reshape(-1, 4, 3)
    middles = np.repeat(boxes.sum(axis=1) / 8.0, 4, axis=0)
    normals = cross(around[:, 1] - around[:, 0], around[:, 3] - around[:, 0])
    normals /= length(normals)[:, None]
    inwards = dot(normals, around[:, 0] - middles) < 0.0
    normals[inwards] = 0.0 - normals[inwards]
    return Walls(around, normals)


class Hiding:
    """What the walls that an eye sees best hide from it."""

    def __init__(self, walls: Walls, eye: Vector) -> None:
        place = np.array(eye)
        before = dot(walls.normals, place - walls.corners[:, 0])
        away = 0.25 * walls.corners.sum(axis=1) - place
        far = length(away)
        a, b, d = (walls.corners[:, i] for i in (0, 1, 3))
        size = length(b - a) * length(d - a)
        with np.errstate(divide="ignore", invalid="ignore"):
            seen = np.where(before > _NEAREST, size * before / (far * far * far), 0.0)
        best = np.argsort(0.0 - seen, kind="stable")[:_MOST]
        best = best[seen[best] > 0.0]
        self._eye = place
        self._corners = walls.corners[best] - place
        self._normals = walls.normals[best]
        self._before = before[best]
        self._sides = self._planes()

    def _planes(self) -> Floats:
        """Normals (walls, 4, 3) of the pyramids' sides, which point inwards."""
        following = self._corners[:, [1, 2, 3, 0]]
        sides = cross(self._corners, following)
        sides /= length(sides)[..., None]
        middles = 0.25 * self._corners.sum(axis=1)[:, None]
        outwards = dot(sides, np.broadcast_to(middles, sides.shape)) < 0.0
        sides[outwards] = 0.0 - sides[outwards]
        return sides

    def hidden(self, centres: Floats, radii: Floats) -> Flags:
        """Which balls no ray from the eye can meet."""
        x, y, z = (centres - self._eye).T.copy()

        def along(vector: Floats) -> Floats:
            way: Floats = x * vector[0] + y * vector[1] + z * vector[2]
            return way

        found = np.zeros(len(radii), dtype=bool)
        least = radii + _SLACK
        for normal, before, sides in zip(self._normals, self._before, self._sides, strict=True):
            # A wall's normal points to the eye.
            behind = 0.0 - along(normal) - before >= least
            for side in sides:
                behind &= along(side) >= least
            found |= behind
        return found
