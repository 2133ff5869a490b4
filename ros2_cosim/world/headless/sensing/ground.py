# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The surface of a map: lanes, what is painted on them, the land around.

A lane is a strip of quadrilaterals between stations; paint uses the same stations, so that it lies
in the same surface.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from ros2_cosim.core.kernel.exactmath import sqrt
from ros2_cosim.world.headless.labels import GROUND, ROAD_LINES, ROADS, SIDEWALKS, TERRAIN
from ros2_cosim.world.headless.materials import Colour
from ros2_cosim.world.headless.sensing.axes import Floats
from ros2_cosim.world.headless.sensing.gaps import Gaps, gaps_of
from ros2_cosim.world.headless.sensing.land import Land, land_of
from ros2_cosim.world.headless.sensing.markings import WHITE, YELLOW, add_markings
from ros2_cosim.world.headless.sensing.mesh import (
    LANE,
    PAINT,
    SURFACE,
    Indices,
    Mesh,
    MeshBuilder,
    joined,
)
from ros2_cosim.world.headless.things import MapPart, upright_box
from ros2_cosim.world.map import RoadNetwork
from ros2_cosim.world.map.lanes import LaneSection, RoadMark
from ros2_cosim.world.map.opendrive import Road

# In curves a strip leaves the true border by at most this [m].
_SAGITTA = 0.02
_LONGEST, _LONGEST_ON_HILLS, _SHORTEST = 6.0, 4.0, 0.5  # m, steps along a road
# The last station of a section stands so much before its end [m], where its lanes still are.
_BEFORE_END = 1.0e-6

_ASPHALT: Colour = (72, 72, 76)
_LANES: dict[str, tuple[int, Colour, int]] = {
    "sidewalk": (SIDEWALKS, (150, 146, 140), SURFACE),
    "curb": (SIDEWALKS, (165, 162, 156), SURFACE),
    "walking": (SIDEWALKS, (150, 146, 140), SURFACE),
    "median": (GROUND, (112, 118, 96), SURFACE),
    "none": (TERRAIN, (104, 124, 78), SURFACE),
    "shoulder": (ROADS, (84, 83, 83), SURFACE),
    "border": (ROADS, (84, 83, 83), SURFACE),
}
_DRIVEN = (ROADS, _ASPHALT, LANE)
_LINE_COLOURS: dict[str, Colour] = {
    "yellow": YELLOW, "red": (178, 40, 36), "blue": (44, 84, 180), "green": (50, 140, 70),
}  # fmt: skip
_USUAL_LINE = 0.12  # m, where a file gives a line no width
_DASH, _DASH_PERIOD = 3.0, 9.0  # m


class MapGround(NamedTuple):
    """The ground of a map: its triangles, seen from above, and which part each belongs to.

    :ivar parts: the parts that have triangles
    :ivar owners: (n) numbers of parts, in their order
    :ivar land: None: the map has no roads
    :ivar paved: its triangles without the land, which have numbers of surfaces for actors
    :ivar surfaces: road and label of each number
    :ivar gaps: pavement between the lanes of junctions; None: the map has no roads
    """

    mesh: Mesh
    parts: list[MapPart]
    owners: Indices
    land: Land | None
    paved: Mesh
    surfaces: dict[int, tuple[int, int]]
    gaps: Gaps | None

    def on(self, land: Land) -> MapGround:
        """The same roads on another land."""
        return _ground(self.paved, self.surfaces, land, self.gaps)

    def height(self, x: float, y: float) -> float | None:
        """How high the ground is beside lanes, at a place of CARLA's frame [m]; None: no ground."""
        found = None if self.gaps is None else self.gaps.height(x, y)
        if found is None and self.land is not None:
            return self.land.height(x, y)
        return found


_LAND: Final = (-1, TERRAIN)
_PARTS: Final = {ROADS: "Road", SIDEWALKS: "Sidewalk", ROAD_LINES: "RoadLines", GROUND: "Median"}


class _Owners:
    """Numbers of the surfaces: what a road has of a label is one."""

    def __init__(self) -> None:
        self.keys: dict[tuple[int, int], int] = {_LAND: 0}

    def number(self, road: int, tag: int) -> int:
        key = (road, tag) if tag in _PARTS else _LAND
        return self.keys.setdefault(key, len(self.keys))


def ground_of(network: RoadNetwork) -> MapGround:
    """The ground of a map."""
    owners, builder = _Owners(), MeshBuilder()
    for road in network.roads.values():
        for section in road.lanes.sections:
            _add_section(builder, network, road, section, owners)
    add_markings(builder, network, lambda road: owners.number(road, ROAD_LINES))
    paved = builder.build(upwards=True)
    surfaces = {number: key for key, number in owners.keys.items()}
    if not len(paved):
        return _ground(paved, surfaces, None, None)
    gaps = gaps_of(network, paved, surfaces, _ASPHALT)
    return _ground(paved, surfaces, land_of(paved.points), gaps)


def _ground(
    paved: Mesh, surfaces: dict[int, tuple[int, int]], land: Land | None, gaps: Gaps | None
) -> MapGround:
    """The ground of roads and land, by its parts."""
    around = MeshBuilder()
    if land is not None:
        land.add_to(around)
    meshes = [paved] if gaps is None else [paved, gaps.mesh]
    whole = joined([*meshes, around.build(upwards=True)])
    numbers = whole.actors.astype(np.int64)
    present = np.unique(numbers)
    order = np.argsort(numbers, kind="stable")
    starts = np.searchsorted(numbers[order], present)
    corners = whole.points[order]
    lows = np.minimum.reduceat(corners.min(axis=1), starts)
    highs = np.maximum.reduceat(corners.max(axis=1), starts)
    parts = []
    for number, low, high in zip(present.tolist(), lows.tolist(), highs.tolist(), strict=True):
        road, tag = surfaces[number]
        name = f"{_PARTS[tag]}_{road}" if tag in _PARTS else "Land"
        parts.append(MapPart(name, tag, *upright_box(low, high)))
    return MapGround(
        whole.changed(actors=np.zeros_like(whole.actors)),
        parts,
        np.searchsorted(present, numbers),
        land,
        paved,
        surfaces,
        gaps,
    )


class RoadLine:
    """The reference line of a section at stations, for points beside it."""

    def __init__(self, road: Road, stations: list[float]) -> None:
        self.stations = np.array(stations)
        frames = np.array([road.line.frame(s)[:4] for s in stations])
        surfaces = [road.surface(s, 0.0) for s in stations]
        self._x, self._y, self._cos, self._sin = frames.T
        self._z = np.array([z for z, _, _ in surfaces])
        self._cross = np.array([cross for _, _, cross in surfaces])

    def beside(self, t: Floats) -> Floats:
        """Points (n, 3) in CARLA's frame at lateral positions t (n)."""
        x = self._x - t * self._sin
        y = self._y + t * self._cos
        return np.stack((x, 0.0 - y, self._z + t * self._cross), axis=1)


def stations_of(road: Road, section: LaneSection) -> list[float]:
    """Stations of a section: dense in curves and on hills."""
    start, end = section.start, min(section.end, road.length) - _BEFORE_END
    if end - start <= _BEFORE_END:
        return []
    even = road.elevation.constant is not None and road.superelevation.constant is not None
    longest = _LONGEST if even else _LONGEST_ON_HILLS
    stations = [start]
    while True:
        s = stations[-1]
        bend = abs(road.line.frame(s)[4])
        step = max(_SHORTEST, sqrt(8.0 * _SAGITTA / bend)) if bend > 0.0 else longest
        # A curve may begin within the step: look there, too.
        ahead = abs(road.line.frame(min(end, s + min(step, longest)))[4])
        if ahead > bend:
            step = max(_SHORTEST, min(step, sqrt(8.0 * _SAGITTA / ahead)))
        s += min(step, longest)
        if s >= end - 0.25 * _SHORTEST:
            stations.append(end)
            return stations
        stations.append(s)


def _add_section(
    builder: MeshBuilder,
    network: RoadNetwork,
    road: Road,
    section: LaneSection,
    owners: _Owners,
) -> None:
    stations = stations_of(road, section)
    if not stations:
        return
    line = RoadLine(road, stations)
    paint = owners.number(road.id, ROAD_LINES)
    for lane_id, lane in section.lanes.items():
        if lane_id == 0:
            continue
        borders = np.array([network.lane_borders(road.id, lane_id, s) for s in stations])
        inner, outer = line.beside(borders[:, 0]), line.beside(borders[:, 1])
        tag, colour, level = _LANES.get(lane.type, _DRIVEN)
        owner = owners.number(road.id, tag)
        builder.quads(inner[:-1], outer[:-1], outer[1:], inner[1:], tag, colour, level, owner)
        _add_marks(builder, line, section, borders[:, 1], lane.marks, paint)
    inner_lane = next((i for i in (-1, 1) if i in section.lanes), None)
    if inner_lane is not None:
        centre = np.array([network.lane_borders(road.id, inner_lane, s)[0] for s in stations])
        _add_marks(builder, line, section, centre, section.centre_marks, paint)


def _add_marks(
    builder: MeshBuilder,
    line: RoadLine,
    section: LaneSection,
    t: Floats,
    marks: tuple[RoadMark, ...],
    owner: int,
) -> None:
    for i, mark in enumerate(marks):
        words = mark.type.split()
        if not words or not set(words) <= {"solid", "broken"}:
            continue
        start = section.start + mark.start
        end = section.start + marks[i + 1].start if i + 1 < len(marks) else section.end
        width = mark.width if mark.width > 0.0 else _USUAL_LINE
        colour = _LINE_COLOURS.get(mark.color, WHITE)
        for j, word in enumerate(words):
            middle = t + (j - 0.5 * (len(words) - 1)) * 2.0 * width
            left, right = line.beside(middle + 0.5 * width), line.beside(middle - 0.5 * width)
            for low, high in _strokes(start, end, word == "broken"):
                a, b = (
                    _piece(line.stations, left, low, high),
                    _piece(line.stations, right, low, high),
                )
                builder.quads(a[:-1], b[:-1], b[1:], a[1:], ROAD_LINES, colour, PAINT, owner)


def _strokes(start: float, end: float, broken: bool) -> list[tuple[float, float]]:
    if not broken:
        return [(start, end)]
    count = int((end - start) / _DASH_PERIOD) + 1
    strokes = [(start + i * _DASH_PERIOD, start + i * _DASH_PERIOD + _DASH) for i in range(count)]
    return [(low, min(high, end)) for low, high in strokes if low < end]


def _piece(stations: Floats, points: Floats, low: float, high: float) -> Floats:
    """The points of a line between two stations, which become its ends."""
    low, high = max(low, float(stations[0])), min(high, float(stations[-1]))
    if high <= low:
        return points[:1]
    inside = (stations > low) & (stations < high)
    return np.concatenate((_at(stations, points, low), points[inside], _at(stations, points, high)))


def _at(stations: Floats, points: Floats, s: float) -> Floats:
    i = min(int(np.searchsorted(stations, s, "right")) - 1, len(stations) - 2)
    share = (s - stations[i]) / (stations[i + 1] - stations[i])
    return (points[i] + share * (points[i + 1] - points[i]))[None, :]
