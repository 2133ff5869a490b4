# SPDX-License-Identifier: Apache-2.0
"""The surface of a map: lanes, what is painted on them, the land around.

A lane is a strip of quadrilaterals between stations; paint uses the same stations, so that it lies
in the same surface. The land is a grid of heights a little below the roads, level towards the
horizon.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ros2_cosim.core.kernel.exactmath import sincos, sqrt
from ros2_cosim.world.headless.labels import GROUND, ROAD_LINES, ROADS, SIDEWALKS, TERRAIN
from ros2_cosim.world.headless.materials import Colour
from ros2_cosim.world.headless.sensing.axes import Floats
from ros2_cosim.world.headless.sensing.mesh import (
    LANE,
    PAINT,
    SURFACE,
    Indices,
    Mesh,
    MeshBuilder,
    dot,
    joined,
)
from ros2_cosim.world.headless.things import MapPart, upright_box
from ros2_cosim.world.road import RoadNetwork
from ros2_cosim.world.road.lanes import LaneSection, RoadMark
from ros2_cosim.world.road.objects import RoadObject
from ros2_cosim.world.road.opendrive import Road

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
    "yellow": (214, 176, 48), "red": (178, 40, 36), "blue": (44, 84, 180), "green": (50, 140, 70),
}  # fmt: skip
_WHITE: Colour = (222, 222, 216)
_USUAL_LINE = 0.12  # m, where a file gives a line no width
_DASH, _DASH_PERIOD = 3.0, 9.0  # m
_BAR_PERIOD = 1.0  # m, of the bars of a crosswalk

_CELL = 8.0  # m, of the land
_MOST_CELLS = 20_000
_MARGIN = 160.0  # m of land with hills around the roads
_BELOW = 0.15  # m, of the land under the roads
# Rings of level land around it end so far away [m]; haze makes each a little paler.
_HORIZON = (100.0, 250.0, 500.0, 900.0, 1500.0, 2500.0, 4000.0, 7000.0)
_SMOOTHING = 40
_GRASS: tuple[Colour, Colour] = (108, 132, 80), (102, 126, 76)


class Land(NamedTuple):
    """Heights of the land: of the nodes of a grid [m], in CARLA's frame."""

    low: Floats
    cell: float
    heights: Floats

    def height(self, x: float, y: float) -> float:
        """How high the land is at a place, between the nodes around it [m]."""
        u, v = (x - float(self.low[0])) / self.cell, (y - float(self.low[1])) / self.cell
        nx, ny = self.heights.shape
        i, j = min(max(int(u), 0), nx - 2), min(max(int(v), 0), ny - 2)
        u, v = min(max(u - i, 0.0), 1.0), min(max(v - j, 0.0), 1.0)
        # Squares of the land are two triangles, divided from the lower corner to the upper one.
        a, c = float(self.heights[i, j]), float(self.heights[i + 1, j + 1])
        if u >= v:
            b = float(self.heights[i + 1, j])
            return a + u * (b - a) + v * (c - b)
        d = float(self.heights[i, j + 1])
        return a + v * (d - a) + u * (c - d)


class MapGround(NamedTuple):
    """The ground of a map: its triangles, seen from above, and which part each belongs to.

    :ivar parts: the parts that have triangles
    :ivar owners: (n) numbers of parts, in their order
    :ivar land: None: the map has no roads
    """

    mesh: Mesh
    parts: list[MapPart]
    owners: Indices
    land: Land | None


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
    owners = _Owners()
    whole, land = _ground_mesh(network, owners)
    numbers = whole.actors.astype(np.int64)
    names = {number: key for key, number in owners.keys.items()}
    present = np.unique(numbers)
    order = np.argsort(numbers, kind="stable")
    starts = np.searchsorted(numbers[order], present)
    corners = whole.points[order]
    lows = np.minimum.reduceat(corners.min(axis=1), starts)
    highs = np.maximum.reduceat(corners.max(axis=1), starts)
    parts = []
    for number, low, high in zip(present.tolist(), lows.tolist(), highs.tolist(), strict=True):
        road, tag = names[number]
        name = f"{_PARTS[tag]}_{road}" if tag in _PARTS else "Land"
        parts.append(MapPart(name, tag, *upright_box(low, high)))
    return MapGround(
        whole.changed(actors=np.zeros_like(whole.actors)),
        parts,
        np.searchsorted(present, numbers),
        land,
    )


def _ground_mesh(network: RoadNetwork, owners: _Owners) -> tuple[Mesh, Land | None]:
    builder = MeshBuilder()
    for road in network.roads.values():
        for section in road.lanes.sections:
            _add_section(builder, network, road, section, owners)
    for road in network.roads.values():
        for thing in road.objects:
            if thing.type.lower() == "crosswalk":
                _add_crosswalk(builder, network, thing, owners.number(road.id, ROAD_LINES))
    around = MeshBuilder()
    land = _add_land(around, builder.corners())
    return joined([builder.build(upwards=True), around.build(upwards=True)]), land


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
        colour = _LINE_COLOURS.get(mark.color, _WHITE)
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


def _add_crosswalk(
    builder: MeshBuilder, network: RoadNetwork, thing: RoadObject, owner: int
) -> None:
    """Bars across the longer sides of a crosswalk of four corners."""
    corners = thing.outline[:4]
    if len(corners) < 4 or not 0.0 <= thing.s <= network.length(thing.road_id):
        return
    x, y, z, heading = network.pose(thing.road_id, thing.s, thing.t)
    sin, cos = sincos(heading + thing.heading)
    places = []
    for u, v, _ in corners:
        px, py = x + (u * cos - v * sin), y + (u * sin + v * cos)
        at = network.project(px, py, z=z)
        places.append((px, 0.0 - py, network.pose(at.road_id, at.s, at.t)[2]))
    a, b, c, d = np.array(places)
    if dot(b - a, b - a) < dot(c - b, c - b):
        a, b, c, d = b, c, d, a
    count = int(sqrt(float(dot(b - a, b - a))) / _BAR_PERIOD + 0.5)
    first = (np.arange(count) / max(count, 1))[:, None]
    last = first + 0.5 / max(count, 1)
    builder.quads(
        a + first * (b - a), a + last * (b - a), d + last * (c - d), d + first * (c - d),
        ROAD_LINES, _WHITE, PAINT, owner,
    )  # fmt: skip


def _add_land(builder: MeshBuilder, corners: Floats) -> Land | None:
    if not len(corners):
        return None
    low = corners[:, :2].min(axis=0) - _MARGIN
    span = corners[:, :2].max(axis=0) + _MARGIN - low
    cell = max(_CELL, sqrt(float(span[0]) * float(span[1]) / _MOST_CELLS))
    nx, ny = int(span[0] / cell) + 1, int(span[1] / cell) + 1
    heights = _heights(corners, low, cell, (nx, ny))
    x = low[0] + cell * np.arange(nx + 1)
    y = low[1] + cell * np.arange(ny + 1)
    nodes = np.empty((nx + 1, ny + 1, 3))
    nodes[..., 0], nodes[..., 1], nodes[..., 2] = x[:, None], y[None, :], heights
    quads = nodes[:-1, :-1], nodes[1:, :-1], nodes[1:, 1:], nodes[:-1, 1:]
    odd = (np.arange(nx)[:, None] + np.arange(ny)[None, :]) % 2 == 1
    for colour, chosen in zip(_GRASS, (odd, ~odd), strict=True):
        a, b, c, d = (quad[chosen] for quad in quads)
        builder.quads(a, b, c, d, TERRAIN, colour)
    x0, x1, y0, y1, level = x[0], x[-1], y[0], y[-1], heights[0, 0]
    inner = [(x0, y0), (x1, y0), (x1, y1), (x0, y1)]
    for far in _HORIZON:
        outer = [
            (x0 - far, y0 - far),
            (x1 + far, y0 - far),
            (x1 + far, y1 + far),
            (x0 - far, y1 + far),
        ]
        for i in range(4):
            j = (i + 1) % 4
            around = inner[i], inner[j], outer[j], outer[i]
            a, b, c, d = (np.array([[px, py, level]]) for px, py in around)
            builder.quads(a, b, c, d, TERRAIN, _GRASS[0])
        inner = outer
    return Land(low, cell, heights)


def _heights(corners: Floats, low: Floats, cell: float, size: tuple[int, int]) -> Floats:
    """Heights of the nodes: below every road nearby, smooth elsewhere, level at the rim."""
    nx, ny = size
    lowest = np.full((nx + 2, ny + 2), np.inf)
    ix = ((corners[:, 0] - low[0]) / cell).astype(np.int64)
    iy = ((corners[:, 1] - low[1]) / cell).astype(np.int64)
    np.minimum.at(lowest, (ix + 1, iy + 1), corners[:, 2])
    a, b = np.minimum(lowest[:-1], lowest[1:]), np.s_[:-1]
    nodes: Floats = np.minimum(a[:, b], a[:, 1:]) - _BELOW
    fixed: NDArray[np.bool_] = np.isfinite(nodes)
    rim = float(nodes[fixed].min())
    nodes[0], nodes[-1], nodes[:, 0], nodes[:, -1] = rim, rim, rim, rim
    fixed[0], fixed[-1], fixed[:, 0], fixed[:, -1] = True, True, True, True
    known = fixed.copy()
    nodes[~known] = 0.0
    while not known.all():
        total, count = _around(nodes), _around(known.astype(np.float64))
        reached = ~known & (count > 0.0)
        nodes[reached] = total[reached] / count[reached]
        known |= reached
    for _ in range(_SMOOTHING):
        nodes = np.where(fixed, nodes, 0.25 * _around(nodes))
    return nodes


def _around(values: Floats) -> Floats:
    """Sum of the four neighbours; beyond the rim there is nothing."""
    total = np.zeros_like(values)
    total[1:] += values[:-1]
    total[:-1] += values[1:]
    total[:, 1:] += values[:, :-1]
    total[:, :-1] += values[:, 1:]
    return total
