# SPDX-License-Identifier: Apache-2.0
"""What does not change of a scenario, for the page: lines of the road, fields of view."""

from __future__ import annotations

from collections.abc import Iterator

from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.model import Sector
from ros2_cosim.core.scenario.declaration import declare_all
from ros2_cosim.core.scenario.drawing import road_file
from ros2_cosim.core.scenario.schema import Scenario
from ros2_cosim.core.scene.scene import read_scene
from ros2_cosim.world.geometry.lane_frame import LaneGeometry
from ros2_cosim.world.geometry.open_ground import OPEN_GROUND
from ros2_cosim.world.pictures.markers import LINE_LIST, LINE_STRIP, MarkerData
from ros2_cosim.world.pictures.road_markers import road_markers
from ros2_cosim.world.road import RoadNetwork

Line = list[tuple[float, float]]


def road_lines(scenario: Scenario) -> list[Line]:
    """The lines, each a list of places (x, y) [m] to the centimetre; none without a road.

    :raises ConfigurationError: the road cannot be read
    """
    file = road_file(scenario)
    if not file.is_file():
        return []
    return lines_of(RoadNetwork.from_file(file))


def lanes_of(scenario: Scenario) -> LaneGeometry:
    """The road whose lanes the vehicles of a scenario follow; open ground without one.

    :raises CosimError: the file of the road cannot be read
    """
    file = road_file(scenario)
    if not file.is_file():
        return OPEN_GROUND
    return RoadNetwork.from_file(file).along(read_scene(scenario.scene).route)


def lines_of(network: RoadNetwork) -> list[Line]:
    """The lines of a road network."""
    return [line for marker in road_markers(network) for line in _lines(marker)]


def sectors(scenario: Scenario) -> list[Sector]:
    """The fields of view of the participants; none where a model cannot be had here."""
    try:
        return [s for found in declare_all(scenario).values() for s in found.sectors]
    except ConfigurationError:
        return []  # an onlooker may lack the code of the run


def _lines(marker: MarkerData) -> Iterator[Line]:
    places = [(round(x, 2), round(y, 2)) for x, y, _ in marker.points]
    if marker.shape == LINE_STRIP:
        yield places
    elif marker.shape == LINE_LIST:
        yield from (places[k : k + 2] for k in range(0, len(places), 2))
