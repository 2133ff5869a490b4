# SPDX-License-Identifier: Apache-2.0
"""The lane lines of a scenario's road, for the page."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from ros2_cosim.models.road import RoadNetwork
from ros2_cosim.ros.markers import LINE_LIST, LINE_STRIP, MarkerData
from ros2_cosim.ros.road_markers import road_markers
from ros2_cosim.scenario.schema import Scenario

Line = list[tuple[float, float]]


def road_lines(scenario: Scenario) -> list[Line]:
    """The lines, each a list of places (x, y) [m] to the centimetre; none without a road.

    :raises ConfigurationError: the road cannot be read
    """
    file = Path(scenario.base_directory) / str(scenario.scene.get("map", ""))
    if not file.is_file():
        return []
    markers = road_markers(RoadNetwork.from_file(file))
    return [line for marker in markers for line in _lines(marker)]


def _lines(marker: MarkerData) -> Iterator[Line]:
    places = [(round(x, 2), round(y, 2)) for x, y, _ in marker.points]
    if marker.shape == LINE_STRIP:
        yield places
    elif marker.shape == LINE_LIST:
        yield from (places[k : k + 2] for k in range(0, len(places), 2))
