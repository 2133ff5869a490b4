# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Generator of the project's own highway as OpenDRIVE text.

One road with both carriageways: straight, clothoid, left-hand curve, clothoid, straight, and a
gentle hill on the second straight. The text depends on the arguments alone, to the last byte.

Run ``python -m buildtools.highway FILE`` to write the default highway.
"""

from __future__ import annotations

import sys
from pathlib import Path

from buildtools.opendrive_writer import (
    Piece,
    RoadText,
    carriageway,
    document,
    elevation,
    plan_view,
    road_lines,
    road_mark,
)
from ros2_cosim.world.map.elements import RoadError

ROAD_ID = 1


def make_highway(
    *,
    lanes: int = 3,
    lane_width: float = 3.5,
    shoulder_width: float = 2.5,
    first_straight: float = 800.0,
    clothoid: float = 100.0,
    curve: float = 600.0,
    radius: float = 800.0,
    total_length: float = 3200.0,
    hill_height: float = 10.0,
    speed_limit_kmh: float = 130.0,
    name: str = "highway",
) -> str:
    """OpenDRIVE 1.4 text of a highway that starts at the map origin towards +x (east).

    Lanes -1 .. -``lanes`` are driven towards larger s, -1 next to the centre line; lane
    -(``lanes`` + 1) is the hard shoulder; positive ids mirror them.

    :param lanes: driving lanes of each carriageway, 1 to 8
    :param lane_width: width of a driving lane [m]
    :param shoulder_width: width of the hard shoulder [m]
    :param first_straight: length of the straight before the curve [m]
    :param clothoid: length of each transition curve [m]
    :param curve: length of the circular part [m]
    :param radius: radius of the reference line in the curve [m], positive to the left
    :param total_length: length of the road [m]; the last straight takes what is left
    :param hill_height: rise of the hill in the middle of the last straight [m]
    :param speed_limit_kmh: speed limit [km/h]
    :param name: name of the map
    :raises RoadError: an argument is out of range
    """
    last_straight = total_length - first_straight - 2.0 * clothoid - curve
    if not 1 <= lanes <= 8:
        raise RoadError(f"highway: lanes={lanes} must be from 1 to 8")
    for label, value in (
        ("lane_width", lane_width),
        ("shoulder_width", shoulder_width),
        ("first_straight", first_straight),
        ("clothoid", clothoid),
        ("curve", curve),
        ("length of the last straight", last_straight),
        ("speed_limit_kmh", speed_limit_kmh),
    ):
        if not 0.0 < value < 1e6:
            raise RoadError(f"highway: {label}={value!r} must be positive and below 1e6")
    if not abs(radius) > 2.0 * (lanes * lane_width + shoulder_width):
        raise RoadError(f"highway: radius={radius!r} must be more than twice the road's half width")
    curvature = 1.0 / radius
    plan = plan_view(
        (
            Piece(first_straight),
            Piece(clothoid, 0.0, curvature),
            Piece(curve, curvature, curvature),
            Piece(clothoid, curvature, 0.0),
            Piece(last_straight),
        )
    )
    road = RoadText(
        id=ROAD_ID,
        name=name,
        plan=plan._replace(length=total_length),
        lanes=[
            *carriageway(+1, lanes, lane_width, shoulder_width),
            *carriageway(-1, lanes, lane_width, shoulder_width),
        ],
        centre_mark=road_mark("solid solid", "none"),
        type="motorway",
        speed_kmh=speed_limit_kmh,
        elevation=elevation(_hill(total_length, last_straight, hill_height)),
    )
    return document(name, road_lines(road))


def _hill(
    total_length: float, last_straight: float, height: float
) -> list[tuple[float, float, float, float]]:
    """Flat, then up and down over the middle of the last straight, smooth in the slope."""
    pieces = [(0.0, 0.0, 0.0, 0.0)]
    if height != 0.0:
        side = 0.35 * last_straight
        foot = total_length - last_straight + 0.125 * last_straight
        # Hermite cubic with level ends: z = h (3 u^2 - 2 u^3), u = ds / side.
        c, d = 3.0 * height / (side * side), -2.0 * height / (side * side * side)
        pieces += [
            (foot, 0.0, c, d),
            (foot + side, height, -c, -d),
            (foot + 2.0 * side, 0.0, 0.0, 0.0),
        ]
    return pieces


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(make_highway(), encoding="utf-8")
