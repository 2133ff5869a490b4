# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Which boxes a sensor at a point can see: range, opening angle, shadows of nearer boxes."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, sqrt
from typing import Final

from ros2_cosim.core.kernel.exactmath import PI, TWO_PI, atan2, cos, sin
from ros2_cosim.world.map.lane_frame import LaneBox

Corner = tuple[float, float]
Corners = tuple[Corner, Corner, Corner, Corner]

#: Corners of a box that lies behind the sensor are at least so far behind it [m]: more than what
#: rounding may take from them.
_BEHIND: Final = 1e-6
#: More than what rounding may leave of a share of which all is hidden [1].
_ROUNDING: Final = 1e-9


class _Seen:
    """A box within reach, in the sensor's frame; its directions are worked out when needed."""

    __slots__ = (
        "_high", "_is_known", "_low", "around", "corners", "inside", "is_ahead", "is_behind",
        "number", "square",
    )  # fmt: skip

    def __init__(self, number: int, corners: Corners) -> None:
        self.number = number  # of the box
        self.corners = corners
        self.square = inf  # distance of its nearest point, squared
        self.inside = False  # some of it lies within range and opening angle
        self.around = False  # the sensor lies in the box
        self.is_ahead = self.is_behind = False  # all of it lies ahead of or behind the sensor
        self._is_known = False
        self._low = self._high = 0.0

    def directions(self) -> tuple[float, float]:
        """The directions that it covers, counter-clockwise from the first to the second."""
        if not self._is_known:
            self._low, self._high = self._covered()
            self._is_known = True
        return self._low, self._high

    def _covered(self) -> tuple[float, float]:
        if self.around:
            return -PI, PI
        # Seen from outside the corners lie within less than half a turn of each other: the one
        # farthest to the right and to the left. Each by name: compiled, a loop would make objects.
        a, (bx, by), (cx, cy), (dx, dy) = self.corners
        (rx, ry), (lx, ly) = a, a
        if rx * by - ry * bx < 0.0:
            rx, ry = bx, by
        if lx * by - ly * bx > 0.0:
            lx, ly = bx, by
        if rx * cy - ry * cx < 0.0:
            rx, ry = cx, cy
        if lx * cy - ly * cx > 0.0:
            lx, ly = cx, cy
        if rx * dy - ry * dx < 0.0:
            rx, ry = dx, dy
        if lx * dy - ly * dx > 0.0:
            lx, ly = dx, dy
        low, high = atan2(ry, rx), atan2(ly, lx)
        return (low, high) if low <= high else (low, high + TWO_PI)


class FieldOfView:
    """A sector of a circle, with occlusion in the plane.

    :param reach: largest distance at which anything is seen [m]
    :param angle: full opening angle about the forward direction [rad], at most 2 pi
    :param visible_fraction: share of a box's angular width that must be free of the shadows
        of nearer boxes, 0..1
    """

    def __init__(self, reach: float, angle: float, visible_fraction: float) -> None:
        self.reach = reach
        self._cos_half = cos(0.5 * angle)
        self._sin_half = sin(0.5 * angle)
        #: Whether the sector is no more than the half ahead.
        self._is_half = self._cos_half >= 0.0
        self._visible_fraction = visible_fraction

    def visible(
        self, x: float, y: float, c: float, s: float, boxes: Sequence[LaneBox]
    ) -> list[int]:
        """Return the indices of the boxes seen from (x, y) looking along (c, s), nearest first.

        A box counts when any part of it lies in the sector and enough of it is not hidden.
        Boxes outside the sector still cast shadows. A box around the sensor itself is seen.
        """
        seen: list[_Seen] = []
        behind: list[int] = []
        for index, box in enumerate(boxes):
            dx, dy = box.x - x, box.y - y
            reach = self.reach + box.length + box.width
            if dx * dx + dy * dy <= reach * reach:
                forward = dx * c + dy * s
                if self._is_half and forward < -2.0 * _BEHIND - 0.5 * (box.length + box.width):
                    behind.append(index)
                else:
                    _insert(seen, self._look(forward, dy * c - dx * s, c, s, box, index))
        # A box behind casts a shadow only on a box that is partly behind.
        if behind and any([item.inside and not item.is_ahead for item in seen]):
            for index in behind:
                box = boxes[index]
                dx, dy = box.x - x, box.y - y
                _insert(seen, self._look(dx * c + dy * s, dy * c - dx * s, c, s, box, index))
        result = []
        nearer: list[_Seen] = []
        #: Those whose shadow may fall on what lies ahead.
        not_behind: list[_Seen] = []
        for item in seen:
            if item.inside and self._is_free(item, not_behind if item.is_ahead else nearer):
                result.append(item.number)
            nearer.append(item)
            if not item.is_behind:
                not_behind.append(item)
        return result

    def _is_free(self, item: _Seen, nearer: list[_Seen]) -> bool:
        if not nearer:
            return True
        if self._visible_fraction > _ROUNDING and _is_covered(item, nearer):
            return False
        return _free_share(item, nearer) >= self._visible_fraction

    def _look(
        self, forward: float, left: float, c: float, s: float, box: LaneBox, index: int
    ) -> _Seen:
        # Heading of the box in the sensor's frame, then half its sides as vectors.
        half_length, half_width = 0.5 * box.length, 0.5 * box.width
        cos_r = box.cos * c + box.sin * s
        sin_r = box.sin * c - box.cos * s
        lx, ly = half_length * cos_r, half_length * sin_r
        wx, wy = -half_width * sin_r, half_width * cos_r
        corners = (
            (forward + lx + wx, left + ly + wy),
            (forward + lx - wx, left + ly - wy),
            (forward - lx + wx, left - ly + wy),
            (forward - lx - wx, left - ly - wy),
        )
        seen = _Seen(index, corners)
        depth = abs(lx) + abs(wx)
        seen.is_ahead, seen.is_behind = forward > depth, forward < -depth
        beside = abs(forward * cos_r + left * sin_r) - half_length
        across = abs(left * cos_r - forward * sin_r) - half_width
        seen.around = beside < 0.0 and across < 0.0
        beside, across = (0.0 if beside < 0.0 else beside), (0.0 if across < 0.0 else across)
        seen.square = beside * beside + across * across
        seen.inside = seen.square <= self.reach * self.reach and (
            seen.around or self._meets(corners)
        )
        return seen

    def _meets(self, corners: Corners) -> bool:
        """Whether the outline of a box that is not around the sensor meets the sector.

        Of a side within the opening angle the nearest point is a corner, the foot of the
        perpendicular from the sensor, or a crossing with an edge of the sector.
        """
        a, b, c, d = corners
        if self._is_half and a[0] < -_BEHIND > b[0] and c[0] < -_BEHIND > d[0]:
            return False
        # Each of them by name: compiled, a loop would make objects of the corners.
        return (
            self._holds(a[0], a[1])
            or self._holds(b[0], b[1])
            or self._holds(c[0], c[1])
            or self._holds(d[0], d[1])
            or self._side_meets(a, b)
            or self._side_meets(b, d)
            or self._side_meets(d, c)
            or self._side_meets(c, a)
        )

    def _side_meets(self, start: Corner, end: Corner) -> bool:
        """Whether a side whose ends are not in the sector meets it."""
        px, py = start
        ex, ey = end[0] - px, end[1] - py
        along = -(px * ex + py * ey)
        length = ex * ex + ey * ey
        if 0.0 < along < length:
            share = along / length
            if self._holds(px + share * ex, py + share * ey):
                return True
        return self._crosses(px, py, ex, ey, self._sin_half) or self._crosses(
            px, py, ex, ey, -self._sin_half
        )

    def _holds(self, px: float, py: float) -> bool:
        square = px * px + py * py
        return square <= self.reach * self.reach and px >= sqrt(square) * self._cos_half

    def _crosses(self, px: float, py: float, ex: float, ey: float, edge_y: float) -> bool:
        """Whether a side from a point along (ex, ey) crosses an edge of the sector."""
        edge_x = self._cos_half
        turn = edge_x * ey - edge_y * ex
        if turn == 0.0:
            return False
        share = (edge_y * px - edge_x * py) / turn
        away = (px * ey - py * ex) / turn
        return 0.0 <= share <= 1.0 and 0.0 <= away <= self.reach


def _insert(seen: list[_Seen], item: _Seen) -> None:
    """Add an item to a list that is ordered by distance, then by number."""
    low, high = 0, len(seen)
    while low < high:
        middle = (low + high) >> 1
        other = seen[middle]
        if other.square < item.square or (
            other.square == item.square and other.number < item.number
        ):
            low = middle + 1
        else:
            high = middle
    seen.insert(low, item)


def _is_covered(item: _Seen, nearer: list[_Seen]) -> bool:
    """Whether one nearer item alone hides it: then nothing need be added up."""
    low, high = item.directions()
    if high - low >= PI or high - low <= 0.0:
        return False
    for other in nearer:
        other_low, other_high = other.directions()
        if other_low <= low and other_high >= high:
            return True
    return False


def _free_share(item: _Seen, nearer: list[_Seen]) -> float:
    """Return the share of the item's angular width that no nearer item covers."""
    item_low, item_high = item.directions()
    width = item_high - item_low
    if width >= PI or width <= 0.0:
        return 1.0
    shadows = []
    for other in nearer:
        other_low, other_high = other.directions()
        turn = -TWO_PI
        while turn <= TWO_PI:
            low, high = other_low + turn, other_high + turn
            if low < item_high and high > item_low:
                shadows.append((max(item_low, low), min(item_high, high)))
            turn += TWO_PI
    shadows.sort()
    covered, end = 0.0, item_low
    for low, high in shadows:
        if high > end:
            covered += high - max(low, end)
            end = high
    return 1.0 - covered / width
