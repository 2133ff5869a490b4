# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A road network for a page: filled surfaces and lines on the ground, to the centimetre."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from ros2_cosim.world.pictures.markers import LINE_LIST, LINE_STRIP, TRIANGLES, MarkerData, Point
from ros2_cosim.world.pictures.road_markers import Roads, road_markers

#: Where the modules of pages for scenes are; each comes after those that it imports.
PICTURES: Final = "ros2_cosim.world.pictures"
SCENE_SCRIPTS: Final = ("recording.js", "world.js", "scene.js", "scene3d.js", "stage.js")

Line = list[tuple[float, float]]


class RoadShapes(NamedTuple):
    """Outlines of surfaces and lines between lanes, each a list of places (x, y) [m]."""

    surfaces: Sequence[Line] = ()
    lines: Sequence[Line] = ()


NO_ROAD: Final = RoadShapes()


def shapes_of(network: Roads) -> RoadShapes:
    """The shapes of a road network; those of junctions lie over each other."""
    markers = road_markers(network)
    return RoadShapes(
        [_outline(marker.points) for marker in markers if marker.shape == TRIANGLES],
        [line for marker in markers for line in _lines(marker)],
    )


def _outline(points: Sequence[Point]) -> Line:
    """Around a strip of pairs of triangles: along its right rim, and back along its left one."""
    right = [*points[0::6], points[-2]]
    left = [*points[2::6], points[-1]]
    return _plan([*right, *reversed(left)])


def _lines(marker: MarkerData) -> Iterator[Line]:
    places = _plan(marker.points)
    if marker.shape == LINE_STRIP:
        yield places
    elif marker.shape == LINE_LIST:
        yield from (places[k : k + 2] for k in range(0, len(places), 2))


def _plan(points: Sequence[Point]) -> Line:
    return [(round(x, 2), round(y, 2)) for x, y, _ in points]
