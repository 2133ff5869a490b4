# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Markers of a road network: the surface of each road and the lines between its lanes.

This package uses no model, so the network is described by the methods that it calls.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any, Protocol

from ros2_cosim.world.pictures.markers import (
    LINE_LIST,
    LINE_STRIP,
    TRIANGLES,
    WHITE,
    Colour,
    MarkerData,
    Point,
)

ASPHALT: Colour = (0.22, 0.23, 0.25, 1.0)
_DRIVING = "driving"
_STEP = 8.0
_DASH_STEP = 4.0
_DASH_EVERY = 3
_SURFACE_DEPTH = 0.05
_LINE_HEIGHT = 0.02


class Roads(Protocol):
    """A road network, as :class:`ros2_cosim.world.map.RoadNetwork` is one.

    A place is (road id, station s, lateral position t), in metres.
    """

    @property
    def roads(self) -> Mapping[int, Any]:
        """Road id -> road with its ``junction`` or None.

        Its ``lanes.sections`` have ``start``, ``end`` and ``lanes``.
        """

    def lane_ids(self, road_id: int, s: float) -> list[int]:
        """Lanes at a station."""

    def lane_borders(self, road_id: int, lane_id: int, s: float) -> tuple[float, float]:
        """Lateral positions of a lane's inner and outer border."""

    def pose(self, road_id: int, s: float, t: float) -> tuple[float, float, float, float]:
        """(x, y, z, heading) of a place in ``map``."""


def road_markers(network: Roads) -> list[MarkerData]:
    """The surface and lane lines of all roads.

    Lines between two driving lanes of one direction are dashed, all others are solid.
    """
    markers: list[MarkerData] = []
    number = 0
    for road_id in sorted(network.roads):
        in_junction = network.roads[road_id].junction is not None
        for section in network.roads[road_id].lanes.sections:
            types = {lane.id: lane.type for lane in section.lanes.values()}
            if not types:
                continue
            markers.append(
                MarkerData(
                    "road surface",
                    number,
                    TRIANGLES,
                    ASPHALT,
                    (1.0, 1.0, 1.0),
                    points=_surface(network, road_id, section.start, section.end),
                )
            )
            # Roads of a junction cross each other: their borders are not lines on the ground.
            for lane_id in () if in_junction else sorted(types):
                outwards = lane_id + (1 if lane_id > 0 else -1)
                dashed = types[lane_id] == types.get(outwards) == _DRIVING
                span = (road_id, lane_id, section.start, section.end)
                markers.append(_line(number, _border(network, *span, True, dashed), dashed))
                number += 1
                if lane_id in (1, -1):  # the inner border of the first lanes is not an outer one
                    markers.append(_line(number, _border(network, *span, False, False), False))
                    number += 1
            number += 1
    return markers


def _line(number: int, points: tuple[Point, ...], dashed: bool) -> MarkerData:
    shape = LINE_LIST if dashed else LINE_STRIP
    return MarkerData("lane lines", number, shape, WHITE, (0.15, 0.0, 0.0), points=points)


def _border(
    network: Roads,
    road_id: int,
    lane_id: int,
    start: float,
    end: float,
    outer: bool,
    dashed: bool,
) -> tuple[Point, ...]:
    stations = _stations(start, end, _DASH_STEP if dashed else _STEP)
    points = []
    for s in stations:
        t = network.lane_borders(road_id, lane_id, s)[1 if outer else 0]
        x, y, z, _ = network.pose(road_id, s, t)
        points.append((x, y, z + _LINE_HEIGHT))
    if not dashed:
        return tuple(points)
    pairs = list(pairwise(points))[::_DASH_EVERY]
    return tuple(point for pair in pairs for point in pair)


def _surface(network: Roads, road_id: int, start: float, end: float) -> tuple[Point, ...]:
    """A strip of triangles between the outermost lane borders."""
    rims: list[tuple[Point, Point]] = []
    for s in _stations(start, end, _STEP):
        ids = network.lane_ids(road_id, s)
        borders = [t for lane in ids for t in network.lane_borders(road_id, lane, s)]
        right, left = min(borders), max(borders)
        ends = [network.pose(road_id, s, t)[:3] for t in (right, left)]
        rims.append(tuple((x, y, z - _SURFACE_DEPTH) for x, y, z in ends))  # type: ignore[arg-type]
    points: list[Point] = []
    for (right_a, left_a), (right_b, left_b) in pairwise(rims):
        points += (right_a, right_b, left_a, left_a, right_b, left_b)
    return tuple(points)


def _stations(start: float, end: float, step: float) -> list[float]:
    """Stations inside [start, end), the last one just before the end (next section's start)."""
    last = end - 1e-6
    count = max(1, int((last - start) / step))
    return [start + number * (last - start) / count for number in range(count + 1)]
