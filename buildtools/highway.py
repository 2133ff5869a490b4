# SPDX-License-Identifier: Apache-2.0
"""Generator of the project's own highway as OpenDRIVE text.

One road with both carriageways: straight, clothoid, left-hand curve, clothoid, straight, and a
gentle hill on the second straight. The text depends on the arguments alone, to the last byte.

Run ``python buildtools/highway.py FILE`` to write the default highway.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from xml.sax.saxutils import quoteattr

from ros2_cosim.models.road.elements import RoadError
from ros2_cosim.models.road.plan_view import Arc, Line, PlanElement, Spiral

ROAD_ID = 1
GEO_REFERENCE = (
    "+proj=tmerc +lat_0=49.0 +lon_0=8.0 +k=1 +x_0=0 +y_0=0 +datum=WGS84 +units=m +no_defs"
)


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
    geometry = plan_view(
        (
            (first_straight, 0.0, 0.0),
            (clothoid, 0.0, curvature),
            (curve, curvature, curvature),
            (clothoid, curvature, 0.0),
            (last_straight, 0.0, 0.0),
        )
    )
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        "<OpenDRIVE>",
        f'  <header revMajor="1" revMinor="4" name={quoteattr(name)} version="1">',
        f"    <geoReference><![CDATA[{GEO_REFERENCE}]]></geoReference>",
        "  </header>",
        f'  <road name={quoteattr(name)} length="{total_length!r}" id="{ROAD_ID}" junction="-1">',
        "    <link/>",
        '    <type s="0" type="motorway">',
        f'      <speed max="{speed_limit_kmh!r}" unit="km/h"/>',
        "    </type>",
        "    <planView>",
        *geometry,
        "    </planView>",
        "    <elevationProfile>",
        *_elevation(total_length, last_straight, hill_height),
        "    </elevationProfile>",
        "    <lateralProfile/>",
        "    <lanes>",
        '      <laneOffset s="0" a="0" b="0" c="0" d="0"/>',
        '      <laneSection s="0">',
        "        <left>",
        *lane_lines(range(lanes + 1, 0, -1), lanes, lane_width, shoulder_width),
        "        </left>",
        "        <center>",
        '          <lane id="0" type="none" level="false">',
        road_mark("solid solid", "none"),
        "          </lane>",
        "        </center>",
        "        <right>",
        *lane_lines(range(-1, -lanes - 2, -1), lanes, lane_width, shoulder_width),
        "        </right>",
        "      </laneSection>",
        "    </lanes>",
        "    <objects/>",
        "    <signals/>",
        "  </road>",
        "</OpenDRIVE>",
        "",
    ]
    return "\n".join(lines)


def plan_view(parts: Sequence[tuple[float, float, float]]) -> list[str]:
    """Elements one behind the other, from the map origin towards +x.

    :param parts: length [m], curvature at the start and at the end [1/m] of each
    """
    lines: list[str] = []
    s = x = y = heading = 0.0
    for length, start, end in parts:
        element: PlanElement
        if start != end:
            element = Spiral(x, y, heading, length, start, end)
            shape = f'<spiral curvStart="{start!r}" curvEnd="{end!r}"/>'
        elif start != 0.0:
            element = Arc(x, y, heading, length, start)
            shape = f'<arc curvature="{start!r}"/>'
        else:
            element = Line(x, y, heading, length)
            shape = "<line/>"
        lines += [
            f'      <geometry s="{s!r}" x="{x!r}" y="{y!r}" hdg="{heading!r}" length="{length!r}">',
            f"        {shape}",
            "      </geometry>",
        ]
        point = element.at(length)
        x, y = point.x, point.y
        heading += element.turn(length)
        s += length
    return lines


def _elevation(total_length: float, last_straight: float, height: float) -> list[str]:
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
    return [
        f'      <elevation s="{s!r}" a="{a!r}" b="0" c="{c!r}" d="{d!r}"/>' for s, a, c, d in pieces
    ]


def lane_lines(
    ids: Sequence[int], lanes: int, width: float, shoulder: float, link: str = "<link/>"
) -> list[str]:
    """Lanes of a section; in ``link`` the number of the lane is filled in."""
    lines: list[str] = []
    for lane_id in ids:
        number = abs(lane_id)
        driving = number <= lanes
        kind, lane_width = ("driving", width) if driving else ("shoulder", shoulder)
        if number < lanes:
            mark = road_mark("broken", "both")
        else:
            mark = road_mark("solid", "none")
        lines += [
            f'          <lane id="{lane_id}" type="{kind}" level="false">',
            f"            {link.format(id=lane_id)}",
            f'            <width sOffset="0" a="{lane_width!r}" b="0" c="0" d="0"/>',
            mark,
            "          </lane>",
        ]
    return lines


def road_mark(kind: str, lane_change: str) -> str:
    """A road mark for the whole length of the section."""
    return (
        f'            <roadMark sOffset="0" type="{kind}" weight="standard" color="standard" '
        f'width="0.15" laneChange="{lane_change}"/>'
    )


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(make_highway(), encoding="utf-8")
