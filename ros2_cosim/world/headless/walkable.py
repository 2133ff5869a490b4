# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Where walkers can walk: the sidewalks of a map, its crosswalks, and the roads between them.

Every lane of a road that has a sidewalk becomes a strip of convex polygons that share their
corners with the strips beside them. Across the carriageway lead crosswalks: those that the map
names, or, on a map that names none, one before every junction. Where the roads of a junction have
no sidewalks of their own, corners join the sidewalks of neighbouring arms.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Final, NamedTuple

from ros2_cosim.core.kernel.exactmath import atan2, sincos, total
from ros2_cosim.world.headless.navmesh_file import (
    CROSSWALK,
    MAX_CORNERS,
    MAX_POLYGONS,
    ROAD,
    SIDEWALK,
    Area,
    Point,
    Polygon,
    navmesh,
)
from ros2_cosim.world.map import RoadNetwork
from ros2_cosim.world.map.opendrive import Road

_SIDEWALK_TYPE: Final = "sidewalk"
_NO_WAY_TYPES: Final = frozenset(("none", "median", "curb", "rail", "tram"))
_CROSSWALK_TYPE: Final = "crosswalk"
#: A strip's polygons are at most and at least so long [m]; a bend is followed this closely.
_LONGEST, _SHORTEST, _TOLERANCE = 20.0, 1.0, 0.05
#: Corners nearer to each other than this are one [m]; narrower strips are none.
_SAME_CORNER: Final = 0.05
_LEAST_WIDTH: Final = 0.2
#: A crosswalk that the map does not name: its length along the road and its way to the end [m].
_CROSSWALK_LENGTH, _CROSSWALK_SETBACK = 3.0, 1.0
#: Sidewalks of neighbouring arms of a junction are joined over at most this distance [m].
_WIDEST_CORNER: Final = 40.0


def navigation_file(network: RoadNetwork, name: str) -> tuple[str, bytes] | None:
    """Name and content of a map's file for the client; None where the map has no sidewalk.

    The client keeps files by their names: the name holds a digest of the content.
    """
    corners, polygons = walkable(network)
    if not polygons:
        return None
    content = navmesh(corners, polygons)
    digest = hashlib.sha256(content).hexdigest()[:16]
    return f"Carla/Maps/Nav/{name}_{digest}.bin", content


def walkable(network: RoadNetwork) -> tuple[list[Point], list[Polygon]]:
    """Corners [m, CARLA's frame] and convex polygons of where walkers can walk."""
    mesh = _Mesh(network)
    return mesh.corners, mesh.polygons


class _End(NamedTuple):
    """The end of a sidewalk at a junction: its corners, inner one first, and the way out."""

    angle: float
    outer_side: float
    inner: int
    outer: int


class _Mesh:
    """Corners and polygons, in CARLA's frame."""

    def __init__(self, network: RoadNetwork) -> None:
        self.corners: list[Point] = []
        self.polygons: list[Polygon] = []
        self._network = network
        self._places: dict[tuple[int, int, int], list[int]] = {}
        self._named = any(
            thing.type == _CROSSWALK_TYPE
            for road in network.roads.values()
            for thing in road.objects
        )
        roads = [road for road in network.roads.values() if _has_sidewalk(road)]
        for road in roads:
            if len(self.corners) > MAX_CORNERS // 2 or len(self.polygons) > MAX_POLYGONS // 2:
                break  # a tile holds no more; walkers keep to the first part of the map
            self._add_road(road)
        paved = {road.junction for road in roads if road.junction is not None}
        for junction in network.junctions:
            if junction not in paved:
                self._add_corners(junction)

    def _add_road(self, road: Road) -> None:
        crossings = list(self._crossings(road))
        for section in road.lanes.sections:
            order = sorted(section.lanes, reverse=True)
            order = [lane for lane in order if lane != 0]
            walks = [
                i for i, lane in enumerate(order) if section.lanes[lane].type == _SIDEWALK_TYPE
            ]
            if not walks:
                continue
            cuts = sorted(
                {section.start, section.end}
                | {s for span in crossings for s in span if section.start < s < section.end}
            )
            stations = [section.start]
            for low, high in zip(cuts, cuts[1:], strict=False):
                stations += self._divided(road, low, high)
            rows = [self._row(road, order, s, s == section.end) for s in stations]
            for index, (before, after) in enumerate(zip(rows, rows[1:], strict=False)):
                middle = 0.5 * (stations[index] + stations[index + 1])
                crossing = any(low < middle < high for low, high in crossings)
                for place, lane in enumerate(order):
                    kind = section.lanes[lane].type
                    between = walks[0] < place < walks[-1]
                    area = _area(kind, crossing and between)
                    if area is not None and section.width(lane, middle) >= _LEAST_WIDTH:
                        ring = (*before[place], *reversed(after[place]))
                        self._add(ring, area)

    def _row(self, road: Road, order: list[int], s: float, at_end: bool) -> list[tuple[int, int]]:
        """Left and right corner of every lane at a station."""
        # At the end of a section the lanes of this one count, not those of the next.
        inside = max(0.0, s - 1e-9) if at_end else s
        row = []
        for lane in order:
            inner, outer = road.lanes.borders(lane, inside)
            left, right = (outer, inner) if lane > 0 else (inner, outer)
            row.append((self._corner(road, s, left), self._corner(road, s, right)))
        return row

    def _divided(self, road: Road, low: float, high: float) -> list[float]:
        """Stations after ``low`` up to ``high``; the edges are straight between them."""
        length = high - low
        middle = 0.5 * (low + high)
        if length > _LONGEST or (length > _SHORTEST and self._bend(road, low, high) > _TOLERANCE):
            return self._divided(road, low, middle) + self._divided(road, middle, high)
        return [high]

    def _bend(self, road: Road, low: float, high: float) -> float:
        """How far the edges are from the chords between two stations [m]."""
        middle = 0.5 * (low + high)
        worst = 0.0
        for side in (0, 1):
            ends = [road.lanes.edges(max(0.0, s - 1e-9))[side] for s in (low, middle, high)]
            a, b, c = (
                self._point(road, s, t) for s, t in zip((low, middle, high), ends, strict=True)
            )
            off = max(abs(b[axis] - 0.5 * (a[axis] + c[axis])) for axis in range(3))
            worst = max(worst, off)
        return worst

    def _crossings(self, road: Road) -> Iterator[tuple[float, float]]:
        """Pieces of a road that are crosswalks."""
        for thing in road.objects:
            if thing.type != _CROSSWALK_TYPE:
                continue
            sin, cos = sincos(thing.heading)
            along = [u * cos - v * sin for u, v, _ in thing.outline] or [
                -0.5 * _CROSSWALK_LENGTH,
                0.5 * _CROSSWALK_LENGTH,
            ]
            low, high = max(0.0, thing.s + min(along)), min(road.length, thing.s + max(along))
            if high > low:
                yield low, high
        if not self._named and road.length > 2.0 * (_CROSSWALK_LENGTH + _CROSSWALK_SETBACK):
            if road.successor_junction is not None:
                end = road.length - _CROSSWALK_SETBACK
                yield end - _CROSSWALK_LENGTH, end
            if road.predecessor_junction is not None:
                yield _CROSSWALK_SETBACK, _CROSSWALK_SETBACK + _CROSSWALK_LENGTH

    def _add_corners(self, junction: int) -> None:
        """Join the sidewalks of neighbouring arms of a junction without sidewalks."""
        ends: list[_End] = []
        centre_x, centre_y, arms = 0.0, 0.0, []
        for road in self._network.roads.values():
            for at_end in (False, True):
                if road.junction is None and road.junction_at(at_end) == junction:
                    arms.append((road, at_end))
                    x, y, _ = self._point(road, road.length if at_end else 0.0, 0.0)
                    centre_x, centre_y = centre_x + x, centre_y + y
        if not arms:
            return
        centre_x, centre_y = centre_x / len(arms), centre_y / len(arms)
        for road, at_end in arms:
            s = road.length if at_end else 0.0
            inside = max(0.0, s - 1e-9)
            section = road.lanes.section(inside)
            for lane_id, lane in section.lanes.items():
                if lane.type != _SIDEWALK_TYPE or section.width(lane_id, inside) < _LEAST_WIDTH:
                    continue
                inner, outer = (
                    self._corner(road, s, t) for t in road.lanes.borders(lane_id, inside)
                )
                x, y, _ = self.corners[inner]
                # Which side of the arm, seen from the junction: left -1, right +1 (y to the right).
                side = 1.0 if (lane_id > 0) == at_end else -1.0
                ends.append(_End(atan2(y - centre_y, x - centre_x), side, inner, outer))
        # Around the junction the right side of an arm is followed by the left side of the next.
        ends.sort()
        for index, end in enumerate(ends):
            following = ends[(index + 1) % len(ends)]
            if end.outer_side > 0.0 > following.outer_side and end.inner != following.inner:
                ax, ay, _ = self.corners[end.inner]
                bx, by, _ = self.corners[following.inner]
                x, y = bx - ax, by - ay
                if x * x + y * y <= _WIDEST_CORNER * _WIDEST_CORNER:
                    self._add((end.inner, end.outer, following.outer, following.inner), SIDEWALK)

    def _add(self, ring: tuple[int, ...], area: Area) -> None:
        """Add a polygon of four corners, or what is left of it where some fall together."""
        around: list[int] = []
        for corner in ring:
            if corner not in around:
                around.append(corner)
        for part in self._convex(around):
            self.polygons.append(Polygon(part, area))

    def _convex(self, ring: list[int]) -> list[tuple[int, ...]]:
        """Convex parts of a polygon of at most four corners; none where its sides cross."""
        if len(ring) < 3:
            return []
        turns = [
            self._turn(ring[i - 1], ring[i], ring[(i + 1) % len(ring)]) for i in range(len(ring))
        ]
        if all(turn > 0.0 for turn in turns) or all(turn < 0.0 for turn in turns):
            return [tuple(ring)]
        if len(ring) == 3:
            return []
        sign = 1.0 if total(turns) > 0.0 else -1.0
        hollow = [index for index, turn in enumerate(turns) if turn * sign <= 0.0]
        if len(hollow) != 1:
            return []  # sides cross: the strip is folded in a bend tighter than its width
        a = hollow[0]
        b, c, d = ((a + step) % 4 for step in (1, 2, 3))
        return [(ring[a], ring[b], ring[c]), (ring[a], ring[c], ring[d])]

    def _turn(self, before: int, here: int, after: int) -> float:
        (ax, ay, _), (bx, by, _), (cx, cy, _) = (
            self.corners[corner] for corner in (before, here, after)
        )
        return (bx - ax) * (cy - by) - (by - ay) * (cx - bx)

    def _point(self, road: Road, s: float, t: float) -> Point:
        x, y, z, _ = self._network.pose(road.id, s, t)
        return x, 0.0 - y, z

    def _corner(self, road: Road, s: float, t: float) -> int:
        """Number of the corner at a place; an existing corner where roads meet."""
        point = self._point(road, s, t)
        cell = [int(part // _SAME_CORNER) for part in point]
        for x in (cell[0] - 1, cell[0], cell[0] + 1):
            for y in (cell[1] - 1, cell[1], cell[1] + 1):
                for z in (cell[2] - 1, cell[2], cell[2] + 1):
                    for known in self._places.get((x, y, z), ()):
                        if all(
                            abs(p - q) < _SAME_CORNER
                            for p, q in zip(point, self.corners[known], strict=True)
                        ):
                            return known
        self.corners.append(point)
        self._places.setdefault((cell[0], cell[1], cell[2]), []).append(len(self.corners) - 1)
        return len(self.corners) - 1


def _has_sidewalk(road: Road) -> bool:
    return any(
        lane.type == _SIDEWALK_TYPE
        for section in road.lanes.sections
        for lane in section.lanes.values()
    )


def _area(kind: str, crossing: bool) -> Area | None:
    if kind == _SIDEWALK_TYPE:
        return SIDEWALK
    if crossing:
        return CROSSWALK
    return None if kind in _NO_WAY_TYPES else ROAD
