# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What does not change of a scenario, for pages: its road, fields of view."""

from __future__ import annotations

from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.model import Sector
from ros2_cosim.core.scenario.declaration import declare
from ros2_cosim.core.scenario.drawing import road_file
from ros2_cosim.core.scenario.schema import Scenario
from ros2_cosim.core.scene.scene import read_scene
from ros2_cosim.world.map import RoadNetwork
from ros2_cosim.world.map.lane_frame import LaneGeometry
from ros2_cosim.world.map.open_ground import OPEN_GROUND
from ros2_cosim.world.pictures.road_shapes import RoadShapes, shapes_of


def road_of(scenario: Scenario) -> RoadShapes:
    """The road; nothing without one.

    :raises ConfigurationError: the road cannot be read
    """
    file = road_file(scenario)
    if not file.is_file():
        return RoadShapes()
    return shapes_of(RoadNetwork.from_file(file))


def lanes_of(scenario: Scenario) -> LaneGeometry:
    """The road whose lanes the vehicles of a scenario follow; open ground without one.

    :raises CosimError: the file of the road cannot be read
    """
    file = road_file(scenario)
    if not file.is_file():
        return OPEN_GROUND
    return RoadNetwork.from_file(file).along(read_scene(scenario.scene).route)


def sectors(scenario: Scenario, *, own_code: bool = True) -> list[Sector]:
    """The fields of view of the participants; none where a model cannot be had here.

    :param own_code: whether models that the scenario brings along may be loaded
    """
    settings = scenario.participants
    names = [name for name in settings if own_code or ":" not in settings[name].model]
    try:
        return [sector for name in names for sector in declare(scenario, name).sectors]
    except ConfigurationError:
        return []  # an onlooker may lack the code of the run
