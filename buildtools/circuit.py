# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Generator of the project's own circuit as OpenDRIVE text: a road without an end.

Two straights and two half turns with clothoids; the road is its own successor. Driven to the left,
in lanes with negative numbers. The text depends on the arguments alone, to the last byte.

Run ``python -m buildtools.circuit FILE`` to write the default circuit.
"""

from __future__ import annotations

import math
import sys
from pathlib import Path

from buildtools.highway import ROAD_ID
from buildtools.opendrive_writer import (
    RoadText,
    carriageway,
    document,
    plan_view,
    road_lines,
    road_mark,
)

_LINKED = '<link><predecessor id="{id}"/><successor id="{id}"/></link>'


def make_circuit(
    *,
    lanes: int = 2,
    lane_width: float = 3.5,
    shoulder_width: float = 2.5,
    straight: float = 600.0,
    clothoid: float = 100.0,
    radius: float = 400.0,
    name: str = "circuit",
) -> str:
    """OpenDRIVE 1.4 text of a circuit that starts at the map origin towards +x (east).

    :param lanes: driving lanes, to the right of the reference line, with a shoulder beside them
    :param lane_width, shoulder_width: [m]
    :param straight: length of each straight [m]
    :param clothoid: length of each transition curve [m]
    :param radius: radius of the reference line in the half turns [m]
    :param name: name of the map
    """
    curvature = 1.0 / radius
    # The clothoids at both ends of an arc turn by half their curvature.
    arc = (math.pi - curvature * clothoid) / curvature
    half = (
        (straight, 0.0, 0.0),
        (clothoid, 0.0, curvature),
        (arc, curvature, curvature),
        (clothoid, curvature, 0.0),
    )
    length = 2.0 * sum(part[0] for part in half)
    road = RoadText(
        id=ROAD_ID,
        name=name,
        plan=plan_view((*half, *half))._replace(length=length),
        lanes=carriageway(-1, lanes, lane_width, shoulder_width, _LINKED),
        centre_mark=road_mark("solid solid", "none"),
        type="motorway",
        speed_kmh=130.0,
        links=[
            f'      <predecessor elementType="road" elementId="{ROAD_ID}" contactPoint="end"/>',
            f'      <successor elementType="road" elementId="{ROAD_ID}" contactPoint="start"/>',
        ],
    )
    return document(name, road_lines(road))


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(make_circuit(), encoding="utf-8")
