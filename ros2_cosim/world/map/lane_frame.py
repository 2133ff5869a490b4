# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Boxes on the road: where they are along the lane, how fast, how far from each other."""

from __future__ import annotations

from math import inf, sqrt
from typing import Any, Final, NamedTuple, Protocol

from ros2_cosim.core.kernel import exactmath
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.named_tuples import NEW
from ros2_cosim.core.messages.records import Odometry
from ros2_cosim.world.map.frames import forward_axis

#: A way along lanes to a point is looked for so many times as far as the straight line to it, ...
_WINDING: Final = 1.6
#: ... and so much further [m].
_MORE_REACH: Final = 20.0


class LaneGeometry(Protocol):
    """The part of a road network that these models use."""

    def project(self, x: float, y: float, hint: Any = None) -> Any:
        """Return the road position (road_id, s, t, lane_id, heading) of a point in ``map``."""

    def distance(self, start: Any, end: Any) -> float:
        """Return the distance along the road from one position to another [m]."""

    def beside_lane(self, start: Any, lane_id: int, x: float, y: float, reach: float) -> Any:
        """Return (way, left, cos, sin) of a point seen from a lane that is followed, or None."""


class LaneBox:
    """A box (footprint) with its place on the road; it never changes.

    ``x``, ``y`` is the centre in ``map`` and (``cos``, ``sin``) its heading. ``position`` is
    the projection on the road, (``lane_cos``, ``lane_sin``) the direction of its reference line
    there. ``half`` [m] is half the extent along the road, ``speed`` [m/s] the speed along the
    reference line, ``direction`` +1 or -1 as the box heads along or against it.
    """

    # No NamedTuple: compiled, its numbers lie in the object itself.
    __slots__ = (
        "cos", "direction", "half", "lane_cos", "lane_sin", "length", "position", "sin", "speed",
        "width", "x", "y",
    )  # fmt: skip

    def __init__(
        self,
        x: float,
        y: float,
        cos: float,
        sin: float,
        length: float,
        width: float,
        position: Any,
        lane_cos: float,
        lane_sin: float,
        half: float,
        speed: float,
        direction: float,
    ) -> None:
        self.x = x
        self.y = y
        self.cos = cos
        self.sin = sin
        self.length = length
        self.width = width
        self.position = position
        self.lane_cos = lane_cos
        self.lane_sin = lane_sin
        self.half = half
        self.speed = speed
        self.direction = direction


def heading_of(odometry: Odometry) -> tuple[float, float]:
    """Return (cos, sin) of the heading in the plane."""
    c, s = forward_axis(odometry.qx, odometry.qy, odometry.qz, odometry.qw)
    norm = sqrt(c * c + s * s)
    return (c / norm, s / norm) if norm > 0.0 else (1.0, 0.0)


def fixed_box(
    road: LaneGeometry, x: float, y: float, yaw: float, length: float, width: float
) -> LaneBox:
    """Return the box of a thing that does not move."""
    s, c = exactmath.sincos(yaw)
    return box_at(road, x, y, c, s, length, width, None, 0.0, 0.0)


def box_at(
    road: LaneGeometry,
    x: float,
    y: float,
    c: float,
    s: float,
    length: float,
    width: float,
    hint: Any,
    vx: float,
    vy: float,
) -> LaneBox:
    """Return the box with a centre (x, y), heading (c, s) and velocity [m/s] along and across it.

    :param hint: an earlier road position nearby; it only makes the projection faster
    """
    position = road.project(x, y, hint)
    lane_sin, lane_cos = exactmath.sincos(position.heading)
    along = c * lane_cos + s * lane_sin
    across = s * lane_cos - c * lane_sin
    half = 0.5 * (length * abs(along) + width * abs(across))
    speed = vx * along - vy * across
    direction = 1.0 if along >= 0.0 else -1.0
    return LaneBox(x, y, c, s, length, width, position, lane_cos, lane_sin, half, speed, direction)


class Ahead(NamedTuple):
    """A box as seen from another one that follows its lane.

    ``gap`` [m] from the front of the one to the rear of the other, negative when they overlap along
    the lane or the other is behind, infinite when no road leads to it; ``speed`` [m/s] of the other
    minus the own one, along the lane; ``left`` [m]: how far left of the own lane position it is;
    (``cos``, ``sin``): its heading against the lane.
    """

    gap: float
    speed: float
    left: float
    cos: float
    sin: float


def seen_ahead(road: LaneGeometry, ego: LaneBox, other: LaneBox) -> Ahead:
    """Return a box as seen from another one."""
    return NEW(Ahead, ahead_of(road, ego, other))


def ahead_of(
    road: LaneGeometry, ego: LaneBox, other: LaneBox
) -> tuple[float, float, float, float, float]:
    """The numbers of ``seen_ahead``: compiled, they do not become objects.

    On one road places are compared along its reference line. A box on another road is looked for
    beside the lane that ego follows, wherever that lane goes on: the roads of a junction cross each
    other, and reference lines do not go on where lanes do.
    """
    here, there = ego.position, other.position
    if here.road_id == there.road_id:
        sign = ego.direction
        left: float = there.t
        own_left: float = here.t
        return (
            gap_ahead(road, ego, other),
            sign * other.speed - sign * ego.speed,
            sign * left - sign * own_left,
            sign * (other.cos * other.lane_cos + other.sin * other.lane_sin),
            sign * (other.sin * other.lane_cos - other.cos * other.lane_sin),
        )
    dx, dy = other.x - ego.x, other.y - ego.y
    reach = _WINDING * sqrt(dx * dx + dy * dy) + _MORE_REACH
    lane_id: int = here.lane_id
    found = None
    if lane_id != 0 and (lane_id < 0) == (ego.direction > 0.0):
        found = road.beside_lane(here, lane_id, other.x, other.y, reach)
        own = road.beside_lane(here, lane_id, ego.x, ego.y, _MORE_REACH)
    if found is None or own is None:
        return inf, 0.0, 0.0, 1.0, 0.0
    way: float
    cos: float
    sin: float
    way, left, cos, sin = found
    along = other.cos * cos + other.sin * sin
    across = other.sin * cos - other.cos * sin
    half = 0.5 * (other.length * abs(along) + other.width * abs(across))
    # The speed along its own road, as a vector, along this way.
    speed = other.speed * (other.lane_cos * cos + other.lane_sin * sin)
    speed -= ego.direction * ego.speed
    return way - ego.half - half, speed, left - own[1], along, across


def gap_ahead(road: LaneGeometry, ego: LaneBox, other: LaneBox) -> float:
    """Return the gap from ego's front to the other's rear along the road [m].

    Negative when they overlap along the road or when the other is behind; infinite when no
    road leads from one to the other.
    """
    try:
        distance = road.distance(ego.position, other.position)
    except ConfigurationError:
        return inf
    return ego.direction * distance - ego.half - other.half
