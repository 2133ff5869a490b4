# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The one measure of what is in the way: gap, contact, closing speed, time to collision, headway.

Boxes are oriented rectangles seen from above. A pair of a vehicle (ego) and any other road user or
obstacle counts at a time if the other's box, now or within ``HORIZON_S`` at constant speed and yaw
rate, meets the strip that ego sweeps, and if it is ahead of ego's front or touches ego. The strip
is as wide as ego. It follows ego's lane at ego's place across it, through bends and junctions.

A road user that moves across its lane slower than ``LEAVES_LANE`` keeps the lane. It is not
expected in a strip beside its lane: the yaw rates of lane keeping, continued for seconds, lead off
any road. An ego that moves faster across its lane has a second strip along its path at its present
speed and yaw rate; where there is no road, it is the only one.

The time to collision is that of J. C. Hayward (Highway Research Record 384, 1972): gap over closing
speed. The time headway is the gap over ego's speed.

What concerns two boxes alone (``touch``, ``apart``) takes any ``Rectangle``.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from itertools import pairwise
from math import inf, sqrt
from typing import Any, Final, NamedTuple, Protocol

from ros2_cosim.core.kernel.exactmath import atan2, sincos
from ros2_cosim.world.map.lane_frame import (
    LaneBox,
    LaneGeometry,
    box_at,
    gap_ahead,
    seen_ahead,
)
from ros2_cosim.world.map.open_ground import NOWHERE

#: How far the motion of the other is followed [s], and in which steps.
HORIZON_S: Final = 5.0
_STEPS: Final = 25
#: A vehicle that moves across its lane faster than this leaves it [m/s].
LEAVES_LANE: Final = 0.3
#: Longer times to collision say nothing [s].
LONGEST_TTC: Final = 20.0
#: Gaps that close more slowly do not close: that is noise [m/s].
CLOSES: Final = 0.1
#: What two ways to compute one length differ by at most [m].
_ROUNDING: Final = 1e-6
#: Paths with a smaller curvature are straight [1/m].
_STRAIGHT: Final = 1e-6


class Rectangle(Protocol):
    """A box seen from above: centre and size [m], cosine and sine of its heading."""

    @property
    def x(self) -> float:
        """Centre."""

    @property
    def y(self) -> float:
        """Centre."""

    @property
    def cos(self) -> float:
        """Of the heading."""

    @property
    def sin(self) -> float:
        """Of the heading."""

    @property
    def length(self) -> float:
        """Along the heading."""

    @property
    def width(self) -> float:
        """Across the heading."""


class MovingBox(NamedTuple):
    """A road user or obstacle: its box, velocity along and across its heading [m/s], and yaw rate
    [rad/s].
    """

    name: str
    box: LaneBox
    vx: float = 0.0
    vy: float = 0.0
    yaw_rate: float = 0.0

    def after(self, road: LaneGeometry, seconds: float) -> LaneBox:
        """Its box after that time, at constant speed and yaw rate."""
        box = self.box
        turn = 0.5 * self.yaw_rate * seconds
        sine, cosine = sincos(turn)
        # The chord of the arc, which points half the turn away from the heading.
        share = seconds * (sine / turn if turn != 0.0 else 1.0)
        c, s = box.cos * cosine - box.sin * sine, box.sin * cosine + box.cos * sine
        x = box.x + share * (self.vx * c - self.vy * s)
        y = box.y + share * (self.vx * s + self.vy * c)
        c, s = c * cosine - s * sine, s * cosine + c * sine
        return box_at(road, x, y, c, s, box.length, box.width, box.position, self.vx, self.vy)


class Encounter(NamedTuple):
    """A pair that counts.

    ``gap`` [m] is the free way from ego's front to the other, negative if they overlap; for one
    that is still beside the strip, the distance between ego's front and it. ``closing`` [m/s] is
    how fast the gap closes along the way.
    """

    gap: float
    closing: float

    @property
    def time_to_collision(self) -> float:
        """In s; infinite where the gap does not close, or takes longer than ``LONGEST_TTC``."""
        return time_to_collision(self.gap, self.closing)


def time_to_collision(
    gap: float, closing: float, *, closes: float = CLOSES, longest: float = LONGEST_TTC
) -> float:
    """Gap [m] over closing speed [m/s], in s; infinite if it does not close faster than ``closes``,
    or takes longer than ``longest`` [s].
    """
    if not closing > closes or gap > longest * closing:
        return inf
    return max(gap, 0.0) / closing


def time_headway(gap: float, speed: float) -> float:
    """Gap [m] over ego's own speed [m/s], in s; infinite for one that does not drive ahead."""
    return gap / speed if speed > 0.0 else inf


def apart(first: Rectangle, second: Rectangle) -> float:
    """Smallest distance between two boxes [m]; 0 where they touch."""
    if touch(first, second):
        return 0.0
    # One of the nearest points of two convex shapes apart is a corner.
    return min(
        min(_to_box(x, y, second) for x, y in corners(first)),
        min(_to_box(x, y, first) for x, y in corners(second)),
    )


def corners(box: Rectangle) -> list[tuple[float, float]]:
    """The corners of a box, one after the other [m]."""
    x, y, length, width = box.x, box.y, 0.5 * box.length, 0.5 * box.width
    along, up = length * box.cos, length * box.sin
    left, ahead = 0.0 - width * box.sin, width * box.cos
    return [
        (x + along + left, y + up + ahead),
        (x + along - left, y + up - ahead),
        (x - along - left, y - up - ahead),
        (x - along + left, y - up + ahead),
    ]


def _to_box(x: float, y: float, box: Rectangle) -> float:
    """Distance of a point from a box [m]."""
    dx, dy = x - box.x, y - box.y
    along = max(abs(dx * box.cos + dy * box.sin) - 0.5 * box.length, 0.0)
    across = max(abs(dy * box.cos - dx * box.sin) - 0.5 * box.width, 0.0)
    return sqrt(along * along + across * across)


def touch(first: Rectangle, second: Rectangle) -> bool:
    """Whether two boxes have a point in common (separating axes)."""
    dx, dy = second.x - first.x, second.y - first.y
    cos = abs(first.cos * second.cos + first.sin * second.sin)
    sin = abs(first.cos * second.sin - first.sin * second.cos)
    for own, other in ((first, second), (second, first)):
        along = abs(dx * own.cos + dy * own.sin)
        across = abs(dy * own.cos - dx * own.sin)
        if 2.0 * along > own.length + other.length * cos + other.width * sin:
            return False
        if 2.0 * across > own.width + other.length * sin + other.width * cos:
            return False
    return True


def encounter(road: LaneGeometry, ego: MovingBox, other: MovingBox) -> Encounter | None:
    """What one pair is to each other now; None: it does not count."""
    on_road = ego.box.position is not NOWHERE
    found = _on_strip(road, ego, other, _along_lane) if on_road else None
    if _leaves_lane(ego):
        crossing = _on_strip(road, ego, other, _along_path)
        both = [each for each in (found, crossing) if each is not None]
        return min(both, key=lambda each: each.gap, default=None)
    return found


class _Seen(NamedTuple):
    """A box along one strip: free way to it [m], distance from the strip's edge [m], closing speed
    [m/s], and how far its centre is ahead of ego's front [m].
    """

    gap: float
    beside: float
    closing: float
    way: float


def _on_strip(road: LaneGeometry, ego: MovingBox, other: MovingBox, along: Any) -> Encounter | None:
    seen: _Seen = along(road, ego, other, other.box)
    if seen.beside <= 0.0 and seen.gap < inf:
        # Of two that touch, the one behind meets the other.
        behind = seen.way + 0.5 * ego.box.length < 0.0
        if seen.gap >= 0.0 or (touch(ego.box, other.box) and not behind):
            return Encounter(seen.gap, seen.closing)
    if not 0.0 <= seen.gap < inf or not _leaves_lane(other):
        return None
    speed = sqrt(other.vx * other.vx + other.vy * other.vy)
    for step in range(1, _STEPS + 1):
        seconds = step * HORIZON_S / _STEPS
        later: _Seen = along(road, ego, other, other.after(road, seconds))
        # Further on, a way that leads round a block meets the same place again.
        if later.beside <= 0.0 and 0.0 <= later.gap <= seen.gap + 2.0 * speed * seconds:
            return Encounter(sqrt(seen.gap * seen.gap + seen.beside * seen.beside), seen.closing)
    return None


def _along_lane(road: LaneGeometry, ego: MovingBox, other: MovingBox, box: LaneBox) -> _Seen:
    gap, speed, left, cos, sin = seen_ahead(road, ego.box, box)
    way = gap + 0.5 * (box.length * abs(cos) + box.width * abs(sin))
    return _seen(ego.box.width, box, way, left, (cos, sin), 0.0 - speed)


def _seen(
    width: float,
    box: LaneBox,
    way: float,
    left: float,
    turned: tuple[float, float],
    closing: float,
) -> _Seen:
    """A box along a strip.

    :param width: of the strip [m]
    :param way, left: of the box's centre, from ego's front and from the strip's middle [m]
    :param turned: cosine and sine of the box's heading against the strip
    """
    cos, sin = turned
    half = 0.5 * width
    # Half the diagonals, along the strip and to its left.
    x, y = 0.5 * (box.length * cos - box.width * sin), 0.5 * (box.length * sin + box.width * cos)
    u, v = 0.5 * (box.length * cos + box.width * sin), 0.5 * (box.length * sin - box.width * cos)
    nearest = way - max(abs(x), abs(u))
    aside = max(abs(y), abs(v))
    beside = max(left - aside - half, 0.0 - half - (left + aside))
    if beside > 0.0:
        return _Seen(nearest, beside, closing, way)
    # The nearest point of what is inside of the strip.
    gap = inf
    corners = ((way + x, left + y), (way + u, left + v), (way - x, left - y), (way - u, left - v))
    for (x, y), (x2, y2) in pairwise((*corners, corners[0])):
        if -half <= y <= half:
            gap = min(gap, x)
        for edge in (half, -half):
            if (y - edge) * (y2 - edge) < 0.0:
                gap = min(gap, x + (x2 - x) * (edge - y) / (y2 - y))
    return _Seen(gap, beside, closing, way)


def _leaves_lane(mover: MovingBox) -> bool:
    box = mover.box
    if box.position is NOWHERE:
        return mover.vx * mover.vx + mover.vy * mover.vy > LEAVES_LANE * LEAVES_LANE
    along = box.cos * box.lane_cos + box.sin * box.lane_sin
    across = box.sin * box.lane_cos - box.cos * box.lane_sin
    return abs(mover.vx * across + mover.vy * along) > LEAVES_LANE


def _along_path(road: LaneGeometry, ego: MovingBox, other: MovingBox, box: LaneBox) -> _Seen:
    own = ego.box
    dx, dy = box.x - own.x, box.y - own.y
    ahead, left = dx * own.cos + dy * own.sin, dy * own.cos - dx * own.sin
    bend = ego.yaw_rate / ego.vx if ego.vx > LEAVES_LANE else 0.0
    # Heading of the other against ego's, and of the path at the other's foot.
    cos = box.cos * own.cos + box.sin * own.sin
    sin = box.sin * own.cos - box.cos * own.sin
    c, s = 1.0, 0.0
    if abs(bend) > _STRAIGHT:
        x, y = bend * ahead, 1.0 - bend * left
        radius = sqrt(x * x + y * y)
        c, s = (y / radius, x / radius) if radius > 0.0 else (1.0, 0.0)
        ahead, left = atan2(x, y) / bend, (1.0 - radius) / bend
    along, across = cos * c + sin * s, sin * c - cos * s
    way = ahead - 0.5 * own.length
    closing = ego.vx - (other.vx * along - other.vy * across)
    seen = _seen(own.width, box, way, left, (along, across), closing)
    return seen if seen.gap <= HORIZON_S * ego.vx else seen._replace(gap=inf)


class Extreme(NamedTuple):
    """The smallest value so far, of which pair, and when [ns]."""

    value: float = inf
    pair: tuple[str, str] | None = None
    time: int | None = None


class _Near:
    """A mover beside an ego: its number among all, centre [m], speed [m/s], and a radius [m].

    The radius reaches from the centre to a corner of the upright rectangle around the box, however
    the box is turned.
    """

    __slots__ = ("around", "index", "mover", "speed", "x", "y")

    def __init__(self, index: int, mover: MovingBox) -> None:
        box = mover.box
        self.index = index
        self.mover = mover
        self.x = box.x
        self.y = box.y
        self.speed = _speed(mover)
        self.around = 0.5 * sqrt(2.0 * (box.length * box.length + box.width * box.width))


class _OnRoad:
    """All on one road, by their ``x``, and what none of them exceeds."""

    __slots__ = ("around", "fastest", "near", "road_id", "slowest", "speed", "xs")

    def __init__(self, road_id: Any, found: list[_Near]) -> None:
        self.road_id = road_id
        self.near = sorted(found, key=_x_of)
        self.xs = [near.x for near in self.near]
        self.around = max([near.around for near in found])
        self.speed = max([near.speed for near in found])
        #: Along the reference line.
        self.slowest = min([near.mover.box.speed for near in found])
        self.fastest = max([near.mover.box.speed for near in found])

    def within(self, x: float, reach: float) -> list[_Near]:
        """Those whose ``x`` differs by no more than ``reach``."""
        return self.near[bisect_left(self.xs, x - reach) : bisect_right(self.xs, x + reach)]


class Surroundings:
    """All that egos may meet at one time, by road and place."""

    def __init__(self, others: list[MovingBox]) -> None:
        roads: dict[Any, list[_Near]] = {}
        for index, other in enumerate(others):
            roads.setdefault(other.box.position.road_id, []).append(_Near(index, other))
        self.roads: list[_OnRoad] = [_OnRoad(road, found) for road, found in roads.items()]


def _x_of(near: _Near) -> float:
    return near.x


def _speed(mover: MovingBox) -> float:
    return sqrt(mover.vx * mover.vx + mover.vy * mover.vy)


class Encounters:
    """The smallest gap [m] and time to collision [s] of all pairs of a run.

    Of equal ones the first counts: the earliest time, then the order of egos and of others.

    :param road: what the ways follow
    """

    def __init__(self, road: LaneGeometry) -> None:
        self._road = road
        self.gap = Extreme()
        self.ttc = Extreme()
        #: Numbers of the others of these two, if they are of the ego that looks now.
        self._of_gap = self._of_ttc = -1

    def look(self, time: int, egos: list[MovingBox], others: list[MovingBox]) -> None:
        """Compare each ego with all others, of which egos may be some.

        :param time: [ns]
        """
        surroundings = Surroundings(others)
        for ego in egos:
            self.look_around(time, ego, surroundings)

    def look_around(self, time: int, ego: MovingBox, surroundings: Surroundings) -> None:
        """Compare an ego with all others, of which it may be one.

        Most pairs have by far no less than what was found so far: no gap of two boxes is below the
        distance of their centres less two radii, unless they overlap. The nearest ones come first.

        :param time: [ns]
        """
        box = ego.box
        speed, keeps_lane = _speed(ego), not _leaves_lane(ego)
        # From the centre to the corner of the strip in front of the box.
        square = box.length * box.length + 2.0 * box.width * box.width
        front = 0.5 * sqrt(square)
        nearest: list[tuple[float, int, float, MovingBox]] = []
        for road in surroundings.roads:
            one_road = keeps_lane and box.position.road_id == road.road_id
            # Round a bend two may come towards each other whose headings are equal.
            most = speed + road.speed
            if one_road:
                most = max(
                    box.direction * (box.speed - road.slowest),
                    box.direction * (box.speed - road.fastest),
                )
            reach = max(self._limit(most), 0.0) + front + road.around + _ROUNDING
            for near in road.within(box.x, reach):
                other = near.mover
                dx, dy = near.x - box.x, near.y - box.y
                gap = sqrt(dx * dx + dy * dy) - front - near.around
                closing = speed + near.speed
                if gap > 0.0:
                    seen = other.box
                    if one_road:
                        closing = box.direction * (box.speed - seen.speed)
                    limit = self._limit(closing)
                    if gap >= limit:
                        continue
                    if one_road:
                        gap = gap_ahead(self._road, box, seen) - _ROUNDING
                        # A path that does not touch and ends behind ego's front does not count.
                        if gap + 2.0 * seen.half < 0.0 or gap >= limit:
                            continue
                if other.name != ego.name:
                    nearest.append((gap, near.index, closing, other))
        nearest.sort()  # of equal bounds the first of all comes first
        self._of_gap = self._of_ttc = -1
        for gap, index, closing, other in nearest:
            if gap <= max(self._limit(closing), 0.0):
                self._take(time, ego, other, index)

    def _limit(self, closing: float) -> float:
        """Only a pair whose gap is below this can have less than was found [m].

        :param closing: the pair closes no faster [m/s]
        """
        least = self.gap.value
        if closing > CLOSES:
            least = max(least, min(self.ttc.value, LONGEST_TTC) * closing)
        return least

    def _take(self, time: int, ego: MovingBox, other: MovingBox, index: int) -> None:
        found = encounter(self._road, ego, other)
        if found is None:
            return
        pair = (ego.name, other.name)
        gap, least = found.gap, self.gap.value
        if gap < least or (gap == least and index < self._of_gap):
            self.gap, self._of_gap = Extreme(gap, pair, time), index
        ttc, least = found.time_to_collision, self.ttc.value
        if ttc < least or (ttc == least and index < self._of_ttc):
            self.ttc, self._of_ttc = Extreme(ttc, pair, time), index
