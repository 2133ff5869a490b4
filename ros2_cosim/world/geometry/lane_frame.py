# SPDX-License-Identifier: Apache-2.0
"""Boxes on the road: where they are along the lane, how fast, how far from each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf, sqrt
from typing import Any, Final, NamedTuple, Protocol

from ros2_cosim.core.kernel import exactmath
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.sample import Sample
from ros2_cosim.core.messages.records import Odometry, RoadUser
from ros2_cosim.world.geometry.frames import forward_axis

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


class _Kept:
    """The box of an odometry, found from a road position before."""

    __slots__ = ("box", "hint", "source")

    def __init__(self, source: Odometry | RoadUser, hint: Any, box: LaneBox) -> None:
        self.source = source
        self.hint = hint
        self.box = box


def heading_of(odometry: Odometry) -> tuple[float, float]:
    """Return (cos, sin) of the heading in the plane."""
    c, s = forward_axis(odometry.qx, odometry.qy, odometry.qz, odometry.qw)
    norm = sqrt(c * c + s * s)
    return (c / norm, s / norm) if norm > 0.0 else (1.0, 0.0)


class LaneBoxes:
    """The boxes on one road.

    Several models of a process that share this object look at the same sample, each from the
    position before: the newest boxes are kept by the identity of their sample (which is kept
    as well, so that its identity stays its own). What is kept never changes a result.

    :param road: the road network
    """

    MAX_KEPT = 4096
    """Several times the vehicles of a large scene: those of one instant must find room."""

    def __init__(self, road: LaneGeometry) -> None:
        self.road = road
        self._kept: dict[int, _Kept] = {}
        self._fleets: dict[tuple[tuple[str, float, float], ...], VehicleBoxes] = {}

    def fleet(self, vehicles: Sequence[tuple[str, float, float]]) -> VehicleBoxes:
        """Return what finds the boxes of these vehicles: input port, length and width [m] of each.

        All that ask for the same ones share it.
        """
        key = tuple(vehicles)
        if key not in self._fleets:
            self._fleets[key] = VehicleBoxes(self, key)
        return self._fleets[key]

    def vehicle(self, odometry: Odometry, length: float, width: float, hint: Any = None) -> LaneBox:
        """Return the box of a vehicle whose odometry gives the centre of its footprint.

        :param hint: an earlier road position nearby; it only makes the projection faster
        """
        kept = self._kept.get(id(odometry))
        if kept is not None and kept.source is odometry and kept.hint is hint:
            box = kept.box
            if box.length == length and box.width == width:
                return box
        c, s = heading_of(odometry)
        x, y, vx, vy = odometry.x, odometry.y, odometry.vx, odometry.vy
        box = box_at(self.road, x, y, c, s, length, width, hint, vx, vy)
        self._keep(odometry, hint, box)
        return box

    def road_user(self, user: RoadUser, hint: Any = None) -> LaneBox:
        """Return the box of a vehicle that is not a participant's.

        :param hint: as of ``vehicle``
        """
        kept = self._kept.get(id(user))
        if kept is not None and kept.source is user and kept.hint is hint:
            return kept.box
        s, c = exactmath.sincos(user.yaw)
        length, width, vx, vy = user.length, user.width, user.vx, user.vy
        box = box_at(self.road, user.x, user.y, c, s, length, width, hint, vx, vy)
        self._keep(user, hint, box)
        return box

    def _keep(self, source: Odometry | RoadUser, hint: Any, box: LaneBox) -> None:
        if len(self._kept) >= self.MAX_KEPT:
            self._kept.clear()
        self._kept[id(source)] = _Kept(source, hint, box)


class _Look:
    """The boxes and positions of vehicles, found from samples and earlier positions."""

    __slots__ = ("before", "boxes", "positions", "samples")

    def __init__(
        self,
        samples: list[Sample | None],
        before: tuple[Any, ...],
        boxes: list[LaneBox | None],
        positions: tuple[Any, ...],
    ) -> None:
        self.samples = samples
        self.before = before
        self.boxes = boxes
        self.positions = positions


class VehicleBoxes:
    """The boxes of several vehicles: found once for all models that look at the same samples.

    What is shared never changes a result. See :meth:`LaneBoxes.fleet`.
    """

    def __init__(self, boxes: LaneBoxes, vehicles: Sequence[tuple[str, float, float]]) -> None:
        self._boxes = boxes
        self._ports = [port for port, _, _ in vehicles]
        self._sizes = [(length, width) for _, length, width in vehicles]
        # One object: participants may run in threads.
        self._newest = _Look([], (), [], ())

    def nowhere(self) -> tuple[Any, ...]:
        """Return the positions of vehicles that have not been seen."""
        return (None,) * len(self._ports)

    def look(
        self, before: tuple[Any, ...], latest: Mapping[str, Sample | None]
    ) -> tuple[list[LaneBox | None], tuple[Any, ...]]:
        """Return the box of each vehicle, None of one without a sample, and all positions.

        :param before: the positions that the last look of the same model has returned
        :param latest: input port -> newest sample of an odometry
        """
        samples = [latest[port] for port in self._ports]
        newest = self._newest
        if samples == newest.samples and (before is newest.before or before == newest.before):
            return newest.boxes, newest.positions
        found: list[LaneBox | None] = []
        positions: list[Any] = []
        for (length, width), sample, hint in zip(self._sizes, samples, before, strict=True):
            if sample is None:
                found.append(None)
                positions.append(hint)
            else:
                box = self._boxes.vehicle(sample.value, length, width, hint)
                found.append(box)
                positions.append(box.position)
        newest = self._newest = _Look(samples, before, found, tuple(positions))
        return found, newest.positions


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
    """Return a box as seen from another one.

    On one road places are compared along its reference line. A box on another road is looked for
    beside the lane that ego follows, wherever that lane goes on: the roads of a junction cross each
    other, and reference lines do not go on where lanes do.
    """
    here, there = ego.position, other.position
    if here.road_id == there.road_id:
        return Ahead(
            gap_ahead(road, ego, other),
            ego.direction * other.speed - ego.direction * ego.speed,
            ego.direction * there.t - ego.direction * here.t,
            ego.direction * (other.cos * other.lane_cos + other.sin * other.lane_sin),
            ego.direction * (other.sin * other.lane_cos - other.cos * other.lane_sin),
        )
    dx, dy = other.x - ego.x, other.y - ego.y
    reach = _WINDING * sqrt(dx * dx + dy * dy) + _MORE_REACH
    lane_id: int = here.lane_id
    found = None
    if lane_id != 0 and (lane_id < 0) == (ego.direction > 0.0):
        found = road.beside_lane(here, lane_id, other.x, other.y, reach)
        own = road.beside_lane(here, lane_id, ego.x, ego.y, _MORE_REACH)
    if found is None or own is None:
        return Ahead(inf, 0.0, 0.0, 1.0, 0.0)
    way, left, cos, sin = found
    along = other.cos * cos + other.sin * sin
    across = other.sin * cos - other.cos * sin
    half = 0.5 * (other.length * abs(along) + other.width * abs(across))
    # The speed along its own road, as a vector, along this way.
    speed = other.speed * (other.lane_cos * cos + other.lane_sin * sin)
    speed -= ego.direction * ego.speed
    return Ahead(way - ego.half - half, speed, left - own[1], along, across)


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
