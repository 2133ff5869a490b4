# SPDX-License-Identifier: Apache-2.0
"""Which boxes a sensor at a point can see: range, opening angle, shadows of nearer boxes."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from typing import NamedTuple

from ros2_cosim.kernel.exactmath import PI, TWO_PI, atan2, cos
from ros2_cosim.models.lane_frame import LaneBox


class _Seen(NamedTuple):
    distance: float  # of the nearest corner
    number: int  # of the box
    inside: bool  # a corner lies within range and opening angle
    low: float  # the directions it covers, counter-clockwise from low to high
    high: float


class FieldOfView:
    """A sector of a circle, with occlusion in the plane.

    :param reach: largest distance at which a corner is seen [m]
    :param angle: full opening angle about the forward direction [rad], at most 2 pi
    :param visible_fraction: share of a box's angular width that must be free of the shadows
        of nearer boxes, 0..1
    """

    def __init__(self, reach: float, angle: float, visible_fraction: float) -> None:
        self._reach = reach
        self._cos_half = cos(0.5 * angle)
        self._visible_fraction = visible_fraction

    def visible(
        self, x: float, y: float, c: float, s: float, boxes: Sequence[LaneBox]
    ) -> list[int]:
        """Return the indices of the boxes seen from (x, y) looking along (c, s), nearest first.

        A box counts when any of its corners lies in the sector and enough of it is not hidden.
        Boxes outside the sector still cast shadows. A box around the sensor itself is seen.
        """
        seen = []
        for index, box in enumerate(boxes):
            dx, dy = box.x - x, box.y - y
            reach = self._reach + box.length + box.width
            if dx * dx + dy * dy <= reach * reach:
                seen.append(self._look(dx * c + dy * s, dy * c - dx * s, c, s, box, index))
        seen.sort()
        result = []
        for rank, item in enumerate(seen):
            if item.inside and (
                rank == 0 or _free_share(item, seen[:rank]) >= self._visible_fraction
            ):
                result.append(item.number)
        return result

    def _look(
        self, forward: float, left: float, c: float, s: float, box: LaneBox, index: int
    ) -> _Seen:
        # Heading of the box in the sensor's frame, then half its sides as vectors.
        cos_r = box.cos * c + box.sin * s
        sin_r = box.sin * c - box.cos * s
        lx, ly = 0.5 * box.length * cos_r, 0.5 * box.length * sin_r
        wx, wy = -0.5 * box.width * sin_r, 0.5 * box.width * cos_r
        reach, cos_half = self._reach, self._cos_half
        nearest = None
        inside = False
        low = high = 0.0
        for px, py in (
            (forward + lx + wx, left + ly + wy),
            (forward + lx - wx, left + ly - wy),
            (forward - lx + wx, left - ly + wy),
            (forward - lx - wx, left - ly - wy),
        ):
            radius = sqrt(px * px + py * py)
            if nearest is None or radius < nearest:
                nearest = radius
            if radius <= reach and px >= radius * cos_half:
                inside = True
            # Angle of the corner against the direction of the centre: never wraps.
            offset = atan2(forward * py - left * px, forward * px + left * py)
            low, high = min(low, offset), max(high, offset)
        assert nearest is not None
        centre = atan2(left, forward)
        return _Seen(nearest, index, inside, centre + low, centre + high)


def _free_share(item: _Seen, nearer: Sequence[_Seen]) -> float:
    """Return the share of the item's angular width that no nearer item covers."""
    width = item.high - item.low
    if width >= PI or width <= 0.0:
        return 1.0
    shadows = []
    for other in nearer:
        for turn in (-TWO_PI, 0.0, TWO_PI):
            low, high = max(item.low, other.low + turn), min(item.high, other.high + turn)
            if low < high:
                shadows.append((low, high))
    shadows.sort()
    covered, end = 0.0, item.low
    for low, high in shadows:
        if high > end:
            covered += high - max(low, end)
            end = high
    return 1.0 - covered / width
