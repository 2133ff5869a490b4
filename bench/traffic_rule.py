# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""How fast the client's traffic manager wants a vehicle to be in a bend, by its own rule.

The manager keeps points ahead of each vehicle, at least 15 m or two seconds of its way (four above
60 km/h). The circle through the first, the middle and the last of them has a radius r; it wants at
most sqrt(0.6 g r). The points reach beyond a bend of a junction, so that their circle is wider than
the bend: in a bend of 6 m it wants some 8 m/s, which are 10 m/s^2. The rule and the places of the
points are those of ``MotionPlanStage.cpp`` (``GetTurnTargetVelocity``), ``LocalizationStage.cpp``,
``InMemoryMap.cpp`` and ``Constants.h`` in louiszengCN/CarlaAir d70247b, LibCarla/source/carla/
trafficmanager, which the server has no part in: it needs the map and the vehicle's place alone.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import pairwise
from math import acos, cos, dist, inf, radians, remainder, sin, sqrt, tau
from typing import Any, Final, NamedTuple

_SPACING, _SPLIT_RAD, _SPLIT_M2 = 5.0, 0.087, 27.5
_SHORTEST, _HORIZON_S, _FAST_HORIZON_S, _FAST = 15.0, 2.0, 4.0, 60.0 / 3.6
#: Points are taken away where they are further than this many horizons.
_KEPT: Final = sqrt(2.0)
_FRICTION, _GRAVITY = 0.6, 9.81
_NARROWEST: Final = 1.0  # m
#: From a road to the next one lead at most so many pieces of lanes.
_MOST_PIECES: Final = 4
#: The bend around a vehicle is so far from it at most, and is looked at in such steps [m].
_AROUND, _EACH = 10.0, 1.0

Piece = tuple[int, int, int]
"""Road, section and lane."""


class Wanted(NamedTuple):
    """What the rule wants at a place.

    :ivar speed: at most; with those points, of all that the manager can have kept, that want the
        least [m/s]
    :ivar bend: the sharpest curvature of the lanes around that place [1/m]
    """

    speed: float
    bend: float

    def across(self) -> float:
        """The acceleration that the rule allows in this bend [m/s^2]."""
        return self.speed * self.speed * self.bend


class TurnRule:
    """The rule on one map."""

    def __init__(self, road_map: Any) -> None:
        """Make the manager's points of a client's map."""
        self._map = road_map
        pieces: dict[Piece, list[Any]] = defaultdict(list)
        for point in road_map.generate_waypoints(_SPACING):
            if point.lane_width > _NARROWEST:
                pieces[_piece(point)].append(point)
        self._points = {piece: _points(piece, row) for piece, row in pieces.items()}
        self._ends = {
            piece: (min(p.s for p in row), max(p.s for p in row)) for piece, row in pieces.items()
        }
        self._next: dict[Piece, set[Piece]] = defaultdict(set)
        for one, other in road_map.get_topology():
            if _piece(one) != _piece(other):
                self._next[_piece(one)].add(_piece(other))
        self._junctions = {piece for piece, row in pieces.items() if row[0].is_junction}

    def wanted(
        self, way: Sequence[tuple[float, float, float]], here: int, yaw: float, speed: float
    ) -> Wanted | None:
        """What the rule wants of a vehicle; None if its lanes are unknown.

        :param way: its places around the moment, in steps of at most 5 m [m]
        :param here: where it is in that way
        :param yaw: where it heads [rad]
        """
        route = self._route(way, here)
        points = [point for piece in route for point in self._points.get(piece, ())]
        if not points:
            return None
        x, y, _ = way[here]
        first = min(range(len(points)), key=lambda n: dist(points[n], (x, y)))
        ahead = cos(yaw), sin(yaw)
        while first < len(points) and _along(points[first], (x, y), ahead) <= 0.0:
            first += 1
        horizon = max(_SHORTEST, speed * (_FAST_HORIZON_S if speed > _FAST else _HORIZON_S))
        wanted, last = inf, first
        while last < len(points) - 1 and dist(points[last], points[first]) <= horizon:
            last += 1
        while last < len(points) and dist(points[last], points[first]) <= _KEPT * horizon:
            if last - first >= 2:
                middle = points[first + (last - first + 1) // 2]
                radius = circle(points[first], middle, points[last])
                wanted = min(wanted, sqrt(_FRICTION * _GRAVITY * radius))
            last += 1
        return None if wanted == inf else Wanted(wanted, self._sharpest(route, (x, y)))

    def _route(self, way: Sequence[tuple[float, float, float]], here: int) -> list[Piece]:
        """The pieces of lanes that a vehicle has driven; lanes in junctions lie on each other."""
        seen = [self._at(place) for place in way]
        roads = [n for n, piece in enumerate(seen) if piece and piece not in self._junctions]
        before = [n for n in roads if n <= here]
        if not before:
            return []
        chain = [seen[n] for n in range(before[-1], len(seen)) if n in set(roads)]
        route = [chain[0]] if chain[0] else []
        for one, other in pairwise(chain):
            if one and other and one != other:
                route += self._between(one, other)
        for _ in range(_MOST_PIECES):
            following = self._next[route[-1]] if route else set()
            if len(following) == 1:
                route += following
        return route

    def _at(self, place: tuple[float, float, float]) -> Piece | None:
        import carla

        found = self._map.get_waypoint(carla.Location(*place))
        return found and _piece(found)

    def _between(self, one: Piece, other: Piece) -> list[Piece]:
        """What leads from a piece to another one, with that; only that where nothing does."""
        rows = [[piece] for piece in sorted(self._next[one])]
        for _ in range(_MOST_PIECES):
            for row in rows:
                if row[-1] == other:
                    return row
            rows = [[*row, piece] for row in rows for piece in sorted(self._next[row[-1]])]
        return [other]

    def _sharpest(self, route: Iterable[Piece], place: tuple[float, float]) -> float:
        """The sharpest curvature of these lanes around a place [1/m]."""
        sharpest = 0.0
        for piece in route:
            low, high = self._ends.get(piece, (0.0, 0.0))
            steps = range(int((high - low + _SPACING) / _EACH))
            found = (
                self._map.get_waypoint_xodr(piece[0], piece[2], low + _EACH * n) for n in steps
            )
            row = [point.transform for point in found if point and _piece(point) == piece]
            for one, other in pairwise(row):
                a, b = one.location, other.location
                length = dist((a.x, a.y), (b.x, b.y))
                if dist((a.x, a.y), place) < _AROUND and length > 0.1 * _EACH:
                    turn = remainder(radians(other.rotation.yaw - one.rotation.yaw), tau)
                    sharpest = max(sharpest, abs(turn) / length)
        return sharpest


def circle(a: tuple[float, float], b: tuple[float, float], c: tuple[float, float]) -> float:
    """Radius of the circle through three points [m]; without end where they are in line."""
    twice = abs((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]))
    return inf if twice < 1e-9 else dist(a, b) * dist(b, c) * dist(c, a) / (2.0 * twice)


def _piece(point: Any) -> Piece:
    return point.road_id, point.section_id, point.lane_id


def _points(piece: Piece, row: list[Any]) -> list[tuple[float, float]]:
    """The points of a piece in driving direction, closer together where it bends."""
    row = sorted(row, key=lambda point: point.s, reverse=piece[2] > 0)
    made = []
    for number, point in enumerate(row):
        made.append(point)
        if number + 1 == len(row):
            break
        other = row[number + 1]
        length = abs(point.s - other.s)
        a, b = point.transform.get_forward_vector(), other.transform.get_forward_vector()
        angle = acos(max(-1.0, min(1.0, a.x * b.x + a.y * b.y + a.z * b.z)))
        more = max(int(angle / _SPLIT_RAD), int(length * length / _SPLIT_M2))
        for _ in range(more):
            found = made[-1].next(length / (more + 1))
            if not found:
                break
            made.append(found[0])
    return [(p.transform.location.x, p.transform.location.y) for p in made]


def _along(
    point: tuple[float, float], place: tuple[float, float], ahead: tuple[float, float]
) -> float:
    return (point[0] - place[0]) * ahead[0] + (point[1] - place[1]) * ahead[1]
