# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Kerb stones along the sidewalks of a map."""

from __future__ import annotations

from typing import Final

import numpy as np

from ros2_cosim.world.headless.labels import SIDEWALKS
from ros2_cosim.world.headless.materials import Colour
from ros2_cosim.world.headless.sensing.axes import Floats
from ros2_cosim.world.headless.sensing.figures import SolidFigure, SolidPiece
from ros2_cosim.world.headless.sensing.ground import RoadLine, stations_of
from ros2_cosim.world.map import RoadNetwork
from ros2_cosim.world.map.lanes import LaneSection
from ros2_cosim.world.map.opendrive import Road

_STONE: Final[Colour] = (176, 174, 168)
_HIGH, _WIDE = 0.12, 0.15  # m


def kerb_of(network: RoadNetwork, road: Road) -> SolidFigure | None:
    """The kerb stones of a road, in the world: on the side of its sidewalks that lanes are on."""
    form = SolidFigure(SIDEWALKS)
    for section in road.lanes.sections:
        stations = stations_of(road, section)
        for lane_id, lane in section.lanes.items():
            # The one that is next to the lanes: a pavement may be of several.
            inner = section.lanes.get(lane_id - 1 if lane_id > 0 else lane_id + 1)
            beside_it = inner is not None and inner.type == "sidewalk"
            if stations and lane.type == "sidewalk" and not beside_it:
                _add(form, network, road, section, lane_id, stations)
    return form if form.pieces else None


def _add(
    form: SolidFigure,
    network: RoadNetwork,
    road: Road,
    section: LaneSection,
    lane_id: int,
    stations: list[float],
) -> None:
    borders = np.array([network.lane_borders(road.id, lane_id, s) for s in stations])
    inner, width = borders[:, 0], np.abs(borders[:, 1] - borders[:, 0])
    side = 1.0 if lane_id > 0 else -1.0
    line = RoadLine(road, stations)
    front = line.beside(inner)
    back = line.beside(inner + side * np.minimum(_WIDE, width))
    up = np.array((0.0, 0.0, _HIGH))
    # Where the sidewalk is narrower than a stone there is none; a road that crosses it has none.
    kept = (width[:-1] > _WIDE) & (width[1:] > _WIDE)
    if road.junction is not None:
        middles = 0.5 * (back[:-1] + back[1:])
        kept &= np.array([not _is_driven(network, road, *m) for m in middles.tolist()])
    # From the front seen: its face, its top, its back.
    for a, b in ((front, front + up), (front + up, back + up), (back + up, back)):
        strip = _strip(a, b, side)[np.concatenate((kept, kept))]
        form.pieces.append(SolidPiece(strip, form.label, _STONE, is_detail=False))


def _strip(low: Floats, high: Floats, side: float) -> Floats:
    """Triangles between two lines of points (n, 3), seen from outside."""
    first = np.stack((low[:-1], high[:-1], high[1:]), axis=1)
    second = np.stack((low[:-1], high[1:], low[1:]), axis=1)
    strip = np.concatenate((first, second))
    return strip if side < 0.0 else strip[:, ::-1]


def _is_driven(network: RoadNetwork, road: Road, x: float, y: float, z: float) -> bool:
    """Whether another road has a lane for vehicles at a place of CARLA's frame."""
    at = network.project(x, 0.0 - y, z=z)
    if at.road_id == road.id:
        return False
    lanes = network.roads[at.road_id].lanes.section(at.s).lanes
    lane = lanes.get(at.lane_id)
    return lane is not None and lane.type == "driving"
